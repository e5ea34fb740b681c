"""The questions of the Neovim client: prompts, the replies of a person, the words and the answers."""
from collections import namedtuple

ADA = {"account": "a_ada", "provider": "github", "username": "ada", "displayName": "Ada Lovelace", "health": "ok"}
GRACE = {"account": "a_grace", "provider": "github", "username": "grace", "health": "reloginNeeded"}
KEY = "sha256//X3pGTSOuJeEVw989IJ/cEtXUEmy52zs1TZQrU06KUKg="
SERVER = {"server": "https://pbx.example:8443", "host": "pbx.example"}
ORIGIN = {"prompt": "p_1", "flows": ["f_1"], "application": "my-plugin", "applicationTitle": "My Plugin",
          "provider": "github", "providerName": "GitHub", "expiresAt": 1763712345}

#: `asked` has a part of each question in order. `answer` is the action and the members of the answer.
Question = namedtuple("Question", "prompt replies asked answer")


def question(kind, replies, asked, action, answer=None, **members):
    return Question({**ORIGIN, "kind": kind, **members}, replies, asked,
                    {"action": action, **({} if answer is None else {"members": answer})})


def certificate(*reply, **members):
    return question("trustCertificate", *reply, **SERVER, port=8443, publicKey=KEY, certificateEndsAt=1893456000,
                    **members)


QUESTIONS = [
    question("grantAccess", ["Allow"],
             ["My Plugin wants to use your GitHub accounts: email, friends (new), posts for only you, lasting access."],
             "accept", permissions=["email", "friends"], added=["friends"], audience="onlyMe",
             includes=["refreshToken"]),
    question("grantAccess", ["Don't allow"], ["My Plugin wants to use your GitHub accounts."], "decline"),
    question("grantAccess", ["Not now"], ["A^[[2J<202e>B^@ wants"], "cancel", applicationTitle="A\x1b[2J\u202eB\n"),
    question("grantAccess", [], ["[Allow|Don't allow|Not now]"], "cancel"),
    question("selectAccount", ["grace – must sign in again"],
             ["Which GitHub account for My Plugin? [Ada Lovelace (ada)|grace – must sign in again]"],
             "accept", {"account": "a_grace"}, accounts=[ADA, GRACE]),
    question("selectAccount", ["Another account", "nobody", "Another account", "grace"],
             ["|Another account]", "User name: ", "Which GitHub account", "User name: "],
             "accept", {"account": "a_grace"}, accounts=[ADA], more=True),
    question("confirmAccount", ["Continue as Ada Lovelace (ada)"], ["My Plugin wants to use your GitHub account."],
             "accept", accounts=[ADA]),
    question("confirmAccount", ["Not now"], ["|Not now]"], "cancel", accounts=[ADA]),
    question("replaceAccount", ["Ada Lovelace (ada)"], ["Is this a new account, or one of these?"],
             "accept", {"account": "a_ada"}, accounts=[ADA]),
    question("replaceAccount", ["A new account"], ["|A new account]"], "accept", accounts=[ADA]),
    question("replaceAccount", [], ["|A new account]"], "cancel", accounts=[ADA]),
    question("enterPassphrase", ["horse"],
             ["secret This passphrase does not fit. My Plugin: Passphrase of the store /store.db"],
             "accept", {"passphrase": "horse"}, purpose="keySlot", path="/store.db", again=True),
    question("enterPassphrase", ["one", "two", "horse", "horse"],
             ["secret My Plugin: Passphrase for the new file /file", "secret Again",
              "secret The two differ. My Plugin: Passphrase", "secret Again"],
             "accept", {"passphrase": "horse"}, purpose="export", path="/file", new=True),
    question("enterPassphrase", [""], ["Passphrase of the file /file"], "cancel", purpose="import", path="/file"),
    question("enterPassword", ["ada", "horse", "Yes"],
             ["The server refused that user name or password. Others on the way can read the password. My Plugin may "
              "then use this account. My Plugin signs in. User name at https://pbx.example:8443: ",
              "secret Password of ada at https://pbx.example:8443: ", "Remember the password in the store? [No|Yes]"],
             "accept", {"username": "ada", "password": "horse", "remember": True},
             **SERVER, mayRemember=True, again=True, secure=False, grantsAccess=True),
    question("enterPassword", ["horse"], ["secret Password of ada at"], "accept", {"password": "horse"},
             **SERVER, username="ada"),
    question("enterPassword", ["ada", ""], ["User name", "secret"], "cancel", **SERVER),
    certificate(["Trust this key"],
                ["is certified by nobody but itself, and ends on 2030-01-01. The server has another key than before. "
                 f"Before: sha256//former. Its key: {KEY}. Compare it with that of your server. "
                 "[Do not connect|Trust this key]"],
                "accept", fault="selfSigned", formerPublicKey="sha256//former"),
    certificate(["Do not connect"], ["is trusted, and ends on"], "cancel"),
]
