"""A store in a file pays nothing for PostgreSQL.

    python -m pytest Tests/PostgreSQL/test_libraries.py
"""
import subprocess
from pathlib import Path

import pytest

from machines import Fleet
from rotation import EINLASS, World

pytestmark = pytest.mark.usefixtures("built")


def maps_libpq(process):
    try:
        maps = Path(f"/proc/{process.process.pid}/maps").read_text()
    except PermissionError:
        pytest.skip("the memory of einlass is hidden from other programs: this needs root")
    return "/libpq.so" in maps


def test_libpq_is_not_in_the_list_of_libraries():
    listed = subprocess.run(["ldd", EINLASS], capture_output=True, text=True, check=True).stdout
    assert "libsqlite3.so" in listed and "libpq.so" not in listed


def test_a_process_with_a_file_does_not_map_libpq():
    world = World(1)
    account, _ = world.add()
    world.get(account)
    assert not maps_libpq(world.processes[0])
    world.close()


def test_the_control_a_process_with_a_database_does(shared):
    fleet = Fleet(shared, "libraries", 1)
    assert maps_libpq(fleet.processes[0])
    fleet.close()
