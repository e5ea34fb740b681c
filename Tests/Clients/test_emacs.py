"""einlass.el in a real Emacs.

    python -m pytest Tests/Clients/test_emacs.py
"""
import json
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import hints
from conftest import at_two_servers
from house import PROJECT, needs
from mail_server import open_mail_server

sys.path.append(str(PROJECT / "protocol/conformance"))
from pseudo import shown as in_pseudo  # noqa: E402

pytestmark = needs("emacs")
FOLDER = PROJECT / "clients/emacs"
TESTS = Path(__file__).with_name("emacs")
EMACS = ["emacs", "-Q", "--batch", "-l", f"{FOLDER}/einlass.el"]
PATIENCE = 60


@pytest.fixture
def emacs(house):
    """Returns a function that evaluates forms and files in Emacs, and returns the value of the last form from JSON."""
    house.environment["DISPLAY"] = ":0"  # without it browse-url does not use xdg-open

    def evaluate(*forms):
        words = [word for form in forms[:-1] for word in ("-l" if isinstance(form, Path) else "--eval", str(form))]
        code, output, errors = house.run(*EMACS, *words, "--eval", in_json(forms[-1]), patience=PATIENCE)
        assert code == 0, errors + output
        return json.loads(output.splitlines()[-1])
    return evaluate


def in_json(form):
    return f'(princ (concat "\\n" (json-serialize {form} :null-object nil :false-object :json-false) "\\n"))'


def blocks():
    """The examples of the README in Lisp."""
    return re.findall(r"^```elisp\n(.*?)^```$", (FOLDER / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def test_compiles_without_warnings_and_has_its_documentation(house):
    shutil.copy(FOLDER / "einlass.el", house.folder)
    for work in ("(setq byte-compile-error-on-warn t)", "(checkdoc-file \"einlass.el\")"):
        more = ["-f", "batch-byte-compile", "einlass.el"] if "compile" in work else []
        assert house.run("emacs", "-Q", "--batch", "--eval", work, *more, patience=PATIENCE, cwd=house.folder) == (0, "", "")


def test_a_fault_of_the_documentation_is_found(house):
    text = (FOLDER / "einlass.el").read_text()
    (house.folder / "einlass.el").write_text(text.replace('"Cancel the running sign-ins."', '"cancel them"'))
    assert "capitalized" in house.run("emacs", "-Q", "--batch", "--eval", '(checkdoc-file "einlass.el")', patience=PATIENCE,
                                      cwd=house.folder)[2]


def test_passes_the_cases(hold, tmp_path, house):
    shutil.copy(FOLDER / "einlass.el", tmp_path)
    house.run("emacs", "-Q", "--batch", "-f", "batch-byte-compile", str(tmp_path / "einlass.el"), patience=PATIENCE)
    hold("emacs", "-Q", "--batch", "-l", tmp_path / "einlass.elc", "-l", TESTS / "adapter.el")


def test_questions_next_steps_and_the_search_for_einlass(house):
    prompts = [entry["prompt"] for entry in json.loads((PROJECT / "protocol/conformance/prompts.json").read_text())]
    prompts += [{**prompt, "show": in_pseudo(prompt["show"])} for prompt in prompts]
    code, output, errors = house.run(*EMACS, "-l", "ert", "-l", str(TESTS / "questions.el"), "-f", "ert-run-tests-batch-and-exit",
                                     patience=PATIENCE, env={"PROMPTS": json.dumps(prompts), "LC_ALL": "C.UTF-8"})
    assert code == 0 and "0 unexpected" in errors + output, errors + output


def test_a_next_step_is_a_command_of_emacs(emacs):
    """Each method for which there is a command."""
    problems = json.dumps(json.dumps([hints.problem(*case) for case in hints.CASES]))
    shown = emacs(f"(vconcat (mapcar #'einlass--advice (json-parse-string {problems} :object-type 'plist)))")
    commands = set()
    for (_, message, _), text in zip(hints.CASES, shown, strict=True):
        named = re.findall(r"M-x (einlass-[a-z-]+)", text)
        assert named and hints.methods_in(text) == [], text
        assert text.startswith(f"{message}  Look at it.  Do it (M-x "), text
        commands.update(named)
    assert emacs(f"(vconcat (seq-remove #'commandp '({' '.join(commands)})))") == []


def test_signs_in_by_page(emacs, house):
    account = emacs(
        "(defvar id (plist-get (einlass-request 'accounts.signIn '(:provider \"github\" :flowKind \"authorizationCode\")) :account))",
        "(defvar token (einlass-token \"github\"))",
        "(while (get-buffer \"*einlass*\") (accept-process-output nil 0.01))",
        # No message and no token is kept in a buffer.
        "(defvar kept (seq-filter (lambda (buffer) (with-current-buffer buffer (goto-char 1) (search-forward token nil t)))"
        " (buffer-list)))",
        "(list :account (einlass--account id) :kept (vconcat (mapcar (function buffer-name) kept)) :token token)")
    assert account["account"]["username"] == "ada" and account["kept"] == [" *code-conversion-work*"]
    assert account["token"] in house.state()["github"]["tokens"]


def test_signs_in_by_code(house, enter_code):
    program = """(progn (defvar done nil)
      (einlass-start 'accounts.signIn '(:provider "github" :flowKind "deviceCode") (lambda (result _) (setq done result)))
      (while (not (get-buffer "*einlass*")) (accept-process-output nil 0.01))
      (with-current-buffer "*einlass*" (message "%s" (json-serialize (list :text (buffer-string)))))
      (while (not done) (accept-process-output nil 0.01))
      (while (get-buffer "*einlass*") (accept-process-output nil 0.01))
      (princ (plist-get (einlass--account (plist-get done :account)) :username)))"""
    with house.start(*EMACS, "--eval", program) as process:
        text = json.loads(process.stderr.readline())["text"]
        assert text.startswith("Enter this code at “127.0.0.1”, on any device.") and "“Emacs” may use your “GitHub” account." in text
        code, = re.findall(r"^ +([A-Z]{4}-[A-Z]{4})$", text, re.MULTILINE)
        page, = re.findall(r"^ +(http://\S*/device)$", text, re.MULTILINE)
        enter_code(page, code)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (0, "ada"), errors


def test_the_example_of_the_readme(emacs, house):
    house.sign_in("github")
    house.allow("emacs", "github")
    (example,) = [block for block in blocks() if "my-github" in block]
    assert len(example.splitlines()) <= 11
    (house.folder / "example.el").write_text(example)
    api = house.ready["config"]["origins"]["https://api.github.com"]
    assert emacs(f'(defvar my-github "{api}")', house.folder / "example.el", "(list :user (my-github-user))") == {"user": "ada"}


def test_the_lines_of_the_readme_are_short():
    assert max(map(len, (FOLDER / "README.md").read_text().splitlines())) <= 120


def test_installs_as_a_package(house):
    (install,) = re.findall(r"^\$ (emacs .*)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    code, output, errors = house.run("sh", "-c", install, cwd=PROJECT, patience=PATIENCE)
    assert code == 0, errors
    code, output, errors = house.run(
        "emacs", "--batch", "--eval",
        "(progn (package-initialize) (dolist (name '(einlass-sign-in einlass-accounts einlass-access einlass-remove))"
        " (unless (commandp name) (error \"%s\" name))) (einlass-auth-source-enable) (princ auth-sources))", patience=PATIENCE)
    assert code == 0 and output.startswith("(einlass "), errors


def on_terminal(house, form, columns=200):
    """Starts Emacs on a terminal, and evaluates the form there. Its value goes to a file."""
    value = (f'(with-temp-file "{house.folder}/value" (insert (format "%s" (condition-case problem {form}'
             ' (einlass-error (einlass-error-reason problem)) (quit "quit")))))')
    return house.on_terminal("emacs", "-nw", "-Q", "-l", f"{FOLDER}/einlass.el", "--eval", f"(progn {value} (kill-emacs))", columns=columns)


def value(house):
    return (house.folder / "value").read_text()


def grants(house):
    return {grant["application"]: grant["state"] for grant in json.loads(house.do("access", "list", "--json"))["grants"]}


# C-] is C-g without the signal of the terminal, which Emacs takes at another moment.
@pytest.mark.parametrize("key, decided", [("y", "granted"), ("n", "denied"), ("\x1d", None)])
def test_the_person_decides_about_access(house, key, decided):
    house.sign_in("github")
    with on_terminal(house, '(if (einlass-token "github") "token")') as terminal:
        terminal.wait_for("Yes: Allow")
        terminal.type(key)
        assert terminal.end() == 0
    assert value(house) == ("token" if decided == "granted" else "accessNotGranted")
    assert grants(house).get("emacs") == decided


def test_a_long_question_is_shown_whole(house):
    """A minibuffer of a quarter of the screen, which is Emacs's own, shows the end alone."""
    show = {"title": "Trust “https://pbx.example”?", "text": [f"Sentence {number}." for number in range(9)], "buttons": [
        {"action": "accept", "label": "Trust"}, {"action": "cancel", "label": "Send nothing", "default": True}]}
    prompt = json.dumps(json.dumps({"prompt": "p_1", "show": show}, ensure_ascii=False), ensure_ascii=False)
    form = f"(einlass--ask (json-parse-string {prompt} :object-type 'plist) #'einlass--question)"
    with on_terminal(house, form) as terminal:
        terminal.wait_for("Trust “https://pbx.example”?")
        terminal.type("no\r")
        assert terminal.end() == 0


def test_a_question_goes_away_with_a_decision_elsewhere(house):
    house.sign_in("github")
    with on_terminal(house, '(if (einlass-token "github") "token")') as terminal:
        terminal.wait_for("Yes: Allow")
        house.allow("emacs", "github")
        assert terminal.end() == 0
    assert value(house) == "token"


@pytest.mark.parametrize("again", ["ada@example.org", "nosuch"])
def test_a_token_is_of_the_named_account_or_of_none(emacs, house, again):
    house.sign_in("google")
    house.sign_in("google", user="grace")
    house.allow("emacs", "google")
    before = house.state()["google"]["tokens"]
    found = emacs("(defun reason (function account) (condition-case problem (progn (funcall function \"google\" account) \"done\")"
                  " (einlass-error (message \"%s\" (error-message-string problem)) (einlass-error-reason problem))))",
                  count("auth.perform"), f'(list :token (reason #\'einlass-token "{again}") :reject (reason #\'einlass-reject "{again}")'
                  " :asked requests)")
    known = again != "nosuch"
    outcome = "done" if known else "unknownAccount"
    assert found == {"token": outcome, "reject": outcome, "asked": int(known)}
    assert house.state()["google"]["tokens"] == before


@pytest.mark.parametrize("program, reason", [("/bin/cat", "notEinlass"), ("/bin/true", "serverGone")])
def test_another_program_in_place_of_einlass_is_an_error_in_words(emacs, house, program, reason):
    house.environment["EINLASS"] = program
    found = emacs("(defvar problem (condition-case problem (einlass-token \"github\") (einlass-error problem)))",
                  "(list :reason (einlass-error-reason problem) :text (error-message-string problem)"
                  " :command (condition-case problem (einlass-sign-in \"github\") (einlass-error (einlass-error-reason problem))))")
    assert (found["reason"], found["command"]) == (reason, reason)
    assert (program in found["text"] or "ended before it answered (exit code 0)" in found["text"]) and "(:" not in found["text"]


def test_a_killed_einlass_is_told_in_words_and_starts_again(emacs, house):
    found = emacs(
        "(einlass-request 'providers.list)", "(defvar pid (process-id (oref einlass--running -process)))",
        "(defvar problem (condition-case problem"
        " (progn (run-at-time 0 nil (lambda () (signal-process pid 9)))"
        " (cl-letf (((symbol-function 'browse-url) #'ignore)) (einlass-request 'accounts.signIn '(:provider \"github\"))))"
        " (einlass-error problem)))",
        "(list :text (error-message-string problem) :reason (einlass-error-reason problem)"
        " :code (plist-get (einlass-error-data problem) :exitCode) :again (if (einlass-request 'providers.list) t))")
    assert found.pop("text") == ('einlass: "einlass was killed before it answered (signal 9).  Try again, which starts it again.'
                                 '  If it ends again, look into the buffer *einlass stderr*."')
    assert found == {"reason": "serverGone", "code": 137, "again": True}


def test_a_quit_in_the_wait_for_a_token_cancels_the_sign_in(house, enter_code):
    form = """(condition-case nil (einlass-token "github")
      (quit (while (get-buffer "*einlass*") (sit-for 0.01)) (format "cancelled, %d left" (length (oref einlass--running prompts)))))"""
    with on_terminal(house, form) as terminal:
        terminal.wait_for("[k Cancel]")
        terminal.type("x")  # its answer shows that the command loop reads the keys
        terminal.wait_for("x is undefined")
        terminal.type("\x07")
        assert terminal.end() == 0
    assert value(house) == "cancelled, 0 left"


def test_a_killed_buffer_cancels_the_sign_in(house, enter_code):
    with on_terminal(house, "(einlass-token \"github\")") as terminal:
        terminal.wait_for("[k Cancel]")
        terminal.type("\x18k\r")
        assert terminal.end() == 0
    assert value(house) == "userCanceled"


def test_the_keys_of_a_sign_in_work_while_a_program_waits(house, enter_code):
    with on_terminal(house, "(einlass-request 'accounts.signIn '(:provider \"github\" :flowKind \"deviceCode\"))") as terminal:
        terminal.wait_for("[k Cancel]")
        terminal.type("c")
        terminal.wait_for("The code is in the clipboard")
        terminal.type("k")
        assert terminal.end() == 0
    assert value(house) == "userCanceled"


def test_a_command_offers_the_step_that_helps(house, enter_code):
    """A sign-in for a denied application: the person forgets the denial, and the sign-in starts again."""
    house.sign_in("github")
    house.do("access", "set", "emacs", "github", "denied")
    form = """(let (done)
      (einlass--do 'auth.perform '(:provider "github" :credential "none" :selection "whenMany") (lambda (result) (setq done result)))
      (while (not done) (sit-for 0.05)) (if (plist-get done :account) "done"))"""
    with on_terminal(house, form) as terminal:
        terminal.wait_for("ask again?")
        terminal.type("y")
        terminal.wait_for("Yes: Allow")
        terminal.type("y")
        assert terminal.end() == 0
    assert value(house) == "done" and grants(house)["emacs"] == "granted"


def test_a_quit_cancels_the_request(house, enter_code):
    with on_terminal(house, "(let (inhibit-quit) (run-at-time 0 nil (lambda () (princ \"waits\"))) "
                     "(cl-letf (((symbol-function 'get-buffer-window) #'ignore)) "
                     "(einlass-request 'accounts.signIn '(:provider \"github\" :flowKind \"deviceCode\"))))") as terminal:
        terminal.wait_for("Enter this code")
        terminal.type("\x07")
        assert terminal.end() == 0
    assert value(house) == "quit"


def test_the_address_of_a_browser_elsewhere_is_pasted(house):
    form = """(let ((browse-url-browser-function #'ignore))
      (einlass-request 'accounts.signIn '(:provider "github" :flowKind "authorizationCode")) "signed in")"""
    with on_terminal(house, form, columns=900) as terminal:
        # Without the bracket, which stands there already if the prompt comes after the page.
        terminal.wait_for("p Paste the address or number]")
        page, = set(re.findall(r"http://[^\s\x1b]*/authorize[^\s\x1b]*", terminal.shown))

        class Elsewhere(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, request, answer, code, message, headers, url):
                return None if "code=" in url else super().redirect_request(request, answer, code, message, headers, url)

        with pytest.raises(urllib.error.HTTPError) as ended:
            urllib.request.build_opener(Elsewhere).open(page)
        terminal.type("p")
        terminal.wait_for("The address in the browser:")
        terminal.type(ended.value.headers["Location"] + "\r")
        assert terminal.end() == 0
    assert value(house) == "signed in"


WAIT = """(defun wait (text &optional gone)
  (while (eq (and gone t) (and (save-excursion (goto-char 1) (re-search-forward text nil t)) t)) (accept-process-output nil 0.01)))"""


def test_the_list_of_accounts_prefers_and_removes(emacs, house):
    for user in ("ada", "grace"):
        house.sign_in("github", user=user)
    emacs("(einlass-accounts)", WAIT, '(wait "github +ada +Ada Lovelace +ok")', '(search-forward "grace")', "(einlass-prefer)",
          '(wait "grace +Grace Hopper +ok +preferred")',
          "(cl-letf (((symbol-function 'yes-or-no-p) (lambda (text) (string-match-p \"grace\" text)))) (einlass-remove-this))",
          '(wait "grace" t)', "t")
    assert [account["username"] for account in json.loads(house.do("accounts", "list", "--json"))["accounts"]] == ["ada"]


def test_accounts_of_one_name_at_two_servers_are_told_apart(emacs, house):
    at_two_servers(house)
    port = house.origin("fcsdk").rpartition(":")[2]
    emacs("(einlass-accounts)", WAIT, f'(wait "fcsdk +ada@127.0.0.1:{port} ")', f'(wait "fcsdk +ada@localhost:{port} ")', "t")


def test_the_list_of_accesses_denies_allows_and_forgets(emacs, house):
    house.sign_in("github")
    house.allow("emacs", "github")
    emacs("(einlass-access)", WAIT, '(search-forward "emacs")', "(einlass-deny)", '(wait "emacs +github +denied")',
          "(einlass-allow)", '(wait "emacs +github +granted")', "t")
    assert grants(house)["emacs"] == "granted"
    emacs("(einlass-access)", WAIT, '(search-forward "emacs")', "(einlass-forget)", '(wait "emacs" t)', "t")
    assert "emacs" not in grants(house)


def test_the_command_signs_in_and_says_it(house):
    house.environment["DISPLAY"] = ":0"
    with on_terminal(house, "(progn (call-interactively 'einlass-sign-in) (recursive-edit))") as terminal:
        terminal.wait_for("Sign in at")
        terminal.type("github\r")
        terminal.wait_for("Signed in at github as ada (Ada Lovelace)")


def test_the_command_asks_for_the_server_and_offers_the_last_one(emacs, house):
    house.change({"fcsdk": {"users": {"ada": {"password": "difference", "domain": "example.com"}}}})
    server = house.origin("fcsdk")
    asked = emacs(
        "(defvar asked nil)", "(defvar said nil)", "(fset 'read-passwd (lambda (&rest _) \"difference\"))",
        "(fset 'y-or-n-p #'ignore)", "(advice-add 'message :before (lambda (&rest words) (push (apply #'format words) said)))",
        f"""(fset 'read-string (lambda (text &optional default &rest _)
          (push (vector text default) asked) (or default "{server}")))""",
        """(fset 'read-from-minibuffer (lambda (text &rest _) (push (vector text nil) asked) "ada"))""",
        """(defun sign-in () (setq said nil) (einlass-sign-in "fcsdk")
          (while (not (seq-some (lambda (text) (string-match-p "Signed in at fcsdk as ada" text)) said))
            (accept-process-output nil 0.01)))""",
        "(sign-in)", "(sign-in)", "(vconcat (nreverse asked))")
    name = f"Log in at “{server}”.\nAfter the sign-in, “Emacs” may use your “FCSDK server” account.\nUser name: "
    assert asked == [["Server of FCSDK server: ", None], [name, None], ["Server of FCSDK server: ", server], [name, None]]


def count(method):
    """Lisp that counts the requests of this method from now on, in the variable `requests`."""
    return ("(progn (defvar requests 0) (add-function :before (symbol-function 'jsonrpc-async-request) (lambda (_ method &rest _)"
            f" (when (eq method '{method}) (setq requests (1+ requests))))))")


def test_auth_source_finds_nothing_for_another_host_and_asks_nobody(emacs, house):
    house.sign_in("gitlab")
    (house.folder / ".netrc").write_text("machine mail.example.net login grace password hush\n")
    found = emacs(
        "(setq auth-sources (list \"~/.netrc\"))", "(einlass-auth-source-enable)", count("services.resolve"),
        "(defvar unknown (auth-source-search :host \"imap.example.net\" :port 993 :user \"ada\"))",
        "(defvar created (einlass-auth-source-search :host \"imap.example.net\" :create t))",
        "(defvar asked requests)",
        "(defvar other (car (auth-source-search :host \"mail.example.net\")))",
        "(list :unknown (length unknown) :created (length created) :asked asked :user (plist-get other :user)"
        " :secret (funcall (plist-get other :secret)))")
    assert found == {"unknown": 0, "created": 0, "asked": 3, "user": "grace", "secret": "hush"}
    assert house.count("gitlab", "GET", "/api/v4/user") == 1  # that of the sign-in


def test_auth_source_finds_an_account_by_host_and_user(emacs, house):
    house.sign_in("gitlab")
    house.allow("emacs", "gitlab")
    house.do("services", "add", "imap.example.org", "gitlab/ada", "--yes")
    house.do("services", "add", "any.example.org", "gitlab/ada", "--username", "*", "--yes")
    house.do("services", "add", "bot.example.org", "gitlab/ada", "--username", "bot", "--yes")
    search = "(list :user (plist-get (car (auth-source-search :host {host} :user {user} :port \"imaps\")) :user))"
    for host, user, found in (('"imap.example.org"', "nil", "ada@example.org"), ('"imap.example.org"', '"ada"', "ada"),
                              ('"imap.example.org"', '"ada@example.org"', "ada@example.org"), ('"imap.example.org"', '"grace"', None),
                              ('(list "mail.example.net" "imap.example.org")', "nil", "ada@example.org"), ("t", "nil", None),
                              ('"any.example.org"', "nil", "ada@example.org"), ('"any.example.org"', '"org"', "org"),
                              ('"bot.example.org"', "nil", "bot"), ('"bot.example.org"', '"bot"', "bot"), ('"bot.example.org"', '"ada"', "ada")):
        assert emacs("(einlass-auth-source-enable)", search.format(host=host, user=user)) == {"user": found}, (host, user)


def test_auth_source_finds_an_account_for_a_port_without_tls_only_if_a_service_names_the_port(emacs, house):
    house.sign_in("gitlab")
    for service in ("mail.example.org", "old.example.org:25", "https://git.example.org"):
        house.do("services", "add", service, "gitlab/ada", "--yes")
    search = "(length (einlass-auth-source-search :host \"%s\" :port %s))"
    asked = [(host, port) for host in ("mail", "old", "git") for port in (
        "25", '"smtp"', "143", '(list "imap" "143")', "21", '"pop3"', '"ldap"', "(list nil \"imap\")", "587", "993", '"imaps"', "nil", "2993",
        '(list "imaps" "imap")')]
    found = emacs(f"(list {' '.join(':x%d %s' % (number, search % (host + '.example.org', port)) for number, (host, port) in enumerate(asked))})")
    assert {asked[number] for number in range(len(asked)) if found[f"x{number}"]} == {
        *(("mail", port) for port in ("587", "993", '"imaps"', "nil", "2993", '(list "imaps" "imap")')), ("old", "25"), ("old", '"smtp"')}


def test_auth_source_does_not_choose_among_accounts(emacs, house):
    for user in ("ada", "grace"):
        house.sign_in("google", user=user)
    house.do("services", "add", "imap.example.org", "google", "--yes")
    search = "(plist-get (car (auth-source-search :host \"imap.example.org\" :user user)) :user)"
    found = emacs("(einlass-auth-source-enable)", "(defvar user nil)", f"(defvar nobody {search})", '(setq user "grace@example.org")',
                  f"(list :nobody nobody :grace {search})")
    assert found == {"nobody": None, "grace": "grace@example.org"}


def test_a_remembered_entry_of_auth_source_gives_new_tokens(emacs, house):
    house.change({"google": {"behaviour": {"accessSeconds": 50}}})
    house.sign_in("google")
    house.allow("emacs", "google")
    house.do("services", "add", "imap.example.org", "google", "--yes")
    # einlass gives no token in its last minute, so each of these is refreshed.
    found = emacs(
        "(einlass-auth-source-enable)",
        "(defun token () (funcall (plist-get (car (auth-source-search :host \"imap.example.org\" :user \"ada@example.org\")) :secret)))",
        count("services.resolve"), "(list :tokens (vector (token) (token)) :searches requests)")
    assert len(set(found["tokens"])) == 2 and found["searches"] == 1
    assert set(found["tokens"]) <= set(house.state()["google"]["tokens"])


def test_auth_source_finds_a_new_account_after_it_has_found_nothing(emacs, house):
    house.do("services", "add", "imap.example.org", "google", "--yes")
    found = emacs(
        "(einlass-auth-source-enable)",
        "(defun search () (length (auth-source-search :host \"imap.example.org\" :user \"ada@example.org\")))",
        "(defvar before (search))", "(einlass-request 'accounts.signIn '(:provider \"google\"))", "(list :before before :after (search))")
    assert found == {"before": 0, "after": 1}


def test_a_secret_without_access_is_an_error_in_words(emacs, house):
    house.sign_in("google")
    house.do("services", "add", "imap.example.org", "google", "--yes")
    found = emacs(
        "(einlass-auth-source-enable)", "(defvar entry (car (auth-source-search :host \"imap.example.org\" :user \"ada@example.org\")))",
        "(list :error (condition-case problem (funcall (plist-get entry :secret)) (user-error (error-message-string problem))))")
    assert "grantAccess" in found["error"] and "(:code" not in found["error"], found


def signed_certificate(folder):
    """Returns the paths of a certificate for 127.0.0.1, of its key, and of the authority. Emacs takes no self-signed one."""
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    for name, more in (("authority", []), ("server", ["-CA", "authority.pem", "-CAkey", "authority.key", "-addext",
                                                      "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"])):
        subprocess.run([*new, *more, "-keyout", name + ".key", "-out", name + ".pem", "-subj", "/CN=" + name],
                       cwd=folder, check=True, capture_output=True)
    return [str(folder / name) for name in ("server.pem", "server.key", "authority.pem")]


@pytest.fixture
def mail(house, tmp_path):
    """A mail server for the accounts of gitlab, and the account of ada, whose token ends in less than a minute.

    The provider has revoked that token, so the mail server takes only a new one."""
    house.change({"gitlab": {"behaviour": {"takesQuery": True, "accessSeconds": 50}}})
    certificate, key, authority = signed_certificate(tmp_path)
    with open_mail_server(house.origin("gitlab"), certificate, key) as server:
        server.trusted = f"(progn (require 'gnutls) (setq gnutls-trustfiles (list \"{authority}\")))"
        house.sign_in("gitlab")
        house.allow("emacs", "gitlab")
        house.do("services", "add", "127.0.0.1", "gitlab/ada", "--yes")
        house.change({"gitlab": {"behaviour": {"accessSeconds": 7200},
                                 "tokens": dict.fromkeys(house.state()["gitlab"]["tokens"], {"expiresAt": 1})}})
        for token in house.state()["gitlab"]["tokens"]:
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(f"{house.origin('gitlab')}/api/v4/user?access_token={token}")
        yield server



def refreshed(house):
    return house.count("gitlab", "POST", "/oauth/token")


@needs("dovecot")
def test_smtpmail_sends_with_a_refreshed_token(emacs, house, mail):
    before = refreshed(house)
    emacs(
        "(require 'smtpmail)", mail.trusted, "(einlass-auth-source-enable)",
        f'(setq smtpmail-smtp-server "127.0.0.1" smtpmail-smtp-service {mail.smtp} smtpmail-stream-type \'tls'
        ' smtpmail-smtp-user "ada" send-mail-function #\'smtpmail-send-it user-mail-address "ada@example.org")',
        '(with-temp-buffer (insert "From: ada@example.org\nTo: grace@example.org\nSubject: hi\n"'
        ' mail-header-separator "\nhello, smtpmail\n")'
        " (smtpmail-send-it))", "t")
    assert any("hello, smtpmail" in message for message in mail.sent), mail.log
    assert "method=XOAUTH2" in mail.log
    assert refreshed(house) == before + 1


@needs("dovecot")
def test_gnus_reads_with_a_refreshed_token(emacs, house, mail):
    before = refreshed(house)
    (fix,) = [block for block in blocks() if "nnimap-command" in block]
    message = emacs(
        "(require 'nnimap)", "(nnheader-init-server-buffer)", mail.trusted, "(einlass-auth-source-enable)",
        f"(when (< emacs-major-version 29) {fix})",
        f'(nnimap-open-server "mail" \'((nnimap-address "127.0.0.1") (nnimap-server-port {mail.imap})'
        ' (nnimap-stream tls) (nnimap-user "ada") (nnimap-authenticator xoauth2)))',
        '(with-temp-buffer (nnimap-request-article 1 "INBOX" "mail" (current-buffer)) (list :text (buffer-string)))')
    assert "hello, ada" in message["text"]
    assert refreshed(house) == before + 1


def test_a_retired_provider_is_not_offered_and_the_steps_of_a_registration_are_shown(emacs):
    found = emacs(
        "(defvar offered nil)",
        "(cl-letf (((symbol-function 'completing-read) (lambda (_ all &rest _) (setq offered all) \"github\")))"
        " (einlass--read-provider))",
        "(defvar steps (einlass--registration-steps (plist-get (seq-find (lambda (one) (equal (plist-get one :id) \"slack\"))"
        " (einlass--all 'providers.list :providers)) :setup)))",
        "(list :offered (vconcat offered) :steps steps)")
    assert "github" in found["offered"] and "tencent-weibo" not in found["offered"]
    lines = found["steps"].split("\n")
    assert "https://api.slack.com/apps" in lines[0] and lines[1].startswith("1. Press Create New App"), lines
    assert "With PKCE every refresh token ends after 30 days." in lines
