"""The parts of the protocol's document that no transcript and no case has."""
from typing import Any, Dict, Iterator, List, Set, Tuple

import client_cases
import server_cases
from messages import read
from transcripts import PROTOCOL, document, load, outs

#: Parts that only another test can reach, with that test.
EXCEPTIONS = {
    ("prompt of a server", "trustCertificate"): "needs a provider with TLS: Tests/Oracles/test_server_trust.py",
    ("notification of a server", "network.changed"): "needs a network of its own: Tests/Processes/test_network.py",
    ("reason of a server", "internal"): "needs a fault of einlass itself: Tests/EinlassRPCTests/RequestTests.swift",
    ("reason of a server", "tokenNotSaved"):
        "needs a store that fails after the provider's answer: Tests/EinlassTests/Renewal/RefreshTests.swift",
}


def reasons(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("reason"), str):
            yield value["reason"]
        for member in value.values():
            yield from reasons(member)
    elif isinstance(value, list):
        for element in value:
            yield from reasons(element)


def covered() -> Dict[str, Set[str]]:
    """Returns the names that a transcript or a case has, by sort."""
    found: Dict[str, Set[str]] = {name: set() for name in ("method", "notification of a server", "prompt of a server",
                                                           "reason of a server", "limit")}
    for transcript in load():
        for step in transcript.steps:
            if isinstance(step.get("in"), dict):
                found["method"].add(step["in"].get("method"))
            if "clock" in step:
                found["method"].add("test.advanceClock")
            for message in outs(step):
                found["reason of a server"].update(reasons(message))
                if isinstance(message, dict) and "method" in message:
                    found["notification of a server"].add(message["method"])
                    if message["method"] == "prompt.opened" and isinstance(message["params"], dict):
                        found["prompt of a server"].add(message["params"]["kind"])
    for case in server_cases.CASES:
        found["reason of a server"].update(case.reasons)
        found["limit"].add(case.name.replace("limits/", ""))
    for name in ("notification", "prompt", "reason"):
        found[f"{name} of a client"] = set()
    for case in client_cases.all_cases():
        for step in case.server:
            for message in step.get("unordered", [step["out"]] if "out" in step else []):
                found["reason of a client"].update(reasons(message))
                if "method" in message:
                    found["notification of a client"].add(message["method"])
                if message.get("method") == "prompt.opened":
                    found["prompt of a client"].add(message["params"]["kind"])
    return found


def wanted() -> Dict[str, Set[str]]:
    """Returns the names of the document, by sort."""
    methods = document()["methods"]
    notifications = {method["name"] for method in methods if method["x-direction"] == "serverToClient"}
    opened = next(method for method in methods if method["name"] == "prompt.opened")
    kinds = set(next(param for param in opened["params"] if param["name"] == "kind")["schema"]["enum"])
    known = {entry["reason"] for entry in read((PROTOCOL / "errors.json").read_bytes())["errors"]}
    known |= {reason for method in methods for reason in method.get("x-reasons", [])}
    both: Dict[str, Set[str]] = {"method": {method["name"] for method in methods} - notifications,
                                 "limit": {*server_cases.NAMED_LIMITS, "header"}}
    for side in ("server", "client"):
        both.update({f"notification of a {side}": notifications, f"prompt of a {side}": kinds,
                     f"reason of a {side}": known})
    return both


def gaps(have: Dict[str, Set[str]]) -> Tuple[List[Tuple[str, str]], List[Tuple[str, str]]]:
    """Returns the parts without a case, and the exceptions that have one or name no part."""
    missing = {(sort, name) for sort, names in wanted().items() for name in names - have[sort]}
    return sorted(missing - set(EXCEPTIONS)), sorted(set(EXCEPTIONS) - missing)


def main() -> int:
    have = covered()
    for sort, names in wanted().items():
        print(f"{sort}: {len(names & have[sort])} of {len(names)}")
    for (sort, name), reason in EXCEPTIONS.items():
        print(f"exception: {sort} {name}, {reason}")
    missing, needless = gaps(have)
    for sort, name in missing:
        print(f"MISSING {sort}: {name}")
    for sort, name in needless:
        print(f"NEEDLESS exception: {sort} {name}")
    return 1 if missing or needless else 0
