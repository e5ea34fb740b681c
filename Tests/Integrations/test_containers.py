"""The blocks of clients/CONTAINERS.md, in containers of bubblewrap, podman and systemd-nspawn, and over ssh.

    python -m pytest Tests/Integrations/test_containers.py

The provider is the sandbox on this machine. It replaces a refresh token with each use, and the second use of one
signs the account out.
"""
import concurrent.futures
import contextlib
import functools
import getpass
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from house import CONTROL, EINLASS, PROJECT, missing, needs
from recipes import filled

sys.path.append(str(PROJECT / "clients/python"))
from einlass import Client, EinlassError  # noqa: E402

PAGE = (PROJECT / "clients/CONTAINERS.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
MOUNT, SOCKET, SSH = "Mount the store", "Forward the pipe to a container", "Forward the pipe over ssh"
DOOR = "A door for a program that you do not trust"
PATIENCE = 60  # seconds; turns a hang into a failure
NOT_ROOT = os.geteuid() != 0
TOKEN = "einlassctl token gitlab"

# The options by which a program makes a container of this machine's files instead of an image.
STAND_INS = {
    "docker": """#!/bin/sh
for word do
  shift
  case $word in
    run) set -- "$@" run --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --env "PATH=$PATH" --env "EINLASS=$EINLASS"
         case "$*" in *none*) ;; *) set -- "$@" --network host ;; esac ;;
    my-image) set -- "$@" --rootfs /:O ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec podman --runtime runc --root "$PODMAN/root" --runroot "$PODMAN/run" --cgroup-manager cgroupfs "$@"
""",
    "sudo": """#!/bin/sh
shift
for word do
  shift
  case $word in
    --directory=*) set -- "$@" -q --register=no --keep-unit --volatile=yes --directory=/ $BINDS --setenv=PATH="$PATH" ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec systemd-nspawn "$@"
""",
}


def block(section, start):
    """Returns the only block of the section that begins with this text, without the marks of a console."""
    found = [text for text in re.findall(r"^```\w*\n(.*?)^```$", SECTIONS[section], re.MULTILINE | re.DOTALL)
             if re.sub(r"^\$ ", "", text).startswith(start)]
    (text,) = found
    return re.sub(r"^[$>] ", "", text, flags=re.MULTILINE)


def write(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def host(house, tmp_path):
    """A house with an account, whose programs are outside of the home folder, because a container hides that folder."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, program in (("einlass", EINLASS), ("einlassctl", CONTROL)):
        (programs / name).symlink_to(Path(program).resolve())
    for name, text in STAND_INS.items():
        write(programs / name, text)
    house.programs = programs
    (sign_in,) = re.findall(r"^\$ (.*)$", PAGE.partition("\n## ")[0], re.MULTILINE)
    house.sign_in(*shlex.split(sign_in)[2:])
    binds = {str(path) for path in (programs, Path(EINLASS).resolve().parent, Path(CONTROL).resolve().parent)}
    runtime = Path(tempfile.mkdtemp(prefix="einlass-", dir="/tmp"))  # short, for sockets and for podman
    house.environment |= {"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin", "USER": getpass.getuser(),
                          "XDG_RUNTIME_DIR": str(runtime), "PODMAN": str(runtime / "podman"),
                          "BINDS": " ".join("--bind-ro=" + path for path in sorted(binds))}
    yield house
    shutil.rmtree(runtime)


def run(host, text, **more):
    return host.run("bash", "-c", text, patience=PATIENCE, **more)


def together(host, texts):
    """Runs the blocks at the same time. The provider answers so late that all of them have started by then."""
    host.change({"faults": {"slow": {"path": "/oauth/token", "delayMilliseconds": 2000}}})
    with concurrent.futures.ThreadPoolExecutor(len(texts)) as pool:
        return list(pool.map(lambda text: run(host, text), texts))


def refreshes(host):
    return sum(entry["form"]["grant_type"] == "refresh_token" for entry in host.log("gitlab", "POST", "/oauth/token"))


def reject(host):
    host.do("reject", "gitlab", "--for", "einlassctl")


def health(host):
    (account,) = json.loads(host.do("accounts", "list", "--json"))["accounts"]
    return account["health"]


AS_ROOT = pytest.mark.skipif(NOT_ROOT, reason="skipped: only root may start this container")
CONTAINERS = {
    "bwrap": [needs("bwrap")],
    "docker": [needs("podman", "runc"), AS_ROOT],
    "sudo": [needs("systemd-nspawn"), AS_ROOT],
}


def of(*names):
    return pytest.mark.parametrize("name", [pytest.param(name, marks=CONTAINERS[name]) for name in names])


# The same programs with nothing to do, because a machine may be a container that starts no other one.
PROBES = {
    "bwrap": "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all true",
    "docker": "podman --runtime runc --root {0}/root --runroot {0}/run --cgroup-manager cgroupfs run --rm"
              " --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --rootfs /:O true",
    "sudo": "systemd-nspawn -q --register=no --keep-unit --volatile=yes --directory=/ true",
}


@functools.cache
def starts(name):
    with tempfile.TemporaryDirectory(prefix="einlass-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        return subprocess.run(shlex.split(PROBES[name].format(folder)), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE).returncode == 0


@pytest.fixture(autouse=True)
def container(request):
    name = request.node.callspec.params.get("name") if hasattr(request.node, "callspec") else None
    if name and not starts(name):
        pytest.skip(f"skipped: this machine starts no container by {PROBES[name].split()[0]}")


# The store in several containers.

@of("bwrap", "docker", "sudo")
def test_containers_with_the_mounted_store_refresh_once(host, name):
    text = block(MOUNT, name)
    for number in range(1, 4):
        reject(host)
        answers = together(host, [text] * 4)
        assert [code for code, _, _ in answers] == [0] * 4, answers
        assert refreshes(host) == number
        assert {token.strip() for _, token, _ in answers} == {host.do("token", "gitlab").strip()}
    assert health(host) == "ok"


@of("bwrap")
def test_a_copied_store_costs_the_sign_in(host, name, tmp_path):
    """The negative control: the same containers with copies of the folders."""
    text = block(MOUNT, name)
    reject(host)
    shutil.copytree(host.folder / ".local", tmp_path / "copy/.local")
    shutil.copytree(host.folder / ".config", tmp_path / "copy/.config")
    assert run(host, text)[0] == 0
    code, _, errors = run(host, text, env={"HOME": str(tmp_path / "copy")})
    assert code == 1 and "must be signed in to again" in errors
    reject(host)
    assert run(host, text)[0] == 1 and health(host) == "reloginNeeded"


@of("bwrap")
def test_a_mount_of_the_database_alone_costs_the_sign_in(host, name):
    """The negative control of the whole folder: the locks are not shared."""
    folder, file = "~/.local/share/einlass", "~/.local/share/einlass/store.db"
    text = filled(block(MOUNT, name), [
        (f"--bind {folder} {folder}", f"--perms 0700 --dir {folder} --bind {file} {file}"),
        (TOKEN, f"sh -c 'einlassctl reject gitlab && {TOKEN}'")])
    together(host, [text] * 2)
    assert refreshes(host) == 2
    assert all(family.get("revoked") for family in host.state()["gitlab"]["families"].values())


@contextlib.contextmanager
def session(host, text, **params):
    """Starts an einlass by this block, with this process as its front end. Yields a client."""
    with Client(["bash", "-c", "exec " + text], env=host.environment) as client:
        client.request("initialize", {"client": {"name": "einlassctl"}, **params})
        yield client


def descendants(process):
    """Returns the ids of the child processes of a process, their children, and so on."""
    try:
        children = [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
    return [found for child in children for found in (child, *descendants(child))]


def servers(process):
    """Returns the ids of the einlass processes among the descendants."""
    found = []
    for child in descendants(process):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{child}/comm").read_text() == "einlass\n":
                found.append(child)
    return found


def wait_until(holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@of("bwrap")
@pytest.mark.parametrize("victim", ["einlass", "container"])
def test_a_container_that_is_killed_leaves_the_account_to_the_other(host, name, victim):
    text = filled(block(MOUNT, name), [(TOKEN, "einlass")])
    account = json.loads(host.do("accounts", "list", "--json"))["accounts"][0]["account"]
    reject(host)
    # The provider never answers the first request, and has not worked on it.
    host.change({"faults": {"first": {"path": "/oauth/token", "remaining": 1, "delayMilliseconds": 3_600_000,
                                      "answer": "status", "status": 503}}})
    with session(host, text) as left:
        killed = Client(["bash", "-c", "exec " + text], env=host.environment)
        killed.request("initialize", {"client": {"name": "einlassctl"}})
        lost = killed.start("credentials.get", {"account": account})
        wait_until(lambda: host.state()["faults"]["first"]["remaining"] == 0)
        waiting = left.start("credentials.get", {"account": account})
        with pytest.raises(TimeoutError):
            waiting.result(0.5)  # as long as the other one has the account
        os.kill(servers(killed.process.pid)[0] if victim == "einlass" else killed.process.pid, signal.SIGKILL)
        token = waiting.result(PATIENCE)["credential"]["token"]
        with pytest.raises(EinlassError):
            lost.result(PATIENCE)
        killed.close()
    assert host.do("token", "gitlab").strip() == token and health(host) == "ok"


@of("bwrap")
def test_the_user_of_the_container_owns_the_folders(host, name):
    text = block(MOUNT, name)
    # The namespace maps this number to the owner.
    assert run(host, filled(text, [("--unshare-all", "--unshare-all --uid 1234 --gid 1234")]))[0] == 0
    if NOT_ROOT:
        pytest.skip("skipped: only root gives files to another user")
    for path in [host.folder / ".local", *(host.folder / ".local").rglob("*")]:
        os.chown(path, 1234, 1234)
    code, output, errors = run(host, filled(text, [("--unshare-all", "--unshare-pid")]))
    assert code == 1 and output == "" and "belongs to" in errors, errors


# The pipe to containers.

@contextlib.contextmanager
def listening(host, text, name="einlass"):
    """Runs the block that opens the socket. Yields the shell's process."""
    shell = host.start("bash", "-c", text + "\nwait")
    path = Path(host.environment["XDG_RUNTIME_DIR"]) / name / "socket"
    try:
        wait_until(path.exists)
        yield shell
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()


@pytest.fixture
def connect(host):
    """The path of the page's program for the container."""
    return str(write(host.programs / "einlass-connect", block(SOCKET, "#!/bin/sh")))


@pytest.fixture
def forwarded(host, connect):
    """The host's side of the page, and its shell."""
    with listening(host, block(SOCKET, "mkdir")) as shell:
        yield shell


def in_container(name, connect, command=TOKEN, section=SOCKET):
    return filled(block(section, name), [("/usr/local/bin/einlass-connect", connect), (TOKEN, command)])


@needs("socat")
@of("bwrap", "docker")
def test_a_container_without_network_uses_the_forwarded_pipe(host, forwarded, connect, name):
    text = in_container(name, connect)
    reject(host)
    answers = together(host, [text] * 4)
    assert [code for code, _, _ in answers] == [0] * 4, answers
    assert refreshes(host) == 1
    assert {token for _, token, _ in answers} == {host.do("token", "gitlab")}
    wait_until(lambda: not servers(forwarded.pid))


@of("bwrap")
def test_without_network_the_mounted_store_is_not_enough(host, name):
    """The negative control: this container has no network."""
    reject(host)
    code, output, _ = run(host, filled(block(MOUNT, name), [(" --share-net", "")]))
    assert code == 1 and output == "" and refreshes(host) == 0


def refusals(client, trial):
    """Returns the data of the errors of these requests; `None` for each that succeeds."""
    found = []
    for method, params in trial:
        try:
            client.request(method, params)
            found.append(None)
        except EinlassError as error:
            found.append(error.data)
    return found


@needs("socat")
@of("bwrap")
def test_untrusted_agent_gets_the_account_of_the_door_of_the_page(host, connect, name):
    account = json.loads(host.do("accounts", "--json"))["accounts"][0]["account"]
    trial = [("accounts.list", {}), ("access.list", {}), ("access.set", {"provider": "gitlab", "state": "granted"}),
             ("accounts.export", {"path": "/tmp/x"}), ("credentials.get", {"account": "a_3q2hYbKpQ0aX1sV7tNcRzw"})]
    text = filled(block(DOOR, "einlassctl accounts"), [("a_3q2hYbKpQ0aX1sV7tNcRzw", account)])
    with listening(host, text, "einlass-agent"):
        code, token, errors = run(host, in_container(name, connect, section=DOOR))
        assert code == 0 and token == host.do("token", "gitlab"), errors
        with session(host, in_container(name, connect, connect, DOOR), client={"name": "untrusted-agent"}) as client:
            reasons = ["unknownMethod"] * 4 + ["unknownAccount"]
            assert refusals(client, trial) == [{"reason": reason} for reason in reasons]
            assert client.request("credentials.get", {"account": account})["credential"]["token"] == token.strip()
    # The control: the whole pipe gives it everything.
    with listening(host, block(SOCKET, "mkdir")), session(
            host, in_container(name, connect, connect), client={"name": "untrusted-agent"}) as client:
        assert refusals(client, trial[:3]) == [None] * 3


@needs("socat")
@of("bwrap")
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "killed"])
def test_each_connection_has_an_einlass_which_ends_with_it(host, forwarded, connect, name, is_closed):
    text = in_container(name, connect, connect)
    with session(host, text) as first:
        with session(host, text) as second:
            assert len(servers(forwarded.pid)) == 2
            if not is_closed:
                second.process.kill()
        wait_until(lambda: len(servers(forwarded.pid)) == 1)
        assert first.request("accounts.list")["accounts"]
        # The other way round: a client notices the end of its einlass.
        os.kill(servers(forwarded.pid)[0], signal.SIGKILL)
        with pytest.raises(EinlassError, match="ended before it answered"):
            first.start("accounts.list").result(PATIENCE)
            first.process.wait(PATIENCE)
            first.request("accounts.list")


@needs("socat")
@of("bwrap")
@pytest.mark.parametrize("option", [" --forwarded", ""])
def test_the_process_id_of_a_front_end_elsewhere_counts_only_without_the_option(host, connect, name, option):
    with listening(host, filled(block(SOCKET, "mkdir"), [(" --forwarded", option)])):
        text = in_container(name, connect, connect)
        if option:
            with session(host, text, processId=2**31 - 1) as client:
                assert client.request("accounts.list")["accounts"]
        else:
            with pytest.raises(EinlassError, match="id of a running process"), session(host, text, processId=2**31 - 1):
                pass


@needs("socat")
@pytest.mark.parametrize("user", [None, 1234], ids=["control: the owner", "another user"])
def test_only_the_owner_reaches_the_socket(host, forwarded, user):
    place = Path(host.environment["XDG_RUNTIME_DIR"]) / "einlass"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (place, place / "socket")] == [0o700, 0o600]
    if user and NOT_ROOT:
        pytest.skip("skipped: only root starts a process of another user")
    # The folders above it are open for this test.
    place.parent.chmod(0o711)
    words = ["setpriv", f"--reuid={user}", "--clear-groups"] if user else []
    ask = '{"jsonrpc":"2.0","id":1,"method":"accounts.list"}\n'
    _, output, errors = host.run(*words, "socat", "-t", "2", "-", f"UNIX-CONNECT:{place}/socket", input=ask, cwd="/")
    assert ("Permission denied" in errors) == bool(user) and ('"accounts"' in output) != bool(user)


@needs("socat")
@of("bwrap")
def test_the_browser_of_the_host_ends_a_sign_in_of_the_container(host, forwarded, connect, name):
    pages = []

    def open_page(prompt):
        pages.append(prompt["url"])
        urllib.request.urlopen(prompt["url"]).close()
        return True

    host.do("accounts", "remove", "gitlab/ada", "--yes")
    command = ["bash", "-c", "exec " + in_container(name, connect, connect)]
    with Client(command, prompts={"openURL": open_page}, env=host.environment) as client:
        client.initialize("einlassctl")
        assert client.request("accounts.signIn", {"provider": "gitlab"})["created"]
    assert len(pages) == 1 and host.run("einlassctl", "token", "gitlab")[0] == 0


# The pipe over ssh.

@pytest.fixture
def ssh(host, connect, tmp_path):
    """A private sshd for desk.example.org and build.example.org, and the ssh that knows it.

    The key `narrow` has the page's line, and the key `wide` has no limits.
    """
    if gone := missing("sshd", "ssh-keygen", "socat"):
        pytest.skip(f"skipped: there is no {gone[0]}")
    for key in ("host", "narrow", "wide"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key], check=True)
    public = {key: " ".join((tmp_path / f"{key}.pub").read_text().split()[:2]) for key in ("host", "narrow", "wide")}
    # The shell of the user has another home folder.
    program = write(host.programs / "at-the-desk", "#!/bin/sh\n" + "".join(
        f"export {name}='{host.environment[name]}'\n" for name in ("HOME", "PATH")) + 'exec einlass "$@"\n')
    line = filled(block(SSH, "restrict"), [
        (".local/bin/einlass", str(program)), ("ssh-ed25519 AAAA…", public["narrow"])])
    (tmp_path / "authorized").write_text(line + public["wide"] + "\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "sshd").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\n"
        "StrictModes no\nUsePAM no\nPidFile none\nStreamLocalBindUnlink yes\n")
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {public['host']}\n")
    for key in ("narrow", "wide"):
        (tmp_path / f"ssh-{key}").write_text(
            f"Host *.example.org\nHostName 127.0.0.1\nPort {port}\nIdentityFile {tmp_path}/{key}\nIdentitiesOnly yes\n"
            f"UserKnownHostsFile {tmp_path}/known\nBatchMode yes\nLogLevel ERROR\n")
    write(host.programs / "ssh", f'#!/bin/sh\nexec /usr/bin/ssh -F "{tmp_path}/ssh-${{KEY:-narrow}}" "$@"\n')
    # root's sshd needs this folder.
    start = f'exec "$(command -v sshd || echo /usr/sbin/sshd)" -D -e -f {tmp_path}/sshd'
    words = ["sh", "-c", start] if NOT_ROOT else [
        "unshare", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /run && mkdir /run/sshd && " + start]
    log = (tmp_path / "sshd.log").open("w")
    server = subprocess.Popen(words, stderr=log, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: server.poll() is not None or "listening" in (tmp_path / "sshd.log").read_text())
        assert server.poll() is None, (tmp_path / "sshd.log").read_text()
        yield lambda text: filled(text, [("ada@", getpass.getuser() + "@")])
    finally:
        server.terminate()
        server.wait()
        log.close()


def test_the_accounts_of_another_machine_come_over_ssh(host, ssh):
    write(host.programs / "einlass-connect", ssh(block(SSH, "#!/bin/sh")))
    reject(host)
    text = filled(block(SSH, "EINLASS="), [("/usr/local/bin", str(host.programs))])
    # Here is no account: this side has a home folder of its own.
    elsewhere = host.folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    code, token, errors = run(host, text, env={"HOME": str(elsewhere)})
    assert code == 0, errors
    assert refreshes(host) == 1 and token == host.do("token", "gitlab")
    assert run(host, TOKEN, env={"HOME": str(elsewhere)})[0] == 1
    assert not list(elsewhere.rglob("store.db"))


@pytest.mark.parametrize("key", ["narrow", "wide"])
def test_the_key_of_the_page_starts_einlass_alone(host, ssh, key):
    code, output, _ = run(host, ssh("ssh ada@desk.example.org echo another program"), env={"KEY": key})
    assert code == 0 and output == ("another program\n" if key == "wide" else "")


def test_the_socket_is_forwarded_to_another_machine(host, forwarded, ssh):
    there = host.environment["XDG_RUNTIME_DIR"] + "/there"
    text = filled(ssh(block(SSH, "ssh -R")), [("/run/user/1000/einlass.socket", there), ("ssh -R", "exec ssh -N -R")])
    write(host.programs / "einlass-connect", filled(block(SOCKET, "#!/bin/sh"), [("/run/einlass/socket", there)]))
    reject(host)
    tunnel = subprocess.Popen(["bash", "-c", text], env={**host.environment, "KEY": "wide"}, stdin=subprocess.DEVNULL)
    try:
        wait_until(Path(there).exists)
        assert stat.S_IMODE(Path(there).stat().st_mode) == 0o600
        code, token, errors = run(host, TOKEN, env={"EINLASS": str(host.programs / "einlass-connect")})
        assert code == 0, errors
        assert refreshes(host) == 1 and token == host.do("token", "gitlab")
    finally:
        tunnel.terminate()
        tunnel.wait()
    # The negative control: the tunnel has ended.
    assert run(host, TOKEN, env={"EINLASS": str(host.programs / "einlass-connect")})[0] != 0


def test_every_block_of_the_page_is_run():
    source = Path(__file__).read_text()
    run_here = [*CONTAINERS, *re.findall(r'\bblock\(\w+, "([^"]+)"', source)]
    fences = [text for section in SECTIONS.values()
              for text in re.findall(r"^```\w*\n(?:\$ )?(.*?)^```$", section, re.MULTILINE | re.DOTALL)]
    assert fences and not [text for text in fences if not text.startswith(tuple(run_here))]
