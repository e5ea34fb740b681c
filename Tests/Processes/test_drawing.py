"""protocol/conformance/example/draw.py: every kind of prompt is drawn and answered from `show` alone.

    python -m pytest Tests/Processes/test_drawing.py
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rotation import EINLASS

pytestmark = pytest.mark.usefixtures("built")

KIT = Path(__file__).parents[2] / "protocol/conformance"
DRAW = KIT / "example/draw.py"
sys.path.append(str(KIT))
from pseudo import pseudo, shown  # noqa: E402

#: A kind that no einlass has.
RIDDLE = {"prompt": {"kind": "solveRiddle", "show": {
    "title": "“The sphinx” asks a riddle.", "text": ["What walks on four legs?"], "warning": "Think.",
    "choices": [{"label": "A cat", "detail": "on four", "answer": {"action": "accept", "solution": 7}}],
    "fields": [{"name": "hint", "label": "Hint", "type": "text"}, {"name": "loud", "label": "Say it", "type": "flag"}],
    "buttons": [{"action": "accept", "label": "Answer"}, {"action": "flee", "label": "Run away", "default": True}]}},
    "answer": {"action": "accept", "hint": "a leg", "loud": True}}
PROMPTS = [*json.loads((KIT / "prompts.json").read_text()), RIDDLE]
SERVER = """#!{python}
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "prompt.answer":
        message["id"], result = 2, message["params"]
    elif message["id"] == 2:
        print(json.dumps({{"method": "prompt.opened", "params": {{"prompt": "p_1", "show": {show!r}}}}}), flush=True)
        continue
    else:
        result = {{}}
    print(json.dumps({{"id": message["id"], "result": result}}), flush=True)
"""


def program(folder, text, name="einlass"):
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return folder / name


def draw(client, server, *typed, method="never.mind", params="{}"):
    done = subprocess.run([sys.executable, client, method, params], input="".join(line + "\n" for line in typed),
                          capture_output=True, text=True, timeout=60, env={**os.environ, "EINLASS": str(server)})
    return json.loads(done.stdout or "null"), done.stderr


def typed_for(show, answer):
    """Returns the lines of a person who looks for the answer among what is shown."""
    choices, fields, lines = show.get("choices", []), show.get("fields", []), []
    if choices or not fields and "page" not in show:
        rows = [choice["answer"] for choice in choices]
        rows += [{"action": button["action"]} for button in show["buttons"]]
        chosen = answer if answer in rows else {"action": answer["action"]}
        lines.append(str(rows.index(chosen) + 1))
    if answer not in [choice["answer"] for choice in choices]:
        for field in fields:
            value = answer.get(field["name"], "")
            lines += [("y" if value is True else value)] * (2 if field.get("twice") else 1)
    return lines


def texts(show):
    yield from [show["title"], *show.get("text", []), *filter(None, [show.get("warning"), show.get("code")])]
    for part in show.get("choices", []):
        yield from [part["label"], part.get("detail", "")]
    has_rows = show.get("choices") or not show.get("fields") and "page" not in show
    yield from (button["label"] for button in show["buttons"] if has_rows)


@pytest.mark.parametrize("language", [lambda show: show, shown], ids=["english", "pseudo"])
@pytest.mark.parametrize("entry", PROMPTS, ids=lambda entry: entry["prompt"]["kind"])
def test_every_kind_is_drawn_and_answered(tmp_path, entry, language):
    show, answer = language(entry["prompt"]["show"]), entry["answer"]
    server = program(tmp_path, SERVER.format(python=sys.executable, show=show))
    result, screen = draw(DRAW, server, *typed_for(show, answer))
    assert result == {**answer, "prompt": "p_1"}, screen
    for text in texts(show):
        assert text in screen


@pytest.mark.parametrize("kind, typed, action", [
    ("replaceAccount", ["9", "yes", "3"], "cancel"), ("replaceAccount", ["0", ""], "accept"),
    ("grantAccess", [""], "cancel"), ("trustCertificate", ["yes", ""], "cancel")])
def test_a_line_that_is_no_number_of_a_row_is_asked_again(tmp_path, kind, typed, action):
    show = next(entry["prompt"]["show"] for entry in PROMPTS if entry["prompt"]["kind"] == kind)
    server = program(tmp_path, SERVER.format(python=sys.executable, show=show))
    assert draw(DRAW, server, *typed)[0] == {"action": action, "prompt": "p_1"}


@pytest.mark.parametrize("language, passes", [(lambda show: show, True), (shown, False)], ids=["english", "pseudo"])
def test_a_client_that_reads_a_word_fails_in_the_pseudo_language(tmp_path, language, passes):
    """The control: this one looks for the button by its label."""
    text = DRAW.read_text()
    part = 'if button.get("default")'
    assert part in text
    client = program(tmp_path, text.replace(part, 'if button["label"] == "Allow"'), "draw.py")
    show = language(PROMPTS[0]["prompt"]["show"])
    server = program(tmp_path, SERVER.format(python=sys.executable, show=show))
    result, _ = draw(client, server, "")
    assert (result["action"] == "accept") == passes


def test_einlass_speaks_the_pseudo_language(tmp_path):
    server = program(tmp_path, f'#!/bin/sh\nexec "{EINLASS}" --store memory --pseudo-language "$@"\n')
    path = str(tmp_path / "accounts")
    result, screen = draw(DRAW, server, "correct horse", "hors", "correct horse", "correct horse", method="accounts.export",
                          params=json.dumps({"path": path}))
    assert pseudo("Choose a passphrase for the file.") in screen and f"“{path}”" in screen
    assert result["data"]["detail"] == "refused", screen  # because the store is empty: the passphrase was taken
