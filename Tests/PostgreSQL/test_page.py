"""The blocks of clients/POSTGRESQL.md, in their order, by an operator with a database server and three machines.

    python -m pytest Tests/PostgreSQL/test_page.py

A test reads its section, and those before it that nobody has read.
"""
import json
import re
import shutil
import time

import pytest

import cluster as clusters
import pooler
from cluster import Cluster, Standby
from reading import PAGE, Operator, blocks

pytestmark = pytest.mark.usefixtures("built")
STORE = "postgresql:///?service=einlass"


class NewServer(Cluster):
    """A server with nothing in it, because the page makes the role and the database."""

    def copy(self, _):
        clusters.run(*clusters.as_keeper(
            clusters.program("initdb"), "-D", self.data, "--no-sync", "-E", "UTF8", "--locale=C", "-U", "postgres"))


@pytest.fixture(scope="module")
def operator(tmp_path_factory):
    for reason in (clusters.WHY_NOT, pooler.WHY_NOT):
        if reason:
            pytest.skip(reason)
    # doctor warns of a server without fsync.
    with NewServer(None, listen_addresses="127.0.0.1", fsync="on") as server:
        operator = Operator(server, tmp_path_factory.mktemp("operator"))
        yield operator
        operator.close()


def token(operator, name, *options):
    return operator.machines[name].do("token", "gitlab", *options).strip()


def refusal(operator, name, *words):
    """Returns the sentence of a command that fails."""
    code, _, errors = operator.machines[name].run("einlassctl", *words, patience=60)
    assert code == 1, errors
    return errors


def health(operator, name="one"):
    (account,) = json.loads(operator.machines[name].do("accounts", "list", "--json"))["accounts"]
    return account["health"]


def refreshes(operator):
    requests = operator.machines["one"].log("gitlab", "POST", "/oauth/token")
    return sum(entry["form"]["grant_type"] == "refresh_token" for entry in requests)


def keys(operator, name):
    return {path.name: path.read_text() for path in operator.machines[name].folder.glob(".local/state/einlass/keys/*")}


def test_two_machines_share_a_store_from_nothing(operator):
    operator.read("The machines")
    before = refreshes(operator)
    assert token(operator, "one") == token(operator, "two")
    fresh = token(operator, "two", "--refresh")
    assert token(operator, "one") == fresh and refreshes(operator) == before + 1
    found = operator.machines["two"].do("doctor")
    assert "encrypted" in found and "problem" not in found, found


def test_the_beginning_of_the_page_is_a_part_of_it():
    beginning = re.findall(r"^(?:\{|\w+\$ ).*$", PAGE.partition("\n## ")[0], re.MULTILINE)
    lines = [line for block in blocks() for line in block.text.split("\n")]
    assert len(beginning) == 3 and not [line for line in beginning if line not in lines]


def test_the_names_are_in_plain_text_and_the_tokens_are_not(operator):
    operator.read("The machines")
    operator.machines["one"].do("audit")
    rows = operator.sql("SELECT * FROM einlass.account; SELECT * FROM einlass.credential; "
                        "SELECT convert_from(line, 'UTF8') FROM einlass.audit")
    held = token(operator, "one")
    assert "ada@example.org" in rows and "credentials.get" in rows and held not in rows and held.encode().hex() not in rows


def test_another_name_in_the_database_is_another_store(operator):
    operator.read("Several stores in one database")
    schemas = operator.sql("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'einlass%' ORDER BY 1").split()
    assert schemas == ["einlass", "einlass_team"] and len(keys(operator, "one")) == 2


def test_einlass_works_with_the_least_rights(operator):
    operator.read("Roles with least rights")
    assert token(operator, "two", "--refresh") == token(operator, "one")
    operator.machines["two"].do("access", "set", "backup", "gitlab", "granted")
    operator.machines["two"].do("store", "check")
    for name in ("one", "two"):
        operator.machines[name].do("audit")
    # The negative control: the rights are not more than these.
    for words in (["store", "rotate-key"], ["audit", "prune", "2030-01-01", "--yes"]):
        assert "permission denied for table" in refusal(operator, "one", *words)
    for statement in ("DROP TABLE einlass.account", "CREATE SCHEMA mine", "CREATE TABLE einlass.mine ()",
                      "UPDATE einlass.audit SET line = ''"):
        with pytest.raises(AssertionError, match="permission denied|must be owner"):
            operator.sql(statement, role="einlass")


@pytest.mark.parametrize("right, sentence", [
    ("USAGE ON SCHEMA einlass", "permission denied for schema einlass"),
    ("INSERT ON einlass.lease", "permission denied for table lease"),
    ("CONNECT ON DATABASE einlass", "permission denied for database")])
def test_a_missing_right_is_named(operator, right, sentence):
    operator.read("Roles with least rights")
    operator.sql(f"REVOKE {right} FROM einlass")
    errors = refusal(operator, "two", "token", "gitlab", "--refresh")
    operator.sql(f"GRANT {right} TO einlass")
    assert sentence in errors.replace("\n", " ")
    assert token(operator, "two", "--refresh")


def test_a_certificate_takes_the_place_of_the_password(operator):
    operator.read("A certificate in place of the password")
    assert not (operator.machines["three"].folder / ".pgpass").exists()
    assert token(operator, "three", "--refresh") == token(operator, "one")
    assert operator.sql("SELECT count(*) FROM pg_auth_members WHERE member = 'three'::regrole") == "1"


def old_ciphertext(operator):
    """Returns a function that looks for the ciphertext of now in the tables' files."""
    sealed = bytes.fromhex(operator.sql("SELECT encode(substring(refresh_token FROM 1 FOR 24), 'hex') FROM einlass.credential"))

    def is_there():
        folder = operator.sql("CHECKPOINT; SELECT oid FROM pg_database WHERE datname = 'einlass'")
        return any(sealed in path.read_bytes() for path in (operator.server.data / "base" / folder).iterdir())
    return is_there


def test_a_lost_machine_has_no_way_in(operator):
    operator.read("A machine that is lost", until="add passphrase")
    is_there, former = old_ciphertext(operator), keys(operator, "one")
    (name,) = keys(operator, "three")
    assert former[name] == keys(operator, "three")[name]
    operator.read("A machine that is lost", until="VACUUM")
    # The negative control: another key alone leaves the old ciphertext.
    assert is_there()
    operator.read("A machine that is lost")
    assert not is_there()
    # The keys of the other stores stay.
    assert keys(operator, "one") == {**former, **keys(operator, "two")} != former
    assert "not permitted to log in" in refusal(operator, "three", "token", "gitlab").replace("\n", " ")
    operator.sql("ALTER ROLE three LOGIN")
    assert "does not open the account store" in refusal(operator, "three", "token", "gitlab").replace("\n", " ")
    operator.sql("ALTER ROLE three NOLOGIN")
    assert "permission denied for table keyslot" in refusal(operator, "one", "store", "rotate-key")


def test_a_pooler_stands_between(operator):
    operator.read("pgbouncer")
    assert token(operator, "two", "--refresh") == token(operator, "one")
    assert "a pooler stands before it" in operator.machines["two"].do("doctor")
    assert "a pooler stands before it" not in operator.machines["one"].do("doctor")
    file = operator.pooler_file
    file.write_text(file.read_text().replace("pool_mode = transaction", "pool_mode = session"))
    operator.restart_pgbouncer()
    assert token(operator, "two", "--refresh") == token(operator, "one")


def test_a_restored_store_has_spent_tokens(operator):
    operator.read("Backup and restore", until="REVOKE CONNECT")
    fresh = token(operator, "one", "--refresh")
    operator.read("Backup and restore", until="GRANT CONNECT")
    assert "permission denied for database" in refusal(operator, "one", "accounts").replace("\n", " ")
    operator.read("Backup and restore")
    assert token(operator, "two") != fresh and health(operator) == "ok"
    assert "must be signed in to again" in refusal(operator, "two", "token", "gitlab", "--refresh").replace("\n", " ")
    # The next step of an account that needs a sign-in names it again.
    before = set(re.findall(r'"a_[^"]*"', operator.machines["one"].do("accounts", "list", "--json")))
    operator.machines["one"].sign_in("gitlab")
    after = re.findall(r'"a_[^"]*"', operator.machines["one"].do("accounts", "list", "--json"))
    assert health(operator) == "ok" and len(before) == 1 and before == set(after)
    assert token(operator, "two", "--refresh") == token(operator, "one")


def certify(operator, server, host):
    """Gives the server a certificate of the page's authority with another name."""
    (block,) = [block for block in blocks() if "CN=Example authority" in block.text]
    commands = [command for _, command in operator.commands(block.text)]
    assert len(commands) == 4
    for command in commands[1:3]:
        operator.follow("db", command.replace("db.example.org", host).replace("server.", f"{host}."))
    for ending in ("crt", "key"):
        shutil.copy(operator.machines["db"].folder / f"{host}.{ending}", server.data / f"server.{ending}")
        clusters.give(server.data / f"server.{ending}")
        (server.data / f"server.{ending}").chmod(0o600)


def wait_until_synchronous(server):
    deadline = time.monotonic() + 60
    while server.sql("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def second(operator):
    """A standby at a name of its own."""
    operator.read("Backup and restore")
    first = operator.server
    certify(operator, first, "db1.example.org")
    operator.reload_postgresql()
    with Standby(first, "second") as second:
        second.stop()
        certify(operator, second, "db2.example.org")
        file = second.data / "conf.d/einlass.conf"
        file.write_text(file.read_text().replace(str(first.data), str(second.data)))
        second.set(listen_addresses="127.0.0.1")
        second.start()
        second.wait_until_streaming()
        operator.servers = [first, second]
        yield second


def test_a_synchronous_standby_takes_over(operator, second):
    first = operator.server
    operator.read("Failover", until="synchronous_standby_names")
    for name in ("one", "two"):
        path = operator.machines[name].folder / ".pgpass"
        path.write_text(path.read_text().replace("db.example.org", "*"))
    assert "asynchronous" in operator.machines["one"].do("doctor")
    operator.read("Failover")
    wait_until_synchronous(first)
    assert "asynchronous" not in operator.machines["one"].do("doctor")
    fresh = token(operator, "one", "--refresh")
    first.interrupt()
    first.wait_for_end()
    second.promote()
    operator.servers = [second]
    assert token(operator, "two") == fresh
    assert token(operator, "two", "--refresh") == token(operator, "one") and health(operator) == "ok"


def test_the_queries_show_the_store_and_no_ciphertext(operator, second):
    operator.read("Monitoring")
    queries = [block.text for block in blocks() if block.section == "Monitoring" and block.text.startswith("SELECT")]
    assert len(queries) == 6
    shown = [operator.sql(query, role="einlass_monitor") for query in queries]
    assert "gitlab|ok|1" in shown and any(re.match(r"\d+\|\d+\|0\.00\n\d+ kB", text) for text in shown)
    assert any("|einlassctl|credentials.get|" in text for text in shown)
    with pytest.raises(AssertionError, match="permission denied for table credential"):
        operator.sql("SELECT * FROM einlass.credential", role="einlass_monitor")
    operator.sql("INSERT INTO einlass.lease SELECT id, 'holder', 1, clock_timestamp() + interval '45 s' FROM einlass.account "
                 "ON CONFLICT (name) DO UPDATE SET until = clock_timestamp() + interval '45 s'")
    assert "|gitlab|ada|" in operator.sql(queries[0], role="einlass_monitor")
    operator.sql("UPDATE einlass.lease SET until = '-infinity'")


def test_a_store_moves_into_the_database_and_back(operator, second):
    one = operator.machines["one"]
    file, mine = str(one.folder / ".local/share/einlass/store.db"), STORE + "&einlass_store=mine"
    one.do("access", "set", "moved", "gitlab", "granted", "--store", file)
    operator.read("Move a store", until="REVOKE")
    assert "moved" in one.do("access", "list", "--store", mine)
    one.do("store", "move", mine, file)
    operator.read("Move a store")
    assert "moved" in one.do("access", "list", "--store", file)


def test_a_store_is_removed_and_every_block_was_read(operator, second):
    operator.read("Remove a store")
    assert not operator.left
    schemas = operator.sql("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'einlass%' ORDER BY 1").split()
    assert schemas == ["einlass", "einlass_farm", "einlass_mine.moved"]
