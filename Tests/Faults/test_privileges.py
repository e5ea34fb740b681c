"""The libraries of a release binary, and the privileges of its child processes.

    python -m pytest Tests/Faults/test_privileges.py
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import stores

RELEASE = Path(stores.EINLASS).parent
PRODUCTS = ("einlass", "einlassctl", "einlass-sandbox")


def search_paths(path):
    """Returns the RPATH and RUNPATH entries from readelf."""
    shown = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in shown
    return re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", shown)


@pytest.mark.skipif(not shutil.which("readelf"), reason="there is no readelf here")
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_release_binary_has_no_library_search_path(product, tmp_path):
    if not (RELEASE / product).exists():
        pytest.skip(f"clients/build {product} was not run")
    assert search_paths(RELEASE / product) == []
    # The control: a program with such an entry.
    source = tmp_path / "main.c"
    source.write_text("int main(void) { return 0; }")
    subprocess.run(["cc", "-o", tmp_path / "main", source, "-Wl,-rpath,$ORIGIN"], check=True)
    assert search_paths(tmp_path / "main") == ["$ORIGIN"]


@pytest.mark.parametrize("is_named", [False, True], ids=["beside", "control"])
def test_a_library_beside_the_binary_is_not_loaded(preload, tmp_path, is_named):
    shutil.copy(stores.EINLASS, tmp_path / "einlass")
    shutil.copy(preload("planted"), tmp_path / "libcurl.so.4")
    loaded = tmp_path / "loaded"
    requests = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "providers.add",
                           "params": {"issuer": "http://127.0.0.1:9"}}) + "\n"
    variables = {"LD_LIBRARY_PATH": str(tmp_path)} if is_named else {}
    done = subprocess.run([tmp_path / "einlass", "--store", "memory", "--finish"], input=requests, text=True,
                          capture_output=True, timeout=60, env={**os.environ, "PLANTED": str(loaded), **variables})
    assert done.returncode == 0 and json.loads(done.stdout)["error"]
    assert loaded.exists() == is_named


def test_a_library_that_cannot_be_loaded_is_named(tmp_path):
    (tmp_path / "libcrypto.so.3").write_text("no library")
    (tmp_path / "keys").mkdir(mode=0o700)
    account = {"provider": "twitter", "username": "ada", "credential": {
        "type": "oauth1", "key": "k", "secret": "s", "clientId": "c", "clientSecret": "x"}}

    def called(method, params, **variables):
        done = subprocess.run(
            [stores.EINLASS, "--store", tmp_path / "store.db", "--key-file", tmp_path / "keys/key", "call", method,
             json.dumps(params)], capture_output=True, text=True, timeout=60, env={**os.environ, **variables})
        return done.returncode, done.stderr
    missing = {"LD_LIBRARY_PATH": str(tmp_path)}
    code, errors = called("accounts.add", account, **missing)
    assert code == 78 and "libcrypto of OpenSSL 3 can't be loaded" in errors
    # The list needs no key.
    assert called("accounts.list", {}, **missing) == (0, "")
    assert called("accounts.add", account) == (0, "")  # the control


def new_privileges(process):
    return int(re.search(r"NoNewPrivs:\t(\d)", Path(f"/proc/{process}/status").read_text())[1])


def test_einlass_runs_with_no_new_privileges():
    """Child processes of einlassctl keep this right: see Tests/Control/test_questions.py."""
    assert new_privileges("self") == 0
    with subprocess.Popen([stores.EINLASS, "--store", "memory"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
                            '{"protocolVersion":1,"client":{"name":"tests"}}}\n')
        process.stdin.flush()
        assert "result" in json.loads(process.stdout.readline())
        assert new_privileges(process.pid) == 1
        process.stdin.close()
        assert process.wait(timeout=60) == 0
