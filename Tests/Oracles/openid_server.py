"""An OpenID provider on idpyoidc, with RS256, PS256, ES256 and EdDSA, registration, and pushed requests.

    pip install -r requirements.txt
    python openid_server.py PORT        (0 = any)

There is no page: "alice" is always signed in and always agrees. The library makes the decisions; this file is its
configuration and connects it to http.server. Redirect addresses are compared whole, including the port. Prints one
line of JSON when ready: `base`, `issuer`, `user`. `POST /__rotate?overlap=0|1` signs with other keys from now on;
GET /__log has the requests so far. SIGTERM ends the program.
"""
import json
import signal
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from cryptojwt.key_jar import init_key_jar
from idpyoidc.message import Message
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration

import oracle

AUTHENTICATION = ["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"]
OIDC, OAUTH2 = "idpyoidc.server.oidc.", "idpyoidc.server.oauth2."
KEYS = [{"type": "RSA", "use": ["sig"]}, {"type": "EC", "crv": "P-256", "use": ["sig"]},
        {"type": "OKP", "crv": "Ed25519", "use": ["sig"]}]
LOG, LOCK = [], threading.Lock()


def endpoint(path, name, **more):
    return {"path": path, "class": name, "kwargs": more}


def configuration(issuer, folder):
    token = "idpyoidc.server.token.jwt_token.JWTToken"
    minting = ["access_token", "refresh_token", "id_token"]
    return {
        "issuer": issuer, "httpc_params": {"verify": False, "timeout": 5},
        "key_conf": {"uri_path": "jwks.json", "private_path": str(folder / "jwks.json"), "read_only": False,
                     "key_defs": KEYS},
        "preference": {
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA", "PS256"],
            "token_endpoint_auth_methods_supported": AUTHENTICATION + ["none"],
            "subject_types_supported": ["public", "pairwise"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "scopes_supported": ["openid", "profile", "email", "offline_access"]},
        "token_handler_args": {
            "jwks_def": {"private_path": str(folder / "tokens.json"), "read_only": False,
                         "key_defs": [{"type": "oct", "bytes": 24, "use": ["enc"], "kid": "code"}]},
            "code": {"lifetime": 60},
            "token": {"class": token, "kwargs": {"lifetime": 300, "aud": [issuer]}},
            "refresh": {"class": token, "kwargs": {"lifetime": 3600, "aud": [issuer]}},
            "id_token": {"class": "idpyoidc.server.token.id_token.IDToken", "kwargs": {}}},
        "endpoint": {
            "provider_config": endpoint(".well-known/openid-configuration",
                                        OIDC + "provider_config.ProviderConfiguration", client_authn_method=None),
            "registration": endpoint("registration", OIDC + "registration.Registration", client_authn_method=None,
                                     client_secret_expiration_time=86400),
            "authorization": endpoint("authorization", OIDC + "authorization.Authorization", client_authn_method=None,
                                      response_modes_supported=["query", "form_post"]),
            "pushed_authorization": endpoint("par", OAUTH2 + "pushed_authorization.PushedAuthorization",
                                             client_authn_method=AUTHENTICATION, ttl=90),
            "token": endpoint("token", OIDC + "token.Token", client_authn_method=AUTHENTICATION + ["none"]),
            "userinfo": endpoint("userinfo", OIDC + "userinfo.UserInfo", client_authn_method=["bearer_header"]),
            "introspection": endpoint("introspection", OAUTH2 + "introspection.Introspection",
                                      client_authn_method=AUTHENTICATION),
            "token_revocation": endpoint("revocation", OAUTH2 + "token_revocation.TokenRevocation",
                                         client_authn_method=AUTHENTICATION)},
        "add_on": {"pkce": {"function": OAUTH2 + "add_on.pkce.add_support",
                            "kwargs": {"essential": True, "code_challenge_method": "S256"}}},
        "authentication": {"anon": {"acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocol",
                                    "class": "idpyoidc.server.user_authn.user.NoAuthn", "kwargs": {"user": "alice"}}},
        "userinfo": {"class": "idpyoidc.server.user_info.UserInfo", "kwargs": {"db": {"alice": {
            "name": "Alice Example", "email": "alice@example.test", "email_verified": True}}}},
        "authz": {"class": "idpyoidc.server.authz.AuthzHandling", "kwargs": {"grant_config": {
            "usage_rules": {"authorization_code": {"supports_minting": minting, "max_usage": 1}, "access_token": {},
                            "refresh_token": {"supports_minting": minting}},
            "expires_in": 43200}}}}


class Provider:
    """The library's server, with its endpoints by path."""

    def __init__(self, issuer, folder):
        self.issuer = issuer
        settings = configuration(issuer, folder)
        keys = {name: value for name, value in settings["key_conf"].items() if name != "uri_path"}
        self.server = Server(OPConfiguration(settings), cwd=str(folder), keyjar=init_key_jar(**keys))
        self.keys = self.server.keyjar
        self.keys.import_jwks(self.keys.export_jwks(True, ""), issuer)
        self.endpoints = {"/" + part.endpoint_path.lstrip("/"): part for part in self.server.endpoint.values()}

    def rotate(self, overlap):
        """Signs with new keys. The old ones stay in the key set only with `overlap`; the library's own rotation hides
        them at once."""
        fresh = init_key_jar(key_defs=KEYS).export_jwks(True, "")
        for owner in ("", self.issuer):
            old = self.keys.export_jwks(True, owner)["keys"] if overlap else []
            del self.keys[owner]
            self.keys.import_jwks({"keys": fresh["keys"] + old}, owner)

    def answer(self, method, path, query, body, headers):
        """Returns (status, body, headers) for a request."""
        if path == "/jwks.json":
            return 200, self.keys.export_jwks(issuer_id=self.issuer), []
        part = self.endpoints.get(path)
        if part is None:
            return 404, {}, []
        about = {"headers": headers, "method": method, "url": self.issuer + path, "cookie": []}
        if path == "/authorization" and "request_uri=urn" in query:
            query = self.pushed(query)
        try:
            request = part.parse_request(body if method == "POST" else query, http_info=about)
            if isinstance(request, Message) and "error" in request:
                return self.refusal(request)
            result = part.process_request(request, http_info=about)
        except Exception as error:  # the library refuses by an exception
            name = type(error).__name__
            kind = "invalid_client" if "Client" in name else "invalid_token" if path == "/userinfo" else "invalid_request"
            return self.refusal({"error": kind, "error_description": f"{name}: {error}"})
        if isinstance(result, (Message, dict)) and "error" in result and "return_uri" not in result:
            return self.refusal(result)
        if "http_response" in result:
            return 201 if path == "/par" else 200, result["http_response"], []
        response = part.do_response(request=request, **result)
        if part.name == "authorization" or part.response_placement == "url":
            return 302, "", [("Location", response["response"])]
        return 201 if path == "/registration" and method == "POST" else 200, response["response"], \
            response.get("http_headers", [])

    def pushed(self, query):
        """Repeats the parameters of a pushed request: the library requires scope, response type and redirect in the
        query too, and RFC 9126 does not."""
        given = dict(parse_qsl(query))
        kept = self.server.context.par_db.get(given["request_uri"])
        if kept is None or kept["client_id"] != given.get("client_id"):
            return query
        for name in ("response_type", "scope", "redirect_uri", "prompt"):
            if name in kept:
                given[name] = kept[name] if isinstance(kept[name], str) else " ".join(kept[name])
        return urlencode(given)

    def refusal(self, result):
        members = result.to_dict() if isinstance(result, Message) else dict(result)
        return 401 if members.get("error") in ("invalid_client", "invalid_token") else 400, members, []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    wbufsize = -1  # sends head and body together

    def log_message(self, *arguments):
        pass

    def handle_request(self):
        address = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        with LOCK:
            if address.path == "/__log":
                status, result, headers = 200, LOG, []
            elif address.path == "/__rotate":
                self.server.provider.rotate(parse_qs(address.query)["overlap"] == ["1"])
                status, result, headers = 200, {}, []
            else:
                status, result, headers = self.server.provider.answer(
                    self.command, address.path, address.query, body,
                    {name.lower(): value for name, value in self.headers.items()})
                LOG.append({"method": self.command, "path": address.path, "status": status})
        content = (result if isinstance(result, str) else json.dumps(result)).encode()
        self.send_response(status)
        for name, value in headers or [("Content-Type", "application/json")]:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = handle_request


def main(folder):
    server = oracle.Server(("127.0.0.1", int(sys.argv[1])), Handler)
    base = "http://127.0.0.1:%d" % server.server_address[1]
    server.provider = Provider(base, folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(json.dumps({"base": base, "issuer": base, "user": "alice"}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="einlass-") as folder:
        main(Path(folder))
