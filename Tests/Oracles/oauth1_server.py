"""An OAuth 1.0a provider with Twitter's reverse authentication, on oauthlib's server side.

    pip install -r requirements.txt
    python oauth1_server.py PORT

oauthlib parses each request and verifies its signature; this file stores keys, tokens and nonces. Prints one line
of JSON when ready: `config` for einlass, `accounts` for accounts.add, and the `identity` expected from a sign-in.
See oracle.py for the rest.
"""
import secrets
import threading
import time
from urllib.parse import urlencode

from oauthlib.oauth1 import Client, RequestValidator, ResourceEndpoint, SignatureOnlyEndpoint
from oauthlib.oauth1.rfc5849.errors import OAuth1Error

from oracle import Answer, run

CONSUMERS = {"app-consumer": "app-secret/+~%41&=", "system-consumer": "system&secret=%"}
IDENTITY = {"id": "6253282", "name": "Ada Löwe 🦁", "screenName": "ada", "email": "ada@example.test",
            "avatar": "https://pbs.example.test/ada_400x400.png"}
SYSTEM_TOKEN, SYSTEM_SECRET = "6253282-system", "system-token-secret%26&="
ACCESS = {SYSTEM_TOKEN: {"secret": SYSTEM_SECRET, "consumer": "system-consumer"}}
REVERSE, NONCES = {}, set()
LOCK = threading.Lock()


class Validator(RequestValidator):
    """Answers oauthlib's questions about keys and tokens; oauthlib itself compares the signatures."""

    enforce_ssl = False
    allowed_signature_methods = ("HMAC-SHA1", "HMAC-SHA256")
    dummy_client = dummy_access_token = "dummy"

    def check_client_key(self, key):
        return 0 < len(key) <= 100

    check_access_token = check_client_key

    def check_nonce(self, nonce):
        return 8 <= len(nonce) <= 100

    def validate_timestamp_and_nonce(self, client_key, timestamp, nonce, request,
                                     request_token=None, access_token=None):
        entry = (client_key, timestamp, nonce, access_token)
        with LOCK:
            is_fresh = abs(time.time() - int(timestamp)) <= 300 and entry not in NONCES
            NONCES.add(entry)
        return is_fresh

    def validate_client_key(self, client_key, request):
        return client_key in CONSUMERS

    def get_client_secret(self, client_key, request):
        return CONSUMERS.get(client_key, "dummy")

    def validate_access_token(self, client_key, token, request):
        return ACCESS.get(token, {}).get("consumer") == client_key

    def get_access_token_secret(self, client_key, token, request):
        return ACCESS.get(token, {}).get("secret", "dummy")

    def validate_realms(self, client_key, token, request, uri=None, realms=None):
        return True


CONSUMER_ONLY = SignatureOnlyEndpoint(Validator())
WITH_TOKEN = ResourceEndpoint(Validator())
REFUSED = Answer(401, {"errors": [{"code": 32, "message": "Could not authenticate you."}]})


def is_signed(base, request, with_token):
    arguments = (base + request.target, request.method, request.body, request.headers)
    try:
        if with_token:
            valid, parsed = WITH_TOKEN.validate_protected_resource_request(*arguments)
        else:
            valid, parsed = CONSUMER_ONLY.validate_request(*arguments)
    except OAuth1Error:
        valid, parsed = False, None
    request.found["signed"] = valid
    if parsed is not None:
        request.found.update(consumer=parsed.client_key, withToken=bool(parsed.resource_owner_key),
                             signatureMethod=parsed.signature_method)
        if not with_token and parsed.resource_owner_key:
            return None
    return parsed if valid else None


def request_token(base, request):
    """The first step: answers an authorization header for the second step, signed with the application's key."""
    parsed = is_signed(base, request, with_token=False)
    if parsed is None or request.form != {"x_auth_mode": "reverse_auth"}:
        return REFUSED
    token = secrets.token_hex(16)
    client = Client(parsed.client_key, CONSUMERS[parsed.client_key], token, secrets.token_hex(16))
    _, headers, _ = client.sign(base + "/oauth/access_token", "POST")
    text = headers["Authorization"]
    with LOCK:
        REVERSE[text] = parsed.client_key
    return Answer(200, text, "text/plain")


def access_token(base, request):
    """The second step, signed by the system's consumer and token. It accepts the header of the first step unchanged,
    and once."""
    parsed = is_signed(base, request, with_token=True)
    target = request.form.get("x_reverse_auth_target")
    with LOCK:
        issued_to = REVERSE.pop(request.form.get("x_reverse_auth_parameters"), None)
    request.found["target"] = target
    if parsed is None or parsed.client_key != "system-consumer" or target is None \
            or issued_to != target:
        return REFUSED
    token, secret = IDENTITY["id"] + "-" + secrets.token_hex(16), secrets.token_hex(16)
    ACCESS[token] = {"secret": secret, "consumer": target}
    return Answer(200, urlencode({"oauth_token": token, "oauth_token_secret": secret,
                                  "user_id": IDENTITY["id"], "screen_name": IDENTITY["screenName"]}),
                  "application/x-www-form-urlencoded")


def verify_credentials(base, request):
    """Answers the owner of the token."""
    if is_signed(base, request, with_token=True) is None:
        return REFUSED
    person = {"id": int(IDENTITY["id"]), "id_str": IDENTITY["id"], "name": IDENTITY["name"],
              "screen_name": IDENTITY["screenName"],
              "profile_image_url_https": IDENTITY["avatar"].replace("_400x400.", "_normal.")}
    if request.query.get("include_email") == "true":
        person["email"] = IDENTITY["email"]
    return Answer(200, person)


ROUTES = {("POST", "/oauth/request_token"): request_token,
          ("POST", "/oauth/access_token"): access_token,
          ("GET", "/1.1/account/verify_credentials.json"): verify_credentials}


def answer(base, request):
    route = ROUTES.get((request.method, request.path))
    if route is None:
        return Answer(404, {"errors": [{"code": 34, "message": "Sorry, that page does not exist."}]})
    return route(base, request)


def ready(base):
    application = {"clientId": "app-consumer", "clientSecret": CONSUMERS["app-consumer"]}
    return {"config": {"applications": {"*": {"twitter": application}},
                       "origins": {"https://api.twitter.com": base}},
            "accounts": [{"provider": "twitter", "username": IDENTITY["screenName"],
                          "credential": {"type": "oauth1", "key": SYSTEM_TOKEN,
                                         "secret": SYSTEM_SECRET, "clientId": "system-consumer",
                                         "clientSecret": CONSUMERS["system-consumer"]}}],
            "identity": IDENTITY}


if __name__ == "__main__":
    run(answer, ready)
