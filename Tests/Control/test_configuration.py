"""A word of the configuration file that is misspelt, or has a wrong value, is named; nothing goes on without it.

    python -m pytest Tests/Control/test_configuration.py
"""
import copy
import json
import re
import subprocess

import pytest

from control import EINLASS, account, run
from terminal import PATIENCE

#: Every word of the file. The members of the objects in FREE are names of applications, providers and origins.
WHOLE = {
    "applications": {"*": {"github": {
        "clientId": "c", "clientSecret": "s", "redirect": "http://127.0.0.1:9/", "privateKey": "k",
        "authentication": "client_secret_basic", "keyId": "k", "certificate": "c", "dpop": True,
        "idTokenAlgorithm": "RS256", "assertionAudience": "issuer", "resourceParameter": "omit", "assertionFile": "/a",
        "flows": {"deviceCode": {"clientId": "d", "clientSecret": "s"}}}}},
    "clientMetadata": "https://editor.example.com/client.json",
    "providers": {"facebook": {"version": "v25.0"}},
    "origins": {"https://api.github.com": "http://127.0.0.1:9"},
    "caFile": "/etc/ssl/certs/ca-certificates.crt", "proxy": "http://127.0.0.1:9",
    "internalHosts": ["login.corp.example"],
    "services": [{"address": "git.example.com", "provider": "github", "account": "a", "username": "u", "scheme": "basic",
                  "scopes": ["s"]}],
    "folders": [{"folder": "/a", "provider": "github", "account": "a"}],
    "prompter": ["/bin/true"], "store": "memory", "keyCommand": ["/bin/true"],
    "users": {"directory": "shared", "oneAccountPerEmail": True, "recentSignInSeconds": 300},
    "access": "ask", "audit": "required",
}
FREE = [("applications",), ("applications", "*"), ("providers",), ("providers", "facebook"), ("origins",)]


def words(value, path=()):
    """The paths of all members with fixed names."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in pairs:
        if isinstance(value, dict) and path not in FREE:
            yield (*path, name)
        yield from words(member, (*path, name))


def configured(folder, configuration):
    """Writes a configuration, or the bytes of one, and returns the options with it."""
    file = folder / "config.json"
    file.write_bytes(configuration if isinstance(configuration, bytes) else json.dumps(configuration).encode())
    file.chmod(0o600)
    return ["--config", str(file)]


def problem(folder, configuration):
    """What einlass says about the file, or None."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"client": {"name": "test"}}}
    done = subprocess.run([EINLASS, "--store", "memory", *configured(folder, configuration)], input=json.dumps(message) + "\n",
                          capture_output=True, text=True, timeout=PATIENCE)
    return json.loads(done.stdout)["result"].get("configuration", {}).get("problem", {}).get("message")


def test_the_whole_file_is_accepted_and_has_every_word(tmp_path):
    assert problem(tmp_path, WHOLE) is None
    known = re.search("needs one of (.*) as a name", problem(tmp_path, {"x": 1}))[1]
    assert set(known.split(", ")) == set(WHOLE)


# The bytes of a file as an editor saves it, and words of the refusal; None for a file that is read.
SAVED = {
    "with a byte order mark": (b'\xef\xbb\xbf{"access": "ask"}', None),
    "with the line ends of Windows": (b'{\r\n  "access": "ask"\r\n}\r\n', None),
    "in UTF-16": ('{"access": "ask"}'.encode("utf-16"), "is UTF-16"),
    "in Latin-1": ('{"proxy": "é"}'.encode("latin-1"), "is not UTF-8"),
    "with a comment": (b'{\n  // everybody\n  "access": "ask"}', "is not JSON at line 2, column 3"),
    "with a comma at the end": (b'{"access": "ask",\n}', "is not JSON at line 2, column 1"),
    "empty": (b"", "is empty"),
    "with a name twice": (b'{"access": "ask", "access": "ask"}', 'has the name "access" twice'),
}


@pytest.mark.parametrize("row", SAVED)
def test_a_file_is_read_as_editors_save_it_or_its_fault_is_placed(tmp_path, row):
    saved, fault = SAVED[row]
    said = problem(tmp_path, saved)
    assert (said is None) if fault is None else (fault in said), said
    # einlassctl reads it too, when it adds a service.
    options = ["--einlass", EINLASS, "--store", str(tmp_path / "store.db"), *configured(tmp_path, saved)]
    code, output, errors = run("services", "add", "git.example.com", "github", "--yes", *options)
    assert (code == 0) if fault is None else (code == 1 and fault in errors), output + errors


@pytest.mark.parametrize("path", list(words(WHOLE)), ids=lambda path: "/".join(map(str, path)))
def test_a_misspelt_word_or_a_value_of_another_type_is_named(tmp_path, path):
    for change in ("name", "number", "null"):
        changed = copy.deepcopy(WHOLE)
        parent = changed
        for step in path[:-1]:
            parent = parent[step]
        if change == "name":
            parent[path[-1] + "s"] = parent.pop(path[-1])
        else:
            parent[path[-1]] = 7.5 if change == "number" else None
        said = problem(tmp_path, changed) or ""
        assert "/" + "/".join(map(str, path if path[0] != "folders" or len(path) < 3 else path[:2])) in said, (change, said)


@pytest.mark.parametrize("proxy", ["proxy.example.com", "proxy.example.com:3128", "socks5h://127.0.0.1:9", "HTTPS://a:b%40@[::1]:9/",
                                   "http://p_1:65535"])
def test_each_spelling_of_a_proxy_is_accepted(tmp_path, proxy):
    assert problem(tmp_path, {"proxy": proxy}) is None


@pytest.mark.parametrize("configuration, named", [
    ({"audti": "required"}, "/audti"), ({"audit": "Required"}, "/audit"), ({"access": True}, "/access"),
    ({"users": {"oneAccountPerEMail": True}}, "/users/oneAccountPerEMail")])
def test_einlassctl_names_the_misspelt_word(tmp_path, configuration, named):
    options = ["--einlass", EINLASS, "--store", str(tmp_path / "store.db"), "--key-file", str(tmp_path / "keys/key")]
    code, output, errors = run("sign-in", "github", *options, *configured(tmp_path, configuration))
    assert code == 1 and named in output + errors and "needs " in output + errors, output + errors
    code, output, _ = run("doctor", *options, *configured(tmp_path, configuration))
    assert code == 1 and named in output, output


@pytest.mark.parametrize("more, refused", [
    ({}, False), ({"applications": {"ada": {"github": {"clientId": "c"}}}}, False),
    ({"applications": {"ada": {"github": {"clientId": "c", "clientSecret": "s"}}}}, True),
    ({"applications": {"ada": {"github": {"clientId": "c", "flows": {"deviceCode": {"clientId": "d", "clientSecret": "s"}}}}}}, True),
    ({"proxy": "http://proxy.example.com:3128"}, True)])
def test_einlassctl_takes_no_configuration_with_a_secret_that_others_can_read(tmp_path, more, refused):
    options = configured(tmp_path, {"services": [], **more})
    (tmp_path / "config.json").chmod(0o644)
    code, output, errors = run("services", *options)
    assert (code != 0) == refused and ("open to other users" in errors) == refused, output + errors


@pytest.mark.parametrize("configuration, refused", [({"audit": "required"}, True), ({"audti": "required"}, True), ({}, False)])
def test_with_a_misspelt_audit_nothing_leaves_without_an_entry(tmp_path, configuration, refused):
    store = ["--store", str(tmp_path / "store.db"), "--key-file", str(tmp_path / "keys/key")]
    call = [EINLASS, *store, "call"]
    assert subprocess.run([*call, "accounts.add", json.dumps(account("ada"))], capture_output=True, timeout=PATIENCE).returncode == 0
    trail = tmp_path / "store.audit.jsonl"
    trail.unlink(missing_ok=True)
    trail.mkdir()
    reading = tmp_path / "passphrase"
    reading.write_text("a passphrase of a file\n")
    with reading.open() as passphrase:
        exported = subprocess.run(
            [EINLASS, *store, *configured(tmp_path, configuration), "--file-passphrase-fd", str(passphrase.fileno()), "call",
             "accounts.export", json.dumps({"path": str(tmp_path / "accounts.file")})],
            capture_output=True, text=True, timeout=PATIENCE, pass_fds=[passphrase.fileno()])
    assert ("error" in json.loads(exported.stdout)) is refused, exported.stdout
    assert (tmp_path / "accounts.file").exists() is not refused
