"""The comparison of an example with what the program wrote.

- `…` inside a string or an output line matches any text that is not empty.
- A bare `…` in an object or an array allows more members; as the value of a member it allows any value.
- Without `…`, an object has exactly the members shown. The data of an error may leave out its next steps.
- `"a_…"`, `"f_…"` and `"p_…"` with any letters between stand for one id: the same text is the same id, another text is
  another id. An id is captured where it comes first, and goes into later lines that are sent.
- Other strings with `…` after some text (`"WDJB-…"`) are captured too; a string that is only `…` is not.
"""
import json
import re

ANY, MORE = "\0any", "\0more"
ID = re.compile(r"[afp]_[\w-]*…")
WHOLE_ID = re.compile(r"\b[afp]_[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])")


class Mismatch(AssertionError):
    """An example that the program does not keep to."""


def read(text):
    """The values of an example: JSON in which `…` may stand for members and values."""
    text, values, place = strict(text).strip(), [], 0
    decoder = json.JSONDecoder(object_pairs_hook=members)
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        values.append(value)
        place += len(text[place:]) - len(text[place:].lstrip())
    return values


def members(pairs):
    names = [name for name, _ in pairs]
    for name in names:
        assert names.count(name) == 1, f"the example has {name!r} twice"
    return dict(pairs)


def strict(text):
    """The same with every bare `…` as a string that no example has."""
    result, nesting, last = [], [], ""
    for part in re.findall(r'"(?:[^"\\]|\\.)*"|.', text, re.DOTALL):
        if part in "{[":
            nesting.append(part)
        elif part in "}]":
            nesting.pop()
        elif part == "…":
            if last == ":":
                part = json.dumps(ANY)
            else:
                part = json.dumps(MORE) + (":true" if nesting and nesting[-1] == "{" else "")
        result.append(part)
        last = part if part.strip() else last
    return "".join(result)


def pattern(text):
    """What a text with `…` matches."""
    return re.compile(".+".join(map(re.escape, text.split("…"))), re.DOTALL)


class Matcher:
    """Compares, and keeps the ids and texts that an example stands for. `known`: placeholders with a value from the
    start."""

    def __init__(self, known=()):
        self.known, self.captured = dict(known), {}

    def copy(self):
        copy = Matcher(self.known)
        copy.captured = dict(self.captured)
        return copy

    def match(self, expected, actual, path=""):
        """Throws where the two differ."""
        if expected == ANY:
            return
        if isinstance(expected, str) and isinstance(actual, str):
            return self.match_text(expected, actual, path)
        if isinstance(expected, dict) and isinstance(actual, dict):
            for name in expected.keys() - actual.keys() - {MORE}:
                raise Mismatch(f"{path}/{name} is missing")
            silent = {"next", "final"} if path.endswith("error/data") else set()
            if MORE not in expected and actual.keys() - expected.keys() - silent:
                raise Mismatch(f"{path} has {sorted(actual.keys() - expected.keys())} too")
            for name in expected.keys() - {MORE}:
                self.match(expected[name], actual[name], f"{path}/{name}")
            return
        if isinstance(expected, list) and isinstance(actual, list):
            return self.match_array(expected, actual, path)
        if type(expected) is not type(actual) or expected != actual:
            raise Mismatch(f"{path} is {json.dumps(actual)}, not {json.dumps(expected)}")

    def match_array(self, expected, actual, path):
        """In the order shown; elements may stand between where there is a bare `…`."""
        if MORE not in expected:
            if len(expected) != len(actual):
                raise Mismatch(f"{path} has {len(actual)} elements, not {len(expected)}")
            for index, (one, other) in enumerate(zip(expected, actual)):
                self.match(one, other, f"{path}/{index}")
            return
        first = expected.index(MORE)
        self.match_array(expected[:first], actual[:first], path)
        rest, place = [value for value in expected[first:] if value != MORE], first
        for value in rest:
            while True:
                if place == len(actual):
                    raise Mismatch(f"{path} has no {json.dumps(value, ensure_ascii=False)}")
                attempt, place = self.copy(), place + 1
                try:
                    attempt.match(value, actual[place - 1], path)
                except Mismatch:
                    continue
                self.captured = attempt.captured
                break

    def match_text(self, expected, actual, path=""):
        if expected in self.captured:
            if self.captured[expected] != actual:
                raise Mismatch(f"{path} is {actual!r}, but {expected!r} was {self.captured[expected]!r}")
        elif ID.fullmatch(expected):
            if not re.fullmatch(re.escape(expected[:2]) + r"[\w-]+", actual):
                raise Mismatch(f"{path} is {actual!r}, which is no {expected!r}")
            if self.known.get(expected, actual) != actual:
                raise Mismatch(f"{path} is {actual!r}, but {expected!r} is {self.known[expected]!r}")
            others = [text for text, value in self.captured.items() if value == actual]
            if others:
                raise Mismatch(f"{path}: {others[0]!r} and {expected!r} are the same id")
            self.captured[expected] = actual
        elif "…" in expected:
            if not pattern(expected).fullmatch(actual):
                raise Mismatch(f"{path} is {actual!r}, not {expected!r}")
            if expected != "…":
                self.captured[expected] = actual
        elif expected != actual:
            raise Mismatch(f"{path} is {actual!r}, not {expected!r}")

    def resolved(self, value):
        """A value that is sent, with what the placeholders stand for."""
        if isinstance(value, dict):
            return {name: self.resolved(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.resolved(element) for element in value]
        if not isinstance(value, str):
            return value
        if value in (ANY, MORE):
            raise Mismatch("a line that is sent has a bare …")
        found = self.captured.get(value) or self.known.get(value)
        if found:
            self.captured[value] = found
            return found
        if ID.search(value) or ("…" in value and value != "…"):
            raise Mismatch(f"nothing before says what {value!r} is")
        return value

    def match_line(self, expected, actual):
        """A line of output. Ids that stand there whole are placeholders as well, because each run has others."""
        shown = WHOLE_ID.sub(lambda id: id[0] + "…", expected)
        parts = re.split(r"([afp]_[\w-]*…|…)", shown)
        expression = "".join(f"({re.escape(part[:2])}[A-Za-z0-9_-]+)" if ID.fullmatch(part) else
                             ".*" if part == "…" else re.escape(part) for part in parts)
        found = re.fullmatch(expression, actual)
        if not found:
            raise Mismatch(f"the line is {actual!r}, not {expected!r}")
        ids = [part for part in parts if ID.fullmatch(part)]
        for id, value in zip(ids, found.groups()):
            self.match_text(id, value)
