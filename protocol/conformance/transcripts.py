"""The files of `protocol/transcripts`, and the comparison of messages with them. `protocol/README.md` has the rules."""
import functools
import json
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from messages import same, text

PROTOCOL = Path(__file__).resolve().parents[1]


class Transcript(NamedTuple):
    """One conversation. `name` is for example `auth.perform/twitter-banned`."""

    name: str
    header: Dict[str, Any]
    steps: List[Dict[str, Any]]


def load(folder: Path = PROTOCOL / "transcripts") -> List[Transcript]:
    """Returns every transcript, by name."""
    found = []
    for path in sorted(folder.rglob("*.jsonl")):
        header, *steps = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
        found.append(Transcript(path.relative_to(folder).with_suffix("").as_posix(), header, steps))
    return found


@functools.lru_cache(maxsize=None)
def document() -> Dict[str, Any]:
    """Returns `openrpc.json`."""
    return json.loads((PROTOCOL / "openrpc.json").read_bytes())


def outs(step: Dict[str, Any]) -> List[Any]:
    """Returns the messages of the server in a step."""
    return step.get("unordered", [step["out"]] if "out" in step else [])


def merged(target: Any, patch: Any) -> Any:
    """Returns the target after a merge patch. RFC 7396 section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def strings(value: Any) -> Iterator[str]:
    """Yields every string of a value, without the names of members."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(part)


class Matcher:
    """Compares values with the placeholders of transcripts and remembers the captured values."""

    def __init__(self) -> None:
        self.captures: Dict[str, Any] = {}

    def matches(self, expected: Any, actual: Any) -> Optional[str]:
        """Returns the first difference. Only a match changes the captures."""
        before = dict(self.captures)
        found = self._difference(expected, actual, "")
        if found:
            self.captures = before
        return found

    def _difference(self, expected: Any, actual: Any, path: str) -> Optional[str]:
        if expected == "$any" or expected == "$string" and isinstance(actual, str):
            return None
        if isinstance(expected, str) and expected.startswith("$capture:"):
            self.captures[expected[len("$capture:"):]] = actual
            return None
        if isinstance(expected, dict) and isinstance(actual, dict):
            return self._member_difference(expected, actual, path)
        if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            found = (self._difference(*pair, f"{path}/{index}") for index, pair in enumerate(zip(expected, actual)))
            return next(filter(None, found), None)
        expected = self.resolved(expected)
        return None if same(expected, actual) else f"{path or '/'}: expected {text(expected)}, got {text(actual)}"

    def _member_difference(self, expected: Dict, actual: Dict, path: str) -> Optional[str]:
        # An error has the next steps that its line leaves out.
        of_errors = ("next", "final") if path.endswith("error/data") else ()
        for name in actual:
            if name not in expected and name not in of_errors:
                return f"{path}/{name}: not expected: {text(actual[name])}"
        for name, value in expected.items():
            if name not in actual:
                return f"{path}/{name}: missing"
            # The wording of an error message may change, but it must not be empty.
            if name == "message" and path.endswith("/error") and isinstance(actual[name], str) and actual[name]:
                continue
            if found := self._difference(value, actual[name], f"{path}/{name}"):
                return found
        return None

    def resolved(self, value: Any) -> Any:
        """Returns the value with every `$ref:name` replaced by its captured value."""
        if isinstance(value, dict):
            return {name: self.resolved(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.resolved(element) for element in value]
        if not isinstance(value, str) or "$ref:" not in value:
            return value
        if value.startswith("$ref:") and value[len("$ref:"):] in self.captures:
            return self.captures[value[len("$ref:"):]]
        # The longest names first, so that `$ref:ada2` is not taken for `$ref:ada`.
        for name in sorted(self.captures, key=len, reverse=True):
            capture = self.captures[name]
            value = value.replace(f"$ref:{name}", capture if isinstance(capture, str) else text(capture))
        return value
