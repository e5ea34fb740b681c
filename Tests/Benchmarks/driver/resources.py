"""Memory, wake-ups, and the time until the exit."""

import ctypes
import time

from .process import HOT, LIST, Session, interleaved, start
from .provider import Provider, setup


def memory(report, stores):
    with Session(stores.einlass(3)) as session:
        session.request("accounts.list")
        report.add("memory", "idle", session.status("VmRSS") / 1024, "MB")
        session.pipelined(LIST * 1_000_000, 1_000_000)
        report.add("memory", "after a million requests", session.status("VmRSS") / 1024, "MB")
        report.add("memory", "highest until then", session.status("VmHWM") / 1024, "MB")
    with Session(stores.einlass(3)) as session:
        text = LIST * 10_000
        HOT.pour(session.to, text, ctypes.c_long(len(text)), ctypes.c_long(1 << 30), 2000)
        report.add("memory", "client that never reads", session.status("VmRSS") / 1024, "MB")
        report.add("memory", "client that never reads, highest", session.status("VmHWM") / 1024, "MB")
    with Session([stores.einlass(0)[0], "--store", "memory"]) as session:
        session.request("accounts.list")
        report.add("memory", "idle, store in memory", session.status("VmRSS") / 1024, "MB")


def wakeups(report, stores, seconds):
    with Session(stores.einlass(3)) as session:
        session.request("initialize", {"protocolVersion": 1, "client": {"name": "benchmarks"}})
        session.request("accounts.list")
        time.sleep(1)
        before = session.wakeups()
        time.sleep(seconds)
        report.add("wake-ups a minute", "idle", (session.wakeups() - before) * 60 / seconds, "")


def end(report, stores):
    times = interleaved(20, {"idle": lambda: start(stores.einlass(3))[1] * 1e3})["idle"]
    report.add("end of input to exit", "idle", times, "ms")

    def in_a_flow():
        with Provider("stall") as provider, Session(provider.einlass(stores)) as session:
            account = setup(session)
            session.send("auth.perform", {"provider": "twitter", "account": account}, 7)
            while session.line().get("params", {}).get("stage") != "requesting":
                pass
            time.sleep(0.05)
            begin = time.perf_counter()
            session.process.stdin.close()
            while session.process.stdout.read(65536):
                pass
            session.process.wait()
            return (time.perf_counter() - begin) * 1e3
    report.add("end of input to exit", "in a flow", [in_a_flow() for _ in range(5)], "ms")
