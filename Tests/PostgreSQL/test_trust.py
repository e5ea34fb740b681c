"""A store whose tables would run the code of another role is refused, and a forged notification costs one request.

    python -m pytest Tests/PostgreSQL/test_trust.py
"""
import subprocess
import time

import pytest

from machines import Fleet
from rotation import EINLASS
from test_stores import add, detail, names
from wire import Wire, socket_of

pytestmark = pytest.mark.usefixtures("built")
RIGHTS = ("GRANT USAGE ON SCHEMA {0} TO {1}", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {0} TO {1}",
          "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {0} TO {1}")


@pytest.fixture
def place(shared):
    """The server with the roles `ein`, which uses stores, and `mallory`, which may make schemas."""
    made = ["CREATE ROLE ein LOGIN", "CREATE ROLE mallory LOGIN", "GRANT CREATE ON DATABASE einlass TO ein, mallory",
            "CREATE ROLE team NOLOGIN", "GRANT CREATE ON DATABASE einlass TO team", "CREATE ROLE boss NOLOGIN"]
    shared.sql(*made)
    yield shared
    roles = "ein, mallory, team, boss"
    shared.sql(f"DROP OWNED BY {roles} CASCADE", f"DROP ROLE {roles}")


def make(place, store, role, *more, owner=None):
    """Makes the tables of a store by this role, and gives `ein` the rights on their rows."""
    address = place.address(store, role="ein")
    tables = subprocess.run([EINLASS, "--store", address, "--dump-schema"], capture_output=True, text=True, check=True).stdout
    schema = f"einlass_{store}"
    become = f"SET ROLE {owner}; " if owner else ""
    place.sql(become + tables, *(become + right.format(schema, "ein") for right in RIGHTS), *more, role=role)
    return address


@pytest.fixture
def machine(place):
    """Returns a function that starts a machine at this address."""
    started = []

    def start(address, **more):
        started.append(Fleet(place, "trust", 0, address=address))
        started[-1].processes = [started[-1].spawn(**more)]
        return started[-1].processes[0]

    yield start
    for fleet in started:
        fleet.close()


#: The code of mallory, which runs with the rights of its caller and tells them.
SPY = ("CREATE TABLE {0}.caught (who text)", "GRANT INSERT ON {0}.caught TO PUBLIC",
       "CREATE FUNCTION {0}.spy() RETURNS trigger LANGUAGE plpgsql AS "
       "'BEGIN INSERT INTO {0}.caught VALUES (current_user); RETURN NEW; END'",
       "CREATE TRIGGER spy BEFORE INSERT ON {0}.account FOR EACH ROW EXECUTE FUNCTION {0}.spy()")


#: Operators and a function in the schema that the role's search path begins with.
SHADOWS = ("CREATE SCHEMA ein", "GRANT USAGE ON SCHEMA ein TO PUBLIC",
           *(f"CREATE FUNCTION ein.{name} {language} AS 'BEGIN INSERT INTO {{0}}.caught VALUES (current_user); {end} END'"
             for name, language, end in (
                 ("joined(a name, b name) RETURNS text", "LANGUAGE plpgsql", "RETURN NULL;"),
                 ("joined(a text, b name) RETURNS text", "LANGUAGE plpgsql", "RETURN NULL;"),
                 ("pg_advisory_xact_lock(a integer) RETURNS void", "LANGUAGE plpgsql", ""))),
           *(f"CREATE OPERATOR ein.|| (LEFTARG = {kind}, RIGHTARG = name, FUNCTION = ein.joined)" for kind in ("name", "text")))


@pytest.mark.parametrize("more", [(), SPY, SPY + SHADOWS], ids=["tables", "trigger", "operators"])
def test_the_tables_of_another_role_are_refused_and_run_nothing(place, machine, more):
    address = make(place, "planted", "mallory", *(line.format("einlass_planted") for line in more))
    process = machine(address, is_introduced=False)
    answer = add(process)
    assert detail(answer) == "refused" and "belongs to the role mallory" in answer["error"]["message"], answer
    assert detail(process.call("accounts.list")) == "refused"
    if more:
        assert place.sql("SELECT count(*) FROM einlass_planted.caught") == [("0",)]


def test_the_first_machine_runs_no_function_of_another_role(place, machine):
    spy = [line.format("watched") for line in (*SPY[:2], *SHADOWS)]
    place.sql("CREATE SCHEMA watched", "GRANT USAGE ON SCHEMA watched TO PUBLIC", *spy, role="mallory")
    assert "result" in add(machine(place.address("watching", role="ein")))
    assert place.sql("SELECT count(*) FROM watched.caught") == [("0",)]


def test_a_view_in_place_of_a_table_is_not_read(place, machine):
    schema = "einlass_viewed"
    address = make(place, "viewed", "mallory", f"DROP TABLE {schema}.meta", f"CREATE SEQUENCE {schema}.calls",
                   f"GRANT USAGE ON {schema}.calls TO PUBLIC",
                   f"CREATE VIEW {schema}.meta AS SELECT 1::bigint AS id, 1::bigint AS schema, nextval('{schema}.calls')::text AS store, "
                   "0::bigint AS revision, ''::bytea AS key_id, 0::bigint AS encryptions", f"GRANT SELECT ON {schema}.meta TO ein")
    assert detail(machine(address, is_introduced=False).call("accounts.list")) == "refused"
    # The listener of the process reads the revision too.
    time.sleep(3)
    assert place.sql(f"SELECT is_called FROM {schema}.calls") == [("f",)]


def test_an_empty_schema_of_another_role_gets_no_store(place, machine):
    place.sql("CREATE SCHEMA einlass_empty", "GRANT USAGE, CREATE ON SCHEMA einlass_empty TO ein", role="mallory")
    answer = add(machine(place.address("empty", role="ein"), is_introduced=False))
    assert detail(answer) == "refused" and "its schema einlass_empty belongs to the role mallory" in answer["error"]["message"]
    assert place.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'einlass_empty'::regnamespace") == [("0",)]


@pytest.mark.parametrize("role, owner, before", [
    ("ein", None, []), ("postgres", None, []), ("postgres", "boss", ["GRANT CREATE ON DATABASE einlass TO boss"]),
    ("mallory", "team", ["GRANT team TO ein, mallory"])], ids=["own", "administrator", "nobody", "team"])
def test_a_store_of_a_trusted_owner_opens(place, machine, role, owner, before):
    store = f"of_{owner or role}"
    for line in before:
        place.sql(line)
    process = machine(make(place, store, role, owner=owner))
    assert "result" in add(process) and names(process) == ["ada"]


def test_a_role_that_nobody_signs_in_as_counts_by_its_members(place, machine):
    place.sql("GRANT CREATE ON DATABASE einlass TO boss", "GRANT boss TO mallory")
    process = machine(make(place, "members", "postgres", owner="boss"), is_introduced=False)
    assert detail(add(process)) == "refused"


@pytest.mark.parametrize("change, named, undo", [
    ("CREATE TRIGGER t BEFORE INSERT ON {0}.account FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
     "its table account has the trigger t", "DROP TRIGGER t ON {0}.account"),
    ("CREATE RULE r AS ON INSERT TO {0}.change DO ALSO SELECT 1", "its table change has the rule r", "DROP RULE r ON {0}.change"),
    ("ALTER TABLE {0}.credential ENABLE ROW LEVEL SECURITY", "its table credential has row security",
     "ALTER TABLE {0}.credential DISABLE ROW LEVEL SECURITY"),
    ("CREATE TABLE {0}.heir () INHERITS ({0}.account)", "account is not an ordinary table", "DROP TABLE {0}.heir"),
    ("GRANT ALL ON {0}.account TO mallory", "its table account lets the role mallory make triggers",
     "REVOKE TRIGGER ON {0}.account FROM mallory")],
    ids=["trigger", "rule", "row security", "heir", "right"])
def test_a_changed_table_is_refused_until_it_is_changed_back(place, machine, change, named, undo):
    address = place.address("changed", role="ein")
    first = machine(address)
    assert "result" in add(first)
    place.sql(change.format("einlass_changed"), role="ein")
    second = machine(address, is_introduced=False)
    answer = second.call("accounts.list")
    assert detail(answer) == "refused" and named in answer["error"]["message"], answer
    place.sql(undo.format("einlass_changed"), role="ein")
    assert names(second) == ["ada"]


def test_a_forged_notification_costs_one_request(place):
    with Wire(socket_of(place)) as wire:
        fleet = Fleet(place, "forged", 1, reaching=wire.parameters)
        try:
            [process] = fleet.processes
            deadline = time.monotonic() + 40
            while not is_kept(process, wire):
                assert time.monotonic() < deadline, "no rows are kept"
                assert names(process) == []
            place.sql("NOTIFY einlass_forged, '9223372036854775807'", role="mallory")
            while is_kept(process, wire):
                assert time.monotonic() < deadline, "the notification was not heard"
                time.sleep(0.1)
            assert names(process) == []
            assert is_kept(process, wire)
        finally:
            fleet.close()


def is_kept(process, wire):
    """Whether the process lists its accounts while the database does not answer."""
    wire.freeze()
    try:
        started = time.monotonic()
        process.call("accounts.list")
        return time.monotonic() - started < 1
    finally:
        wire.thaw()
