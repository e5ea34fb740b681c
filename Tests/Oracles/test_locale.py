"""The language of a front end reaches the provider's page and the requests to the provider.

    python -m pytest Tests/Oracles/test_locale.py
"""
import json
import urllib.parse
import urllib.request

import pytest

from session import Session

pytestmark = pytest.mark.usefixtures("built")


# The flow and the state of the sandbox that signs the person in, where they are not the usual ones.
FLOWS = {"twitter": "oauth1", "facebook": "authorizationCode"}
CONSENT = {"facebook": {"consent": "allow"}}


def signed_in(ready, config, provider, locale, **params):
    """Returns the query of the page, and the headers of the requests of einlass, of a sign-in."""
    def ask(method, path, body=None):
        request = urllib.request.Request(ready["control"].rstrip("/") + path, body and json.dumps(body).encode(),
                                         method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    session = Session("--config", str(config))
    session.call("initialize", client={"name": "editor"}, capabilities={"prompts": ["openURL", "enterVerifier"]},
                 **({"locale": locale} if locale else {}))
    if provider == "openid":
        session.call("providers.add", issuer=ready["addresses"]["openid"], id="openid")
    if provider != "twitter":
        ask("PATCH", "/state", {provider: CONSENT.get(provider, {"behaviour": {"consent": "allow"}})})
    ask("DELETE", "/log")
    kind = {"flowKind": FLOWS[provider]} if provider in FLOWS else {}
    flow = session.send("accounts.signIn", provider=provider, **kind, **params)
    page = session.until("prompt.opened")["url"]
    if provider != "twitter":
        urllib.request.urlopen(urllib.request.Request(page, headers={"User-Agent": "browser"})).close()
        assert session.answer(flow).result["account"]
    requests = json.loads(ask("GET", "/log"))["requests"]
    session.close()
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(page).query)
    if "request_uri" in query:  # The parameters were pushed.
        query = next({name: [value] for name, value in entry["form"].items()} for entry in requests
                     if "response_type" in (entry["form"] or {}))
    return query, [entry["headers"] for entry in requests if entry["headers"]["user-agent"] != "browser"]


@pytest.mark.parametrize("provider, locale, name, value", [
    ("google", "pt-BR", "hl", "pt-BR"), ("dropbox", "pt-BR", "locale", "pt-BR"),
    ("facebook", "pt-BR", "locale", "pt_BR"), ("mastodon", "de", "lang", "de"), ("twitter", "de", "lang", "de"),
    ("openid", "zh-Hant-TW", "ui_locales", "zh-Hant-TW"), ("github", "de", "hl", None), ("google", None, "hl", None)])
def test_the_page_gets_the_language_by_the_name_that_the_provider_knows(
        ready, config, provider, locale, name, value):
    query, requests = signed_in(ready, config, provider, locale)
    assert query.get(name) == ([value] if value else None)
    assert not ({"hl", "lang", "locale", "ui_locales"} - {name}) & set(query)
    assert requests and {headers.get("accept-language") for headers in requests} == {locale}


def test_the_front_end_may_choose_another_language_for_the_page(ready, config):
    query, requests = signed_in(ready, config, "google", "de", customParameters={"hl": "fr"})
    assert query["hl"] == ["fr"]
    assert {headers.get("accept-language") for headers in requests} == {"de"}


@pytest.mark.parametrize("locale", ["de_DE", "", "d", "de\n", "de, en;q=0.5", "x" * 65])
def test_a_locale_that_is_no_language_tag_is_refused(locale):
    session = Session()
    # Not by `refused`, which sends only what the document allows.
    session.asked[1] = "initialize"
    session.write({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                   "params": {"client": {"name": "editor"}, "locale": locale}})
    assert session.answer(1).data["reason"] == "invalidParams"
    session.close()
