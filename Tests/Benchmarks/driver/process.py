"""Spawned programs, timed by the loops of native/hot.c."""

import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / ".build" / "benchmarks"
EINLASS = os.environ.get("EINLASS_BINARY", str(ROOT / ".build/release-static/release/einlass"))
FLOOR = str(BUILD / "floor")
LOOP_PY = ["python3", str(ROOT / "Tests/Benchmarks/peers/loop.py")]
LOOP_JS = ["node", str(ROOT / "Tests/Benchmarks/peers/loop.js")]
LIST = b'{"jsonrpc":"2.0","id":1,"method":"accounts.list"}\n'

HOT = ctypes.CDLL(str(BUILD / "hot.so"))
for function in ("pipelined", "pour", "windowed"):
    getattr(HOT, function).restype = ctypes.c_int64


def strings(values):
    array = (ctypes.c_char_p * (len(values) + 1))()
    array[: len(values)] = [os.fsencode(value) for value in values]
    return array


def start(argv, request=LIST, any_bytes=False, eof_first=False):
    """Returns the seconds from the spawn to the first answer, and from the end of the input to the exit."""
    answered, ended = ctypes.c_int64(), ctypes.c_int64()
    environment = [f"{name}={value}" for name, value in os.environ.items()]
    status = HOT.start(
        strings(argv), strings(environment), request, ctypes.c_long(len(request)), int(any_bytes), int(eof_first),
        ctypes.byref(answered), ctypes.byref(ended))
    if status != 0:
        raise RuntimeError(f"{argv[0]} did not answer")
    return answered.value / 1e9, ended.value / 1e9


class Session:
    """A running server program; the end of a `with` block kills it."""

    def __init__(self, argv, cpu=None, environment=None):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, env=environment,
            preexec_fn=None if cpu is None else lambda: os.sched_setaffinity(0, {cpu}))
        self.to, self.out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()

    def line(self):
        while b"\n" not in self.rest:
            got = os.read(self.out, 65536)
            if not got:
                raise RuntimeError(f"{self.process.args[0]} ended: {self.process.poll()}")
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def send(self, method, params=None, identifier=1):
        message = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params or {}}
        os.write(self.to, json.dumps(message).encode() + b"\n")

    def request(self, method, params=None):
        self.send(method, params)
        while "id" not in (message := self.line()):
            pass
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    def round_trips(self, count, request=LIST):
        """Returns the seconds of each round trip."""
        times = (ctypes.c_int64 * count)()
        if HOT.round_trips(self.to, self.out, request, ctypes.c_long(len(request)), ctypes.c_long(count), times):
            raise RuntimeError(f"{self.process.args[0]} ended: {self.process.poll()}")
        return [time / 1e9 for time in times]

    def pipelined(self, text, lines):
        """Returns the seconds until all lines are answered."""
        time = HOT.pipelined(self.to, self.out, text, ctypes.c_long(len(text)), ctypes.c_long(lines))
        if time < 0:
            raise RuntimeError(f"{self.process.args[0]} ended: {self.process.poll()}")
        return time / 1e9

    def windowed(self, method, params, count, window):
        """Returns the seconds until this many requests, at most `window` at once, are answered without an error."""
        suffix = f',"method":"{method}","params":{json.dumps(params)}}}\n'
        errors = ctypes.c_long()
        time = HOT.windowed(
            self.to, self.out, b'{"jsonrpc":"2.0","id":', suffix.encode(), ctypes.c_long(count),
            ctypes.c_long(window), ctypes.byref(errors))
        if time < 0 or errors.value:
            raise RuntimeError(f"{method}: {errors.value} errors")
        return time / 1e9

    def status(self, member):
        """Returns a number from /proc/PID/status."""
        return self._number(f"/proc/{self.process.pid}/status", member)

    @staticmethod
    def _number(path, member):
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith(member + ":"):
                return int(line.split()[1])
        raise KeyError(member)

    def wakeups(self):
        """Returns the number of voluntary context switches of its threads so far."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        return sum(self._number(task / "status", "voluntary_ctxt_switches") for task in tasks.iterdir())

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stores:
    """Stores by number of accounts, created on first use."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="einlass-benchmarks-")
        self.path = pathlib.Path(self.folder.name)
        (self.path / "keys").mkdir(mode=0o700)
        self.made = {}

    def arguments(self, name):
        return ["--store", str(self.path / f"{name}.db"), "--key-file", str(self.path / "keys" / f"{name}.key")]

    def einlass(self, count):
        """Returns the command line of einlass with a store of this many accounts; for 0 the store does not exist."""
        if count and count not in self.made:
            requests = b"".join(self.adding(number) for number in range(1, count + 1))
            with Session([EINLASS, *self.arguments(count)]) as session:
                session.pipelined(requests, count)
                if session.request("accounts.list")["revision"] == 0:
                    raise RuntimeError("the accounts were not added")
            self.made[count] = True
        return [EINLASS, *self.arguments(count)]

    @staticmethod
    def adding(number):
        return json.dumps({
            "jsonrpc": "2.0", "id": number, "method": "accounts.add",
            "params": {
                "provider": "twitter", "username": f"person{number}", "displayName": f"Person {number}",
                "subject": f"100{number}",
                "credential": {
                    "type": "oauth1", "key": "k" * 50, "secret": "s" * 45, "clientId": "c" * 25,
                    "clientSecret": "t" * 50}}}).encode() + b"\n"


def interleaved(rounds, subjects):
    """Calls the functions of `subjects` (by name, without arguments) in turn, A B A B. Returns their results by name."""
    results = {name: [] for name in subjects}
    for _ in range(rounds):
        for name, measure in subjects.items():
            results[name].append(measure())
    return results


def ratio(results, name, base):
    """Returns the median of the pairwise ratios."""
    return statistics.median(a / b for a, b in zip(results[name], results[base]))


def percentile(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]
