"""An issuer with settings for each test: kinds of id_tokens, client authentication, introspection, error texts.

    pip install -r requirements.txt
    python issuer_server.py PORT        (0 = any)

PyJWT signs the tokens. There is no page: the person always agrees. `POST /__behaviour` with a JSON object changes
settings. `POST /__rotate` replaces the key. `GET /__token` answers an id_token, `/__foreign` an access token of
another client, and `/__alive` the number of valid access tokens. See oracle.py for the rest; the log has the
client's authentication method and its `token_type_hint`. With the setting `assertions`, an object of claims, the
token endpoint exchanges an id_token for an assertion for another server (Identity Assertion JWT Authorization Grant);
`GET /__assertion` answers one for the claims.
"""
import base64
import hashlib
import json
import secrets
import time
from urllib.parse import unquote_plus, urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from oracle import Answer, run

CLIENT, SECRET, PERSON = "client", "s3cr/t&=+", "42"
KEYS = {"RS256": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
        "ES256": lambda: ec.generate_private_key(ec.SECP256R1()), "EdDSA": ed25519.Ed25519PrivateKey.generate}
KEYS["RS512"] = KEYS["PS256"] = KEYS["RS256"]
# The settings and their defaults; None leaves the member out.
MANNERS = {
    "algorithm": "ES256", "keyAlgorithm": None, "typ": "JWT", "claims": {}, "atHash": "sha256", "idTokenSeconds": 300,
    "refreshedIdToken": True, "metadata": {}, "introspection": {}, "methods": {}, "says": None,
    "keeps": None, "assertions": None}
TOKEN_EXCHANGE, TOKEN_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange", "urn:ietf:params:oauth:token-type:"
STATE = {"kid": 0, "key": KEYS["ES256"](), "made": "ES256"}
CODES, TOKENS, REFRESH = {}, {}, {}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def key():
    if STATE["made"] != MANNERS["algorithm"]:
        rotate()
    return STATE["key"]


def rotate():
    STATE.update(kid=STATE["kid"] + 1, made=MANNERS["algorithm"], key=KEYS[MANNERS["algorithm"]]())


def key_set():
    algorithm = {"RS": jwt.algorithms.RSAAlgorithm, "PS": jwt.algorithms.RSAAlgorithm, "ES": jwt.algorithms.ECAlgorithm,
                 "Ed": jwt.algorithms.OKPAlgorithm}[MANNERS["algorithm"][:2]]
    named = {"kid": str(STATE["kid"]), "use": "sig", "alg": MANNERS["keyAlgorithm"] or MANNERS["algorithm"]}
    return {"keys": [algorithm.to_jwk(key().public_key(), as_dict=True) | named]}


def id_token(base, access, nonce):
    now = int(time.time())
    claims = {"iss": base, "sub": PERSON, "aud": CLIENT, "iat": now, "exp": now + MANNERS["idTokenSeconds"]}
    if nonce:
        claims["nonce"] = nonce
    if MANNERS["atHash"]:
        digest = hashlib.new(MANNERS["atHash"], access.encode()).digest()
        claims["at_hash"] = b64(digest[:len(digest) // 2])
    signer = key()
    header = {"kid": str(STATE["kid"]), "typ": MANNERS["typ"]}
    return jwt.encode(claims | MANNERS["claims"], signer, MANNERS["algorithm"], header)


def authentication(request):
    """Returns the client's authentication method; None for a wrong proof."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme == "Basic":
        id, _, secret = base64.b64decode(text).decode().partition(":")
        return "client_secret_basic" if (unquote_plus(id), unquote_plus(secret)) == (CLIENT, SECRET) else None
    if request.form.get("client_id") != CLIENT:
        return None
    if "client_secret" in request.form:
        return "client_secret_post" if request.form["client_secret"] == SECRET else None
    return "none"


def metadata(base, request):
    return Answer(200, {
        "issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
        "userinfo_endpoint": base + "/userinfo", "jwks_uri": base + "/keys", "introspection_endpoint": base + "/introspect",
        "revocation_endpoint": base + "/revoke", "scopes_supported": ["openid", "offline_access"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA"], **MANNERS["metadata"]})


def authorize(base, request):
    code = secrets.token_urlsafe(12)
    CODES[code] = (request.query["code_challenge"], request.query.get("nonce"))
    answer = urlencode({"code": code, "state": request.query["state"]})
    return Answer(302, "", "text/plain", {"Location": request.query["redirect_uri"] + "?" + answer})


def assertion(base, claims):
    """Returns a signed assertion about the person, with these claims and those of the setting; None removes one."""
    now = int(time.time())
    usual = {"iss": base, "sub": PERSON, "jti": secrets.token_urlsafe(12), "iat": now, "exp": now + 300}
    signer, all_claims = key(), usual | claims | (MANNERS["assertions"] or {})
    return jwt.encode({name: value for name, value in all_claims.items() if value is not None}, signer,
                      MANNERS["algorithm"], {"kid": str(STATE["kid"]), "typ": "oauth-id-jag+jwt"})


def exchange(base, request):
    """RFC 8693 section 2.1, for an id_token of the client."""
    form = request.form
    expected = {"subject_token_type": TOKEN_TYPE + "id_token", "requested_token_type": TOKEN_TYPE + "id-jag"}
    if {name: form.get(name) for name in expected} != expected or not form.get("audience"):
        return Answer(400, {"error": "invalid_request"})
    try:
        jwt.decode(form["subject_token"], key().public_key(), [MANNERS["algorithm"]], audience=CLIENT, issuer=base)
    except jwt.PyJWTError:
        return Answer(400, {"error": "invalid_grant"})
    claims = {"aud": form["audience"]} | {name: form[name] for name in ("resource", "scope") if name in form}
    return Answer(200, {"access_token": assertion(base, claims), "issued_token_type": TOKEN_TYPE + "id-jag",
                        "token_type": "N_A"})


def token(base, request):
    if request.form["grant_type"] == TOKEN_EXCHANGE and MANNERS["assertions"] is not None:
        return exchange(base, request)
    if request.form["grant_type"] == "authorization_code":
        challenge, nonce = CODES.pop(request.form["code"])
        if b64(hashlib.sha256(request.form["code_verifier"].encode()).digest()) != challenge:
            return Answer(400, {"error": "invalid_grant"})
    elif REFRESH.pop(request.form["refresh_token"], None) is None:
        return Answer(400, {"error": "invalid_grant"})
    else:
        nonce = None
    access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    TOKENS[access] = REFRESH[refresh] = True
    answer = {"access_token": access, "token_type": "Bearer", "expires_in": 7200, "refresh_token": refresh,
              "scope": "openid offline_access"}
    if request.form["grant_type"] == "authorization_code" or MANNERS["refreshedIdToken"]:
        answer["id_token"] = id_token(base, access, nonce)
    return Answer(200, answer)


def introspect(base, request):
    if not TOKENS.get(request.form["token"]):
        return Answer(200, {"active": False})
    answer = {"active": True, "client_id": CLIENT, "sub": PERSON, "exp": int(time.time()) + 7200, "scope": "openid"}
    answer |= MANNERS["introspection"]
    return Answer(200, {name: value for name, value in answer.items() if value is not None})


def revoke(base, request):
    request.found["hint"] = request.form.get("token_type_hint")
    if request.found["hint"] == MANNERS["keeps"]:
        return Answer(400, {"error": "unsupported_token_type"})
    for tokens in (TOKENS, REFRESH):
        tokens.pop(request.form["token"], None)
    return Answer(200, "", "text/plain")


def userinfo(base, request):
    return Answer(200, {"sub": PERSON}) if TOKENS.get(request.bearer) else Answer(401, {"error": "invalid_token"})


ROUTES = {("GET", "/.well-known/openid-configuration"): metadata, ("GET", "/authorize"): authorize,
          ("GET", "/keys"): lambda base, request: Answer(200, key_set()), ("GET", "/userinfo"): userinfo,
          ("POST", "/token"): token, ("POST", "/introspect"): introspect, ("POST", "/revoke"): revoke}


def foreign(base):
    token = secrets.token_urlsafe(24)
    TOKENS[token] = True
    return {"access_token": token}


ASIDE = {"/__token": lambda base: id_token(base, "", None), "/__foreign": foreign, "/__alive": lambda base: len(TOKENS),
         "/__assertion": lambda base: assertion(base, {})}


def answer(base, request):
    if request.path == "/__behaviour":
        MANNERS.update(json.loads(request.body))
        return Answer(200, {})
    if request.path == "/__rotate":
        rotate()
        return Answer(200, {})
    if request.path in ASIDE:
        return Answer(200, ASIDE[request.path](base))
    route = ROUTES.get((request.method, request.path))
    if route is None:
        return Answer(404, {})
    if request.method == "POST":
        method = request.found["authentication"] = authentication(request)
        if MANNERS["says"] is not None:
            said = MANNERS["says"]
            return Answer(400, said) if isinstance(said, dict) else Answer(400, said, "text/plain")
        if method not in MANNERS["methods"].get(request.path, [method]) or method is None:
            return Answer(401, {"error": "invalid_client"})
    return route(base, request)


if __name__ == "__main__":
    run(answer, lambda base: {"issuer": base, "client": CLIENT, "secret": SECRET, "person": PERSON})
