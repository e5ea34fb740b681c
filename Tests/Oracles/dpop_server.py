"""A provider of tokens bound to a key, and a resource for them (RFC 9449).

    pip install -r requirements.txt
    python dpop_server.py PORT        (0 = any)

requests-oauth2client checks each proof by RFC 9449 section 4.3: form, type, key, signature, age, method, address,
nonce and the token's digest. It also computes the thumbprint of the key. This file keeps the server's state: the
valid nonce, the proofs seen, and the key of each token. Each successful answer brings a new nonce. There is no
page: the person always agrees. See oracle.py for the rest.
"""
import base64
import hashlib
import secrets
from urllib.parse import urlencode

from jwskate import Jwk
from requests_oauth2client import InvalidDPoPProof, validate_dpop_proof

from oracle import Answer, run

CODES, TOKENS, REFRESH, SEEN = {}, {}, {}, set()
NONCES = [secrets.token_urlsafe(12)]


class Refusal(Exception):
    def __init__(self, error, status=400):
        super().__init__(error)
        self.error, self.status = error, status


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def proof(base, request, token=None):
    """Returns the thumbprint of the key in a request's proof."""
    status = 401 if token else 400
    texts = [value for name, value in request.headers.items() if name.lower() == "dpop"]
    if len(texts) != 1:
        raise Refusal("invalid_dpop_proof", status)
    about = {"htm": request.method, "htu": base + request.path, "leeway": 30, "algs": ["ES256"],
             "ath": token and b64(hashlib.sha256(token.encode()).digest())}
    try:
        judged = validate_dpop_proof(texts[0], **about)
    except InvalidDPoPProof as error:
        request.found["flaw"] = str(error)
        raise Refusal("invalid_dpop_proof", status) from None
    # Only a proof for a token may have `ath`, and the library does not check that.
    if judged.jwt_token_id in SEEN or token is None and "ath" in judged.claims:
        raise Refusal("invalid_dpop_proof", status)
    SEEN.add(judged.jwt_token_id)
    try:
        validate_dpop_proof(texts[0], nonce=NONCES[-1], **about)
    except InvalidDPoPProof:
        raise Refusal("use_dpop_nonce", status) from None
    return Jwk(judged.headers["jwk"]).thumbprint()


def authorize(base, request):
    code = secrets.token_urlsafe(12)
    CODES[code] = request.query["code_challenge"]
    answer = urlencode({"code": code, "state": request.query["state"]})
    return Answer(302, "", "text/plain", {"Location": request.query["redirect_uri"] + "?" + answer})


def token(base, request):
    holder = proof(base, request)
    if request.form["grant_type"] == "authorization_code":
        verifier = b64(hashlib.sha256(request.form["code_verifier"].encode()).digest())
        if CODES.pop(request.form["code"], None) != verifier:
            raise Refusal("invalid_grant")
    elif REFRESH.pop(request.form["refresh_token"], None) != holder:
        raise Refusal("invalid_grant")
    access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    TOKENS[access] = REFRESH[refresh] = holder
    return Answer(200, {"access_token": access, "token_type": "DPoP", "expires_in": 300, "refresh_token": refresh})


def resource(base, request):
    scheme, _, access = request.headers.get("Authorization", "").partition(" ")
    request.found["scheme"] = scheme
    if scheme != "DPoP" or access not in TOKENS:
        raise Refusal("invalid_token", 401)
    if proof(base, request, access) != TOKENS[access]:
        raise Refusal("invalid_token", 401)
    return Answer(200, {"sub": "42", "preferred_username": "alice"})


ROUTES = {("GET", "/authorize"): authorize, ("POST", "/token"): token, ("GET", "/me"): resource,
          ("PUT", "/things"): resource}


def answer(base, request):
    route = ROUTES.get((request.method, request.path))
    if route is None:
        return Answer(404, {})
    try:
        result = route(base, request)
        NONCES.append(secrets.token_urlsafe(12))
    except Refusal as refusal:
        request.found["error"] = refusal.error
        result = Answer(refusal.status, {"error": refusal.error})
        if refusal.status == 401:
            result.headers["WWW-Authenticate"] = f'DPoP error="{refusal.error}", algs="ES256"'
    result.headers["DPoP-Nonce"] = NONCES[-1]
    return result


if __name__ == "__main__":
    run(answer, lambda base: {})
