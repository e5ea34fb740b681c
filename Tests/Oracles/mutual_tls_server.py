"""A provider of tokens bound to certificates, and a resource for them, behind nginx (RFC 8705).

    python mutual_tls_server.py PORT PINNED ALIAS        (0 = any)

nginx does TLS and tells in `X-Verify` and `X-Certificate` how it judges the client's certificate, and which one it
is. A client of `AUTHORITY` needs a certificate with its name from nginx's authority, the client `pinned` the one with
the thumbprint PINNED. The client `secretive` has a secret, and its tokens are bound to its certificate if it presents
one. ALIAS is the address of nginx for the metadata. There is no page: the person always agrees. See oracle.py for the
rest; the log has the common name of the certificate.
"""
import base64
import hashlib
import secrets
import ssl
import sys
from urllib.parse import unquote, urlencode

from oracle import Answer, run

AUTHORITY, SECRET = ("service", "native"), "s3cret"
CODES, TOKENS, REFRESH = {}, {}, {}


class Refusal(Exception):
    def __init__(self, error, status=400):
        super().__init__(error)
        self.error, self.status = error, status


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def thumbprint(request):
    """Returns the `x5t#S256` of the presented certificate, or None (RFC 8705 section 3.1)."""
    text = unquote(request.headers.get("X-Certificate", ""))
    return b64(hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).digest()) if text else None


def client(request):
    """Returns the client of a request (RFC 8705 section 2)."""
    basic = "Basic " + base64.b64encode(b"secretive:" + SECRET.encode()).decode()
    if request.headers.get("Authorization") == basic:
        return "secretive"
    name = request.form.get("client_id")
    if "Authorization" in request.headers or {"client_secret", "client_assertion"} & set(request.form):
        raise Refusal("invalid_request")
    judged, subject = request.headers.get("X-Verify"), request.headers.get("X-Subject")
    if name in AUTHORITY and judged == "SUCCESS" and subject == "CN=" + name:
        return name
    if name == "pinned" and thumbprint(request) == sys.argv[2]:
        return name
    raise Refusal("invalid_client", 401)


def issue(request, name, refreshes):
    access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    TOKENS[access] = (name, thumbprint(request))
    answer = {"access_token": access, "token_type": "Bearer", "expires_in": 300}
    if refreshes:
        REFRESH[refresh] = TOKENS[access]
        answer["refresh_token"] = refresh
    return Answer(200, answer)


def authorize(base, request):
    code = secrets.token_urlsafe(12)
    CODES[code] = request.query["code_challenge"]
    answer = urlencode({"code": code, "state": request.query["state"]})
    return Answer(302, "", "text/plain", {"Location": request.query["redirect_uri"] + "?" + answer})


def token(base, request):
    name, grant = client(request), request.form["grant_type"]
    request.found["client"] = name
    if grant == "client_credentials":
        return issue(request, name, False)
    if grant == "authorization_code":
        verifier = b64(hashlib.sha256(request.form["code_verifier"].encode()).digest())
        if CODES.pop(request.form["code"], None) != verifier:
            raise Refusal("invalid_grant")
    elif REFRESH.pop(request.form["refresh_token"], None) != (name, thumbprint(request)):
        raise Refusal("invalid_grant")
    return issue(request, name, True)


def introspect(base, request):
    client(request)
    name, bound = TOKENS.get(request.form["token"], (None, None))
    if name is None:
        return Answer(200, {"active": False})
    return Answer(200, {"active": True, "client_id": name, "sub": "42", **({"cnf": {"x5t#S256": bound}} if bound else {})})


def revoke(base, request):
    client(request)
    TOKENS.pop(request.form["token"], None)
    REFRESH.pop(request.form["token"], None)
    return Answer(200, {})


def resource(base, request):
    if request.bearer not in TOKENS:
        raise Refusal("invalid_token", 401)
    bound = TOKENS[request.bearer][1]
    if bound not in (None, thumbprint(request)):
        raise Refusal("invalid_token", 401)
    return Answer(200, {"sub": "42", "preferred_username": "alice"})


def metadata(base, request):
    alias = sys.argv[3]
    return Answer(200, {
        "issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/plain/token",
        "grant_types_supported": ["authorization_code", "client_credentials"],
        "token_endpoint_auth_methods_supported": ["tls_client_auth", "self_signed_tls_client_auth"],
        "tls_client_certificate_bound_access_tokens": True, "mtls_endpoint_aliases": {"token_endpoint": alias + "/token"}})


ROUTES = {("GET", "/authorize"): authorize, ("POST", "/token"): token, ("POST", "/introspect"): introspect,
          ("POST", "/revoke"): revoke, ("GET", "/me"): resource,
          ("GET", "/.well-known/oauth-authorization-server"): metadata}


def answer(base, request):
    route = ROUTES.get((request.method, request.path))
    if route is None:
        return Answer(404, {})
    subject = request.headers.get("X-Subject", "")
    request.found["certificate"] = subject.removeprefix("CN=") or None
    try:
        return route(base, request)
    except Refusal as refusal:
        return Answer(refusal.status, {"error": refusal.error})


if __name__ == "__main__":
    run(answer, lambda base: {})
