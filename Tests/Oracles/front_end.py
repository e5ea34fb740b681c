"""A front end that signs people in at one provider, and what it needs for that."""
import json
import urllib.request

from browser import Visitor
from test_protocol import Session


def provider(flow, identity, **more):
    """A descriptor with one flow."""
    return {"id": "oracle", "name": "Oracle", "accounts": "many", "registration": ["clientId"],
            "setup": {"documentation": "https://example.com/"}, "identity": identity, "flows": [flow], **more}


def userinfo(base):
    """Who somebody is, as OpenID says it."""
    return {"request": {"method": "GET", "url": base, "bearer": "{token}"}, "id": "/sub", "name": "/name",
            "username": "/preferred_username", "email": "/email", "required": ["id"]}


class FrontEnd(Session):
    """An application that shows pages to a person."""

    def __init__(self, folder, descriptor, application, kinds=("openURL",), options=(), **more):
        path = folder / "providers.json"
        path.write_text(json.dumps({"providers": [descriptor] if descriptor else []}))
        path.chmod(0o600)
        super().__init__("--providers", str(path), *options, **more)
        applications = {"oracle": application} if application else {}
        self.call("initialize", client={"name": "oracle-test", "title": "Oracle test"},
                  capabilities={"prompts": list(kinds)}, applications=applications)

    def begin(self, provider="oracle", **params):
        """The request, and the page that the person is to see."""
        id = self.send("accounts.signIn", provider=provider, **params)
        while True:
            message = self.message()
            assert isinstance(message, dict), message
            if message["method"] == "prompt.opened":
                return id, message["params"]

    def end(self, id, provider="oracle"):
        """The account that a sign-in made, or made usable again."""
        answer = self.answer(id)
        assert not hasattr(answer, "code"), answer
        self.call("access.set", provider=provider, state="granted")
        return answer.result["account"]

    def token(self, account, **params):
        return self.call("credentials.get", account=account, **params)["credential"]["token"]

    def health(self, account):
        return next(entry["health"] for entry in self.call("accounts.list")["accounts"] if entry["account"] == account)


def visit(ready, url, user="user"):
    """A person who has signed in at django-oauth-toolkit, on the page that they wanted."""
    return Visitor().open(url).press("signin", username=ready[user], password=ready["password"])


def bring_back(visitor):
    """The browser goes where the provider sent it: to einlass."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(visitor.location, timeout=60) as page:
        return page.read().decode()
