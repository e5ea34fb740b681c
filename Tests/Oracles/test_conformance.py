"""An MCP client with einlass in the client scenarios of the MCP conformance suite for authorization. A plain client
passes the same scenarios, and each fault of it fails its check.

    python -m pytest Tests/Oracles/test_conformance.py
"""
import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import conformance_extensions  # noqa: F401, adds its scenarios
from conformance_client import Client, PlainClient, Refused
from conformance_scenarios import DOCUMENT, SCENARIOS, Run, provider_id
from session import request_of

LISTED = [line.split()[1] for line in (Path(__file__).parent / "conformance_scenarios.txt").read_text().splitlines()
          if not line.startswith("#")]

# The scenarios that a right client cannot finish: the reasons of einlass and of the plain client.
REFUSALS = {
    "auth/resource-mismatch": ("providerFailure", "another resource"),
    "auth/metadata-issuer-mismatch": ("providerFailure", "metadata of another issuer"),
    "auth/scope-retry-limit": (403, 403),
    "auth/iss-supported-missing": ("verificationFailed", "iss"), "auth/iss-wrong-issuer": ("verificationFailed", "iss"),
    "auth/iss-unexpected": ("verificationFailed", "iss"), "auth/iss-normalized": ("verificationFailed", "iss")}

# Scenario, fault of the plain client, checks that fail or warn.
FAULTS = [
    ("metadata-default", "root first", {"prm-priority-order"}),
    ("metadata-default", "no application type", {"sep-837-application-type-present"}),
    ("metadata-default", "no PKCE", {"pkce-code-challenge-sent", "pkce-s256-method-used", "pkce-code-verifier-sent",
                                     "pkce-verifier-matches-challenge"}),
    ("metadata-var2", "metadata at the root", {"authorization-server-metadata-wrong-path"}),
    ("metadata-issuer-mismatch", "any issuer of metadata", {"sep-2468-client-validate-metadata-issuer"}),
    ("resource-mismatch", "any resource", {"resource-mismatch-rejected"}),
    ("basic-cimd", "registers always", {"cimd-client-id-used"}),
    ("pre-registration", "another client", {"pre-registration-auth"}),
    ("token-endpoint-auth-basic", "another authentication", {"token-endpoint-auth-method"}),
    ("token-endpoint-auth-post", "another authentication", {"token-endpoint-auth-method"}),
    ("token-endpoint-auth-none", "another authentication", {"token-endpoint-auth-method"}),
    ("token-endpoint-auth-none", "no resource", {
        "resource-parameter-in-authorization", "resource-parameter-in-token", "resource-parameter-valid-uri"}),
    ("authorization-server-migration", "one registration for all", {
        "sep-2352-reregister-on-as-change", "sep-2352-no-reuse-on-as-change",
        "sep-2352-no-cross-as-credential-reuse"}),
    ("scope-from-www-authenticate", "no scope", {"scope-from-www-authenticate"}),
    ("scope-from-scopes-supported", "one scope", {"scope-from-scopes-supported"}),
    ("scope-omitted-when-undefined", "an own scope", {"scope-omitted-when-undefined"}),
    ("offline-access-scope", "no grant types", {"sep-2207-client-metadata-grant-types"}),
    ("offline-access-scope", "no offline_access", {"sep-2207-offline-access-requested"}),
    ("offline-access-not-supported", "offline always", {"sep-2207-offline-access-not-requested"}),
    ("scope-step-up", "no step-up", {"scope-step-up-escalation", "sep-2350-scope-union-on-reauth"}),
    ("scope-step-up", "only the challenged scope", {"sep-2350-scope-union-on-reauth"}),
    ("scope-retry-limit", "no limit", {"scope-retry-limit"}),
    ("iss-supported", "no iss expected", {"sep-2468-client-compare-iss-supported"}),
    ("iss-supported-missing", "any iss", {"sep-2468-client-reject-missing-iss"}),
    ("iss-wrong-issuer", "any iss", {"sep-2468-client-compare-iss-supported"}),
    ("iss-unexpected", "any iss", {"sep-2468-client-compare-iss-unadvertised"}),
    ("iss-normalized", "normalizes iss", {"sep-2468-client-no-normalization"}),
    ("client-credentials-basic", "another client", {"client-credentials-basic-auth"}),
    ("client-credentials-jwt", "another audience", {"client-credentials-jwt-verified"}),
    ("enterprise-managed-authorization", "no audience", {"complete-flow-token-exchange", "complete-flow-jwt-bearer"}),
    ("enterprise-managed-authorization", "an id_token as assertion", {
        "complete-flow-token-exchange", "complete-flow-jwt-bearer"}),
    ("wif-jwt-bearer", "audience", {"wif-assertion-audience", "wif-assertion-verified"}),
    ("wif-jwt-bearer", "no assertion", {"wif-assertion-missing", "wif-assertion-verified"}),
    ("wif-jwt-bearer", "expired", {"wif-assertion-expired", "wif-assertion-verified"}),
    ("wif-jwt-bearer", "expired again", {"wif-assertion-expired", "wif-assertion-verified", "wif-no-retry"}),
    ("wif-jwt-bearer", "client credentials instead", {
        "wif-assertion-expired", "wif-assertion-verified", "wif-grant-fallback"}),
    ("dpop", "bearer scheme", {"sep-1932-client-dpop-auth-scheme", "sep-1932-client-fresh-proof"}),
    ("dpop", "one proof", {"sep-1932-client-fresh-proof"}),
    ("dpop", "no proof for the token", {"sep-1932-client-token-request-proof", "sep-1932-client-dpop-auth-scheme",
                                        "sep-1932-client-fresh-proof"}),
    ("dpop-nonce", "no nonce for the token", {"sep-1932-client-as-nonce", "sep-1932-client-dpop-auth-scheme",
                                              "sep-1932-client-fresh-proof", "sep-1932-client-rs-nonce"}),
    ("dpop-nonce", "no nonce for the resource", {"sep-1932-client-rs-nonce"}),
]


class EinlassClient(Client):
    """An MCP client with the tokens of einlass. `is_own`: the client's metadata is that of one application."""

    def __init__(self, run, start, folder, is_own=False):
        super().__init__(run)
        self.account = self.resource = None
        registrations = {id: dict(registration) for id, registration in run.registrations.items()}
        if run.assertion:
            assertion = folder / "assertion"
            assertion.write_text(run.assertion)
            assertion.chmod(0o600)
            for registration in registrations.values():
                registration["assertionFile"] = str(assertion)
        configuration = {"applications": {"oracle-test": registrations}}
        if run.document:
            (registrations if is_own else configuration)["clientMetadata"] = run.document
        path = folder / "configuration.json"
        path.write_text(json.dumps(configuration))
        path.chmod(0o600)
        self.front_end = start(None, None, options=("--config", str(path)))
        self.flow = {"flowKind": run.flow} if run.flow else {}
        if run.identities:
            provider = self.front_end.call("providers.add", issuer=run.identities.issuer)["provider"]
            assert provider == provider_id(run.identities.issuer)
            self.flow["assertionFrom"] = self.signed_in(provider=provider)["account"]

    def signed_in(self, **params):
        """Returns the result of a sign-in. The person's browser follows the page at once."""
        id = self.front_end.send("accounts.signIn", **params)
        while True:
            message = self.front_end.message()
            if isinstance(message, dict):
                # An answer of another issuer ends the sign-in too, so nothing is left waiting for the right one.
                if message["method"] == "prompt.opened":
                    assert page_status(message["params"]["url"]) == 200
            elif message.id == id:
                break
        if hasattr(message, "code"):
            raise Refused(message.data["reason"], message.message)
        provider = message.result.get("provider") or params["provider"]
        self.front_end.call("access.set", provider=provider, state="granted")
        return message.result

    def sign_in(self, challenge, **more):
        result = self.signed_in(resource=self.run.url, challenge=challenge, **self.flow, **more)
        self.account, self.resource = result["account"], result["resource"]

    def step_up(self, challenge):
        self.sign_in(challenge, account=self.account)

    def renew(self, challenge):
        self.front_end.call("credentials.reject", account=self.account, resource=self.resource)
        answer = self.front_end.answer(
            self.front_end.send("credentials.get", account=self.account, resource=self.resource))
        if hasattr(answer, "code"):
            assert request_of(answer.data)["method"] == "accounts.signIn", answer
            self.sign_in(challenge)

    def headers(self):
        wanted = {"account": self.account, "resource": self.resource}
        if not self.run.proofs:
            return {"Authorization": "Bearer " + self.front_end.token(**wanted)}
        nonce = {"nonce": self.nonce} if self.nonce else {}
        return self.front_end.signed(method="POST", url=self.run.url, **wanted, **nonce)


def page_status(url):
    """Follows the redirects to einlass, and returns the status of its page."""
    try:
        answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=60)
    except urllib.error.HTTPError as failure:
        answer = failure
    with answer:
        return answer.status


@pytest.fixture
def begin():
    runs = []

    def begin(name):
        runs.append(Run(name))
        return runs[-1]

    yield begin
    for run in runs:
        run.close()


def outcome(client):
    """Plays the client's part, and returns the reason of its refusal; `None` if it comes to the end."""
    try:
        client.play()
    except Refused as refused:
        return refused.args[0]
    return None


def failures(run):
    """Returns the checks that fail or warn, and the required ones without success."""
    return {id for id, word in run.result().items()
            if word in ("WARNING", "FAILURE") or id in run.required and word != "SUCCESS"}


def test_the_scenarios_are_those_of_the_list():
    assert len(LISTED) == 31 and sorted(SCENARIOS) == sorted(LISTED)
    assert {"auth/" + name for name, _, _ in FAULTS} | {"auth/metadata-var1", "auth/metadata-var3",
                                                        "auth/iss-not-advertised"} == set(LISTED)


# Checks of extensions that einlass fails, with the reason. The required scenarios have none.
FAILING = {
    # The suite wants the issuer as audience of a client assertion. MCP's own page of this extension says the token
    # endpoint, and so does idpyoidc, which refuses the issuer. So the token endpoint comes first, and the issuer, which
    # gets the token, second. A registration with "assertionAudience": "issuer" passes.
    "auth/client-credentials-jwt": (None, {"client-credentials-jwt-verified"}),
}


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("name", LISTED)
def test_a_client_with_einlass_passes(name, begin, start, tmp_path):
    run = begin(name)
    found = outcome(EinlassClient(run, start, tmp_path))
    assert (found, failures(run)) == FAILING.get(name, (REFUSALS.get(name, (None, None))[0], set())), run.result()


@pytest.mark.parametrize("name", LISTED)
def test_a_plain_client_passes(name, begin):
    run = begin(name)
    found = outcome(PlainClient(run))
    assert (found, failures(run)) == (REFUSALS.get(name, (None, None))[1], set()), run.result()


@pytest.mark.parametrize(("name", "fault", "failing"), FAULTS, ids=[f"{name}: {fault}" for name, fault, _ in FAULTS])
def test_a_fault_of_the_plain_client_fails_its_checks(name, fault, failing, begin):
    run = begin("auth/" + name)
    outcome(PlainClient(run, fault))
    assert failures(run) == failing


@pytest.mark.usefixtures("built")
def test_the_document_of_one_application_is_its_client_id(begin, start, tmp_path):
    run = begin("auth/basic-cimd")
    found = outcome(EinlassClient(run, start, tmp_path, is_own=True))
    assert (found, failures(run)) == (None, set()), run.result()
    assert "client-registration" not in run.result()


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("name", ["auth/metadata-default", "auth/pre-registration"])
def test_a_document_is_not_used_without_support_or_beside_a_registration(name, begin, start, tmp_path):
    run = begin(name)
    run.document = DOCUMENT
    found = outcome(EinlassClient(run, start, tmp_path))
    assert (found, failures(run)) == (None, set()), run.result()


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("bad", ["expired", "audience"])
def test_an_assertion_that_cannot_be_accepted_is_not_sent(bad, begin, start, tmp_path):
    run = begin("auth/wif-jwt-bearer")
    run.assertion = run.bad_assertions[bad]
    assert outcome(EinlassClient(run, start, tmp_path)) == "verificationFailed"
    # The check of the assertion is missing, because no request with it has arrived.
    assert failures(run) == {"wif-assertion-verified"}
