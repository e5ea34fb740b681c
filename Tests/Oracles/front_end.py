"""A front end for sign-ins at one provider, with its descriptor and a person at the browser."""
import json
import urllib.request

from browser import Visitor
from session import Session


def provider(flow, identity, **more):
    """Returns a descriptor with one flow."""
    return {"id": "oracle", "name": "Oracle", "accounts": "many", "registration": ["clientId"],
            "setup": {"documentation": "https://example.com/"}, "identity": identity, "flows": [flow], **more}


def userinfo(base):
    """Returns the identity of a descriptor by OpenID's claims (OpenID Connect Core 5.3)."""
    return {"request": {"method": "GET", "url": base, "bearer": "{token}"}, "id": "/sub", "name": "/name",
            "username": "/preferred_username", "email": "/email", "required": ["id"]}


OWN_SERVER = {"host", "port", "secure", "username", "useCookies", "acceptUntrustedCertificates", "trustedPublicKey", "caFile"}


def gathered(params):
    """Returns the parameters of a sign-in with the members of `server` in that object."""
    server = {name: value for name, value in params.items() if name in OWN_SERVER}
    others = {name: value for name, value in params.items() if name not in server}
    return {**others, "server": server} if server else others


class FrontEnd(Session):
    """An application with an `openURL` prompt."""

    def __init__(self, folder, descriptor, application, kinds=("openURL",), options=(), **more):
        path = folder / "providers.json"
        path.write_text(json.dumps({"providers": [descriptor] if descriptor else []}))
        path.chmod(0o600)
        super().__init__("--providers", str(path), *options, **more)
        applications = {"oracle": application} if application else {}
        self.call("initialize", client={"name": "oracle-test", "title": "Oracle test"},
                  capabilities={"prompts": list(kinds)}, applications=applications)

    def begin(self, provider="oracle", **params):
        """Starts a sign-in and returns the request's id and its first prompt."""
        id = self.send("accounts.signIn", provider=provider, **gathered(params))
        while True:
            message = self.message()
            assert isinstance(message, dict), message
            if message["method"] == "prompt.opened":
                return id, message["params"]

    def end(self, id, provider="oracle"):
        """Returns the account of a successful sign-in, and grants access to it."""
        answer = self.answer(id)
        assert not hasattr(answer, "code"), answer
        self.call("access.set", provider=provider, state="granted")
        return answer.result["account"]

    def signed(self, **params):
        """Returns the fields of a signed request, by name."""
        return {field["name"]: field["value"] for field in self.call("credentials.sign", **params)["headers"]}

    def token(self, account, **params):
        return self.call("credentials.get", account=account, **params)["credential"]["token"]

    def health(self, account):
        return next(entry["health"] for entry in self.call("accounts.list")["accounts"] if entry["account"] == account)


def visit(ready, url, user="user"):
    """Returns a visitor on this page after a sign-in at django-oauth-toolkit."""
    return Visitor().open(url).press("signin", username=ready[user], password=ready["password"])


def bring_back(visitor):
    """Follows the provider's redirect to einlass and returns the page."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(visitor.location, timeout=60) as page:
        return page.read().decode()
