"""A helper and its einlass are one process, unless a token has to be renewed.

    python -m pytest Tests/Integrations/test_one_process.py
"""
import json
import os
import shutil
import signal

import pytest

from house import CONTROL, EINLASS


def ask(house, *command, input=""):
    """Returns the output of a helper, its process id, and the process that the audit trail names."""
    with house.start(*command) as helper:
        output, errors = helper.communicate(input)
    assert helper.returncode == 0, errors
    entry = next(entry for entry in json.loads(house.do("audit", "list", "--json"))["entries"] if entry["method"] == "credentials.get")
    return output, helper.pid, entry["process"]


@pytest.fixture
def asked(signed_in):
    scheme, _, host = signed_in.origin("gitlab").partition("://")
    for application in ("git", "bazel", "docker", "cargo", "kubectl", "mcp"):
        signed_in.allow(application, "gitlab")
    return f"protocol={scheme}\nhost={host}\n\n"


@pytest.mark.parametrize("program", [EINLASS, CONTROL], ids=["einlass", "einlassctl, as of a former version"])
def test_a_link_is_one_process(signed_in, asked, program):
    house = signed_in
    link = house.folder / "bin/git-credential-einlass"
    link.unlink()
    link.symlink_to(program)
    output, started, answered = ask(house, "git-credential-einlass", "get", input=asked)
    assert "password=" in output and started == answered


def test_other_commands_of_a_helper_are_one_process(signed_in, asked):
    house, address = signed_in, signed_in.origin("gitlab")
    for command, input in (
            (["einlassctl", "token", "gitlab"], ""), (["einlass", "helper", "token", "gitlab"], ""),
            (["einlassctl", "credential", "git", "get"], asked), (["headers-credential-einlass", address], ""),
            (["bazel-credential-einlass", "get"], json.dumps({"uri": address})),
            (["docker-credential-einlass", "get"], address.partition("://")[2])):
        output, started, answered = ask(house, *command, input=input)
        assert output and started == answered, command


def test_a_command_with_options_goes_to_einlassctl(signed_in, asked):
    house = signed_in
    output, started, answered = ask(house, "git-credential-einlass", "get", "--for", "git", input=asked)
    assert "password=" in output and started != answered
    assert "USAGE: einlassctl credential git" in house.run("git-credential-einlass", "--help")[1]
    code, output, errors = house.run("einlass", "helper", "token", "gitlab", "--nothing")
    assert (code, output) == (64, "") and "--nothing" in errors
    # Another einlass is spoken to, as by einlassctl.
    code, output, errors = house.run("git-credential-einlass", "get", input=asked, env={"EINLASS": "/bin/false"})
    assert (code, output) == (70, "") and "ended before it answered" in errors
    alone = house.folder / "alone"
    alone.mkdir()
    (alone / "einlass").write_bytes(open(EINLASS, "rb").read())
    (alone / "einlass").chmod(0o700)
    code, output, errors = house.run(alone / "einlass", "helper", "token", "--json", "gitlab", env={"PATH": "/usr/bin"})
    assert (code, output) == (70, "") and "no einlassctl" in errors


def script(path, *words):
    path.write_text(f"#!/bin/bash\nexec -a \"$0\" {' '.join(map(str, words))} \"$@\"\n")
    path.chmod(0o700)


@pytest.mark.parametrize("hides", [False, True], ids=["options", "hidden programs"])
def test_a_script_in_the_place_of_a_program_is_started_as_before(signed_in, asked, hides):
    house, folder = signed_in, signed_in.folder / "wrapped"
    folder.mkdir()
    names = (".einlass-wrapped", ".einlassctl-wrapped") if hides else ("real-einlass", "einlassctl")
    for program, name in zip((EINLASS, CONTROL), names):
        shutil.copy(program, folder / name)
    script(folder / "einlass", folder / names[0], *([] if hides else ["--log-level", "error"]))
    if hides:
        script(folder / "einlassctl", folder / names[1])
    link = folder / "git-credential-einlass"
    link.symlink_to("einlass")
    for command, input in ((["einlassctl", "token", "gitlab"], ""), (["einlassctl", "credential", "git", "get"], asked),
                           *(((link.name, "get"), asked), ((link.name, "get", "--for", "git"), asked)) * hides):
        with house.start(folder / command[0], *command[1:]) as started:
            output, errors = started.communicate(input, timeout=30)
        assert started.returncode == 0 and output, errors
    with house.start(folder / "einlass", "helper", "token", "gitlab") as started:
        output, errors = started.communicate(timeout=30)
    assert started.returncode == (0 if hides else 64), errors


def test_an_einlassctl_that_leads_back_is_started_once(signed_in, asked):
    folder = signed_in.folder / "back"
    folder.mkdir()
    shutil.copy(EINLASS, folder / "einlass")
    (folder / "einlassctl").symlink_to("einlass")
    (folder / "git-credential-einlass").symlink_to("einlass")
    code, output, errors = signed_in.run(folder / "git-credential-einlass", "get", "--for", "git", input=asked, patience=30)
    assert (code, output) == (70, "") and "can be started" in errors
    (folder / "einlassctl").unlink()
    script(folder / "einlassctl", folder / "einlass", "helper")
    code, output, errors = signed_in.run(folder / "einlass", "helper", "token", "gitlab", "--header", patience=30)
    assert (code, output) == (70, "") and "can be started" in errors


def test_a_program_that_prints_the_key_is_run_by_a_child_alone(signed_in, asked):
    house = signed_in
    house.config.write_text(json.dumps({**json.loads(house.config.read_text()), "keyCommand": ["/bin/false"]}))
    output, started, answered = ask(house, "git-credential-einlass", "get", input=asked)
    assert "password=" in output and started != answered


def test_a_closed_output_is_no_other_descriptor(signed_in, asked):
    house = signed_in
    code, _, errors = house.run("sh", "-c", "exec git-credential-einlass get >&-", input=asked)
    assert (code, errors) == (1, "")


def test_a_killed_helper_loses_no_renewal(signed_in, asked):
    house = signed_in
    house.do("reject", "gitlab")
    house.change({"faults": {"slow": {"path": "/oauth/token", "delayMilliseconds": 1500}}})
    before = house.count("gitlab", "POST", "/oauth/token")
    helper = house.start("git-credential-einlass", "get")
    helper.stdin.write(asked)
    helper.stdin.close()
    while house.count("gitlab", "POST", "/oauth/token") == before:
        assert helper.poll() is None
    os.kill(helper.pid, signal.SIGKILL)
    helper.wait()
    assert house.do("token", "gitlab").strip()
    assert house.count("gitlab", "POST", "/oauth/token") == before + 1
