"""The optional client scenarios of the MCP conformance suite for authorization. See conformance_scenarios.py."""
import urllib.parse

import jwt
from cryptography.hazmat.primitives import serialization

from conformance_scenarios import basic, scenario, with_basic
from conformance_server import new_key, read_proof, refusal, signed, verified
from oracle import Answer

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"
CLIENT = ("conformance-test-client", "conformance-test-secret")


def pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


def only(it, grant, id, token):
    """Returns a token endpoint's hook that fails a check for any other grant."""
    def judged(request):
        if request.form.get("grant_type") == grant:
            return token(request)
        it.checks.add(id, False)
        return refusal("unsupported_grant_type")
    return judged


# The application signs in as itself

@scenario("auth/client-credentials-basic")
def client_credentials_with_a_secret(it):
    token = with_basic(it, "client-credentials-basic-auth", CLIENT)
    server = it.server(methods=["client_secret_basic"], members={"grant_types_supported": ["client_credentials"]},
                       on_token=only(it, "client_credentials", "client-credentials-grant-type", token))
    it.flow = "clientCredentials"
    it.register(server, clientId=CLIENT[0], clientSecret=CLIENT[1])
    it.resource(server)


@scenario("auth/client-credentials-jwt")
def client_credentials_with_an_assertion(it):
    key = new_key()

    def token(request):
        form = request.form
        if form.get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
            it.checks.add("client-credentials-assertion-type", False)
            return refusal("invalid_client", 401)
        try:
            claims = verified(form.get("client_assertion", ""), key, server.issuer, leeway=30)
        except jwt.PyJWTError:
            it.checks.add("client-credentials-jwt-verified", False)
            return refusal("invalid_client", 401)
        for name, id in (("iss", "client-credentials-jwt-iss"), ("sub", "client-credentials-jwt-sub")):
            if claims.get(name) != CLIENT[0]:
                it.checks.add(id, False)
                return refusal("invalid_client", 401)
        it.checks.add("client-credentials-jwt-verified")
        return form.get("scope", "").split()

    server = it.server(
        methods=["private_key_jwt"], members={"grant_types_supported": ["client_credentials"],
                                              "token_endpoint_auth_signing_alg_values_supported": ["ES256"]},
        on_token=only(it, "client_credentials", "client-credentials-grant-type", token))
    it.flow = "clientCredentials"
    it.register(server, clientId=CLIENT[0], privateKey=pem(key), authentication="private_key_jwt")
    it.resource(server)
    it.requires("client-credentials-jwt-verified")


# An assertion as a grant

@scenario("auth/wif-jwt-bearer")
def assertion_of_a_workload(it):
    key, refused = new_key(), []

    def flaw(request):
        """Returns the check that fails, and the error."""
        assertion = request.form.get("assertion")
        if not assertion:
            return "wif-assertion-missing", "invalid_request"
        try:
            verified(assertion, key, server.base)
        except jwt.ExpiredSignatureError:
            return "wif-assertion-expired", "invalid_grant"
        except jwt.InvalidAudienceError:
            return "wif-assertion-audience", "invalid_grant"
        except jwt.PyJWTError:
            return "wif-assertion-malformed", "invalid_grant"
        it.checks.add("wif-assertion-verified")
        return None

    def token(request):
        grant = request.form.get("grant_type")
        if refused:
            it.checks.add("wif-no-retry" if grant == JWT_BEARER else "wif-grant-fallback", False, "WARNING")
            return refusal("invalid_request")
        found = flaw(request) if grant == JWT_BEARER else ("wif-grant-type", "unsupported_grant_type")
        if found is None:
            return request.form.get("scope", "").split()
        it.checks.add(found[0], False)
        refused.append(found)
        return refusal(found[1])

    server = it.server(members={"grant_types_supported": [JWT_BEARER], "registration_endpoint": None}, on_token=token)
    claims = {"iss": "https://idp.conformance-test.local", "sub": "conformance-workload"}
    it.flow, it.assertion = "jwtBearer", signed(key, aud=server.base, **claims)
    it.bad_assertions = {"audience": signed(key, aud="https://wrong.example", **claims),
                         "expired": signed(key, aud=server.base, seconds=-60, **claims)}
    it.register(server, clientId="conformance-wif-workload")
    it.resource(server)
    it.requires("wif-assertion-verified")


@scenario("auth/enterprise-managed-authorization")
def assertion_of_an_identity_provider(it):
    client = ("conformance-test-xaa-client", "conformance-test-xaa-secret")
    identity_client = "conformance-test-idp-client"
    key, grant_key = new_key(), new_key()

    def exchange(request):
        """The identity provider's token endpoint: a code for an id_token, and an id_token for an ID-JAG."""
        form, id = request.form, "complete-flow-token-exchange"
        if form.get("grant_type") == "authorization_code":
            return None
        expected = {"grant_type": TOKEN_EXCHANGE, "subject_token_type": TOKEN_TYPE + "id_token",
                    "requested_token_type": TOKEN_TYPE + "id-jag"}
        named = form.get("audience") and form.get("resource")
        if not named or {name: form.get(name) for name in expected} != expected:
            it.checks.add(id, False)
            return refusal("invalid_request")
        try:
            claims = jwt.decode(form.get("subject_token", ""), key.public_key(), algorithms=["ES256"],
                                audience=identity_client, issuer=it.identities.issuer)
        except jwt.PyJWTError:
            it.checks.add(id, False)
            return refusal("invalid_grant")
        it.checks.add(id)
        grant = signed(grant_key, "oauth-id-jag+jwt", iss=it.identities.issuer, sub=claims["sub"], aud=form["audience"],
                       resource=form["resource"], client_id=client[0])
        return Answer(200, {"access_token": grant, "issued_token_type": TOKEN_TYPE + "id-jag", "token_type": "N_A"})

    def token(request):
        id = "complete-flow-jwt-bearer"
        sent = tuple(map(urllib.parse.unquote, basic(request) or ()))
        try:
            assertion = request.form.get("assertion", "")
            claims = verified(assertion, grant_key, server.base, leeway=30)
            passed = (jwt.get_unverified_header(assertion)["typ"], claims.get("client_id"), claims.get("resource")) == (
                "oauth-id-jag+jwt", client[0], it.url)
        except jwt.PyJWTError:
            passed = False
        it.checks.add(id, passed and sent == client)
        if sent != client:
            return refusal("invalid_client", 401)
        return request.form.get("scope", "").split() if passed else refusal("invalid_grant")

    it.identities = it.server(
        well_known="/.well-known/openid-configuration", identity=key, on_token=exchange,
        members={"grant_types_supported": ["authorization_code", TOKEN_EXCHANGE], "registration_endpoint": None})
    server = it.server(methods=["client_secret_basic"], members={"grant_types_supported": [JWT_BEARER]},
                       on_token=only(it, JWT_BEARER, "complete-flow-jwt-bearer", token))
    it.flow = "jwtBearer"
    it.register(it.identities, clientId=identity_client)
    it.register(server, clientId=client[0], clientSecret=client[1])
    it.resource(server)
    it.requires("complete-flow-token-exchange", "complete-flow-jwt-bearer")


# Tokens bound to a key

def bound_tokens(name, server_nonce=None, resource_nonce=None):
    @scenario("auth/" + name)
    def run(it):
        server = it.server(dpop=True, nonce=server_nonce)
        schemes, flaws, seen, nonces = [], [], [], []

        def guard(request, method):
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            if not scheme:
                return resource.refuse(401, None, "DPoP")
            schemes.append(scheme)
            try:
                claims, thumbprint = read_proof(request.proof, "POST", it.url, token)
                if server.bound.get(token) != thumbprint:
                    raise ValueError("another key")
            except ValueError as fault:
                flaws.append(str(fault))
                return None
            seen.append(claims["jti"])
            nonces.append(claims.get("nonce"))
            if resource_nonce and claims.get("nonce") != resource_nonce:
                return resource.refuse(401, "use_dpop_nonce", "DPoP", **{"DPoP-Nonce": resource_nonce})
            return None

        resource = it.resource(server, guard=guard)
        it.proofs = True
        it.register(server, clientId="test-client-id")
        it.at_the_end("sep-1932-client-token-request-proof",
                      lambda: server.proofs != [] and all(proof["valid"] for proof in server.proofs))
        it.at_the_end("sep-1932-client-dpop-auth-scheme", lambda: {word.lower() for word in schemes} == {"dpop"})
        it.at_the_end("sep-1932-client-fresh-proof",
                      lambda: schemes != [] and not flaws and len(set(seen)) == len(seen))
        if server_nonce:
            # A nonce counts only after the challenge that brought it.
            it.at_the_end("sep-1932-client-as-nonce", lambda: server_nonce in [
                proof["nonce"] for proof in server.proofs][1:] and server.proofs[0]["nonce"] != server_nonce)
            it.at_the_end("sep-1932-client-rs-nonce",
                          lambda: resource_nonce in nonces[1:] and nonces[0] != resource_nonce)


bound_tokens("dpop")
bound_tokens("dpop-nonce", "conformance-as-dpop-nonce", "conformance-rs-dpop-nonce")
