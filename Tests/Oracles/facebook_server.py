"""Facebook's token minting, renewal and verification, with Python's standard library.

    python facebook_server.py PORT

Prints one line of JSON when ready: `config` for einlass, `accounts` for accounts.add, the `identity` expected from
a sign-in, and invalid `tokens` for a verification. See oracle.py for the rest.
"""
import hashlib
import hmac
import secrets
import threading
import time

from oracle import Answer, run

APPLICATIONS = {"1000000000000001": "app-secret/+~%41&=", "2000000000000002": "of-another-application"}
OURS, ANOTHER = APPLICATIONS
SYSTEM_TOKEN = "EAAsystem/" + secrets.token_hex(8) + "+~.-_="
IDENTITY = {"id": "10208333", "name": "Ada Löwe 🦁", "email": "ada@example.test",
            "avatar": "https://graph.facebook.com/10208333/picture?type=large"}
AUDIENCES = ("me", "friends", "everyone")
LOCK = threading.Lock()


def token(application, lifetime, scopes=("email", "public_profile")):
    text = "EAA" + secrets.token_hex(24)
    with LOCK:
        TOKENS[text] = {"application": application, "scopes": list(scopes),
                        "expires": int(time.time()) + lifetime}
    return text


TOKENS = {}
EXPIRED, FOREIGN = token(OURS, -60), token(ANOTHER, 3600)


def error(status, message, code, subcode=None, kind="OAuthException"):
    body = {"message": message, "type": kind, "code": code, "fbtrace_id": secrets.token_hex(6)}
    if subcode is not None:
        body["error_subcode"] = subcode
    return Answer(status, {"error": body})


def proof(application, access_token):
    return hmac.new(APPLICATIONS[application].encode(), access_token.encode(),
                    hashlib.sha256).hexdigest()


def me(request):
    known = TOKENS.get(request.bearer)
    if known is None:
        return error(400, "Invalid OAuth access token - Cannot parse access token", 190)
    if known["expires"] <= time.time():
        return error(400, "Error validating access token: Session has expired", 190, 463)
    if "appsecret_proof" in request.query:
        right = hmac.compare_digest(request.query["appsecret_proof"],
                                    proof(known["application"], request.bearer))
        request.found["proof"] = right
        if not right:
            return error(400, "Invalid appsecret_proof provided in the API argument", 100,
                         kind="GraphMethodException")
    members = {name: IDENTITY[name] for name in request.query.get("fields", "id,name").split(",")
               if name in IDENTITY}
    if "email" not in known["scopes"]:
        members.pop("email", None)
    return Answer(200, members)


def access_token(request):
    form, client = request.form, request.form.get("client_id")
    request.found.update(grant=form.get("grant_type"), client=client, scope=form.get("scope"),
                         audience=form.get("audience"))
    if request.bearer != SYSTEM_TOKEN:
        return error(400, "Invalid OAuth access token.", 190)
    if client not in APPLICATIONS:
        return error(400, "remote_app_id does not match stored id", 101)
    if form.get("grant_type") == "fb_attenuate_token":
        scopes = [scope for scope in form.get("scope", "").split(",") if scope]
        if not scopes or form.get("audience") not in AUDIENCES:
            return error(400, "Invalid parameter", 100)
        minted = token(client, 5184000, scopes)
    elif form.get("grant_type") == "fb_extend_sso_token":
        minted = token(client, 5184000)
    else:
        return error(400, "Invalid grant_type", 100)
    return Answer(200, {"access_token": minted, "token_type": "bearer", "expires_in": 5184000})


def debug_token(request):
    client, _, secret = (request.bearer or "").partition("|")
    request.found["client"] = client
    if not hmac.compare_digest(APPLICATIONS.get(client, "").encode(), secret.encode()) or not secret:
        return error(400, "Invalid OAuth access token signature.", 190)
    known = TOKENS.get(request.query.get("input_token"))
    if known is None:
        return Answer(200, {"data": {"is_valid": False, "scopes": [], "error": {
            "code": 190, "message": "Invalid OAuth access token."}}})
    data = {"app_id": known["application"], "type": "USER", "application": "Example",
            "expires_at": known["expires"], "data_access_expires_at": known["expires"],
            "is_valid": known["expires"] > time.time(), "scopes": known["scopes"],
            "user_id": IDENTITY["id"]}
    if not data["is_valid"]:
        data["error"] = {"code": 190, "subcode": 463, "message": "Error validating access token: "
                         "Session has expired"}
    return Answer(200, {"data": data})


ROUTES = {("GET", "/v26.0/me"): me, ("POST", "/oauth/access_token"): access_token,
          ("GET", "/debug_token"): debug_token}


def answer(_, request):
    route = ROUTES.get((request.method, request.path))
    if route is None:
        return error(404, "Unknown path components: " + request.path, 2500)
    # A token belongs in the header, because proxies and logs do not keep headers.
    request.found["tokenInHeader"] = request.bearer is not None
    if "access_token" in request.query or "access_token" in request.form or request.bearer is None:
        return error(400, "An active access token must be used.", 2500)
    return route(request)


def ready(base):
    application = {"clientId": OURS, "clientSecret": APPLICATIONS[OURS]}
    return {"config": {"applications": {"*": {"facebook": application}},
                       "origins": {"https://graph.facebook.com": base}},
            "accounts": [{"provider": "facebook", "username": IDENTITY["email"],
                          "credential": {"type": "oauth2", "token": SYSTEM_TOKEN,
                                         "clientId": "system"}}],
            "identity": IDENTITY,
            "tokens": {"expired": EXPIRED, "ofAnotherApplication": FOREIGN, "unknown": "EAAnothing"}}


if __name__ == "__main__":
    run(answer, ready)
