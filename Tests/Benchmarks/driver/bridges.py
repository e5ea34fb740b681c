"""The bridge for clients of MCP against the bridge mcp-stdio of PyPI, which has its token from its environment."""

import json
import os
import pathlib
import subprocess
import time

from .engine import PYTHON
from .helpers import CONTROL, add, home
from .process import ROOT, interleaved, ratio

ROUNDS = 20
REST = 12  # seconds; the bridge closes einlass after at most ten
TOKEN = "gho_0"
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmarks", "version": "1"}}


def family(process):
    """Returns the process and those that it has started."""
    paths = pathlib.Path(f"/proc/{process}/task").glob("*/children")
    return [process, *(found for path in paths for child in path.read_text().split() for found in family(child))]


def resident(process):
    """Returns the megabytes of the process and of those that it has started, shared pages counted for each."""
    paths = [pathlib.Path(f"/proc/{found}/status") for found in family(process)]
    lines = [line for path in paths for line in path.read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


class Bridge:
    """A running bridge; the end of a `with` block ends it."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.send({"id": 1, "method": method, "params": params})
        while line := self.process.stdout.readline():
            if "result" in (message := json.loads(line)):
                return message["result"]
            if "error" in message:
                break
        raise RuntimeError(f"{method} has no result: {line}")

    def call_tool(self):
        self.request("tools/call", {"name": "owner", "arguments": {}})


def measure(report, stores):
    environment = home(stores, {"applications": {"*": {"github": {"clientId": "application", "clientSecret": "s"}}}})
    # Each program is compiled once, whatever the environment of this driver says.
    environment |= {"PYTHONPATH": str(ROOT / "clients/python"), "PYTHONPYCACHEPREFIX": str(stores.path / "compiled"),
                    "MCP_BEARER_TOKEN": TOKEN}
    add(environment, "github", {"token": TOKEN})
    subprocess.run([CONTROL, "access", "set", "mcp", "github", "granted"], env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    script = ROOT / "Tests/Benchmarks/peers/mcp_server.py"
    with subprocess.Popen([PYTHON, script, TOKEN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as server:
        try:
            compare(report, environment, server.stdout.readline().strip())
        finally:
            server.terminate()


def compare(report, environment, address):
    if not address:
        return report.skip("a bridge for MCP", "all", "fastmcp is not in the environment of Tests/run")
    subprocess.run([CONTROL, "services", "add", address, "github/ada", "--yes"], env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    commands = {"einlass": [PYTHON, "-m", "einlass", "mcp", address]}
    if subprocess.run([PYTHON, "-c", "import mcp_stdio"], stderr=subprocess.DEVNULL).returncode == 0:
        commands["mcp-stdio"] = [PYTHON, "-m", "mcp_stdio", address]
    else:
        report.skip("a bridge for MCP", "mcp-stdio", "pip install mcp-stdio==0.45.2 into the environment of Tests/run")
    figures = {"start to first answer": "ms", "processor time until then": "ms", "memory in use": "MB", "a call": "ms"}

    def run(command):
        begin = time.perf_counter()
        with Bridge(command, environment) as bridge:
            bridge.request("initialize", INITIALIZE)
            start = time.perf_counter() - begin
            ticks = sum(processor(process) for process in family(bridge.process.pid))
            bridge.send({"method": "notifications/initialized"})
            bridge.call_tool()
            begin = time.perf_counter()
            for _ in range(10):
                bridge.call_tool()
            call = (time.perf_counter() - begin) / 10
            return start * 1e3, ticks * 1e3, resident(bridge.process.pid), call * 1e3

    for command in commands.values():
        run(command)  # compiles
    runs = interleaved(ROUNDS, {name: lambda command=command: run(command) for name, command in commands.items()})
    for number, (what, unit) in enumerate(figures.items()):
        add_figures(report, what, unit, {name: [each[number] for each in runs[name]] for name in runs})

    def at_rest(command):
        with Bridge(command, environment) as bridge:
            bridge.request("initialize", INITIALIZE)
            bridge.call_tool()
            time.sleep(REST)
            return resident(bridge.process.pid)

    add_figures(report, "memory at rest", "MB",
                interleaved(3, {name: lambda command=command: at_rest(command) for name, command in commands.items()}))


def add_figures(report, what, unit, results):
    for name in results:
        ratios = {"mcp_stdio": ratio(results, name, "mcp-stdio")} if "mcp-stdio" in results else {}
        report.add(f"a bridge for MCP: {what}", name, results[name], unit, **ratios)


def processor(process):
    """Returns the seconds of processor time of a process."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
