"""A protected resource on the internet leads einlass to no server of this machine and of its network.

    python -m pytest Tests/Oracles/test_resource_network.py
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from resource_network import HOSTILE, INNER, PROXY, PUBLIC

HOUSE = {*INNER.values(), "10.0.0.5"}
# The hosts that are reached although they were not refused: einlass follows no redirect.
REDIRECTS = {name for name in HOSTILE if name.startswith("a redirect")}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("only root may make a network of its own")
    for tool in ("unshare", "ip", "openssl"):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool} here")
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    program = Path(__file__).with_name("resource_network.py")
    done = subprocess.run(["unshare", "--net", "--mount", sys.executable, program, tmp_path_factory.mktemp("network")],
                          capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def listeners(outcome):
    return {listener for listener, *_ in outcome["asked"]}


def is_refused(outcome):
    error = outcome.get("error", {})
    return (error.get("reason"), error.get("detail")) == ("unsafeURL", "notPublic")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_resource_on_the_internet_directs_no_request_into_the_house(results, name):
    outcome = results["hostile"][name]
    assert listeners(outcome) == {PUBLIC}
    assert is_refused(outcome) or name in REDIRECTS and "error" in outcome, outcome


@pytest.mark.parametrize("name", HOSTILE)
def test_an_admitted_host_is_asked(results, name):
    """The control: each place can be reached."""
    asked = {listener for listener, *_ in results["control"][name]}
    assert bool(asked & HOUSE) == (name not in REDIRECTS), asked


def test_the_refusal_names_the_server(results):
    outcome = results["hostile"]["the name private"]
    assert outcome["message"] == ("Another server names private.example, which has an address of this machine or of "
                                  "its network. Nothing was sent there.")


@pytest.mark.parametrize("name, places", [("good", {PUBLIC}), ("admitted", {PUBLIC, "10.0.0.5"}),
                                          ("intranet", {"10.0.0.6", "10.0.0.5"})])
def test_a_resource_and_its_issuer_serve_where_both_may_be(results, name, places):
    journey = results[name]
    assert len(journey) == 3 and all("result" in outcome for outcome in journey), journey
    assert set().union(*map(listeners, journey)) == places
    assert not journey[2]["result"].get("notRevoked")


def test_only_the_admitted_host_is_admitted(results):
    assert is_refused(results["others"]) and listeners(results["others"]) == {PUBLIC}


def test_a_revocation_and_a_check_of_a_token_in_the_house_are_not_sent(results):
    signed_in, _, signed_out = results["revocation"]
    assert "result" in signed_in and signed_out["asked"] == []
    assert "private.example" in signed_out["result"]["notRevoked"][0]["reason"]
    for name in ("introspection", "claims"):
        assert is_refused(results[name]) and results[name]["asked"] == [], results[name]


def test_a_refresh_is_not_sent_to_an_issuer_that_has_moved_into_the_house(results):
    assert "result" in results["before"] and listeners(results["before"]) == {PUBLIC}
    assert is_refused(results["rebound"]) and results["rebound"]["asked"] == []


def test_an_issuer_that_the_person_adds_may_be_in_the_house(results):
    assert "result" in results["added"] and listeners(results["added"]) == {"10.0.0.5"}
    assert "result" in results["by hand"] and listeners(results["by hand"]) == {"127.0.0.1"}


def test_behind_a_proxy_literals_and_names_without_a_dot_are_refused(results):
    proxy = results["proxy"]
    assert "result" in proxy["good"]
    for name in ("a private literal", "a name without a dot"):
        assert is_refused(proxy[name]), proxy[name]
        assert {path for _, method, _, path in proxy[name]["asked"] if method == "CONNECT"} <= {"photos.example:443"}
    # The limit: the proxy looks up the name.
    assert "private.example:443" in [path for *_, path in proxy["the name private"]["asked"]]


def test_a_host_that_needs_no_proxy_is_checked(results):
    outcome = results["proxy"]["the name loopback"]
    assert is_refused(outcome) and listeners(outcome) <= {PUBLIC, PROXY}
