"""The cases for clients that no transcript has: the wire, the end of the server, prompts that cross, later versions."""
from typing import Any, Dict, List

from client import Case, case_of, fits, hello
from messages import read
from standins import Standins
from transcripts import PROTOCOL, document, load

LIST = {"request": "a", "method": "accounts.list", "params": {}}
#: Characters of one to four bytes, and those that some readers take for the end of a line.
PEOPLE = "Ada ä ✓ 😀 \u2028 \u2029 \u0085 Λ"


def account(name: str = "ada", **members: Any) -> Dict[str, Any]:
    return {"account": f"a_{name}", "provider": "twitter", "username": name, "displayName": PEOPLE, "health": "ok",
            "signedIn": True, "preferred": False, "addedAt": 1763712345, **members}


def listed(*accounts: Dict[str, Any]) -> Dict[str, Any]:
    return {"revision": 7, "accounts": list(accounts)}


def one_answer(name: str, about: str, result: Any, **more: Any) -> Case:
    """A case of one request with this result."""
    server = [{"in": {"id": 1, "method": "accounts.list"}}, {"out": {"id": 1, "result": result}}]
    return Case(name, about, hello(), [LIST, {"await": "a"}], server, [{"result": result}], **more)


def wire() -> List[Case]:
    accounts = listed(account(), account("grace"))
    cases = [one_answer(f"wire/{cut}", f"the output comes in pieces: {cut}", accounts, cut=cut)
             for cut in ("bytes", "stall", "pieces", "characters")]
    frame = len('{"jsonrpc":"2.0","id":1000000,"result":""}')
    long = listed(account(displayName="ä" * ((61440 - frame - 200) // 2)))
    cases.append(one_answer("wire/longest-line", "an answer has 60 KiB", long))
    cases.append(one_answer("wire/document", "the answer to rpc.discover is longer than 60 KiB", document()))
    results = [listed(account(name)) for name in ("ada", "grace", "alan")]
    requests = [{"request": name, "method": "accounts.list", "params": {"limit": number}}
                for number, name in enumerate("abc", 1)]
    server = [{"in": {"id": name, "method": "accounts.list", "params": {"limit": number}}}
              for number, name in enumerate("abc", 1)]
    answers = [{"out": {"id": name, "result": result}} for name, result in zip("abc", results)]
    noise = {"out": {"method": "accounts.changed", "params": {"revision": 8, "changes": []}}}
    cases.append(Case("wire/any-order", "answers come in another order than the requests, with notifications between",
                      hello(), [*requests, {"await": "a"}, {"await": "b"}, {"await": "c"}],
                      [*server, noise, answers[2], noise, answers[0], answers[1]],
                      [{"result": result} for result in results]))
    cases.append(Case("wire/much-log", "the server writes 2 MiB to standard error before it answers", hello(),
                      [LIST, {"await": "a"}],
                      [{"in": {"id": 1, "method": "accounts.list"}}, {"log": 2048},
                       {"out": {"id": 1, "result": accounts}}],
                      [{"result": accounts}]))
    return cases


def compatibility() -> List[Case]:
    unknown = {"method": "never.heardOf", "params": {"x": [1, {"y": None}]}}
    request, result = {"in": {"id": 1, "method": "accounts.list"}}, listed(account())
    done = [{"out": {"id": 1, "result": result}}]
    error = {"code": 4711, "message": "This is new.", "data": {"reason": "neverHeardOf", "retryable": True}}
    stage = {"method": "auth.progress", "params": {"flow": "f_1", "stage": "neverHeardOf"}}
    riddle = {"method": "prompt.opened", "params": {
        "prompt": "p_riddle", "flows": [], "requests": [1], "kind": "solveRiddle", "application": "conformance",
        "expiresAt": 1763712345, "riddle": "?", "show": {"title": "?", "buttons": []}}}
    steps = [LIST, {"await": "a"}]
    return [
        one_answer("compatibility/members", "every message has members that the client does not know", result,
                   grease=True),
        Case("compatibility/notification", "an unknown notification comes before the answer", hello(), steps,
             [request, {"out": unknown}, {"out": {"method": "never.heardOf"}}, *done], [{"result": result}]),
        Case("compatibility/reason", "an error has an unknown number and reason", hello(), steps,
             [request, {"out": {"id": 1, "error": error}}], [{"error": error}]),
        Case("compatibility/stage", "a sign-in has an unknown stage", hello(),
             [LIST, {"hear": "auth.progress"}, *steps[1:]],
             [request, {"out": stage}, *done], [stage, {"result": result}]),
        Case("compatibility/prompt", "a prompt of an unknown kind is cancelled", hello("openURL"), steps,
             [request, {"out": riddle},
              {"in": {"id": "c", "method": "prompt.answer", "params": {"prompt": "p_riddle", "action": "cancel"}}},
              {"out": {"id": "c", "result": {}}},
              {"out": {"method": "prompt.closed", "params": {"prompt": "p_riddle", "outcome": "cancelled"}}}, *done],
             [{"result": result}]),
    ]


def ends() -> List[Case]:
    request, steps = {"in": {"id": 1, "method": "accounts.list"}}, [LIST, {"await": "a"}]
    two = [LIST, {"request": "b", "method": "network.status", "params": {}}, {"await": "a"}, {"await": "b"}]
    half = '{"jsonrpc":"2.0","id":1,"result":{"revision":7,"acc'
    late = {"out": {"method": "accounts.changed", "params": {"revision": 9, "changes": [
        {"account": f"a_{number}", "change": "added"} for number in range(900)]}}}
    version = {"code": -32602, "message": "This einlass speaks version 1.", "data": {
        "reason": "unsupportedVersion", "retryable": False, "supported": [1]}}
    first = {"in": {"id": 0, "method": "initialize", "params": {}}}
    return [
        Case("end/within-an-answer", "the server ends within an answer", hello(), steps,
             [request, {"raw": half}, {"die": 70}], [{"ended": 70}]),
        Case("end/exit-code", "the server ends by itself while two requests wait", hello(), two,
             [request, {"in": {"id": 2, "method": "network.status"}}, {"die": 75}], [{"ended": 75}, {"ended": 75}]),
        Case("end/killed", "the server is killed: 128 and the number of the signal", hello(), steps,
             [request, {"pause": 0.1}, {"die": "KILL"}], [{"ended": 137}]),
        Case("end/at-once", "the server ends in place of an answer to initialize", hello(), steps,
             [first, {"die": 78}], [{"ended": 78}]),
        Case("end/refused", "the server does not speak the version of the client", hello(), steps,
             [first, {"out": {"id": 0, "error": version}}], [{"error": version}], hello_id=0),
        Case("end/output-after-input", "after the end of its input the server still writes much, and ends late",
             hello(), steps, [request, {"out": {"id": 1, "result": {"revision": 7, "accounts": []}}}, {"eof": True},
                     *[late] * 10, {"pause": 0.5}, late], [{"result": {"revision": 7, "accounts": []}}]),
    ]


#: For each kind of prompt: its members, and an answer.
KINDS = {entry["prompt"]["kind"]: entry for entry in read((PROTOCOL / "conformance/prompts.json").read_bytes())}


def opened(prompt: str, kind: str, **members: Any) -> Dict[str, Any]:
    return {"method": "prompt.opened", "params": {
        "prompt": prompt, "flows": ["f_1"], "requests": [1], "kind": kind, "application": "conformance",
        "applicationTitle": "Conformance", "provider": "github", "providerName": "GitHub", "expiresAt": 1763712345,
        "show": KINDS[kind]["prompt"]["show"], **members}}


def closed(prompt: str, outcome: str) -> Dict[str, Any]:
    return {"method": "prompt.closed", "params": {"prompt": prompt, "outcome": outcome}}


def prompts() -> List[Case]:
    page = opened("p_page", "openURL", url="https://github.example/login?a=b&c=d", host="github.example")
    paste = opened("p_paste", "enterVerifier", expects="redirectURL")
    result = {"flow": "f_1", "account": "a_new", "created": True}
    sign_in = {"request": "a", "method": "accounts.signIn", "params": {"provider": "github"}}
    request = {"in": {"id": 1, "method": "accounts.signIn", "params": {"provider": "github"}}}
    done = {"out": {"id": 1, "result": result}}
    cancelled = {"code": -32800, "message": "Cancelled.",
                 "data": {"reason": "cancelled", "retryable": False, "by": "client"}}
    stage = {"method": "auth.progress", "params": {"flow": "f_1", "stage": "awaitingPerson"}}
    typed = {"action": "accept", "text": "http://127.0.0.1:4711/callback?code=ä&state=b"}
    answer = {"in": {"id": 2, "method": "prompt.answer", "params": {"prompt": "p_paste", **typed}}}
    cancel = {"in": {"method": "$/cancelRequest", "params": {"id": 1}}}
    cases = [
        Case("prompts/two-open", "two prompts are open together, and the second is answered alone",
             hello("openURL", "enterVerifier"),
             [sign_in, {"hear": "prompt.opened"}, {"hear": "prompt.opened"},
              {"answer": "p_paste", "kind": "enterVerifier", "with": typed}, {"await": "a"}],
             [request, {"out": page}, {"out": paste}, answer, {"out": {"id": 2, "result": {}}},
              {"out": closed("p_paste", "accepted")}, {"out": closed("p_page", "satisfied")}, done],
             [page, paste, {"result": result}]),
        Case("prompts/answer-when-open", "a prompt opens late, and is answered after that", hello("openURL"),
             [sign_in, {"answer": "p_page", "kind": "openURL", "with": {"action": "accept"}}, {"await": "a"}],
             [request, {"quiet": 0.5}, {"out": page},
              {"in": {"id": 2, "method": "prompt.answer", "params": {"prompt": "p_page", "action": "accept"}}},
              {"out": {"id": 2, "result": {}}}, {"out": closed("p_page", "accepted")}, done], [{"result": result}]),
        Case("prompts/satisfied", "a prompt closes without an answer of the client", hello("openURL"),
             [sign_in, {"hear": "prompt.opened"}, {"hear": "prompt.closed"}, {"await": "a"}],
             [request, {"out": page}, {"pause": 0.05}, {"out": closed("p_page", "satisfied")}, done],
             [page, closed("p_page", "satisfied"), {"result": result}]),
        Case("cancel/cancelled", "a request is cancelled and answered", hello(),
             [sign_in, {"hear": "auth.progress"}, {"cancel": "a"}, {"await": "a"}],
             [request, {"out": stage}, cancel, {"out": {"id": 1, "error": cancelled}}], [stage, {"error": cancelled}]),
        Case("cancel/too-late", "a request is cancelled and succeeds all the same", hello(),
             [sign_in, {"hear": "auth.progress"}, {"cancel": "a"}, {"await": "a"}],
             [request, {"out": stage}, cancel, done], [stage, {"result": result}]),
    ]
    for action, outcome in (("decline", "declined"), ("cancel", "cancelled")):
        grant = opened("p_access", "grantAccess", permissions=["email"], added=["email"])
        error = {"code": 1002, "message": "Access was denied.",
                 "data": {"reason": "accessNotGranted", "retryable": False}}
        cases.append(Case(
            f"prompts/{action}", f"the person answers a prompt by {action}", hello("grantAccess"),
            [{**sign_in, "method": "auth.perform"}, {"hear": "prompt.opened"},
             {"answer": "p_access", "kind": "grantAccess", "with": {"action": action}}, {"await": "a"}],
            [{"in": {**request["in"], "method": "auth.perform"}}, {"out": grant},
             {"in": {"id": 2, "method": "prompt.answer", "params": {"prompt": "p_access", "action": action}}},
             {"out": {"id": 2, "result": {}}}, {"out": closed("p_access", outcome)},
             {"out": {"id": 1, "error": error}}],
            [grant, {"error": error}]))
    return cases


def of_kind(kind: str) -> Case:
    """Returns the case of a prompt of this kind that is accepted."""
    prompt, accepted = opened("p_1", **KINDS[kind]["prompt"]), KINDS[kind]["answer"]
    result = {"flow": "f_1", "account": "a_ada", "created": False}
    return Case(f"prompts/{kind}", f"a prompt of the kind {kind} is accepted", hello(kind),
                [{"request": "a", "method": "accounts.signIn", "params": {"provider": "github"}},
                 {"hear": "prompt.opened"}, {"answer": "p_1", "kind": kind, "with": accepted},
                 {"hear": "prompt.closed"}, {"await": "a"}],
                [{"in": {"id": 1, "method": "accounts.signIn", "params": {"provider": "github"}}}, {"out": prompt},
                 {"in": {"id": 2, "method": "prompt.answer", "params": {"prompt": "p_1", **accepted}}},
                 {"out": {"id": 2, "result": {}}}, {"out": closed("p_1", "accepted")},
                 {"out": {"id": 1, "result": result}}],
                [prompt, closed("p_1", "accepted"), {"result": result}])


def from_document() -> List[Case]:
    """Returns a case for each notification, and one with every error."""
    changes = [{"method": "accounts.changed", "params": {"revision": revision, "changes": [
        {"account": f"a_{name}", "change": change}]}} for revision, name, change in ((8, "ada", "removed"),
                                                                                      (9, "grace", "added"))]
    described = document()
    cases = [Case("notifications/two", "two notifications of one method are heard in their order", hello(),
                  [LIST, {"await": "a"}, {"hear": "accounts.changed"}, {"hear": "accounts.changed"}],
                  [{"in": {"id": 1, "method": "accounts.list"}}, *({"out": change} for change in changes),
                   {"out": {"id": 1, "result": listed()}}], [{"result": listed()}, *changes])]
    for notification in described["methods"]:
        name = notification["name"]
        if notification.get("x-direction") != "serverToClient" or name.startswith("prompt."):
            continue
        params = {param["name"]: "$any" for param in notification["params"] if param["required"]}
        message = Standins().notification({"method": name, "params": params})
        result = listed()
        cases.append(Case(f"notifications/{name}", notification["summary"], hello(),
                          [LIST, {"hear": name}, {"await": "a"}],
                          [{"in": {"id": 1, "method": "accounts.list"}}, {"out": message},
                           {"out": {"id": 1, "result": result}}], [message, {"result": result}]))
    steps: List[Dict[str, Any]] = []
    server: List[Dict[str, Any]] = []
    lines: List[Dict[str, Any]] = []
    for number, entry in enumerate(read((PROTOCOL / "errors.json").read_bytes())["errors"], 1):
        error = {"code": entry["code"], "message": PEOPLE,
                 "data": {"reason": entry["reason"], "retryable": entry["retryable"]}}
        steps += [{**LIST, "request": str(number)}, {"await": str(number)}]
        server += [{"in": {"id": number, "method": "accounts.list"}}, {"out": {"id": number, "error": error}}]
        lines.append({"error": error})
    cases.append(Case("errors/every-reason", "each reason of errors.json, one after the other", hello(), steps, server,
                      lines))
    return cases


def all_cases() -> List[Case]:
    """Returns every case for clients: those of this file, and each transcript that a client can have."""
    own = [*wire(), *compatibility(), *ends(), *prompts(), *map(of_kind, KINDS), *from_document()]
    return own + [case_of(transcript) for transcript in load() if fits(transcript)]

