"""A server that is reached by TLS, with a private authority.

    python -m pytest Tests/PostgreSQL/test_tls.py

The name of the server is of another machine, and `hostaddr` leads to this one.
"""
import os
import subprocess

import pytest

from cluster import Cluster
from machines import Fleet
from tls import HOST, PASSWORD, House

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture(scope="module")
def house(template, tmp_path_factory):
    with Cluster(template, listen_addresses="127.0.0.1") as cluster:
        yield House(cluster, tmp_path_factory.mktemp("tls"))


@pytest.fixture
def fleet(house):
    """Returns a function that starts machines with an address."""
    started = []

    def start(store, count, address, *options, **more):
        started.append(Fleet(house.cluster, store, count, *options, address=address, **more))
        return started[-1]

    yield start
    for fleet in started:
        fleet.close()


def encrypted(house):
    """Returns whether the connections are encrypted."""
    return house.cluster.sql("SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename IN "
                             "('einlass', 'certified')")


def test_machines_with_a_certificate_share_a_store(house, fleet):
    machines = fleet("certified", 3, house.address("certified", "certified", **house.by_certificate))
    account, family = machines.add()
    assert {answer["result"]["credential"]["token"] for answer in machines.get(account)} == {
        machines.provider.families[family]["access"]}
    assert encrypted(house) == [("t",)]


def test_machines_with_a_password_file_share_a_store(house, fleet):
    machines = fleet("scram", 2, house.address("scram", passfile=house.passwords, channel_binding="require"))
    machines.add()
    assert encrypted(house) == [("t",)]


def refusal(fleet, store, address, **environment):
    machines = fleet(store, 0, address)
    machines.processes = [machines.spawn(is_introduced=False, env=environment)]
    return machines.processes[0].call("store.check")["error"]


def test_another_authority_is_not_believed(house, fleet):
    error = refusal(fleet, "stranger", house.address("stranger", "certified", authority=house.stranger, **house.by_certificate))
    assert (error["code"], error["data"]["detail"]) == (1009, "unreachable")
    assert "certificate" in error["message"]


def test_another_name_is_not_believed(house, fleet):
    error = refusal(fleet, "name", house.address("name", "certified", host="other.example.org", **house.by_certificate))
    assert (error["code"], error["data"]["detail"]) == (1009, "unreachable")
    assert HOST in error["message"]


def test_a_wrong_password_is_a_problem_of_permissions(house, fleet, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.touch(0o600)
    passwords.write_text(f"{HOST}:*:einlass:einlass:wrong-{PASSWORD[:4]}\n")
    error = refusal(fleet, "wrong", house.address("wrong", passfile=passwords))
    assert (error["code"], error["data"]["detail"]) == (1009, "permissions")
    assert "wrong-" not in error["message"]


def test_a_weaker_mode_is_refused_at_the_same_server(house, fleet):
    error = refusal(fleet, "weaker", house.address("weaker", "certified", sslmode="require", **house.by_certificate))
    assert (error["code"], error["data"]["detail"]) == (1009, "refused")


def test_the_control_a_weaker_mode_believes_the_other_name(house):
    address = house.address(None, "certified", host="other.example.org", sslmode="require", **house.by_certificate)
    done = subprocess.run(["psql", "-XqAt", "-d", address, "-c", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"],
                          capture_output=True, text=True, env={**os.environ, "HOME": "/nonexistent"})
    assert done.stdout == "t\n", done.stderr


def test_machines_outlive_a_server_that_ends_without_a_word(house, fleet):
    machines = fleet("interrupted", 6, house.address("interrupted", "certified", **house.by_certificate))
    for number in range(3):
        account, family = machines.add(f"user{number}")
        house.cluster.interrupt()
        house.cluster.restart()
        got = {answer["result"]["credential"]["token"] for answer in machines.get(account)}
        assert got == {machines.provider.families[family]["access"]}
    assert all(process.process.poll() is None for process in machines.processes)
