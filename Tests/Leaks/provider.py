"""A provider with canned answers, on loopback. Its tokens are canaries, and on demand it reflects the request."""
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from canaries import PEOPLE

LOGIN = "/csdk-sample/SDK/login"


class Provider:
    def __init__(self, canaries):
        self.canaries, self.reflects = canaries, False
        self.key, self.callback = ec.generate_private_key(ec.SECP256R1()), None
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                status, content = provider.answer(self.path, f"{self.headers.get('Authorization')} {body}")
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", content)
                if self.path == LOGIN:
                    self.send_header("Set-Cookie", f"JSESSIONID={provider.canaries['cookie']}")
                self.send_header("Content-Length", str(len(content.encode())))
                self.end_headers()
                self.wfile.write(content.encode())

            do_GET = do_POST = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def descriptor(self):
        """Returns a descriptor with the device code flow, an id_token and a token bound to a key."""
        return {"id": "device", "name": "Device", "accounts": "many", "registration": ["clientId"],
                "setup": {"documentation": self.base + "/"},
                "flows": [{"kind": "deviceCode", "clientAuthentication": "none", "dpop": True,
                           "issuer": self.base, "keySet": self.base + "/keys", "algorithms": ["ES256"],
                           "deviceAuthorization": {"method": "POST", "url": self.base + "/device"},
                           "token": {"method": "POST", "url": self.base + "/token"}}]}

    def three_legged(self):
        """Returns a descriptor with the OAuth 1.0a flow."""
        def words(method, name):
            return {"method": method, "url": f"{self.base}/legs/{name}"}
        return {"id": "legs", "name": "Legs", "accounts": "many", "registration": ["clientId", "clientSecret"],
                "setup": {"documentation": self.base + "/"}, "errors": {"shapes": [{"codeField": "error"}], "rules": []},
                "identity": {"request": words("GET", "me"), "id": "/id", "required": ["id"]},
                "flows": [{"kind": "oauth1", "signature": "PLAINTEXT", "requestToken": words("POST", "begin"),
                           "authorize": words("GET", "page"), "accessToken": words("POST", "access")}]}

    def id_token(self):
        now = int(time.time())
        claims = {"iss": self.base, "sub": "42", "aud": "APP", "iat": now, "exp": now + 3600, "jti": self.canaries["idToken"]}
        return jwt.encode(claims, self.key, "ES256", {"kid": "k"})

    def legs(self, target, sent):
        secret = self.canaries
        if target == "/legs/begin":
            self.callback = unquote(re.search('oauth_callback="([^"]*)"', sent)[1])
            return 200, f"oauth_token=LEGS&oauth_token_secret={secret['requestSecret']}" \
                        "&oauth_callback_confirmed=true"
        if target.startswith("/legs/page"):
            return 302, f"{self.callback}?oauth_token=LEGS&oauth_verifier={secret['verifier']}"
        # A PLAINTEXT signature consists of the secrets themselves.
        used = [secret["requestSecret"], secret["verifier"]]
        if self.reflects or not all(text in sent for text in used):
            return 400, "error=not+" + "+".join(used)
        return 200, f"oauth_token={secret['ownKey']}&oauth_token_secret={secret['ownSecret']}"

    def answer(self, target, sent):
        if target.startswith("/legs/") and target != "/legs/me":
            return self.legs(target, sent)
        if target == LOGIN:
            right = f'"password":"{self.canaries["password"]}"' in sent
            return (200, json.dumps({"sessionid": self.canaries["sessionId"]})) if right and not self.reflects else (401, sent)
        if target == "/keys":
            return 200, json.dumps({"keys": [jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
                                             | {"kid": "k", "alg": "ES256", "use": "sig"}]})
        if target == "/device":
            return 200, json.dumps({"device_code": self.canaries["deviceCode"], "user_code": "ABCD-EFGH", "interval": 1,
                                    "expires_in": 600, "verification_uri": self.base + "/enter"})
        if self.reflects and "device_code=" in sent:
            return 200, json.dumps({"error": f"not {self.canaries['deviceCode']}"})
        if self.reflects:
            words = f"You said {target} {sent}"
            if "graph" in sent or "/me" in target or "debug_token" in target or "/oauth/access_token?" in target:
                return 400, json.dumps({"error": {"message": words, "type": "OAuthException", "code": 100}})
            return 400, json.dumps({"errors": [{"code": 34, "message": words}]})
        secret = self.canaries
        if "code_verifier=" in sent:
            secret["codeVerifier"] = parse_qs(sent)["code_verifier"][0]
        answer = {"access_token": secret["signedIn"], "refresh_token": secret["signedInRefresh"], "expires_in": 3600}
        if "code_verifier=" in sent:
            return 200, json.dumps(answer | {"token_type": "Bearer"})
        if "device_code=" in sent:
            return 200, json.dumps(answer | {"token_type": "DPoP", "id_token": self.id_token()})
        if "request_token" in target:
            return 200, 'OAuth oauth_token="RT", oauth_signature="%s"' % secret["reverseSignature"]
        if "verify_credentials" in target:
            return 200, json.dumps({"id_str": "7", "name": PEOPLE["name"], "screen_name": PEOPLE["handle"],
                                    "profile_image_url_https": "https://images.example/a_normal.png"})
        if "debug_token" in target:
            return 200, json.dumps({"data": {"app_id": "APP", "is_valid": True, "user_id": PEOPLE["subject"], "expires_at": 0,
                                             "scopes": ["email"]}})
        if "/me" in target:
            return 200, json.dumps({"id": PEOPLE["subject"], "name": PEOPLE["name"], "email": PEOPLE["address"]})
        if "x_reverse_auth" in sent:
            return 200, "oauth_token=%s&oauth_token_secret=%s&user_id=7&screen_name=%s" % (
                secret["ownKey"], secret["ownSecret"], PEOPLE["handle"])
        return 200, json.dumps({"access_token": secret["minted"], "token_type": "bearer", "expires_in": 3600})
