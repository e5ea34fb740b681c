"""Servers that a person runs herself, as strict as their documentation: Mastodon with its applications, and Gitea, which
may be below a folder of its host. Each is a thread of the test. `log` has the paths of the requests; `strays` those
outside of the folder and `secrets` all that came in, so that a test sees which token was sent where.
"""
import base64
import hashlib
import json
import secrets
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler

from oracle import Server

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
READ = ("accounts", "blocks", "bookmarks", "favourites", "filters", "follows", "lists", "mutes", "notifications", "search",
        "statuses")
WRITE = ("accounts", "blocks", "bookmarks", "conversations", "favourites", "filters", "follows", "lists", "media", "mutes",
         "notifications", "reports", "statuses")
MASTODON_SCOPES = {"profile", "read", "write", "push", "follow", "admin:read", "admin:write",
                   *("read:" + name for name in READ), *("write:" + name for name in WRITE)}


class Refused(Exception):
    def __init__(self, status, **body):
        super().__init__(body)
        self.status, self.body = status, body


class OwnServer:
    """A server below a folder of a host. A subclass answers a path with (status, body), or raises `Refused`."""

    def __init__(self, folder="", person="ada"):
        self.folder, self.person, self.log, self.strays, self.secrets = folder, person, [], [], []
        self.tokens, self.codes, self.allows = {}, {}, True
        own = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 60

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                self.answer(b"")

            def do_POST(self):
                self.answer(self.rfile.read(int(self.headers["Content-Length"])))

            def answer(self, content):
                split = urllib.parse.urlsplit(self.path)
                own.secrets.append(f"{self.path} {self.headers} {content.decode()}")
                location = None
                if split.path != own.folder and not split.path.startswith(own.folder + "/"):
                    own.strays.append(split.path)
                    status, body = 404, {}
                else:
                    path = split.path[len(own.folder):]
                    own.log.append(path)
                    try:
                        status, body = own.reply(path, dict(urllib.parse.parse_qsl(split.query)), own.fields(self, content),
                                                 self.headers)
                    except Refused as refused:
                        status, body = refused.status, refused.body
                if status == 302:
                    location, body = body, {}
                text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Type", "text/html" if isinstance(body, str) else "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.host = f"http://127.0.0.1:{self.server.server_port}"
        self.base = self.host + folder
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def fields(self, request, content):
        kind = request.headers.get("Content-Type", "")
        if kind == "application/json":
            return json.loads(content)
        return dict(urllib.parse.parse_qsl(content.decode())) if kind == "application/x-www-form-urlencoded" else {}

    def page(self, query, scopes, redirect_is_registered):
        """Answers an authorization request of a known client, as if the person agreed at once."""
        if query.get("response_type") != "code" or not redirect_is_registered:
            raise Refused(400, error="invalid_request")
        if query.get("code_challenge_method", "S256") != "S256":
            raise Refused(400, error="invalid_request")
        answer = {"state": query["state"]} if "state" in query else {}
        wanted = set(query.get("scope", "read").split())
        if not wanted <= scopes:
            answer["error"] = "invalid_scope"
        elif not self.allows:
            answer["error"] = "access_denied"
        else:
            code = answer["code"] = secrets.token_urlsafe()
            self.codes[code] = query
        if query["redirect_uri"] == OUT_OF_BAND:
            return 200, answer.get("code", answer.get("error"))
        return 302, query["redirect_uri"] + "?" + urllib.parse.urlencode(answer)

    def token(self, form):
        """Answers a token request of an authenticated client."""
        if form.get("grant_type") != "authorization_code":
            raise Refused(400, error="unsupported_grant_type")
        asked = self.codes.pop(form.get("code"), None)
        if not asked or asked["client_id"] != form["client_id"] or asked["redirect_uri"] != form.get("redirect_uri"):
            raise Refused(400, error="invalid_grant")
        if "code_challenge" in asked:
            digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
                raise Refused(400, error="invalid_grant")
        token = secrets.token_urlsafe()
        self.tokens[token] = (asked["client_id"], set(asked.get("scope", "read").split()))
        return 200, {"access_token": token, "token_type": "Bearer", "scope": asked.get("scope", "read")}

    def bearer(self, headers, *scopes):
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            raise Refused(401, error="The access token is invalid")
        if scopes and not self.tokens[token][1] & set(scopes):
            raise Refused(403, error="This action is outside the authorized scopes")


class Mastodon(OwnServer):
    """The methods `apps` and `oauth` of Mastodon 4.4. `scopes` are those that the server has."""

    def __init__(self, scopes=MASTODON_SCOPES, **more):
        self.apps, self.scopes = {}, set(scopes)
        super().__init__(**more)

    def reply(self, path, query, form, headers):
        if path == "/api/v1/apps":
            return self.register(form)
        if path == "/oauth/authorize":
            app = self.apps.get(query.get("client_id"))
            if not app:
                raise Refused(401, error="invalid_client")
            return self.page(query, app["scopes"], query.get("redirect_uri") in app["redirects"])
        if path == "/oauth/token":
            app = self.apps.get(form.get("client_id"))
            if not app or form.get("client_secret") != app["secret"] or "Authorization" in headers:
                raise Refused(401, error="invalid_client")
            return self.token(form)
        if path == "/oauth/revoke":
            owner, _ = self.tokens.get(form.get("token"), (None, None))
            app = self.apps.get(owner)
            if not app or (form.get("client_id"), form.get("client_secret")) != (owner, app["secret"]):
                raise Refused(403, error="unauthorized_client")
            del self.tokens[form["token"]]
            return 200, {}
        if path == "/api/v1/accounts/verify_credentials":
            self.bearer(headers, "profile", "read", "read:accounts")
            return 200, {"id": "14715", "username": self.person, "acct": self.person, "display_name": self.person.title()}
        raise Refused(404, error="Record not found")

    def register(self, form):
        redirects = form.get("redirect_uris") or ""
        redirects = redirects if isinstance(redirects, list) else redirects.split("\n")
        scopes = set((form.get("scopes") or "read").split())
        if not form.get("client_name"):
            raise Refused(422, error="Validation failed: Application name can't be blank")
        if not all(urllib.parse.urlsplit(address).scheme for address in redirects):
            raise Refused(422, error="Validation failed: Redirect URI must be an absolute URI.")
        if not scopes <= self.scopes:
            raise Refused(422, error="Validation failed: Scopes doesn't match configured on the server.")
        id, secret = secrets.token_urlsafe(), secrets.token_urlsafe()
        self.apps[id] = {"name": form["client_name"], "secret": secret, "redirects": redirects, "scopes": scopes}
        return 200, {"id": "563419", "name": form["client_name"], "website": None, "scopes": sorted(scopes),
                     "redirect_uri": "\n".join(redirects), "redirect_uris": redirects, "client_id": id,
                     "client_secret": secret, "client_secret_expires_at": 0}


class Gitea(OwnServer):
    """Gitea with one public client, `cid`, which has to prove its key (PKCE). Its redirect may have any port."""

    def reply(self, path, query, form, headers):
        if path == "/login/oauth/authorize":
            known = query.get("client_id") == "cid" and "code_challenge" in query
            redirect = urllib.parse.urlsplit(query.get("redirect_uri", ""))
            return self.page(query, {"openid", "profile", "email"},
                             known and (redirect.hostname, redirect.path) == ("127.0.0.1", "/callback"))
        if path == "/login/oauth/access_token":
            if form.get("client_id") != "cid" or form.get("client_secret"):
                raise Refused(400, error="invalid_client")
            return self.token(form)
        if path == "/login/oauth/userinfo":
            self.bearer(headers)
            return 200, {"sub": "7", "name": self.person.title(), "preferred_username": self.person}
        raise Refused(404, error="not found")
