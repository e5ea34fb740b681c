"""The start of the process: its privileges, its descriptors, and the programs and files that an environment offers."""
import netrc
import os
import re
import select
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from session import EINLASS, PATIENCE, Session
from somebody import IS_ROOT, NOBODY, OTHER, as_user

ACCOUNT = {"provider": "facebook", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "1"}}


def ignores_set_uid(folder):
    return os.statvfs(folder).f_flag & os.ST_NOSUID or "NoNewPrivs:\t1" in Path("/proc/self/status").read_text()


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to be two users")
def test_a_set_uid_program_refuses_to_run(place):
    if ignores_set_uid(place.path):
        pytest.skip("no program runs set-uid here")
    raised = shutil.copy(EINLASS, f"{place.path}/set-uid")
    os.chown(raised, OTHER, OTHER)
    os.chmod(raised, 0o4755)

    def run(program):
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, done.stdout, done.stderr

    (code, version, _), (refused, nothing, message) = as_user(NOBODY, lambda: [run(place.einlass), run(raised)])
    assert code == 0 and version.startswith("einlass ")  # the control: the same program without the bit
    assert refused == 78 and nothing == "" and re.search("does not run set-uid", message)


def ended(reader):
    """Whether no process has the other end of this pipe."""
    return bool(select.select([reader], [], [], 0)[0]) and os.read(reader, 1) == b""


def test_an_inherited_descriptor_is_closed():
    readers, writers = zip(*(os.pipe() for _ in range(2)))
    session = Session("--store", "memory", pass_fds=writers[:1])
    other = subprocess.Popen(["sleep", "600"], pass_fds=writers[1:])
    for writer in writers:
        os.close(writer)
    try:
        session.call("initialize", client={"name": "leaks"})
        assert ended(readers[0])
        assert not ended(readers[1])  # the control: another program keeps its descriptor
    finally:
        for process in (session.process, other):
            process.kill()
            process.wait(PATIENCE)
        for reader in readers:
            os.close(reader)


def test_the_program_of_the_keyring_is_not_looked_for_in_the_path(tmp_path):
    called, program = tmp_path / "called", tmp_path / "secret-tool"
    program.write_text(f"#!/bin/sh\necho >>{called}\nexit 1\n")
    program.chmod(0o755)
    # The keyring of this machine, if there is one, is out of reach.
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}",
                   "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/none"}
    session = Session("--store", f"{tmp_path}/data/store.db", "--key-file", f"{tmp_path}/keys/key", env=environment)
    session.call("accounts.add", **ACCOUNT)
    assert session.call("store.addKeySlot", kind="secretservice") == "accountStoreFailure"
    assert session.end() == 0 and not called.exists()
    # The control: a shell finds the program.
    subprocess.run(["sh", "-c", "secret-tool lookup a b"], env=environment, timeout=PATIENCE)
    assert called.exists()


def test_a_netrc_file_is_not_read(tmp_path):
    file = tmp_path / ".netrc"
    file.write_text("machine 127.0.0.1 login ada password planted\n")
    file.chmod(0o600)
    heads = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

        def do_GET(self):
            heads.append(dict(self.headers))
            self.send_error(404)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        session = Session("--store", "memory", env={**os.environ, "HOME": str(tmp_path)})
        session.call("providers.add", issuer=f"http://127.0.0.1:{server.server_address[1]}")
        assert session.end() == 0
        server.shutdown()
    assert heads and not [head for head in heads if "Authorization" in head]
    assert netrc.netrc(file).authenticators("127.0.0.1")  # the control: the file is sound
