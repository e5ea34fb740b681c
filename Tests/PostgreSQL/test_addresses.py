"""Addresses of stores that einlass refuses, and servers that get no byte of a secret.

    python -m pytest Tests/PostgreSQL/test_addresses.py
"""
import json
import socket
import struct
import subprocess
import threading

import pytest

from machines import Machine
from rotation import EINLASS, PATIENCE

pytestmark = pytest.mark.usefixtures("built")
SECRET = "s3cret-of-the-database"
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
FAR = "db.example.org"

WITH_A_PASSWORD = [
    f"postgresql://einlass:{SECRET}@/einlass", f"postgres://einlass:{SECRET}@localhost/einlass",
    f"postgresql:///einlass?password={SECRET}", f"postgresql:///einlass?user=einlass&passwor%64={SECRET}",
    f"postgresql:///einlass?sslpassword={SECRET}", f"postgresql://ada%3A{SECRET}@/einlass", f"postgresql:///einlass?user=ada:{SECRET}",
    f"postgresql:///einlass?dbname=password%3D{SECRET}", f"postgresql:///password%3d{SECRET}"]
WITHOUT_TLS = [f"postgresql://{FAR}/einlass?sslmode={mode}" for mode in ("disable", "allow", "prefer", "require", "verify-ca")] + [
    f"postgresql://localhost,{FAR}/einlass?sslmode=require", f"postgresql:///einlass?host={FAR}&sslmode=require",
    f"postgresql://localhost/einlass?host={FAR}&sslmode=disable", f"postgresql://localhost/einlass?host=/tmp,{FAR}&sslmode=prefer",
    "postgresql://localhost/einlass?hostaddr=192.0.2.7&sslmode=disable", "postgresql://192.0.2.7/einlass?sslmode=require",
    "postgresql://[2001:db8::7]/einlass?sslmode=require", "postgresql://localhost.example.org/einlass?sslmode=require",
    "postgresql://127.0.0.1.example.org/einlass?sslmode=require", f"postgresql://{FAR}/einlass?sslmode=verify-full&sslmode=disable"]
WITH_A_BAD_NAME = [f"postgresql:///einlass?einlass_store={name}"
                   for name in ("", "Team", "a-b", "a.b", "x" * 41, "a%22b", "team;drop", "a&einlass_store=b")]
UNREADABLE = ["postgresql:///einlass?nonsense=1", "postgresql://localhost:port/einlass", "postgresql://[::1/einlass"]


@pytest.fixture
def machine():
    machine = Machine()
    for name, text in {"providers.json": '{"providers": []}', "config.json": "{}"}.items():
        (machine.folder / name).write_text(text)
        (machine.folder / name).chmod(0o600)
    yield machine
    machine.remove()


def problem(machine, address, **more):
    """Returns the error of a request to the store."""
    process = machine.start(address, is_introduced=False, **more)
    answer = process.call("store.check")
    process.close()
    return answer["error"]


@pytest.mark.parametrize("address", WITH_A_PASSWORD + WITHOUT_TLS + WITH_A_BAD_NAME + UNREADABLE)
def test_the_address_is_refused_without_its_password(machine, address):
    error = problem(machine, address)
    assert (error["code"], error["data"]["detail"], error["data"]["retryable"]) == (1009, "refused", False)
    assert SECRET not in str(error)


def test_a_refused_address_in_the_configuration_is_refused_too(machine):
    (machine.folder / "config.json").write_text('{"store": "%s"}' % WITHOUT_TLS[0])
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "store.check", "params": {}})
    done = subprocess.run([EINLASS, "--finish", "--config", machine.folder / "config.json"], input=request + "\n",
                          capture_output=True, text=True, env=machine.environment, timeout=PATIENCE)
    assert json.loads(done.stdout)["error"]["data"]["detail"] == "refused"


class Listener:
    """A server at 127.0.0.1 that has no TLS, and the bytes that it gets."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.connections = self.socket.getsockname()[1], []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                got = b""
                try:
                    got = connection.recv(8)
                    if got == SSL_REQUEST:
                        connection.sendall(b"N")
                    got += connection.recv(4096)
                except OSError:
                    pass
                self.connections.append(got)


@pytest.fixture
def listener():
    listener = Listener()
    yield listener
    listener.socket.close()


PLACES = {
    "parameters": lambda port: (f"postgresql://{FAR}:{port}/einlass?hostaddr=127.0.0.1", {}, None),
    "environment": lambda port: ("postgresql:///einlass", {
        "PGHOST": FAR, "PGHOSTADDR": "127.0.0.1", "PGPORT": str(port), "PGSSLMODE": "disable", "PGPASSWORD": SECRET}, None),
    "service": lambda port: ("postgresql:///einlass?service=fleet", {}, {
        "host": FAR, "hostaddr": "127.0.0.1", "port": port, "sslmode": "disable", "password": SECRET}),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_server_elsewhere_without_tls_learns_nothing(machine, listener, place):
    """The name of the host is of another machine; libpq would connect to `hostaddr` all the same."""
    address, environment, service = PLACES[place](listener.port)
    if service:
        file = machine.folder / "services"
        file.write_text("[fleet]\n" + "".join(f"{name}={value}\n" for name, value in service.items()))
        environment["PGSERVICEFILE"] = str(file)
    error = problem(machine, address, env=environment)
    assert error["code"] == 1009 and error["data"]["detail"] == "unreachable", error
    assert SECRET not in str(error)
    # At most the question for TLS has come.
    assert set(listener.connections) <= {SSL_REQUEST}


def test_the_control_a_name_of_this_machine_needs_no_tls(machine, listener):
    error = problem(machine, f"postgresql://localhost:{listener.port}/einlass?hostaddr=127.0.0.1&sslmode=disable")
    assert error["data"]["detail"] == "unreachable" and error["data"]["retryable"]
    assert any(b"einlass" in got for got in listener.connections)
