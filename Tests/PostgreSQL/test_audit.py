"""The audit trail of many machines: a file on each, forwarded to a table.

    python -m pytest Tests/PostgreSQL/test_audit.py
"""
import json
import os
import subprocess
import time

import pytest

from machines import Fleet
from rotation import EINLASS, PATIENCE

CONTROL = os.environ.get("EINLASS_CONTROL", str(EINLASS).removesuffix("einlass") + "einlassctl")
pytestmark = pytest.mark.usefixtures("built")


def lines(fleet):
    return [line for line, in fleet.rows("SELECT convert_from(line, 'UTF8') FROM audit") if "credentials.get" in line]


def wait_for_lines(fleet, count):
    deadline = time.monotonic() + 30
    while len(lines(fleet)) != count:
        assert time.monotonic() < deadline and len(lines(fleet)) <= count, lines(fleet)
        time.sleep(0.1)


def test_the_entries_of_every_machine_come_to_the_table_once(shared, wire):
    fleet = Fleet(shared, "trail", 2, reaching=wire.parameters)
    account, family = fleet.add()
    fleet.get(account)
    wait_for_lines(fleet, 2)
    # While the network hangs, the entries stay on the machine.
    wire.freeze()
    assert all("result" in answer for answer in fleet.get(account))
    time.sleep(1)
    assert len(lines(fleet)) == 2
    wire.thaw()
    fleet.get(account)
    wait_for_lines(fleet, 6)
    # A process that is killed leaves its entries to the next one on its machine.
    killed, other = fleet.processes
    wire.freeze()
    assert "result" in killed.call("credentials.get", account=account)
    killed.kill()
    killed.close()
    wire.cut()
    wire.thaw()
    fleet.processes = [killed.machine.start(fleet.address), other]
    fleet.processes[0].call("accounts.list")
    wait_for_lines(fleet, 7)
    text = "\n".join(lines(fleet))
    assert fleet.provider.families[family]["access"] not in text and account in text
    fleet.close()


@pytest.mark.parametrize("audit", ["required", None])
def test_a_required_entry_is_in_the_table_before_the_answer(shared, wire, audit):
    fleet = Fleet(shared, f"required_{audit or 'not'}".lower(), 1, reaching=wire.parameters)
    account, family = fleet.add()
    fleet.get(account)
    wait_for_lines(fleet, 1)
    config = fleet.machines[0].folder / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), **({"audit": audit} if audit else {})}))
    fleet.processes.pop().close()
    process = fleet.machines[0].start(fleet.address)
    fleet.processes = [process]
    process.call("accounts.list")
    for _ in range(3):
        before = len(lines(fleet))
        assert "result" in process.call("credentials.get", account=account)
        if audit:
            assert len(lines(fleet)) == before + 1
    wire.freeze()
    # The control: without the requirement the token is handed out without the server.
    assert ("error" in process.call("credentials.get", account=account)) == bool(audit)
    wire.thaw()
    fleet.close()


def test_a_database_that_refuses_the_lines_is_reported(shared):
    fleet = Fleet(shared, "refused", 1)
    account, _ = fleet.add()
    shared.sql("REVOKE INSERT ON einlass_refused.audit FROM einlass")
    machine = fleet.machines[0]
    process = machine.start(fleet.address, before=["sh", "-c", 'exec "$@" 2>errors', "sh"])
    fleet.processes.append(process)
    errors = machine.folder / "errors"
    deadline = time.monotonic() + PATIENCE
    while "permission denied for table audit" not in errors.read_text():
        assert "result" in process.call("credentials.get", account=account) and time.monotonic() < deadline
        time.sleep(0.1)
    process.call("credentials.get", account=account)
    assert errors.read_text().count("entries wait on this machine") == 1
    doctor = [CONTROL, "doctor", "--store", fleet.address, "--key-file", str(machine.key), "--providers", str(machine.folder / "providers.json")]
    found = subprocess.run(doctor, env=machine.environment | {"EINLASS": EINLASS}, capture_output=True, text=True)
    assert found.returncode == 1 and "permission denied for table audit" in found.stdout.replace("\n", " "), found.stdout + found.stderr
    shared.sql("GRANT INSERT ON einlass_refused.audit TO einlass")
    assert "permission denied" not in subprocess.run(
        doctor, env=machine.environment | {"EINLASS": EINLASS}, capture_output=True, text=True).stdout
    fleet.close()


def test_lines_that_wait_do_not_bring_back_a_removed_store(shared, wire):
    fleet = Fleet(shared, "buried", 1, reaching=wire.parameters)
    account, family = fleet.add()
    fleet.get(account)
    wait_for_lines(fleet, 1)
    wire.freeze()
    process = fleet.processes[0]
    assert "result" in process.call("credentials.get", account=account)
    process.kill()
    process.close()
    wire.cut()
    wire.thaw()
    shared.sql("DROP SCHEMA einlass_buried CASCADE")
    fleet.processes = [process.machine.start(fleet.address)]
    assert fleet.processes[0].call("accounts.list")["result"]["accounts"] == []
    time.sleep(2)
    assert shared.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'einlass_buried'") == [("0",)]
    files = [path for path in process.machine.state.rglob("store.audit.jsonl*") if path.suffix != ".lock"]
    assert "credentials.get" in "".join(path.read_text() for path in files)
    fleet.close()


def test_equal_lines_are_all_kept(shared):
    fleet = Fleet(shared, "equal", 1)
    try:
        account, family = fleet.add()
        # Longer than the time in which lines gather, so that several files are sent.
        for _ in range(60):
            fleet.get(account)
            time.sleep(0.03)
        wait_for_lines(fleet, 60)
    finally:
        fleet.close()
