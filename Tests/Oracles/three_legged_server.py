"""An OAuth 1.0a provider with a page for consent, a callback or a PIN, on oauthlib's server side.

    pip install -r requirements.txt
    python three_legged_server.py PORT

oauthlib parses each request, verifies its signature and issues the tokens; this file stores them and shows the
page. Each consumer has one signature method: HMAC-SHA1, HMAC-SHA256, RSA-SHA1 or PLAINTEXT. Prints one line of
JSON when ready: `base`, `consumers` with their secrets, `privateKey` of the RSA consumer, and the `identity`. See
oracle.py for the rest.
"""
import secrets
import threading
import time
from urllib.parse import urlencode

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from oauthlib.oauth1 import RequestValidator, WebApplicationServer
from oauthlib.oauth1.rfc5849.errors import OAuth1Error

from oracle import Answer, run

CONSUMERS = {"key-sha1": ("hmac secret / + ~ %41", "HMAC-SHA1"), "key-sha256": ("another&secret=%", "HMAC-SHA256"),
             "key-plain": ("plain-secret", "PLAINTEXT"), "key-rsa": ("", "RSA-SHA1")}
IDENTITY = {"id": "42", "name": "Alice Löwe", "screenName": "alice", "avatar": "https://pbs.example.test/a_400x400.png"}
REQUESTS, ACCESS, NONCES, LOCK = {}, {}, set(), threading.Lock()
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Validator(RequestValidator):
    """Answers oauthlib's questions about keys and tokens; oauthlib itself compares the signatures."""

    enforce_ssl = False
    allowed_signature_methods = tuple(method for _, method in CONSUMERS.values())
    dummy_client = dummy_request_token = dummy_access_token = "dummy"
    realms = []

    def check_client_key(self, key):
        return 0 < len(key) <= 100

    check_access_token = check_request_token = check_verifier = check_client_key

    def check_nonce(self, nonce):
        return 8 <= len(nonce) <= 100

    def validate_timestamp_and_nonce(self, client_key, timestamp, nonce, request, request_token=None,
                                     access_token=None):
        entry = (client_key, timestamp, nonce, request_token or access_token)
        with LOCK:
            is_fresh = abs(time.time() - int(timestamp)) <= 300 and entry not in NONCES
            NONCES.add(entry)
        return is_fresh

    def validate_client_key(self, client_key, request):
        return client_key in CONSUMERS and request.signature_method == CONSUMERS[client_key][1]

    def get_client_secret(self, client_key, request):
        return CONSUMERS.get(client_key, ("dummy",))[0]

    def get_rsa_key(self, client_key, request):
        return KEY.public_key().public_bytes(serialization.Encoding.PEM,
                                             serialization.PublicFormat.SubjectPublicKeyInfo).decode()

    def get_default_realms(self, client_key, request):
        return []

    def get_realms(self, token, request):
        return []

    def validate_requested_realms(self, client_key, realms, request):
        return True

    def validate_realms(self, client_key, token, request, uri=None, realms=None):
        return True

    def validate_redirect_uri(self, client_key, redirect_uri, request):
        return redirect_uri == "oob" or redirect_uri.startswith(("http://127.0.0.1:", "einlass:"))

    def save_request_token(self, token, request):
        REQUESTS[token["oauth_token"]] = {"secret": token["oauth_token_secret"], "consumer": request.client_key,
                                          "callback": request.redirect_uri}

    def verify_request_token(self, token, request):
        return token in REQUESTS

    def get_redirect_uri(self, token, request):
        return REQUESTS[token]["callback"]

    def save_verifier(self, token, verifier, request):
        REQUESTS[token]["verifier"] = verifier["oauth_verifier"]

    def validate_request_token(self, client_key, token, request):
        return REQUESTS.get(token, {}).get("consumer") == client_key

    def get_request_token_secret(self, client_key, token, request):
        return REQUESTS.get(token, {}).get("secret", "dummy")

    def validate_verifier(self, client_key, token, verifier, request):
        return verifier and REQUESTS.get(token, {}).get("verifier") == verifier

    def invalidate_request_token(self, client_key, token, request):
        REQUESTS.pop(token, None)

    def save_access_token(self, token, request):
        token.update(user_id=IDENTITY["id"], screen_name=IDENTITY["screenName"])
        ACCESS[token["oauth_token"]] = {"secret": token["oauth_token_secret"], "consumer": request.client_key}

    def validate_access_token(self, client_key, token, request):
        return ACCESS.get(token, {}).get("consumer") == client_key

    def get_access_token_secret(self, client_key, token, request):
        return ACCESS.get(token, {}).get("secret", "dummy")


SERVER = WebApplicationServer(Validator())
FORM = "application/x-www-form-urlencoded"


def arguments(base, request):
    return base + request.target, request.method, request.body, request.headers


def request_token(base, request):
    headers, body, status = SERVER.create_request_token_response(*arguments(base, request))
    return Answer(status, body or "", FORM)


def page(base, request):
    if request.query.get("oauth_token") not in REQUESTS:
        return Answer(404, "There is no such request.", "text/plain")
    return Answer(200, '<!doctype html><title>Sign in</title><form method="post"><button id="allow" name="decision" '
                  'value="allow">Allow</button><button id="deny" name="decision" value="deny">Deny</button></form>',
                  "text/html")


def decide(base, request):
    """The library creates the verifier and the redirect address, or the PIN of the page."""
    token = request.query.get("oauth_token")
    if token not in REQUESTS:
        return Answer(404, "There is no such request.", "text/plain")
    callback = REQUESTS[token]["callback"]
    if request.form.get("decision") != "allow":
        REQUESTS.pop(token)
        if callback == "oob":
            return Answer(200, "Denied.", "text/plain")
        separator = "&" if "?" in callback else "?"
        return Answer(302, "", "text/plain", {"Location": callback + separator + urlencode({"denied": token})})
    headers, body, status = SERVER.create_authorization_response(
        base + "/oauth/authorize?" + urlencode({"oauth_token": token}), "POST")
    if callback == "oob":
        return Answer(200, f'<!doctype html><title>PIN</title><code id="pin">{REQUESTS[token]["verifier"]}</code>',
                      "text/html")
    return Answer(status, body or "", "text/plain", headers)


def access_token(base, request):
    headers, body, status = SERVER.create_access_token_response(*arguments(base, request))
    return Answer(status, body or "", FORM)


def verify_credentials(base, request):
    valid, parsed = SERVER.validate_protected_resource_request(*arguments(base, request), realms=[])
    request.found["signed"] = valid
    if not valid:
        return Answer(401, {"errors": [{"code": 32, "message": "Could not authenticate you."}]})
    request.found["signatureMethod"] = parsed.signature_method
    return Answer(200, {"id": int(IDENTITY["id"]), "id_str": IDENTITY["id"], "name": IDENTITY["name"],
                        "screen_name": IDENTITY["screenName"],
                        "profile_image_url_https": IDENTITY["avatar"].replace("_400x400.", "_normal.")})


ROUTES = {("POST", "/oauth/request_token"): request_token, ("POST", "/oauth/access_token"): access_token,
          ("GET", "/oauth/authorize"): page, ("POST", "/oauth/authorize"): decide,
          ("GET", "/oauth/authenticate"): page, ("POST", "/oauth/authenticate"): decide,
          ("GET", "/1.1/account/verify_credentials.json"): verify_credentials}


def answer(base, request):
    route = ROUTES.get((request.method, request.path))
    if route is None:
        return Answer(404, {"errors": [{"code": 34, "message": "Sorry, that page does not exist."}]})
    try:
        return route(base, request)
    except OAuth1Error as error:
        return Answer(error.status_code, error.urlencoded, FORM)


def ready(base):
    private = KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                serialization.NoEncryption()).decode()
    return {"consumers": {key: {"secret": secret, "method": method} for key, (secret, method) in CONSUMERS.items()},
            "privateKey": private, "identity": IDENTITY}


if __name__ == "__main__":
    run(answer, ready)
