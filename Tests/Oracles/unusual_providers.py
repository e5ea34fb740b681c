"""Providers that differ from the standards, each as strict as its own documentation, on one loopback server.

Below its name each provider has a page, `/authorize`, that lets everybody in, and its own token endpoint. A request that
the provider would refuse is answered with status 400, and its flaw is in `flaws`.
"""
import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt

from oracle import Server

CLIENT, SECRET = "client-of-the-test", "secret-of-the-test"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
BASIC = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()


class Refused(Exception):
    pass


def demand(truth, what):
    if not truth:
        raise Refused(what)


class Request:
    def __init__(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        split = urlsplit(handler.path)
        _, self.provider, self.path = split.path.split("/", 2)
        self.method, self.headers = handler.command, handler.headers
        self.body = handler.rfile.read(length).decode()
        self.query = dict(parse_qsl(split.query, keep_blank_values=True))
        self.type = self.headers.get("Content-Type")

    def posted(self, type):
        demand(self.method == "POST", "POST is needed")
        demand(self.type == type, f"the body is {self.type}")
        return dict(parse_qsl(self.body, keep_blank_values=True)) if type == FORM else json.loads(self.body)


class Provider:
    """The usual words of a provider; a subclass has the others. Codes serve once."""

    identifier, secret, verifies, separator = "client_id", "client_secret", True, " "
    #: The parameters of a request for a token by a code, and with a refresh token.
    by_code, by_refresh = {"grant_type", "code", "redirect_uri"}, {"grant_type", "refresh_token"}

    def __init__(self):
        self.codes, self.refresh_tokens, self.access_tokens = {}, {"first-refresh"}, set()

    def authorize(self, request):
        query = request.query
        demand(query.get(self.identifier) == CLIENT, f"{self.identifier} is not known")
        demand(query.get("response_type") == "code" and query.get("state"), "state is missing")
        code = secrets.token_hex(8)
        self.codes[code] = query
        return query["redirect_uri"], {"code": code, "state": query["state"], **self.further()}

    def further(self):
        """The further parameters of the response."""
        return {}

    def authenticated(self, request, fields):
        demand(fields.pop(self.identifier, None) == CLIENT, f"{self.identifier} is not known")
        demand(fields.pop(self.secret, None) == SECRET, f"{self.secret} is wrong")
        return fields

    def fields(self, request):
        return self.authenticated(request, request.posted(FORM))

    def token(self, request):
        fields = self.fields(request)
        if fields.get("grant_type") == "refresh_token":
            demand(set(fields) == self.by_refresh, f"the parameters are {sorted(fields)}")
            demand(fields["refresh_token"] in self.refresh_tokens, "invalid refresh token")
            self.refresh_tokens.clear()
        else:
            demand(fields.get("grant_type") == "authorization_code", "the grant is unknown")
            self.check_code(fields)
        return self.answer(fields["grant_type"])

    def check_code(self, fields):
        asked = self.codes.pop(fields.get("code"), None)
        demand(asked, "invalid code")
        if self.verifies:
            challenge = base64.urlsafe_b64encode(hashlib.sha256(fields.pop("code_verifier").encode()).digest())
            demand(challenge.decode().rstrip("=") == asked["code_challenge"], "code_verifier is wrong")
        demand(set(fields) == self.by_code, f"the parameters are {sorted(fields)}")
        demand(fields.get("redirect_uri", asked["redirect_uri"]) == asked["redirect_uri"], "redirect_uri is another")

    def new(self, kind):
        """Returns a new token, valid from now on."""
        token = f"{kind}-{secrets.token_hex(8)}"
        (self.refresh_tokens if kind == "refresh" else self.access_tokens).add(token)
        return token

    def answer(self, grant):
        return {"access_token": self.new("access"), "refresh_token": self.new("refresh"), "expires_in": 7200,
                "token_type": "bearer"}

    def me(self, request):
        scheme, _, token = (request.headers.get("Authorization") or "").partition(" ")
        demand(request.method == "GET" and scheme == "Bearer" and token in self.access_tokens, "the token is unknown")
        return {"sub": "1001", "name": "Ada"}


class Notion(Provider):
    """The body in JSON, Basic, no PKCE, and the person in the answer."""

    verifies = False

    def fields(self, request):
        demand(request.headers.get("Authorization") == BASIC, "Basic is wrong")
        return request.posted(JSON)

    def answer(self, grant):
        return {**super().answer(grant), "bot_id": "b-1", "owner": {"type": "user", "user": {
            "id": "1001", "name": "Ada", "person": {"email": "ada@example.org"}}}}


class WeChat(Provider):
    """GET with names of its own, answers without token_type, a userinfo that takes the token in the query."""

    identifier, secret = "appid", "secret"

    def fields(self, request):
        demand(request.method == "GET" and not request.body, "GET without a body is needed")
        return self.authenticated(request, dict(request.query))

    def answer(self, grant):
        answer = {**super().answer(grant), "openid": "1001", "scope": "snsapi_userinfo"}
        del answer["token_type"]
        return answer

    def me(self, request):
        demand(request.query.get("access_token") in self.access_tokens, "the token is unknown")
        demand(request.query.get("openid") == "1001", "openid is wrong")
        return {"openid": "1001", "nickname": "Ada"}


class TikTok(Provider):
    """Another name for the client's id, at the page too."""

    identifier = "client_key"

    def answer(self, grant):
        return {**super().answer(grant), "open_id": "1001", "scope": "user.info.basic"}


class Fitbit(Provider):
    """Basic, and the client's id in the body as well."""

    def fields(self, request):
        demand(request.headers.get("Authorization") == BASIC, "Basic is wrong")
        fields = request.posted(FORM)
        demand(fields.pop("client_id", None) == CLIENT, "client_id is missing")
        return fields


class Slack(Provider):
    """Beside the token of a bot at the usual place, the person's token in `authed_user`. A refresh answers with the
    refreshed token at the usual place."""

    def answer(self, grant):
        if grant == "refresh_token":
            return {"ok": True, "access_token": self.new("xoxp"), "refresh_token": self.new("refresh"), "expires_in": 43200,
                    "token_type": "user"}
        return {"ok": True, "access_token": "xoxb-token-of-the-bot", "token_type": "bot", "scope": "commands",
                "refresh_token": "xoxe-refresh-of-the-bot", "expires_in": 60,
                "authed_user": {"id": "1001", "access_token": self.new("xoxp"), "refresh_token": self.new("refresh"),
                                "token_type": "user", "scope": "chat:write", "expires_in": 43200}}


class AWS(Provider):
    """IAM Identity Center: the device flow in JSON, with names of its own in requests and answers."""

    identifier, secret = "clientId", "clientSecret"
    codes_given = None

    def device(self, request):
        fields = self.authenticated(request, request.posted(JSON))
        demand(fields == {"startUrl": "https://example.awsapps.com/start"}, f"the members are {sorted(fields)}")
        self.codes_given = secrets.token_hex(8)
        return {"deviceCode": self.codes_given, "userCode": "ABCD-EFGH", "expiresIn": 600, "interval": 1,
                "verificationUri": f"http://{request.headers['Host']}/aws/activate"}

    def token(self, request):
        fields = self.authenticated(request, request.posted(JSON))
        if fields.get("grantType") == "refresh_token":
            demand(fields.get("refreshToken") in self.refresh_tokens, "invalid refresh token")
        else:
            demand(fields == {"grantType": "urn:ietf:params:oauth:grant-type:device_code", "deviceCode": self.codes_given},
                   f"the members are {sorted(fields)}")
        return {"accessToken": self.new("access"), "refreshToken": self.new("refresh"), "expiresIn": 28800,
                "tokenType": "Bearer"}


class Linear(Provider):
    """The person by GraphQL."""

    def me(self, request):
        body = request.posted(JSON)
        scheme, _, token = (request.headers.get("Authorization") or "").partition(" ")
        demand(scheme == "Bearer" and token in self.access_tokens, "the token is unknown")
        demand(body == {"query": "{ viewer { id name email } }"}, "the query is not one of GraphQL")
        return {"data": {"viewer": {"id": "1001", "name": "Ada", "email": "ada@example.org"}}}


class Zoho(Provider):
    """A parameter of the response belongs into the token request, and a scheme of its own into those to the API."""

    by_code = Provider.by_code | {"location"}

    def further(self):
        return {"location": "eu", "accounts-server": "https://accounts.zoho.eu"}

    def check_code(self, fields):
        super().check_code(fields)
        demand(fields["location"] == "eu", "location is another")

    def things(self, request):
        scheme, _, token = (request.headers.get("Authorization") or "").partition(" ")
        demand(scheme == "Zoho-oauthtoken" and token in self.access_tokens, "the scheme is Zoho-oauthtoken")
        return {}


class Shown(Provider):
    """The page shows code and state, and redirects to no other address."""

    shown = None

    def authorize(self, request):
        place, fields = super().authorize(request)
        demand(place == "https://console.example.org/shown", "the redirect address is another")
        self.shown = f"{fields['code']}#{fields['state']}"
        return place, {}


class Apple(Provider):
    """The secret is a token that the client's key signs for its team, valid for at most six months."""

    key, team, audience = None, "TEAM123456", "https://appleid.apple.com"
    secrets_seen = ()

    def authenticated(self, request, fields):
        demand(fields.pop("client_id", None) == CLIENT, "client_id is not known")
        secret = fields.pop("client_secret", "")
        try:
            demand(jwt.get_unverified_header(secret)["kid"] == "KEY1234567", "kid is another")
            claims = jwt.decode(secret, self.key, ["ES256"], audience=self.audience, issuer=self.team,
                                options={"require": ["exp", "iat", "sub"]})
        except (jwt.PyJWTError, KeyError) as flaw:
            raise Refused(f"the secret is invalid: {flaw}") from None
        demand(claims["sub"] == CLIENT, "sub is another")
        demand(claims["exp"] <= time.time() + 15_777_000, "exp is more than six months ahead")
        self.secrets_seen = (*self.secrets_seen, secret)
        return fields

    def revoke(self, request):
        fields = self.fields(request)
        demand(fields.get("token") in self.refresh_tokens | self.access_tokens, "the token is unknown")
        return {}


class Shopify(Provider):
    """The token alone in a field of its own, beside a version."""

    def things(self, request):
        demand(request.headers.get("X-Shopify-Access-Token") in self.access_tokens, "the token is unknown")
        demand(request.headers.get("X-Api-Version") == "2024-07", "the version is missing")
        demand("Authorization" not in request.headers, "Authorization is not known")
        return {}


class Unusual:
    """The server. `flaws` has each refusal so far, and `last` the last token request."""

    def __init__(self, **providers):
        self.providers, self.flaws, self.last = providers, [], None
        unusual = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 60
            wbufsize = -1

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                request = Request(self)
                status, headers, content = unusual.answer(request)
                body = json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Type": JSON, "Content-Length": len(body), **headers}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        provider = self.providers[request.provider]
        try:
            if request.path == "authorize":
                place, fields = provider.authorize(request)
                return (302, {"Location": f"{place}?{urlencode(fields)}"}, {}) if fields else (200, {}, {})
            if request.path == "token":
                self.last = request
            return 200, {}, getattr(provider, request.path)(request)
        except Refused as flaw:
            self.flaws.append(f"{request.path}: {flaw}")
            return 400, {}, {"error": "invalid_request", "error_description": str(flaw)}
