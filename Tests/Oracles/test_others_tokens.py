"""A token that another application got signs nobody in, at every provider of the catalogue.

    python -m pytest Tests/Oracles/test_others_tokens.py
"""
import copy
import json
import subprocess

import pytest

from rotation import SANDBOX
from test_believed import OTHER_CLIENTS, SECRET, WAYS, World

pytestmark = pytest.mark.usefixtures("built")

# The flows of the providers that tell, or show by a signature, which application a credential was issued to. Elsewhere
# only an id_token tells it, and without one not even the application's own credential signs anybody in.
TELLING = {("twitter", "reverseAuth"), ("twitter", "oauth1"), ("flickr", "oauth1"), ("facebook", "systemToken")} | {
    (provider, kind) for provider in ("facebook", "digitalocean", "discord", "gitea", "github", "gitlab", "google",
                                      "google-cloud", "line", "linkedin", "sina-weibo", "twitch", "yandex") for kind in ("authorizationCode", "deviceCode")}
# The providers that cannot be asked for the person of a token either.
NAMELESS = ("notion", "outlook", "sequencing")
# The findings of einlass about a token of another application: the provider names the other one, says that the token
# is none, or says nothing.
DETAILS = ("otherApplication", "unknownApplication", "active", "audience")


def sign_in(world, provider, credential):
    given = {name: credential[name] for name in ("type", "key", "secret", "token", "idToken") if name in credential}
    return world.session.answer(world.session.send("users.signIn", provider=provider, credential=given))


def verified(world, provider, credential):
    given = {name: credential[name] for name in ("type", "key", "secret", "token", "idToken") if name in credential}
    return world.session.answer(world.session.send("verify", provider=provider, credential=given))


def register_another(world, provider):
    """Registers a second application wherever the first one is registered. Returns its configuration."""
    own = world.ready["config"]["applications"]["*"][provider]
    for name, state in world.state().items():
        applications = state.get("applications", {}) if isinstance(state, dict) else {}
        if own["clientId"] in applications:
            world.change({name: {"applications": {"another": applications[own["clientId"]]}}})
    return own | {"clientId": "another"}


@pytest.mark.parametrize("provider, kind", [
    (provider, kind) for provider, kind in WAYS if kind != "clientCredentials"])
def test_a_token_of_another_application_signs_nobody_in(provider, kind, tmp_path):
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        try:
            ready = json.loads(sandbox.stdout.readline())
            folders = [tmp_path / "own", tmp_path / "other", tmp_path / "fresh"]
            for folder in folders:
                folder.mkdir()
            client = SECRET if provider == "openid" else OTHER_CLIENTS.get((provider, kind))
            own = World(copy.deepcopy(ready), folders[0], provider, client)
            account = own.sign_in(kind)
            own.call("access.set", provider=provider, state="granted")
            credential = own.call("auth.perform", provider=provider, account=account, confirm=True)["credential"]
            other = World(copy.deepcopy(ready), folders[1], provider, register_another(own, provider))
            refused = sign_in(other, provider, credential)
            assert refused.code in (17004, 1015), refused
            assert refused.data["provider"] == provider, refused
            assert refused.code != 17004 or refused.data["detail"] in DETAILS, refused
            assert "user" not in other.call("users.current")
            found = verified(other, provider, credential)
            if (provider, kind) in TELLING or "idToken" in credential:
                assert found.result["valid"] is False, found
            else:
                assert found.code == 1015, found
                assert provider in NAMELESS or found.data["detail"] == "applicationUnknown", found
                assert provider in NAMELESS or found.data["identity"]["id"], found
            # The negative control: the application's own credential, in a store that does not know it.
            fresh = World(copy.deepcopy(ready), folders[2], provider, client)
            if (provider, kind) in TELLING:
                found = verified(fresh, provider, credential).result
                assert found["valid"] is True and found["identity"]["id"], found
            answer = sign_in(fresh, provider, credential)
            if hasattr(answer, "code"):
                assert (provider, kind) not in TELLING and answer.code in (17004, 1015), answer
                assert answer.code == 1015 or answer.data["detail"] == "unknownApplication", answer
            else:
                assert (provider, kind) in TELLING or "idToken" in credential, answer
                assert answer.result["user"]["identities"][0]["provider"] == provider
            for world in (own, other, fresh):
                world.session.close()
        finally:
            sandbox.terminate()
