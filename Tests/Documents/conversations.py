"""A `jsonl` block: a conversation with einlass.

- `-> ` a line that the front end sends, `<- ` a line that comes. An indented line continues the one above.
- `   (…)` on a line of its own: something happens outside of the conversation; `HAPPENINGS` has all of them.
- Without `-> initialize` as the first line, the application `editor` has introduced itself before.
- Notifications of `LEFT_OUT` may come between. The guide says so.
"""
import json
import re

from matching import ANY, MORE, Matcher, Mismatch, read
from world import ACCOUNTS, KINDS, PROJECT, redirect, visit

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
        self.options, self.server, self.prompts = ["--test"], None, {}
        if answers:
            self.options += ["--answers", world.file("answers", answers)]
        self.kinds, self.token = KINDS, None

    def run(self, text):
        for place, (mark, line) in enumerate(steps(text)):
            try:
                {"->": self.send, "<-": self.expect, "(": self.happen}[mark](line)
            except Mismatch as problem:
                raise Mismatch(f"line {place + 1} of the conversation, {mark} {line}\n{problem}") from None
        self.end()

    def start(self, line=""):
        if self.server:
            return
        self.server = self.world.server(*self.options)
        if '"initialize"' not in line:
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


@happening("the person allows it in the browser")
def allow(conversation):
    conversation.world.sandbox.consent("allow")
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


@happening("(.*) is a redirect address of (.*)")
def redirect_address(conversation, address, provider):
    """Somebody has registered it at the provider, for a client without a secret."""
    client = conversation.world.config["applications"]["*"][provider]["clientId"]
    conversation.world.sandbox.patch({provider: {"applications": {client: {"redirects": [address], "secret": None}}}})


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
