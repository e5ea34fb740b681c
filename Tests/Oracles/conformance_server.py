"""An authorization server and a protected resource for conformance_scenarios.py, in threads of this process. A scenario
changes them by options, and both record checks by the ids of the MCP conformance suite.
"""
import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from oracle import Answer, Request, Server

SEVERITY = ["INFO", "SUCCESS", "WARNING", "FAILURE"]
LOOPBACK = ["http://127.0.0.1/callback", "http://localhost/callback"]


class Checks:
    """The checks of one run: each has an id and one of the words of `SEVERITY`."""

    def __init__(self):
        self.lock, self.found = threading.Lock(), []

    def add(self, id, passed=True, otherwise="FAILURE"):
        with self.lock:
            self.found.append((id, "SUCCESS" if passed else otherwise))

    def worst(self):
        """Returns the most severe word of each id."""
        with self.lock:
            return dict(sorted(self.found, key=lambda check: SEVERITY.index(check[1])))


class Host:
    """A loopback server. A request to one of the `traps` fails the check with this id."""

    def __init__(self, checks, traps=()):
        self.checks, self.traps = checks, dict(traps)
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60
            wbufsize = -1  # sends head and body together

            def log_message(self, *arguments):
                pass

            def handle_request(self):
                request = Request(self)
                request.proof = ", ".join(self.headers.get_all("DPoP", []))
                answer = host.answer_or_trap(request)
                self.send_response(answer.status)
                for name, value in {"Content-Type": answer.content_type, **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_POST = handle_request

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answer_or_trap(self, request):
        if request.path in self.traps:
            self.checks.add(self.traps[request.path], False)
            return Answer(404, {})
        return self.answer(request)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def refusal(error, status=400, **headers):
    return Answer(status, {"error": error}, headers=headers)


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def jwk(key):
    return jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)


def signed(key, typ="JWT", seconds=300, **claims):
    """Returns a JWT of this key that expires after some seconds."""
    now = int(time.time())
    claims = {"iat": now, "exp": now + seconds, "jti": secrets.token_urlsafe(12), **claims}
    return jwt.encode(claims, key, algorithm="ES256", headers={"typ": typ})


def verified(text, key, audience, leeway=5):
    """Returns the claims of a JWT. A slash after the audience is allowed, as in the suite."""
    return jwt.decode(text, key.public_key(), algorithms=["ES256"], audience=[audience, audience + "/"], leeway=leeway)


def read_proof(proof, method, address, token=None):
    """Returns the claims of a DPoP proof and the thumbprint of its key. RFC 9449 section 4.3. Raises ValueError."""
    try:
        head = jwt.get_unverified_header(proof)
        key = head["jwk"]
        claims = jwt.decode(proof, jwt.PyJWK(key, "ES256").key, algorithms=["ES256"],
                            options={"verify_aud": False, "require": ["jti", "iat"]})
    except (jwt.PyJWTError, KeyError) as fault:
        raise ValueError("not one proof: " + str(fault)) from fault
    wrong = [name for name, passed in [
        ("typ", head.get("typ") == "dpop+jwt"), ("jwk", "d" not in key), ("htm", claims.get("htm") == method),
        ("htu", claims.get("htu", "").rstrip("/") == address), ("iat", abs(time.time() - claims["iat"]) <= 300),
        ("ath", token is None or claims.get("ath") == b64(hashlib.sha256(token.encode()).digest()))] if not passed]
    if wrong:
        raise ValueError(", ".join(wrong))
    members = json.dumps({name: key[name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"))
    return claims, b64(hashlib.sha256(members.encode()).digest())


class AuthorizationServer(Host):
    """The page redirects at once.

    - `members`: further members of the metadata; `None` removes one.
    - `iss`: `correct`, `wrong`, `normalized` or `omit`, for the redirect.
    - `client`: the client id and the secret of a registration, and `registered` its `token_endpoint_auth_method`.
    - `on_registration`, `on_page` and `on_token` are called with the request. `on_token` returns the granted scopes or
      an answer.
    - `dpop`: a token is bound to the key of its request's proof. `nonce`: the proof must contain it.
    - `identity`: the key of the id_tokens.
    """

    def __init__(self, checks, *, well_known="/.well-known/oauth-authorization-server", prefix="", issuer=None,
                 methods=("none",), members=(), iss="correct", client=("test-client-id", "test-client-secret"),
                 registered=None, on_registration=None, on_page=None, on_token=None, dpop=False, nonce=None,
                 identity=None, traps=()):
        super().__init__(checks, traps)
        self.prefix, self.iss, self.client, self.registered = prefix, iss, client, registered
        self.on_registration, self.on_page, self.on_token = on_registration, on_page, on_token
        self.dpop, self.nonce, self.identity = dpop, nonce, identity
        self.codes, self.tokens, self.bound, self.redirects, self.proofs = {}, {}, {}, {}, []
        self.address = self.base + prefix
        self.issuer = issuer or self.address
        self.metadata = {
            "issuer": self.issuer, "authorization_endpoint": self.address + "/authorize",
            "token_endpoint": self.address + "/token", "registration_endpoint": self.address + "/register",
            "response_types_supported": ["code"], "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": True,
            "token_endpoint_auth_methods_supported": list(methods)}
        if well_known.endswith("openid-configuration"):
            self.metadata |= {"jwks_uri": self.base + "/.well-known/jwks.json", "subject_types_supported": ["public"],
                              "id_token_signing_alg_values_supported": ["ES256" if identity else "RS256"]}
        if dpop:
            self.metadata["dpop_signing_alg_values_supported"] = ["ES256"]
        self.metadata = {name: value for name, value in {**self.metadata, **dict(members)}.items() if value is not None}
        self.routes = {("GET", well_known): self.describe, ("GET", prefix + "/authorize"): self.page,
                       ("POST", prefix + "/token"): self.token, ("POST", prefix + "/register"): self.register}
        if identity:
            self.routes["GET", "/.well-known/jwks.json"] = lambda request: Answer(200, {"keys": [jwk(identity)]})

    def answer(self, request):
        route = self.routes.get((request.method, request.path))
        return route(request) if route else Answer(404, {})

    def describe(self, request):
        self.checks.add("authorization-server-metadata")
        return Answer(200, self.metadata)

    def register(self, request):
        wish = json.loads(request.body)
        if self.on_registration:
            self.on_registration(wish)
        self.checks.add("client-registration")
        self.checks.add("sep-837-application-type-present", wish.get("application_type") in ("native", "web"))
        id, secret = self.client
        self.redirects[id] = wish.get("redirect_uris", [])
        answer = {"client_id": id, "client_secret": secret, "client_name": wish.get("client_name", "test-client"),
                  "redirect_uris": self.redirects[id], "token_endpoint_auth_method": self.registered}
        return Answer(201, {name: value for name, value in answer.items() if value is not None})

    def page(self, request):
        query = request.query
        self.checks.add("authorization-request")
        self.checks.add("pkce-code-challenge-sent", "code_challenge" in query)
        self.checks.add("pkce-s256-method-used", query.get("code_challenge_method") == "S256")
        if self.on_page:
            self.on_page(request)
        # RFC 8252 section 7.3: the port of a loopback address is free.
        place = urlsplit(query["redirect_uri"])
        registered = [urlsplit(text) for text in self.redirects.get(query.get("client_id"), LOOPBACK)]
        if (place.hostname, place.path) not in [(other.hostname, other.path) for other in registered]:
            return Answer(400, "The redirect address is not registered.", "text/plain")
        code = secrets.token_urlsafe(12)
        self.codes[code] = query
        words = {"code": code, "state": query.get("state"), "iss": {
            "correct": self.issuer, "wrong": "https://evil.example.com", "normalized": self.issuer + "/",
            "omit": None}[self.iss]}
        words = {name: word for name, word in words.items() if word is not None}
        return Answer(302, "", "text/plain", {"Location": query["redirect_uri"] + "?" + urlencode(words)})

    def token(self, request):
        self.checks.add("token-request")
        form, asked = request.form, {}
        if form.get("grant_type") == "authorization_code":
            asked = self.codes.get(form.get("code"))
            if asked is None:
                return refusal("invalid_grant")
            self.judge_verifier(form, asked)
        thumbprint = None
        if self.dpop:
            thumbprint = self.binding(request)
            if isinstance(thumbprint, Answer):
                return thumbprint
        self.codes.pop(form.get("code"), None)
        scopes = self.on_token(request) if self.on_token else None
        if isinstance(scopes, Answer):
            return scopes
        scopes = asked.get("scope", "").split() if scopes is None else scopes
        token = "test-token-" + secrets.token_urlsafe(12)
        self.tokens[token], self.bound[token] = scopes, thumbprint
        answer = {"access_token": token, "token_type": "DPoP" if thumbprint else "Bearer", "expires_in": 3600}
        if scopes:
            answer["scope"] = " ".join(scopes)
        if self.identity and asked:
            answer["id_token"] = self.id_token(asked["client_id"], asked.get("nonce"))
        return Answer(200, answer)

    def judge_verifier(self, form, asked):
        verifier = form.get("code_verifier", "")
        self.checks.add("pkce-code-verifier-sent", bool(verifier))
        self.checks.add("pkce-verifier-matches-challenge", bool(verifier) and asked.get("code_challenge") == b64(
            hashlib.sha256(verifier.encode()).digest()))

    def binding(self, request):
        """Returns the thumbprint of the key for the token, `None` without a proof, or a refusal. RFC 9449 section 5."""
        proof = None
        try:
            if request.proof:
                proof, thumbprint = read_proof(request.proof, "POST", self.address + "/token")
        except ValueError:
            pass
        self.proofs.append({"valid": proof is not None, "nonce": proof and proof.get("nonce")})
        if proof is None:
            return refusal("invalid_dpop_proof") if request.proof else None
        if self.nonce and proof.get("nonce") != self.nonce:
            return refusal("use_dpop_nonce", **{"DPoP-Nonce": self.nonce})
        return thumbprint

    def id_token(self, audience, nonce=None):
        more = {"nonce": nonce} if nonce else {}
        return signed(self.identity, iss=self.issuer, aud=audience, sub="demo-user@example.com",
                      email="demo-user@example.com", seconds=3600, **more)


class ProtectedResource(Host):
    """An MCP endpoint at `/mcp`. It answers every request with a valid token.

    - `servers`: its authorization servers; the first one is in the metadata and issues the valid tokens.
    - `challenges`: whether a challenge has the address of the metadata.
    - `scopes`: `scopes_supported`; `required`: the scopes of a token, also in the challenge.
    - `guard`: called with the method of the message and the token; it returns a refusal or `None`.
    """

    def __init__(self, checks, *servers, well_known="/.well-known/oauth-protected-resource/mcp", challenges=True,
                 scopes=None, required=(), resource=None, guard=None, traps=()):
        super().__init__(checks, traps)
        self.servers, self.well_known, self.challenges = list(servers), well_known, challenges
        self.scopes, self.required, self.guard = scopes, required, guard or self.bearer
        self.url = self.base + "/mcp"
        is_root = well_known == "/.well-known/oauth-protected-resource"
        self.resource = resource or (self.base if is_root else self.url)

    def answer(self, request):
        if (request.method, request.path) == ("GET", self.well_known):
            self.checks.add("prm-pathbased-requested")
            described = {"resource": self.resource, "authorization_servers": [self.servers[0].address]}
            if self.scopes is not None:
                described["scopes_supported"] = self.scopes
            return Answer(200, described)
        if (request.method, request.path) != ("POST", "/mcp"):
            return Answer(404, {})
        message = json.loads(request.body)
        return self.guard(request, message["method"]) or Answer(200, {
            "jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete"}})

    def refuse(self, status, error, scheme="Bearer", scope=None, **headers):
        words = {"error": error, "scope": scope,
                 "resource_metadata": self.base + self.well_known if self.challenges else None}
        text = scheme + " " + ", ".join(f'{name}="{word}"' for name, word in words.items() if word)
        return Answer(status, {"error": error}, headers={"WWW-Authenticate": text, **headers})

    def granted(self, token):
        """Returns the scopes of a token; `None` if no authorization server has issued it."""
        scopes = next((server.tokens[token] for server in self.servers if token in server.tokens), None)
        self.checks.add("invalid-bearer-token" if scopes is None else "valid-bearer-token", scopes is not None)
        return scopes

    def bearer(self, request, method):
        scope = " ".join(self.required)
        scopes = self.granted(request.bearer) if request.bearer else None
        if scopes is None:
            return self.refuse(401, "invalid_token", scope=scope)
        if not set(self.required) <= set(scopes):
            return self.refuse(403, "insufficient_scope", scope=scope)
        return None
