"""Stores in one database, the rights that they need, and the stores that are left alone.

    python -m pytest Tests/PostgreSQL/test_stores.py
"""
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cluster import program, run
from machines import Fleet, Machine
from rotation import CLIENT, EINLASS
from wire import Wire, socket_of

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture
def fleet(shared):
    """Returns a function that starts machines with a store in the shared server."""
    started = []

    def start(store, count=1, *options, **more):
        started.append(Fleet(shared, store, count, *options, **more))
        return started[-1]

    yield start
    for fleet in started:
        fleet.close()


ADA = {"provider": "twitter", "username": "ada", "credential": {
    "type": "oauth1", "key": "k3y-of-ada", "secret": "s3cret-of-ada", "clientId": "c", "clientSecret": "client-s3cret"}}


def add(process, username="ada"):
    return process.call("accounts.add", **{**ADA, "username": username})


def names(process):
    return sorted(account["username"] for account in process.call("accounts.list")["result"]["accounts"])


def dump(cluster, schema):
    """Returns the statements that would restore a schema, without the numbers that sequences give next: a change that
    was undone uses some."""
    # pg_dump draws a word for `\\restrict` in each dump.
    return [line for line in run(program("pg_dump"), "-h", str(cluster.sockets), "-p", str(cluster.port), "-U", "postgres", "-n",
                                 schema, "einlass").splitlines() if "restrict" not in line and "setval" not in line]


def detail(answer):
    assert answer["error"]["code"] == 1009, answer
    return answer["error"]["data"]["detail"]


def test_stores_of_one_database_do_not_see_each_other(shared, fleet):
    first, second = fleet("house"), fleet("house_2")
    unnamed = Fleet(shared, None, 1)
    add(first.processes[0], "ada")
    add(second.processes[0], "grace")
    add(unnamed.processes[0], "alan")
    assert [names(fleet.processes[0]) for fleet in (first, second, unnamed)] == [["ada"], ["grace"], ["alan"]]
    other = add(first.processes[0], "edsger")["result"]["account"]
    own = add(second.processes[0], "barbara")["result"]["account"]
    second.processes[0].wait_for("accounts.changed", about=own)
    # The first store's change would have come first.
    told = json.dumps([entry for entry in second.processes[0].notifications if entry["method"] == "accounts.changed"])
    assert own in told and other not in told
    schemas = {schema for schema, in shared.sql("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'einlass%'")}
    assert {"einlass", "einlass_house", "einlass_house_2"} <= schemas
    unnamed.close()


def test_a_second_machine_needs_a_copy_of_the_key(shared, fleet):
    machines = fleet("keys")
    add(machines.processes[0])
    # The line of the audit trail arrives with its end.
    machines.processes.pop().close()
    before = dump(shared, "einlass_keys")
    stranger = Machine(machines.folder)
    process = stranger.start(machines.address)
    assert names(process) == ["ada"]
    assert detail(add(process, "grace")) == "keyUnavailable"
    process.close()
    assert not stranger.key.exists() and list(stranger.state.rglob("*.key")) == []
    assert dump(shared, "einlass_keys") == before
    # The control: the copy is enough.
    stranger.take_key(machines.machines[0])
    process = stranger.start(machines.address)
    assert "result" in add(process, "grace")
    process.close()
    stranger.remove()


def test_the_key_has_its_usual_place_by_the_stores_id(shared):
    machine, other = Machine(), Machine()

    def added(machine, username):
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "accounts.add", "params": {**ADA, "username": username}}) + "\n"
        done = subprocess.run([EINLASS, "--finish", "--store", shared.address("usual")], input=request, capture_output=True,
                              text=True, env=machine.environment)
        return json.loads(done.stdout)

    assert added(machine, "ada")["result"]["created"]
    [(store,)] = shared.sql("SELECT store FROM einlass_usual.meta")
    key = machine.state / f"keys/{store}.key"
    assert list(machine.state.rglob("*.key")) == [key]
    assert detail(added(other, "grace")) == "keyUnavailable"
    (other.state / "keys").mkdir(mode=0o700, parents=True)
    shutil.copy(key, other.state / "keys")
    assert added(other, "grace")["result"]["created"]
    machine.remove()
    other.remove()


def test_the_database_has_no_secret_in_the_clear(shared, fleet):
    machines = fleet("sealed")
    add(machines.processes[0])
    account, family = machines.add("grace")
    machines.get(account)
    machines.processes[0].call("users.create", email="ada@example.org", password="passw0rd-of-ada")
    machines.processes[0].call("providers.configure", provider="github", clientId="mine", clientSecret="s3cret-of-mine")
    text = "\n".join(dump(shared, "einlass_sealed"))
    secrets = ["k3y-of-ada", "s3cret-of-ada", "client-s3cret", "passw0rd-of-ada", "s3cret-of-mine",
               machines.provider.families[family]["access"], machines.provider.families[family]["refresh"]]
    for secret in secrets:
        assert secret not in text and secret.encode().hex() not in text, "a secret"
    # The control: names are found.
    assert "grace" in text and "rotating" in text


def test_a_refused_credential_leaves_no_account_and_no_secret_in_the_log(shared, fleet):
    process = fleet("full").processes[0]
    add(process)
    shared.sql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
               "$$ BEGIN RAISE 'no space' USING ERRCODE = '53100'; END $$",
               "CREATE TRIGGER refuse BEFORE INSERT ON credential FOR EACH ROW EXECUTE FUNCTION refuse()",
               schema="einlass_full")
    assert detail(add(process, "bob")) == "full"
    assert names(process) == ["ada"]
    shared.sql("DROP TRIGGER refuse ON credential", schema="einlass_full")
    # The control: the connection works, and the log has the statement.
    assert "result" in add(process, "bob") and names(process) == ["ada", "bob"]
    log = (shared.folder / "log").read_text()
    assert "INSERT INTO credential" in log
    for secret in ("k3y-of-ada", "s3cret-of-ada", "client-s3cret"):
        assert secret not in log and secret.encode().hex() not in log, "a secret"


@pytest.fixture
def guest(shared):
    """A role that may connect and no more."""
    shared.sql("CREATE ROLE guest LOGIN")
    yield shared
    shared.sql("DROP OWNED BY guest", "DROP ROLE guest")


def test_the_texts_of_a_credential_are_not_read_as_sql(shared, fleet):
    process = fleet("texts").processes[0]
    client, scope = "it's \\ ?1 \"$1\"; DROP TABLE account; --", "a'b?2"
    credential = {"type": "oauth2", "token": "at", "clientId": client, "scopes": [scope]}
    answer = process.call("accounts.add", provider="rotating", username="ada", credential=credential)
    account = answer["result"]["account"]
    columns = ", ".join(f"encode(convert_to({name}, 'UTF8'), 'hex')" for name in ("client_id", "scopes"))
    rows = shared.sql(f"SELECT {columns} FROM credential", schema="einlass_texts")
    assert rows == [(client.encode().hex(), f"{scope}\n".encode().hex())]
    assert [found["account"] for found in process.call("accounts.list")["result"]["accounts"]] == [account]


def test_a_role_that_may_not_make_a_schema_is_told_so(guest, fleet):
    machines = fleet("unmade", 0, address=guest.address("unmade", role="guest"))
    machines.processes = [machines.spawn()]
    assert names(machines.processes[0]) == []
    answer = add(machines.processes[0])
    assert detail(answer) == "permissions" and "unmade" in answer["error"]["message"]
    assert guest.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'einlass_unmade'") == [("0",)]


def test_a_role_with_an_empty_schema_of_its_own_needs_nothing_else(guest, fleet):
    guest.sql("CREATE SCHEMA einlass_given AUTHORIZATION guest")
    machines = fleet("given", 2, address=guest.address("given", role="guest"))
    account, family = machines.add()
    assert len({answer["result"]["credential"]["token"] for answer in machines.get(account)}) == 1
    assert guest.sql("SELECT rolcreatedb, rolsuper, has_database_privilege('guest', 'einlass', 'CREATE') FROM pg_roles "
                     "WHERE rolname = 'guest'") == [("f", "f", "f")]


USE = ("GRANT USAGE ON SCHEMA einlass_lent TO guest",
       "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA einlass_lent TO guest",
       "GRANT USAGE ON ALL SEQUENCES IN SCHEMA einlass_lent TO guest")


def test_a_role_that_owns_nothing_uses_a_store_with_rights_on_its_rows(guest, fleet):
    owner = fleet("lent")
    add(owner.processes[0])
    guest.sql(*USE)
    machine = Machine(owner.folder)
    machine.take_key(owner.machines[0])
    process = machine.start(guest.address("lent", role="guest"))
    assert "result" in add(process, "grace") and names(process) == ["ada", "grace"]
    process.close()
    # Without the right to write, the store is read.
    guest.sql("REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA einlass_lent FROM guest")
    process = machine.start(guest.address("lent", role="guest"))
    assert names(process) == ["ada", "grace"]
    assert detail(add(process, "alan")) == "permissions"
    process.close()
    guest.sql("REVOKE SELECT ON ALL TABLES IN SCHEMA einlass_lent FROM guest")
    process = machine.start(guest.address("lent", role="guest"), is_introduced=False)
    assert detail(process.call("accounts.list")) == "permissions"
    process.close()
    machine.remove()


def test_a_newer_schema_is_left_alone(shared, fleet):
    machines = fleet("newer")
    add(machines.processes[0])
    machines.processes.pop().close()
    shared.sql("UPDATE einlass_newer.meta SET schema = schema + 1", "COMMENT ON TABLE einlass_newer.meta IS '7.1.0'")
    before = dump(shared, "einlass_newer")
    process = machines.spawn(is_introduced=False)
    for call in (lambda: process.call("accounts.list"), lambda: add(process, "grace"), lambda: process.call("store.check")):
        assert detail(call()) == "tooNew"
    assert "needs einlass 7.1.0 (schema " in process.call("accounts.list")["error"]["message"]
    process.close()
    assert dump(shared, "einlass_newer") == before
    # The control: the former number opens it.
    shared.sql("UPDATE einlass_newer.meta SET schema = schema - 1")
    machines.processes = [machines.spawn()]
    assert "result" in add(machines.processes[0], "grace")


def make_older(cluster, store):
    """Takes away what the newest version has added to the tables."""
    cluster.sql(f"ALTER TABLE {store}.registration DROP COLUMN flow",
                f"ALTER TABLE {store}.registration ADD PRIMARY KEY (provider)",
                f"ALTER TABLE {store}.credential DROP COLUMN refresh_expires_at",
                f"UPDATE {store}.meta SET schema = 2")


def test_a_store_of_an_older_einlass_gets_the_newest_tables_from_the_first_machine(shared, fleet):
    machines = fleet("older")
    account, _ = machines.add("ada")
    machines.processes.pop().close()
    make_older(shared, "einlass_older")
    # An older machine that waits for a token could not store it in newer tables.
    shared.sql("INSERT INTO einlass_older.lease VALUES ('a_held', 'older', 1, clock_timestamp() + interval '2 s'), "
               "('sign-in-held', 'older', 1, clock_timestamp() + interval '1 h')")
    [(revision,)] = shared.sql("SELECT revision FROM einlass_older.meta")
    # All machines come at once.
    machines.processes = [machines.spawn(is_introduced=False) for _ in range(4)]
    numbers = [process.send("accounts.list") for process in machines.processes]
    for process, number in zip(machines.processes, numbers):
        answer = process.answer(number)
        assert [entry["account"] for entry in answer["result"]["accounts"]] == [account], answer
    assert shared.sql("SELECT until < clock_timestamp() FROM einlass_older.lease WHERE name = 'a_held'") == [("t",)]
    # Older machines have heard of it.
    assert shared.sql("SELECT schema, revision FROM einlass_older.meta") == [("3", str(int(revision) + 1))]
    assert shared.sql("SELECT count(*) FROM einlass_older.service_refusal") == [("0",)]
    assert shared.sql("SELECT obj_description('einlass_older.meta'::regclass)") == [("0.2.0",)]
    assert machines.processes[0].call("store.check")["result"]["sound"]


def test_the_owner_of_older_tables_is_named_to_a_role_that_may_not_change_them(guest, fleet):
    owner = fleet("aged")
    add(owner.processes[0])
    owner.processes.pop().close()
    make_older(guest, "einlass_aged")
    guest.sql(*(line.replace("lent", "aged") for line in USE))
    machine = Machine(owner.folder)
    machine.take_key(owner.machines[0])
    process = machine.start(guest.address("aged", role="guest"))
    answer = process.call("accounts.list")
    assert detail(answer) == "permissions" and "--dump-schema" in answer["error"]["data"]["next"][0]["command"], answer
    assert guest.sql("SELECT schema FROM einlass_aged.meta") == [("2",)]
    done = subprocess.run([EINLASS, "--store", owner.address, "--dump-schema"], capture_output=True, text=True, check=True)
    guest.sql("SET ROLE einlass; " + done.stdout, *(line.replace("lent", "aged") for line in USE))
    assert names(process) == ["ada"] and "result" in add(process, "grace")
    process.close()
    machine.remove()


def test_a_refused_service_is_known_to_each_machine(shared, fleet):
    machines = fleet("refusing", 2, flow="authorizationCode")
    first, second = machines.processes
    credential = {"type": "oauth2", "token": "at", "clientId": CLIENT}
    account = first.call("accounts.add", provider="rotating", username="ada", credential=credential)["result"]["account"]
    address = "https://git.example.com/app.git"
    answer = first.call("credentials.reject", account=account, address=address)
    assert answer["result"] == {}, answer
    revision = first.call("accounts.list")["result"]["revision"]
    second.wait_for_revision(revision)
    for process in (first, second):
        error = process.call("credentials.get", account=account, address=address)["error"]["data"]
        assert (error["reason"], error["detail"]) == ("throttled", "refusedByService")
        assert "result" in process.call("credentials.get", account=account)
        (entry,) = process.call("accounts.list")["result"]["accounts"]
        assert [refusal["address"] for refusal in entry["refusals"]] == ["https://git.example.com"]
    assert "result" in first.call("accounts.remove", account=account)
    assert shared.sql("SELECT count(*) FROM einlass_refusing.service_refusal") == [("0",)]


def test_a_store_without_one_of_its_tables_is_damaged(shared, fleet):
    machines = fleet("torn")
    process = machines.processes[0]
    account, _ = machines.add("ada")
    tables = ["account", "change", "credential", "provider_overlay"]
    for table in tables:
        shared.sql(f"ALTER TABLE einlass_torn.{table} RENAME TO hidden")
        new = machines.spawn(is_introduced=False)
        assert detail(new.call("store.check")) == "corrupt", table
        new.close()
        shared.sql(f"ALTER TABLE einlass_torn.hidden RENAME TO {table}")
    # The control: the whole store is read.
    assert names(process) == ["ada"] and process.call("store.check")["result"]["sound"]
    for table, call in [("lease", ("credentials.get", {"account": account})), ("audit", ("audit.list", {})),
                        ("lease", ("store.move", {"to": str(machines.folder / "moved.db")}))]:
        shared.sql(f"ALTER TABLE einlass_torn.{table} RENAME TO hidden")
        assert detail(process.call(call[0], **call[1])) == "corrupt", call
        shared.sql(f"ALTER TABLE einlass_torn.hidden RENAME TO {table}")


def test_the_largest_numbers_in_a_damaged_database_end_no_process(shared, fleet):
    machines = fleet("largest")
    process = machines.processes[0]
    account, _ = machines.add("ada")
    largest = 2**63 - 1
    shared.sql(f"UPDATE meta SET revision = {largest}", f"UPDATE change SET number = {largest} WHERE number = 1",
               f"UPDATE keyslot SET id = {largest}",
               f"INSERT INTO provider_overlay (id, number, contents) VALUES (1, {largest}, convert_to('{{\"providers\":[]}}', 'UTF8'))", schema="einlass_largest")
    process.close()
    process = machines.processes[0] = machines.machines[0].start(machines.address)
    for method, params in [
            ("accounts.list", {}), ("users.list", {}), ("access.set", {"provider": "rotating", "state": "denied"}),
            ("providers.add", {"descriptor": json.loads((machines.folder / "providers.json").read_text())["providers"][0] | {"id": "b"}}),
            ("credentials.get", {"account": account}), ("store.move", {"to": str(machines.folder / "moved.db")})]:
        assert process.call(method, **params) is not None, method
    assert process.process.poll() is None


def test_a_slow_program_of_the_key_makes_a_store(shared, fleet):
    """It runs twice for a new store, and both runs together take longer than a request waits for the database."""
    machines = fleet("slowly", 0)
    machine = Machine(machines.folder)
    config = machine.folder / "config.json"
    key = machine.folder / "printed"
    key.write_text("k" * 43 + "=")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"keyCommand": ["/bin/sh", "-c", f"sleep 4.5; cat {key}"]}))
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "accounts.add", "params": ADA}) + "\n"
    done = subprocess.run([EINLASS, "--finish", "--store", machines.address, "--config", config], input=request, capture_output=True,
                          text=True, env=machine.environment)
    assert json.loads(done.stdout)["result"]["created"], done.stdout
    assert shared.sql("SELECT kind FROM einlass_slowly.keyslot") == [("command",)]
    machine.remove()


def test_a_store_of_a_role_with_a_mark_in_its_name_moves(shared, fleet):
    shared.sql('CREATE ROLE "ada@corp" LOGIN', 'GRANT CREATE ON DATABASE einlass TO "ada@corp"')
    machines = fleet("marked", 1, address=shared.address("marked", role="ada%40corp"))
    assert "result" in add(machines.processes[0])
    moved = str(machines.folder / "moved.db")
    result = machines.processes[0].call("store.move", to=moved)["result"]
    assert (result["path"], result["former"]) == (moved, "einlass_marked.moved")


def test_a_role_that_owns_nothing_moves_a_store_into_tables_of_the_owner(guest, fleet):
    machines = fleet("filled", 0, address=str(Machine().folder / "store.db"))
    machines.processes = [machines.spawn()]
    process = machines.processes[0]
    add(process)
    place = guest.address("filled", role="guest")
    done = subprocess.run([EINLASS, "--store", place, "--dump-schema"], capture_output=True, text=True, check=True)
    guest.sql(done.stdout, "GRANT USAGE ON SCHEMA einlass_filled TO guest",
              "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA einlass_filled TO guest")
    # Without the right to set the sequences nothing is moved.
    assert detail(process.call("store.move", to=place)) == "permissions" and names(process) == ["ada"]
    guest.sql("GRANT UPDATE ON ALL SEQUENCES IN SCHEMA einlass_filled TO guest")
    assert process.call("store.move", to=place)["result"]["path"] == place
    moved = machines.machines[0].start(place)
    assert "result" in add(moved, "grace") and names(moved) == ["ada", "grace"]
    moved.close()
    shutil.rmtree(Path(machines.address).parent)


def test_a_move_whose_end_is_unknown_says_how_to_go_on(shared, fleet):
    with Wire(socket_of(shared)) as wire:
        machines = fleet("half", 1, reaching=wire.parameters)
        process = machines.processes[0]
        add(process)
        moved = machines.folder / "moved.db"
        trap = wire.trap(("out", b"RENAME TO"), ("out", b"COMMIT"), do=lambda: "drop")
        answer = process.call("store.move", to=str(moved))
        trap.wait()
        assert detail(answer) == "unreachable" and f" to {moved} failed" in answer["error"]["message"], answer
        # The old store is still there, so the new one goes.
        assert names(process) == ["ada"]
        assert detail(process.call("store.move", to=str(moved))) == "refused"
        moved.unlink()
        assert process.call("store.move", to=str(moved))["result"]["former"] == "einlass_half.moved"


def test_the_audit_trail_moves_with_the_store(shared, fleet):
    machines = fleet("trails", 1)
    process = machines.processes[0]
    add(process)

    def trail(process):
        return [(entry["at"], entry["method"]) for entry in process.call("audit.list")["result"]["entries"]]

    before = trail(process)
    assert before
    places = [str(machines.folder / "moved.db"), shared.address("trails_2")]
    for place in places:
        assert "result" in process.call("store.move", to=place)
        process.close()
        process = machines.processes[0] = machines.machines[0].start(place)
        assert trail(process)[-len(before):] == before


def test_a_database_that_lacks_letters_gets_no_store(shared, fleet):
    shared.sql("CREATE DATABASE latin ENCODING LATIN1 TEMPLATE template0 OWNER einlass", database="postgres")
    machines = fleet("letters", 0, address=shared.address("letters", database="latin"))
    machines.processes = [machines.spawn(is_introduced=False)]
    answer = add(machines.processes[0])
    assert detail(answer) == "refused" and "LATIN1" in answer["error"]["message"]
    assert shared.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'einlass_letters'", database="latin") == [("0",)]


def test_names_are_stored_as_unicode_by_any_address(shared, fleet):
    machines = fleet("names", 0, address=shared.address("names", client_encoding="LATIN1"))
    machines.processes = [machines.spawn(is_introduced=False)]
    assert "result" in add(machines.processes[0], "Zoë Łukasz")
    assert shared.sql("SELECT username FROM einlass_names.account") == [("Zoë Łukasz",)]


def test_a_refused_role_is_a_problem_of_permissions(shared, fleet):
    shared.sql("CREATE ROLE lost NOLOGIN")
    machines = fleet("lost", 0, address=shared.address("lost", role="lost"))
    machines.processes = [machines.spawn(is_introduced=False)]
    answer = machines.processes[0].call("store.check")
    assert detail(answer) == "permissions" and "not permitted to log in" in answer["error"]["message"]


def test_a_schema_of_others_is_left_alone(shared, fleet):
    shared.sql("CREATE SCHEMA einlass_others AUTHORIZATION einlass", "CREATE TABLE einlass_others.account (id integer)",
               "INSERT INTO einlass_others.account VALUES (7)", role="postgres")
    before = dump(shared, "einlass_others")
    machines = fleet("others", 0)
    machines.processes = [machines.spawn(is_introduced=False)]
    assert detail(add(machines.processes[0])) == "permissions"
    assert dump(shared, "einlass_others") == before


def test_a_database_that_is_not_there_is_named(shared, fleet):
    machines = fleet("nowhere", 0, address=shared.address("nowhere", database="nowhere"))
    machines.processes = [machines.spawn(is_introduced=False)]
    answer = machines.processes[0].call("accounts.list")
    assert detail(answer) == "refused" and "nowhere" in answer["error"]["message"]


def test_a_standby_or_a_read_only_database_is_read(shared, fleet):
    machines = fleet("reading")
    add(machines.processes[0])
    machines.processes.pop().close()
    address = shared.address("reading", target_session_attrs="any", options="-cdefault_transaction_read_only=on")
    process = machines.spawn(address)
    assert names(process) == ["ada"]
    assert detail(add(process, "grace")) == "readOnly"
    process.close()
