"""A provider with canned answers, on loopback: what it issues are canaries, and on demand it sends back what it was sent."""
import json
import threading
from urllib.parse import parse_qs
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Provider:
    def __init__(self, canaries):
        self.canaries, self.reflects = canaries, False
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                status, content = provider.answer(self.path, f"{self.headers.get('Authorization')} {body}")
                self.send_response(status)
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
        """What signs in by a code on another device here."""
        return {"id": "device", "name": "Device", "accounts": "many", "registration": ["clientId"],
                "setup": {"documentation": self.base + "/"},
                "flows": [{"kind": "deviceCode", "clientAuthentication": "none",
                           "deviceAuthorization": {"method": "POST", "url": self.base + "/device"},
                           "token": {"method": "POST", "url": self.base + "/token"}}]}

    def answer(self, target, sent):
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
        if "code_verifier=" in sent or "device_code=" in sent:
            return 200, json.dumps({"access_token": secret["signedIn"], "refresh_token": secret["signedInRefresh"],
                                    "token_type": "Bearer", "expires_in": 3600})
        if "request_token" in target:
            return 200, 'OAuth oauth_token="RT", oauth_signature="%s"' % secret["reverseSignature"]
        if "verify_credentials" in target:
            return 200, json.dumps({"id_str": "7", "name": "Ada", "screen_name": "ada",
                                    "profile_image_url_https": "https://images.example/a_normal.png"})
        if "debug_token" in target:
            return 200, json.dumps({"data": {"app_id": "APP", "is_valid": True, "user_id": "42", "expires_at": 0,
                                             "scopes": ["email"]}})
        if "/me" in target:
            return 200, json.dumps({"id": "42", "name": "Ada", "email": "ada@example.org"})
        if "x_reverse_auth" in sent:
            return 200, "oauth_token=%s&oauth_token_secret=%s&user_id=7&screen_name=ada" % (
                secret["ownKey"], secret["ownSecret"])
        return 200, json.dumps({"access_token": secret["minted"], "token_type": "bearer", "expires_in": 3600})
