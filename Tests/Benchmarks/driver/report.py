"""The figures, as a table and as JSON."""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import time


def output(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "missing"


def machine():
    cpu = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"), "cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release(),
        "load": [round(value, 1) for value in os.getloadavg()],
        "swift": output("swift", "--version"), "python": platform.python_version(), "node": output("node", "--version"),
        "sqlite": output("sqlite3", "--version").split(" ")[0], "git": output("git", "--version"),
    }


class Report:
    def __init__(self):
        self.machine = machine()
        self.rows, self.targets = [], []
        print(", ".join(f"{name} {value}" for name, value in self.machine.items()), flush=True)

    def add(self, what, who, values, unit, **ratios):
        """Adds a figure: the median of `values`, with its ratios to other figures of the same run."""
        values = values if isinstance(values, list) else [values]
        row = {"what": what, "who": who, "value": statistics.median(values), "min": min(values), "max": max(values),
               "unit": unit, "ratios": {name: round(value, 3) for name, value in ratios.items()}}
        self.rows.append(row)
        spread = f" ({self.short(row['min'])}–{self.short(row['max'])})" if len(values) > 1 else ""
        times = ", ".join(f"{self.short(value)} × {name.replace('_', ' ')}" for name, value in ratios.items())
        print(f"| {what} | {who} | {self.short(row['value'])} {unit}{spread} | {times} |", flush=True)

    def skip(self, what, who, why):
        self.rows.append({"what": what, "who": who, "skipped": why})
        print(f"| {what} | {who} | skipped: {why} | |", flush=True)

    @staticmethod
    def short(value):
        if value >= 10000:
            return f"{value:,.0f}".replace(",", " ")
        return f"{value:.3g}" if value < 100 else f"{value:.0f}"

    def write(self, path):
        path.write_text(json.dumps({"machine": self.machine, "figures": self.rows, "targets": self.targets}, indent=1) + "\n")
