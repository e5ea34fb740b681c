"""An operator who reads clients/POSTGRESQL.md: each block is done on the machine that it names.

    operator = Operator(cluster, folder)
    operator.read("Backup and restore")     # with everything before it

- ```` ```console ````: `one$ command` (`> ` goes on) on the machine `one`.
- ```` ```sql ````: in psql, by the superuser, in the database of the page.
- ```` ```json ````: members of the configuration file that the text above names.
- other blocks: the content of the file that the text above names.

Addresses and folders of the page stand for those of the test. `sudo`, `scp` and `systemctl` do here what they do there.
"""
import json
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
sys.path += [str(PROJECT / "Tests/Integrations"), str(PROJECT / "Tests/Control")]
from house import SANDBOX, House  # noqa: E402

import pooler  # noqa: E402
from cluster import PROGRAMS, as_keeper, free_port, give, keeper  # noqa: E402

PAGE = (PROJECT / "clients/POSTGRESQL.md").read_text()
MACHINES = ("one", "two", "three")
DATABASE = "einlass"
PASSWORD = "correct horse battery"
PATIENCE = 60  # seconds; turns a hang into a failure
# The questions of a command that asks on a terminal. The answer is the password of the page.
QUESTIONS = {
    "einlassctl store slots add passphrase": ["Passphrase: ", "Once more: "],
    "einlassctl store slots add keyfile": ["Passphrase: "]}
STAND_INS = {
    "sudo": '#!/bin/sh\n[ "$1" != -u ] || shift 2\nexec "$@"\n',
    "scp": f"""#!{sys.executable}
import shutil, sys
from pathlib import Path
*files, target = [word for word in sys.argv[1:] if word != "-p"]
host, _, place = target.partition(":")
for file in files:
    shutil.copy(file, Path("{{homes}}") / host.partition(".")[0] / place)
"""}


@dataclass
class Block:
    section: str
    kind: str
    text: str
    before: str


def blocks():
    """Returns the blocks of the page's sections with the paragraph before each."""
    found = []
    for section, text in re.findall(r"^##+ ([^\n]*)\n(.*?)(?=^##+ |\Z)", PAGE, re.MULTILINE | re.DOTALL):
        parts = re.split(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
        for before, kind, block in zip(parts[::3], parts[1::3], parts[2::3]):
            found.append(Block(section, kind, block, before.strip().split("\n\n")[-1]))
    return found


class Operator:
    def __init__(self, cluster, folder):
        self.servers, self.folder = [cluster], folder
        self.left, self.pooler, self.pooler_port = blocks(), None, free_port()
        self.sandbox = subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.sandbox.stdout.readline())
        self.programs = folder / "programs"
        self.programs.mkdir()
        for name, text in STAND_INS.items():
            (self.programs / name).write_text(text.replace("{homes}", str(folder)))
            (self.programs / name).chmod(0o755)
        self.machines = {name: self.machine(name) for name in (*MACHINES, "db")}
        for place in (cluster.data / "conf.d", cluster.folder / "pgbouncer"):
            place.mkdir()
            give(place)
        cluster.write("postgresql.conf", "include_dir = 'conf.d'\n", "a")

    def machine(self, name):
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        machine = House(folder, self.ready)
        machine.environment["PATH"] = f"{self.programs}:{Path(PROGRAMS).parent}:{machine.environment['PATH']}"
        return machine

    def close(self):
        if self.pooler:
            self.pooler.terminate()
            self.pooler.wait(PATIENCE)
        self.sandbox.terminate()
        self.sandbox.wait(PATIENCE)
        self.sandbox.stdout.close()

    @property
    def pooler_file(self):
        return self.server.folder / "pgbouncer/pgbouncer.ini"

    @property
    def server(self):
        """The server that takes the writes."""
        return self.servers[0]

    def read(self, section, until=""):
        """Does each block up to the end of the section, or up to its first block with this text."""
        assert section in {block.section for block in blocks()}, f"there is no block below {section}"
        while self.left and (section in {block.section for block in self.left}):
            if until and self.left[0].section == section and until in self.left[0].text:
                return
            self.do(self.left.pop(0))

    def do(self, block):
        if block.kind == "console":
            for name, command in self.commands(block.text):
                self.follow(name, command)
        elif block.kind == "sql":
            self.sql(block.text)
        else:
            for place in self.places(block.before):
                self.save(place, block)

    @staticmethod
    def commands(text):
        assert all(re.match(r"\w+\$ |> ", line) for line in text.splitlines()), text
        return [(name, re.sub(r"^> ", "", command, flags=re.MULTILINE))
                for name, command in re.findall(r"^(\w+)\$ (.*(?:\n> .*)*)$", text, re.MULTILINE)]

    def here(self, text, machine):
        """Returns the text with the places of the test."""
        if hosts := re.search(r"^host=(\S+)$", text, re.MULTILINE):
            # The names of the page lead nowhere.
            ports = [str(server.port) for server in self.servers][:hosts[1].count(",") + 1]
            more = ["hostaddr=" + ",".join("127.0.0.1" for _ in ports)] + ["port=" + ",".join(ports)] * ("port=" not in text)
            text = text.replace(hosts[0], "\n".join([hosts[0], *more]))
        folder = self.server.folder
        for shown, place in [
                ("6432", self.pooler_port), ("/home/ada", machine.folder), ("/etc/postgresql/15/main", self.server.data),
                ("/etc/pgbouncer", folder / "pgbouncer"), ("/var/lib/postgresql", folder),
                ("host=/var/run/postgresql", f"host={self.server.sockets} port={self.server.port}"),
                ("/var/run/postgresql", folder), ("/var/log/postgresql", folder),
                ("listen_addr = *", "listen_addr = 127.0.0.1"), ("-o postgres ", f"-o {keeper()} " if keeper() else "")]:
            text = text.replace(shown, str(place))
        return text.replace("STORE", self.sql("SELECT store FROM einlass.meta")) if "STORE" in text else text

    def places(self, text):
        """Returns the machines and the path of the file that the text names."""
        path = [name for name in re.findall(r"`([^`]+)`", text) if name[0] in "~/"][-1]
        named = [name for name in MACHINES if f"`{name}`" in text]
        return [(name, path) for name in (named or MACHINES[:2])] if path[0] == "~" else [("db", path)]

    def save(self, place, block):
        machine, text = self.machines[place[0]], self.here(block.text, self.machines[place[0]])
        file = Path(self.here(place[1], machine).replace("~", str(machine.folder)))
        if block.kind == "json":
            text = json.dumps(json.loads(file.read_text()) | json.loads(text))
        elif "above the others" in block.before:
            text += file.read_text()
        elif block.before.startswith("Below the first line"):
            first, _, rest = file.read_text().partition("\n")
            text = f"{first}\n{text}{rest}"
        file.write_text(text)
        file.chmod(0o600)
        if place[0] == "db":
            give(file)

    def follow(self, name, command):
        """Runs a command, which must succeed. Returns its output."""
        machine = self.machines[name]
        if found := re.fullmatch(r"sudo systemctl (\w+) (\w+)", command):
            return getattr(self, f"{found[1]}_{found[2]}")()
        if command == "einlassctl sign-in gitlab":
            return machine.sign_in("gitlab")
        if command in QUESTIONS:
            return self.answer(machine, command)
        if name == "db":
            machine.environment |= {"PGHOST": str(self.server.sockets), "PGPORT": str(self.server.port), "PGUSER": "postgres"}
        code, output, errors = machine.run(
            "bash", "-ec", self.here(command, machine), input=f"{PASSWORD}\n" * 2, patience=PATIENCE, cwd=machine.folder)
        assert code == 0, f"{name}$ {command}\n{output}\n{errors}"
        return output

    def answer(self, machine, command):
        with machine.on_terminal("bash", "-ec", command) as terminal:
            for question in QUESTIONS[command]:
                terminal.wait_for(question)
                terminal.type(PASSWORD + "\n")
            assert terminal.end() == 0, terminal.shown

    def sql(self, text, role="postgres"):
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", str(self.server.sockets), "-p", str(self.server.port)]
        done = subprocess.run([*command, "-U", role, "-d", DATABASE], input=text, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{text}\n{done.stderr}"
        return done.stdout.strip()

    def restart_postgresql(self):
        self.server.stop()
        self.server.start()

    def reload_postgresql(self):
        self.sql("SELECT pg_reload_conf()")

    def restart_pgbouncer(self):
        """Starts pgbouncer, which answers when this returns."""
        if self.pooler:
            self.pooler.terminate()
            self.pooler.wait(PATIENCE)
        self.pooler = subprocess.Popen(as_keeper(pooler.PROGRAM, "-q", self.pooler_file), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.pooler_port)).close()
            except ConnectionRefusedError:
                assert self.pooler.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
