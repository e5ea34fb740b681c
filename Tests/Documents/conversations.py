"""A `jsonl` block: a conversation with einlass.

- `-> ` a line that the front end sends, `<- ` a line that comes. An indented line continues the one above.
- `   (…)` on a line of its own: something happens outside of the conversation; `HAPPENINGS` has all of them.
- Without `-> initialize` as the first line, the application `editor` has introduced itself before.
- Notifications of `LEFT_OUT` may come between. The guide says so.
"""
import json
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Oracles"))

from cable import Cable
from matching import ANY, MORE, Matcher, Mismatch, read
from world import ACCOUNTS, KINDS, PROJECT, redirect, text_of, visit

LEFT_OUT = ["auth.progress", "accounts.changed", "access.changed", "providers.changed", "store.progress"]
PARAMETERS = {method["name"]: {param["name"] for param in method["params"]}
              for method in json.loads((PROJECT / "protocol/openrpc.json").read_text())["methods"]}
HAPPENINGS = {}


def happening(text):
    """Registers the function that plays a line in parentheses."""
    def register(function):
        HAPPENINGS[re.compile(text)] = function
        return function
    return register


def steps(text):
    """The lines of a conversation: (`->`, `<-` or `(`, text)."""
    found = []
    for line in text.split("\n"):
        if line[:3] in ("-> ", "<- "):
            found.append([line[:2], line[3:]])
        elif re.fullmatch(r"\s*\(.*\)", line):
            found.append(["(", line.strip()[1:-1]])
        elif line.strip() and found and line.startswith(" "):
            found[-1][1] += " " + line.strip()
        elif line.strip():
            raise Mismatch(f"this is no line of a conversation: {line!r}")
    return found


class Conversation:
    def __init__(self, world, answers=None):
        self.world, self.matcher = world, Matcher(world.known)
        self.options, self.server, self.prompts, self.ended = ["--test"], None, {}, False
        if answers:
            self.options += ["--answers", world.file("answers", answers)]
        self.kinds, self.introduced, self.token, self.before = KINDS, False, None, []

    def run(self, text):
        for place, (mark, line) in enumerate(steps(text)):
            try:
                {"->": self.send, "<-": self.expect, "(": self.happen}[mark](line)
            except Mismatch as problem:
                raise Mismatch(f"line {place + 1} of the conversation, {mark} {line}\n{problem}") from None
        if not self.ended:
            self.end()

    def start(self, line=""):
        if self.server:
            return
        self.server = self.world.server(*self.options, before=self.before)
        if '"initialize"' not in line and not self.introduced:
            self.server.call("initialize", client={"name": "editor", "title": "Editor"}, capabilities={"prompts": self.kinds})

    def send(self, line):
        self.start(line)
        try:
            values = read(line)
        except ValueError:  # a line that is not JSON, and shall not be
            return self.server.write(line)
        assert len(values) == 1, "a line is one message"
        self.check_names(values[0])
        self.server.write(self.world.names.here(json.dumps(self.matcher.resolved(values[0]), ensure_ascii=False)))

    def check_names(self, message):
        """A parameter that the method does not have would be ignored, and the example would teach it."""
        for request in message if isinstance(message, list) else [message]:
            params = request.get("params") if isinstance(request, dict) else None
            if isinstance(params, dict) and request.get("method") in PARAMETERS:
                unknown = params.keys() - PARAMETERS[request["method"]]
                if unknown:
                    raise Mismatch(f"{request['method']} has no {sorted(unknown)}")

    def next(self):
        line = self.server.line()
        if line is None:
            raise Mismatch(f"the output ended; standard error: {self.server.logged()}")
        message = self.world.names.shown_message(line)
        if isinstance(message, dict) and message.get("method") == "prompt.opened":
            self.prompts[message["params"]["kind"]] = json.loads(line)["params"]
        if isinstance(message, dict) and "result" in message:
            self.token = message["result"].get("credential", {}).get("token", self.token)
        return message

    def expect(self, line):
        self.start()
        expected = read(line)[0]
        while True:
            actual, attempt = self.next(), self.matcher.copy()
            try:
                attempt.match(expected, actual)
                self.matcher = attempt
                return
            except Mismatch as problem:
                if is_left_out(actual):
                    continue
                raise Mismatch(f"came: {json.dumps(actual, ensure_ascii=False)}\n{problem}") from None

    def happen(self, text):
        for pattern, function in HAPPENINGS.items():
            found = pattern.fullmatch(text)
            if found:
                return function(self, *found.groups())
        raise Mismatch("nobody knows how to play this line")

    def end(self):
        """The rest: nothing but what may be left out."""
        self.start()
        self.server.process.stdin.close()
        while (line := self.server.line()) is not None:
            message = self.world.names.shown_message(line)
            if not is_left_out(message):
                raise Mismatch(f"the conversation does not show: {json.dumps(message, ensure_ascii=False)}")
        code = self.server.process.wait()
        if code:
            raise Mismatch(f"the exit code is {code}; standard error: {self.server.logged()}")


def is_left_out(message):
    return isinstance(message, dict) and message.get("method") in LEFT_OUT


@happening("the machine has a network cable")
def cable(conversation):
    conversation.world.cable = Cable()
    conversation.before = conversation.world.cable.inside


@happening("the cable is pulled out")
def pull(conversation):
    conversation.world.cable.pull()


@happening("the cable is plugged in")
def plug(conversation):
    conversation.world.cable.plug()


@happening("the person allows it in the browser")
def allow(conversation):
    for sandbox in conversation.world.sandboxes:
        sandbox.consent("allow")
    visit(conversation.prompts["openURL"]["url"])
    for sandbox in conversation.world.sandboxes:
        sandbox.consent("page")


@happening("the person says no in the browser")
def deny(conversation):
    conversation.world.sandbox.consent("deny")
    visit(conversation.prompts["openURL"]["url"])
    conversation.world.sandbox.consent("page")


@happening("the person enters the code on another device and allows it")
def enter_code(conversation):
    prompt = conversation.prompts["deviceCode"]
    visit(prompt["verificationUri"], {"user_code": prompt["userCode"], "decision": "allow"})
    conversation.server.call("test.advanceClock", seconds=6)


@happening("the browser of another machine ends on (.*)")
@happening("the browser comes back to the front end at (.*)")
def end_elsewhere(conversation, shown):
    """The address of a page that this browser cannot open. It is captured as a text of the example."""
    conversation.world.sandbox.consent("allow")
    address = redirect(conversation.prompts["openURL"]["url"])
    conversation.world.sandbox.consent("page")
    conversation.matcher.match_text(shown, address)


@happening("einlass has these answers")
def scripted(conversation):
    """The block above is the file of `--answers`; the front end itself shows nothing."""
    assert "--answers" in conversation.options, "no json block stands right before this one"
    conversation.kinds = []


@happening("the provider (.*) answers (\\d+) from now on")
def fail(conversation, provider, status):
    path = {"github": "/login/oauth/access_token", "twitter": "/oauth/request_token"}[provider]
    conversation.world.sandbox.patch({"faults": {"documents": {"path": path, "answer": "status", "status": int(status), "body": "{}"}}})



@happening(r"(\d+) seconds pass")
def wait(conversation, seconds):
    conversation.start()
    conversation.server.call("test.advanceClock", seconds=int(seconds))


@happening("the conversation goes on")
def go_on(conversation):
    """The rest of the example is not shown."""
    conversation.ended = True
    assert conversation.server.end() == 0


@happening("without initialize")
def anonymous(conversation):
    conversation.introduced = True


@happening("the front end shows ([A-Za-z, ]+) alone")
def shows(conversation, kinds):
    conversation.kinds = [] if kinds == "nothing" else re.split(", | and ", kinds)


@happening("editor has no access to (.*)")
def no_access(conversation, provider):
    before(conversation, "access.reset", provider=provider, application="editor")


@happening("the store has no account of (.*)")
def no_account(conversation, provider):
    for name, (other, _) in ACCOUNTS.items():
        if other == provider:
            before(conversation, "accounts.remove", account=conversation.world.known[name])


def before(conversation, method, **params):
    """A request that another process makes before the example begins."""
    server = conversation.world.server()
    server.call(method, **params)
    assert server.end() == 0


@happening("no registration at (.*)")
def no_registration(conversation, provider):
    del conversation.world.config["applications"]["*"][provider]


@happening("the store is damaged")
def damage(conversation):
    for path in (conversation.world.home / ".local/share/einlass").glob("store.db*"):
        path.write_bytes(b"no database " * 1000)


@happening(r"the file (.*) was exported when the store had the account of grace")
def exported(conversation, path):
    server = conversation.world.server()
    server.call("initialize", client={"name": "editor"}, capabilities={"prompts": ["enterPassphrase"]})
    server.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "accounts.export",
                             "params": {"path": conversation.world.names.here(path)}}))
    while (message := json.loads(server.line())).get("id") != 1:
        if message["method"] == "prompt.opened":
            server.call("prompt.answer", prompt=message["params"]["prompt"], action="accept",
                        passphrase="correct horse battery")
    assert "result" in message, message
    server.call("accounts.remove", account=conversation.world.known["a_grace…"])
    assert server.end() == 0


@happening("the issuer refuses the refresh token from now on")
def refuse_refresh(conversation):
    fault = {"path": "/token", "answer": "status", "status": 400, "body": json.dumps({"error": "invalid_grant"})}
    conversation.world.sandbox.patch({"faults": {"documents": fault}})


@happening("(.*) is a redirect address of (.*)")
def redirect_address(conversation, address, provider):
    """Somebody has registered it at the provider, for a client without a secret."""
    client = conversation.world.config["applications"]["*"][provider]["clientId"]
    conversation.world.sandbox.patch({provider: {"applications": {client: {"redirects": [address], "secret": None}}}})


@happening("the person allows it, and the page shows the number (.*)")
def show_number(conversation, shown):
    conversation.world.sandbox.consent("allow")
    page = text_of(conversation.prompts["openURL"]["url"])
    conversation.world.sandbox.consent("page")
    conversation.matcher.captured[shown] = re.search(r"\b[\d-]{7,11}\b", page)[0]


@happening(r"without a token, the server answers (\d+) to a request for (\w+): (.*)")
def ask_without_token(conversation, status, scope, challenge):
    asked = {"openid": {"behaviour": {"scopes": ["openid", "profile", "email", "offline_access", "photos", "albums"]}}}
    conversation.world.sandbox.patch(asked)
    compare_answer(conversation, conversation.world.resource.ask(scope), status, challenge)


@happening(r"with the token, the server answers (\d+) to a request for (\w+)(?:: (.*))?")
def ask_with_token(conversation, status, scope, challenge):
    compare_answer(conversation, conversation.world.resource.ask(scope, conversation.token), status, challenge)


def compare_answer(conversation, answer, status, challenge):
    if answer[0] != int(status):
        raise Mismatch(f"the server answered {answer[0]}")
    conversation.matcher.match(challenge, answer[1] and conversation.world.names.shown(answer[1]))


@happening("the authorization server revokes the token")
def revoke(conversation):
    conversation.world.sandbox.patch({"openid": {"tokens": {conversation.token: {"revoked": True}}}})


@happening(r"the account (a_\w+…) was signed in for (.*)")
def signed_in(conversation, shown, resource):
    server = conversation.world.server()
    server.call("initialize", client={"name": "editor"}, capabilities={"prompts": ["openURL"]})
    result = conversation.world.sign_in(server, resource=conversation.world.names.here(resource))
    conversation.matcher.known[shown] = result["account"]
    assert server.end() == 0


@happening("the server has moved to the authorization server (.*)")
def move(conversation, issuer):
    conversation.world.move_resource()
    assert conversation.world.names.here(issuer) != issuer, f"there is no {issuer}"
