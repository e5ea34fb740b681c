"""A batch never ends the connection by the size of its answer, if its reader starts late or reads slowly.

    python -m pytest Tests/Processes/test_batches.py
"""
import json
import os
import socket
import subprocess
import time

import pytest

from rotation import EINLASS

PATIENCE = 60
#: The stall limit of a reader is 30 s; a late reader here is far below it.
LATE = 1.5


def batch(entries):
    return json.dumps([{"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                       for number, (method, params) in entries]) + "\n"


@pytest.fixture
def einlass():
    process = subprocess.Popen([EINLASS, "--store", "memory"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, bufsize=0)
    yield process
    process.kill()
    for stream in process.stdin, process.stdout, process.stderr:
        stream.close()
    process.wait(PATIENCE)


def answers(process, count, first=b"", piece=1 << 20, pause=0.0):
    """This number of messages; then the end of the input is the end of the process."""
    received, lines = [first], 0
    while lines < count and (data := os.read(process.stdout.fileno(), piece)):
        received.append(data)
        lines += data.count(b"\n")
        time.sleep(pause)
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    return [json.loads(line) for line in b"".join(received).splitlines()]


def test_a_batch_of_64_documents_is_answered_to_a_late_reader(einlass):
    einlass.stdin.write(batch(enumerate([("rpc.discover", {})] * 64)).encode())
    time.sleep(LATE)
    [whole] = answers(einlass, 1)
    assert [answer["id"] for answer in whole] == list(range(64)) and all("methods" in answer["result"] for answer in whole)


@pytest.mark.parametrize("piece, pause", [(1 << 20, 0), (64 << 10, 0.004)], ids=["late", "slow"])
def test_two_batches_at_once_are_answered(einlass, piece, pause):
    # The first batch waits for a server without an answer, so that both become ready while nobody reads.
    with socket.create_server(("127.0.0.1", 0)) as server:
        issuer = f"https://127.0.0.1:{server.getsockname()[1]}"
        documents = [("rpc.discover", {})] * 63
        einlass.stdin.write((batch(enumerate([("providers.add", {"issuer": issuer}), *documents]))
                             + batch(enumerate([("rpc.discover", {}), *documents], 100))).encode())
        server.settimeout(PATIENCE)
        connection, _ = server.accept()
        first = os.read(einlass.stdout.fileno(), 1)
        connection.close()
    time.sleep(LATE)
    assert einlass.poll() is None, einlass.stderr.read()
    second, one = answers(einlass, 2, first, piece, pause)
    assert [answer["id"] for answer in one] == list(range(64)) and "error" in one[0]
    assert [answer["id"] for answer in second] == list(range(100, 164))
    assert all("methods" in answer["result"] for answer in one[1:] + second)
