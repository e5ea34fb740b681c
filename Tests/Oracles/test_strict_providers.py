"""Each built-in provider against its simulation in the strict form: what the sources of its facts say, and no more.

The usual form takes any port of this machine, because a demo has no fixed one. The strict form takes the registered
address alone where the provider does.

    python -m pytest -s Tests/Oracles/test_strict_providers.py    lists the rules of each simulated provider
"""
import copy
import json
import socket
import subprocess
import urllib.request

import jsonrpcclient
import pytest

from browser import Visitor
from own_servers import READ, WRITE
from rotation import PROJECT, SANDBOX
from session import Session

pytestmark = pytest.mark.usefixtures("built")

CATALOGUE = {provider["id"]: provider for provider in
             json.loads((PROJECT / "Sources/Einlass/Descriptors/providers.json").read_text())["providers"]}
# The simulations with another name than the provider.
PLAYED_BY = {"azure-devops": "microsoft", "google-cloud": "google", "outlook": "microsoft", "twitter": "x"}
DAY = 86_400
# The rules of each simulated provider: PKCE, the ports of the redirect, the client's proof at the token endpoint, the use
# of refresh tokens, and the lifetimes of access and refresh tokens in seconds. `None`: the sources say nothing, and the
# simulation has its default.
BOTH, POST, BASIC = ["client_secret_basic", "client_secret_post"], ["client_secret_post"], ["client_secret_basic"]
ENFORCED = {
    "twitter": ("required", "exact", BOTH, "rotating", 7_200, None),
    "sequencing": ("unknown", "any", BASIC, "kept", None, None),
    "vimeo": ("unknown", "exact", BASIC, "never", None, None),
    "sina-weibo": ("unknown", "any", POST, "never", None, None),
    "apple": ("optional", "any", POST, "kept", None, None),
    "atlassian": ("unknown", "exact", POST, "rotating", None, 90 * DAY),
    "azure-devops": ("optional", "localhost", BOTH, "rotating", 4_299, None),
    "bitbucket": ("unknown", "exact", BASIC, "rotating", 7_200, 90 * DAY),
    "digitalocean": ("required", "any", BOTH, "rotating", 30 * DAY, None),
    "discord": ("optional", "exact", BOTH, "rotating", 7 * DAY, None),
    "dropbox": ("optional", "exact", BOTH, "kept", 14_400, None),
    "fastmail": ("required", "any", BOTH, "rotating", None, None),
    "figma": ("optional", "exact", BASIC, "kept", 90 * DAY, None),
    "forgejo": ("optional", "any", BOTH, "rotating", None, None),
    "gitea": ("optional", "any", BOTH, "rotating", None, None),
    "github": ("optional", "addresses", POST + BASIC + ["none"], "rotating", 28_800, 15_897_600),
    "gitlab": ("optional", "addresses", BOTH, "rotating", 7_200, None),
    "google": ("optional", "addresses", POST, "kept", 3_599, None),
    "google-cloud": ("optional", "addresses", POST, "kept", 3_599, None),
    "heroku": ("unknown", "exact", POST, "rotating", 28_800, None),
    "huggingface": ("optional", "exact", BASIC, "rotating", 28_800, 90 * DAY),
    "line": ("optional", "exact", POST, "reusable", 30 * DAY, 90 * DAY),
    "linear": ("optional", "exact", BOTH, "rotating", 86_399, None),
    "linkedin": ("refused", "exact", POST, "never", 60 * DAY, None),
    "mastodon": ("optional", "addresses", BOTH, "never", None, None),
    "microsoft": ("optional", "localhost", BOTH, "rotating", 4_299, None),
    "notion": ("refused", "exact", BASIC, "rotating", None, None),
    "outlook": ("optional", "localhost", BOTH, "rotating", 4_299, None),
    "reddit": ("unknown", "exact", BASIC, "kept", DAY, None),
    "salesforce": ("required", "exact", BOTH, "rotating", None, None),
    "slack": ("optional", "exact", BOTH, "never", None, None),
    "spotify": ("optional", "addresses", BOTH, "kept", None, 180 * DAY),
    "strava": ("unknown", "any", POST, "rotating", 21_600, None),
    "twitch": ("unknown", "exact", POST, "reusable", 14_124, None),
    "yandex": ("optional", "exact", BOTH, "rotating", None, None),
    "zoom": ("required", "addresses", BASIC, "rotating", 3_600, 90 * DAY),
    "tencent-weibo": ("unknown", "any", POST, "rotating", None, None),
}
SCOPES = {
    "apple": ["openid", "email", "name"],
    "fastmail": [*("urn:ietf:params:jmap:" + name for name in ("core", "mail", "submission", "vacationresponse")),
                 *("https://www.fastmail.com/dev/" + name for name in (
                     "maskedemail", "protocol-imap", "protocol-pop", "protocol-smtp", "protocol-carddav", "protocol-caldav"))],
    "figma": ["current_user:read", "file_comments:read", "file_comments:write", "file_content:read",
              "file_dev_resources:read", "file_dev_resources:write", "file_metadata:read", "file_variables:read",
              "file_variables:write", "file_versions:read", "files:read", "library_analytics:read", "library_assets:read",
              "library_content:read", "project_metadata:read", "projects:read", "selections:read"],
    "gitlab": ["api", "read_api", "read_user", "read_repository", "write_repository", "openid", "profile", "email"],
    "heroku": ["global", "identity", "read", "write", "read-protected", "write-protected"],
    "huggingface": ["openid", "profile", "email", "read-billing", "read-repos", "contribute-repos", "write-repos",
                    "manage-repos", "inference-api", "jobs", "webhooks", "write-discussions"],
    "line": ["profile", "openid", "email"],
    "linear": ["read", "write", "issues:create", "comments:create", "timeSchedule:write", "admin"],
    "linkedin": ["openid", "profile", "email", "w_member_social"],
    "mastodon": ["profile", "read", "write", "push", "follow", *("read:" + name for name in READ),
                 *("write:" + name for name in WRITE)],
    "notion": [],
    "sequencing": ["demo", "external"],
    "strava": ["read", "read_all", "profile:read_all", "profile:write", "activity:read", "activity:read_all",
               "activity:write"]}
# No refresh is described for GitHub's ordinary tokens, which do not end. Microsoft names no check of a token.
WITHOUT_REFRESH = {"github", "vimeo", "sina-weibo", "linkedin", "mastodon", "slack", "flickr"}


class Sandbox:
    def __init__(self):
        self.process = subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.process.stdout.readline())

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()

    def control(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.ready["control"].rstrip("/") + path, data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    def state(self, provider):
        return self.control("GET", "/state")[PLAYED_BY.get(provider, provider)]

    def log(self):
        return self.control("GET", "/log")["requests"]

    def configuration(self, provider):
        """The strict form of a provider, and the configuration for it."""
        played = PLAYED_BY.get(provider, provider)
        configuration = copy.deepcopy(self.ready["config"])
        registration = configuration["applications"]["*"].setdefault(provider, {})
        if provider == "twitter":
            registration.update(clientId="demo-x", clientSecret="demo-secret")
        patch = {"consent": "allow"} if played in ("facebook", "flickr") else {"behaviour": {"consent": "allow"}}
        if ENFORCED.get(provider, ("", ""))[1] == "exact":
            flow = next(flow for flow in CATALOGUE[provider]["flows"] if flow["kind"] == "authorizationCode")
            place = f"http://{flow['redirect'].get('host', '127.0.0.1')}:{free_port()}/callback"
            registration["redirect"] = place
            patch["behaviour"]["redirectPorts"] = "exact"
            patch["applications"] = {registration["clientId"]: {"redirects": [place]}}
        self.control("PATCH", "/state", {played: patch})
        return configuration


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def sandbox():
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def at(sandbox, tmp_path):
    """Starts a front end at a provider in its strict form, with a changed descriptor if one is given."""
    started = []

    def at(provider, descriptor=None, registered=True):
        options, configuration = [], sandbox.configuration(provider)
        if not registered:
            del configuration["applications"]["*"][provider]
        (tmp_path / "config.json").touch(0o600)
        (tmp_path / "config.json").write_text(json.dumps(configuration))
        if descriptor:
            (tmp_path / "providers.json").write_text(json.dumps({"providers": [descriptor]}))
            options = ["--providers", str(tmp_path / "providers.json")]
        started.append(Session("--config", str(tmp_path / "config.json"), *options))
        started[-1].call("initialize", client={"name": "strict"}, capabilities={"prompts": ["openURL", "deviceCode"]})
        return started[-1]

    yield at
    for session in started:
        session.close()


def sign_in(session, provider, **more):
    """Returns the answer of a sign-in in the browser, or the page that refuses it."""
    kind = "oauth1" if provider == "flickr" else "authorizationCode"
    id = session.send("accounts.signIn", provider=provider, flowKind=kind, **more)
    prompt = session.until("prompt.opened")
    visitor = Visitor().open(prompt["url"])
    if visitor.location is None:
        session.call("prompt.answer", prompt=prompt["prompt"], action="cancel")
        session.answer(id)
        return visitor.page
    if visitor.location.startswith("http://"):
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(visitor.location, timeout=60) as page:
            page.read()
    else:
        session.call("prompt.answer", prompt=prompt["prompt"], action="accept", redirectURL=visitor.location)
    return session.answer(id)


def failed_checks(log):
    return [(entry["path"], check) for entry in log for check in entry["checks"] if not check["ok"]]


def test_the_simulations_enforce_what_the_sources_say(sandbox):
    for provider, (pkce, ports, proofs, refresh, access, renewal) in ENFORCED.items():
        sandbox.configuration(provider)
        behaviour = sandbox.state(provider)["behaviour"]
        known = {"pkce": behaviour.get("pkce", "required"), "ports": behaviour.get("redirectPorts", "any"),
                 "proofs": behaviour.get("authentication", BOTH), "refresh": behaviour.get("refresh", "rotating"),
                 "access": behaviour.get("accessSeconds"), "renewal": behaviour.get("refreshSeconds"),
                 "scopes": behaviour.get("scopes")}
        assert known == {"pkce": pkce, "ports": ports, "proofs": proofs, "refresh": refresh, "access": access,
                         "renewal": renewal, "scopes": SCOPES.get(provider)}, provider
        print(f"{provider:14}", ", ".join(f"{name} {value}" for name, value in known.items() if value))


def test_every_built_in_provider_with_a_browser_has_its_line():
    codes = {id for id, provider in CATALOGUE.items()
             if any(flow["kind"] in ("authorizationCode", "oauth1") for flow in provider["flows"])}
    assert codes == {*ENFORCED, "facebook", "flickr"}


@pytest.mark.parametrize("provider", [*ENFORCED, "facebook", "flickr"])
def test_a_sign_in_a_refresh_a_check_and_a_revocation_pass_in_the_strict_form(sandbox, at, provider):
    session = at(provider)
    can = next(one for one in session.call("providers.list", limit=100)["providers"] if one["id"] == provider)["can"]
    hint = {"page": {"loginHint": "ada@example.org"}} if provider == "outlook" else {}
    answer = sign_in(session, provider, **hint)
    assert isinstance(answer, jsonrpcclient.Ok), answer
    account = answer.result["account"]
    session.call("access.set", provider=provider, state="granted")
    renewed = session.call("accounts.renew", account=account)
    if provider in WITHOUT_REFRESH:
        assert renewed["result"] == "failed" and renewed["error"]["data"]["detail"] == "notRenewable", renewed
    elif provider == "apple":
        assert renewed["result"] == "failed" and renewed["error"]["data"]["reason"] == "throttled", renewed
        families = {family: {"renewableAt": 0} for family in sandbox.state(provider)["families"]}
        sandbox.control("PATCH", "/state", {"apple": {"families": families}})
        assert session.call("accounts.renew", account=account) == {"result": "renewed"}
    else:
        assert renewed == {"result": "renewed"}, renewed
    if can["verify"]:
        checked = session.call("verify", provider=provider, account=account)
        assert checked["valid"], checked
    removed = session.call("accounts.remove", account=account)
    assert bool(removed["revoked"]) == can["revoke"], removed
    assert not removed.get("notRevoked") or not can["revoke"], removed
    # Both services of Weibo take the token in the query alone.
    spoilt = [entry for entry in failed_checks(sandbox.log()) if "used too often" not in entry[1].get("detail", "")
              and not (entry[1]["check"] == "tokenInHeader" and provider.endswith("weibo"))]
    assert spoilt == []
    if can["revoke"] and provider != "facebook":
        state = sandbox.state(provider)
        gone = [*state.get("tokens", {}).values(), *state.get("families", {}).values(),
                *state.get("refreshTokens", {}).values()]
        assert any(entry.get("revoked") for entry in gone), provider


def changed(provider, **words):
    """Returns a built-in descriptor with another sign-in in the browser. `None` removes a word."""
    descriptor = copy.deepcopy(CATALOGUE[provider])
    flow = next(flow for flow in descriptor["flows"] if flow["kind"] == "authorizationCode")
    for word, value in words.items():
        flow.pop(word, None)
        if value is not None:
            flow[word] = value
    return descriptor


@pytest.mark.parametrize("provider", ["linkedin", "notion"])
def test_a_proof_key_is_refused(at, provider):
    answer = sign_in(at(provider, changed(provider, proofKey=None)), provider)
    assert answer.data["reason"] == "authenticatorUnconfigured", answer
    assert answer.data["serverError"]["code"] == "invalid_client", answer


@pytest.mark.parametrize("provider", ["spotify", "github", "gitlab", "mastodon", "google", "zoom"])
def test_localhost_is_refused_where_only_the_address_of_this_machine_is_taken(at, provider):
    page = sign_in(at(provider, changed(provider, redirect={"host": "localhost", "path": "/callback"})), provider)
    assert "The redirect address is not registered" in page


def test_the_address_of_this_machine_is_refused_where_only_localhost_is_taken(at):
    page = sign_in(at("microsoft", changed("microsoft", redirect={"path": "/callback"})), "microsoft")
    assert "The redirect address is not registered" in page


@pytest.mark.parametrize("provider", [id for id, row in ENFORCED.items() if row[1] == "exact"])
def test_another_port_is_refused_where_the_registered_one_counts(sandbox, at, provider):
    session = at(provider)
    application = {"behaviour": {"consent": "allow"}, "applications": {
        json.loads(json.dumps(sandbox.ready["config"]))["applications"]["*"][provider]["clientId"]
        if provider != "twitter" else "demo-x": {"redirects": ["http://127.0.0.1:1/callback"]}}}
    sandbox.control("PATCH", "/state", {PLAYED_BY.get(provider, provider): application})
    assert "The redirect address is not registered" in sign_in(session, provider)


@pytest.mark.parametrize("provider, scope", [
    ("mastodon", "email"), ("linkedin", "r_basicprofile"), ("gitlab", "git:read"), ("figma", "file_read"),
    ("fastmail", "email"), ("notion", "read_content")])
def test_a_scope_that_the_provider_does_not_know_is_refused(at, provider, scope):
    answer = sign_in(at(provider), provider, scopes=[scope])
    assert answer.data["serverError"]["code"] == "invalid_scope", answer


def test_mail_by_a_code_is_refused_at_google(at):
    session = at("google")
    answer = session.answer(session.send("accounts.signIn", provider="google", flowKind="deviceCode", scopes=["mail"]))
    assert answer.data["serverError"]["code"] == "invalid_scope", answer


@pytest.mark.parametrize("provider, spoil, code", [
    ("twitch", lambda flow: flow["deviceAuthorization"].pop("form"), "invalid_request"),
    ("yandex", lambda flow: flow.pop("question"), "unsupported_grant_type")])
def test_a_code_for_a_device_without_the_words_of_its_provider_is_refused(sandbox, at, provider, spoil, code):
    descriptor = copy.deepcopy(CATALOGUE[provider])
    spoil(next(flow for flow in descriptor["flows"] if flow["kind"] == "deviceCode"))
    session = at(provider, descriptor)
    sandbox.control("PATCH", "/state", {provider: {"behaviour": {"intervalSeconds": 1}}})
    answer = session.answer(session.send("accounts.signIn", provider=provider, flowKind="deviceCode"))
    assert answer.data["serverError"]["code"] == code, answer


@pytest.mark.parametrize("provider, spoil", [
    ("atlassian", lambda flow: flow["authorize"]["query"].pop("audience")),
    ("atlassian", lambda flow: flow["authorize"]["query"].pop("prompt")),
    ("atlassian", lambda flow: flow["token"].pop("json")),
    ("notion", lambda flow: flow["authorize"].pop("query")),
    ("notion", lambda flow: flow["token"].pop("json"))])
def test_a_sign_in_without_the_words_of_its_provider_is_refused(at, provider, spoil):
    descriptor = copy.deepcopy(CATALOGUE[provider])
    spoil(descriptor["flows"][0])
    answer = sign_in(at(provider, descriptor), provider)
    assert answer.data["serverError"]["code"] == "invalid_request", answer


def test_only_graphql_names_the_person_at_linear(at):
    descriptor = copy.deepcopy(CATALOGUE["linear"])
    descriptor["identity"]["request"]["json"] = {"query": "{{ organization {{ id }} }}"}
    assert not isinstance(sign_in(at("linear", descriptor), "linear"), jsonrpcclient.Ok)


def test_an_application_at_digitalocean_registers_itself(sandbox, at):
    session = at("digitalocean", registered=False)
    assert isinstance(sign_in(session, "digitalocean"), jsonrpcclient.Ok)
    issued = [one for id, one in sandbox.state("digitalocean")["applications"].items() if id != "demo-digitalocean"]
    assert [(one["authentication"], "secret" in one) for one in issued] == [("none", False)]
    assert issued[0]["redirects"][0].startswith("http://127.0.0.1:")


def test_a_token_for_graph_names_nobody_at_azure_devops(at):
    descriptor = changed("azure-devops", scopes=["User.Read", "offline_access"])
    assert not isinstance(sign_in(at("azure-devops", descriptor), "azure-devops"), jsonrpcclient.Ok)


def test_figma_refreshes_at_an_endpoint_of_its_own_alone(at):
    session = at("figma", changed("figma", refresh={}))
    account = sign_in(session, "figma").result["account"]
    session.call("access.set", provider="figma", state="granted")
    assert session.call("accounts.renew", account=account)["result"] == "rejected"


def test_a_wider_scope_serves_for_those_that_it_contains(at):
    session = at("gitlab")
    account = sign_in(session, "gitlab", scopes=["read_user", "api"]).result["account"]
    session.call("access.set", provider="gitlab", state="granted")
    assert session.call("credentials.get", account=account, scopes=["git"])["credential"]["scopes"] == ["read_user", "api"]
    # A control: without the wider scope the others are missing.
    narrow = sign_in(session, "gitlab", account=account, scopes=["read_user"])
    assert narrow.result["account"] == account
    assert session.refused("credentials.get", account=account, scopes=["git"]) == "reloginNeeded"
