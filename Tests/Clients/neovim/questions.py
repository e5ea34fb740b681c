"""The questions of the Neovim client: prompts, the replies of a person, and the answers."""
import json
import sys
from collections import namedtuple
from pathlib import Path

KIT = Path(__file__).parents[3] / "protocol/conformance"
sys.path.append(str(KIT))
from pseudo import shown as in_pseudo  # noqa: E402

PROMPTS = {entry["prompt"]["kind"]: entry["prompt"] for entry in json.loads((KIT / "prompts.json").read_text())}
ADA = {"account": "a_ada", "provider": "github", "username": "ada", "displayName": "Ada Lovelace", "health": "ok"}
GRACE = {"account": "a_grace", "provider": "github", "username": "grace", "health": "reloginNeeded"}
LANGUAGES = {"english": lambda show: show, "pseudo": in_pseudo}

#: `replies` are numbers of items from 1, texts, and None to leave. `asked` is the number of questions.
Question = namedtuple("Question", "kind replies asked answer")


def question(kind, replies, action, answer=None, asked=None):
    return Question(kind, replies, asked or len(replies), {"action": action, **({} if answer is None else {"members": answer})})


QUESTIONS = [
    question("grantAccess", [2], "accept"), question("grantAccess", [3], "decline"),
    question("grantAccess", [1], "cancel"), question("grantAccess", [None], "cancel"),
    question("selectAccount", [2], "accept", {"account": "a_grace"}),
    question("selectAccount", [3, "nobody", 3, "grace"], "accept", {"account": "a_grace"}),
    question("selectAccount", [3, "a_alan"], "accept", {"account": "a_alan"}), question("selectAccount", [4], "cancel"),
    question("confirmAccount", [1], "accept"), question("confirmAccount", [2], "cancel"),
    question("replaceAccount", [2], "accept", {"account": "a_ada"}), question("replaceAccount", [1], "accept"),
    question("replaceAccount", [None], "cancel"),
    question("enterPassphrase", ["one", "two", "horse", "horse"], "accept", {"passphrase": "horse"}),
    question("enterPassphrase", [""], "cancel"),
    question("enterPassword", ["ada", "horse", 2], "accept",
             {"username": "ada", "password": "horse", "remember": True}),
    question("enterPassword", ["ada", "horse", 1], "accept",
             {"username": "ada", "password": "horse", "remember": False}),
    question("enterPassword", ["ada", ""], "cancel"),
    question("trustCertificate", [2], "accept"), question("trustCertificate", [1], "cancel"),
]


def prompt(question, language):
    """Returns the prompt, with a control character in its title."""
    show = LANGUAGES[language](PROMPTS[question.kind]["show"])
    return {"prompt": "p_1", "flows": ["f_1"], "provider": "github", "expiresAt": 1763712345,
            **PROMPTS[question.kind], "show": {**show, "title": show["title"] + "\x1b[2J"}}
