"""Every example of the pages is run, in the order in which they stand. A block of no known kind is a failure.

    python -m pytest Tests/Documents

- ```` ```jsonl ````: a conversation with einlass, as `conversations.py` says.
- ```` ```console ````: `$ command` (`> ` goes on), then its output. `commands.py` has the rules.
- ```` ```json ````: objects that einlass takes, as `objects.py` says.
- ```` ```python ````: a program that ends without an error.
- ```` ```swift ````: the same text, but for blanks, stands in `Tests/Downstream`.

`matching.py` says what `…` matches. Commands of `COVERED` are not run here, because another step of Tests/run runs them.
"""
import html
import json
import re
import shutil
import subprocess
import sys

import pytest

import objects
from commands import Shell
from conversations import LEFT_OUT, Conversation, steps
from matching import Mismatch, read
from pages import KINDS, PAGES, PROJECT, all_blocks
from world import World

sys.path.append(str(PROJECT / "Tests/Control"))
import kernel_keyring  # noqa: E402

# Command lines that another step runs: the step of Tests/run, and the text by which that step runs them.
COVERED = {
    r"clients/quickstart": "clients/quickstart",
    r"clients/build( \w+)*": "release build",
    r"clients/install( .*)?": "integrations",
    r"clients/release( .*)?": "release",
    r"Tests/run( .*)?": None,  # itself
    r"Tests/Fuzz/run( .*)?": "fuzz",
}
BLOCKS = all_blocks()


def is_covered(command):
    return next((step or "itself" for pattern, step in COVERED.items() if re.fullmatch(pattern, command)), None)


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.close()


@pytest.fixture
def shell(tmp_path):
    shell = Shell(tmp_path, is_covered)
    yield shell
    shell.close()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_an_example_is_true(block, request):
    assert block.kind in KINDS, f"{block.name}: a block has one of the kinds {', '.join(KINDS)}, not {block.kind!r}"
    RUNNERS[block.kind](block, request)


@pytest.mark.parametrize("text", [
    '-> {"jsonrpc":"2.0","id":1,"method":"auth.list"}\n<- {"jsonrpc":"2.0","id":1,"result":{"flows":[1]}}',  # a wrong result
    '-> {"jsonrpc":"2.0","id":1,"method":"auth.list"}',  # a line that came is missing
    '-> {"jsonrpc":"2.0","method":"exit"}\n<- {"jsonrpc":"2.0","id":1,"result":{}}',  # a line that does not come
    '-> {"jsonrpc":"2.0","id":1,"method":"auth.list","params":{"flow":"f"}}\n<- {…}',  # no parameter of the method
    '-> {"jsonrpc":"2.0","id":1,"method":"auth.cancel","params":{"flow":"f_…"}}\n<- {…}',  # an id from nowhere
    '   (without a token, the server answers 401 to a request for photos: Bearer scope="photos")',  # a wrong challenge
    '   (with the token, the server answers 200 to a request for photos)',  # no token came
    '   (it rains)', 'no line of a conversation'])
def test_a_wrong_conversation_fails(text, world):
    with pytest.raises(Mismatch):
        Conversation(world).run(text)


@pytest.mark.parametrize("text", ["$ echo one\ntwo", "$ echo one\none\ntwo", "$ false", "$ printf '1\\n2\\n'\n1\n…\n3"])
def test_a_wrong_command_fails(text, shell):
    with pytest.raises(Mismatch):
        shell.run(text)


@pytest.mark.parametrize("value", [
    {"title": "…", "buttons": [], "kind": "…"}, {"title": "…", "buttons": [{"label": "…"}]},
    {"origins": 7}, {"client": {}}, {"providers": [{"id": "…"}]}])
def test_a_wrong_object_fails(value, world):
    with pytest.raises(Mismatch):
        objects.check(value, world)


def conversation(block, request):
    if '"wasUnlocked":true' in block.text and (reason := kernel_keyring.refused()):
        pytest.skip(reason)
    Conversation(request.getfixturevalue("world"), answers(block)).run(block.text)


def answers(block):
    """The lines of `--answers` for a conversation below: they stand in the `json` block right before it."""
    before = BLOCKS[BLOCKS.index(block) - 1]
    is_script = "(einlass has these answers)" in block.text and before.kind == "json" and before.page == block.page
    return before.text if is_script else None


def console(block, request):
    request.getfixturevalue("shell").run(block.text)


def values(block, request):
    for value in read(block.text):
        objects.check(value, request.getfixturevalue("world"))


def python(block, request):
    world = request.getfixturevalue("world")
    environment = Shell.environment(world, PYTHONPATH=str(PROJECT / "clients/python"))
    done = subprocess.run([sys.executable, "-c", block.text], env=environment, cwd=world.folder, timeout=60, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and not done.stderr, done.stderr


def swift(block, request):
    """Tests/Downstream is compiled by a step of its own."""
    def bare(text):
        return re.sub(r"\s", "", text)
    sources = [path.read_text() for path in (PROJECT / "Tests/Downstream/Sources").rglob("*.swift")]
    imports = [line for line in block.text.split("\n") if line.startswith("import ")]
    rest = [line for line in block.text.split("\n") if line not in imports]
    assert any(bare("\n".join(rest)) in bare(source) and all(line in source for line in imports) for source in sources), \
        "Tests/Downstream does not contain this"


RUNNERS = {"jsonl": conversation, "console": console, "json": values, "python": python, "swift": swift}


@pytest.mark.parametrize("step", sorted(step for step in COVERED.values() if step))
def test_another_step_runs_what_is_covered(step):
    run = (PROJECT / "Tests/run").read_text()
    assert re.search(rf'\bstep "{re.escape(step)}"', run)


GENERATED = ["protocol/openrpc.json", "protocol/errors.json", "protocol/methods.md", "protocol/PROVIDERS.md",
             "clients/python/einlass/protocol_types.py", "clients/typescript/src/protocol.ts"]


def generate(root, *arguments):
    return subprocess.run([root / "protocol/generate", *arguments], capture_output=True, text=True, timeout=60)


def test_the_generated_files_are_those_that_would_be_written():
    done = generate(PROJECT, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def copy_sources(folder):
    """Copies what `protocol/generate` reads."""
    for name in ("protocol", "Sources/Einlass"):
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


@pytest.mark.parametrize("file", GENERATED)
def test_a_generated_file_that_differs_is_named_and_written_again(tmp_path, file):
    copy_sources(tmp_path)
    for path in GENERATED:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / path, tmp_path / path)
    (tmp_path / file).write_text((PROJECT / file).read_text() + "\n")
    done = generate(tmp_path, "--check")
    assert (done.returncode, done.stdout) == (1, f"{tmp_path / file} differs: run protocol/generate\n")
    assert generate(tmp_path).returncode == 0
    assert (tmp_path / file).read_text() == (PROJECT / file).read_text()


def test_another_transcript_is_another_example(tmp_path):
    copy_sources(tmp_path)
    transcript = tmp_path / "protocol/transcripts/accounts.update/display-name.jsonl"
    transcript.write_text(transcript.read_text().replace("Countess", "Countess of Lovelace"))
    assert "protocol/methods.md differs" in generate(tmp_path, "--check").stdout


def test_a_result_is_open_because_it_may_get_further_members():
    document = json.loads((PROJECT / "protocol/openrpc.json").read_text())

    def closed(schema, seen=()):
        if isinstance(schema, list):
            return any(closed(one, seen) for one in schema)
        if not isinstance(schema, dict):
            return False
        name = schema.get("$ref", "").rpartition("/")[2]
        return (schema.get("additionalProperties") is False or any(closed(one, seen) for one in schema.values())
                or name != "" and name not in seen and closed(document["components"]["schemas"][name], (*seen, name)))

    assert [method["name"] for method in document["methods"] if "result" in method and closed(method["result"]["schema"])] == []
    # The control: a parameter is closed.
    assert closed({"$ref": "#/components/schemas/OwnServer"})


def test_a_new_reason_of_the_document_is_an_entry_of_errors_json(tmp_path):
    for path in GENERATED:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    copy_sources(tmp_path)
    path = tmp_path / "protocol/openrpc.json"
    document = json.loads(path.read_text())
    step = [{"label": "Do it"}]
    document["components"]["errors"]["aTrial"] = {"code": 1099, "message": "A trial.", "data": {"reason": "aTrial", "next": step}}
    path.write_text(json.dumps(document))
    assert generate(tmp_path).returncode == 0
    listed = json.loads((tmp_path / "protocol/errors.json").read_text())["errors"]
    assert listed[-1] == {"code": 1099, "reason": "aTrial", "summary": "A trial.", "retryable": False, "next": step}
    assert [{**entry, "next": []} for entry in listed[:-1]] == [
        {**entry, "next": []} for entry in json.loads((PROJECT / "protocol/errors.json").read_text())["errors"]]


@pytest.mark.parametrize("page, most", [
    ("README.md", 900), ("clients/EINLASSCTL.md", 1000), ("protocol/README.md", 7000), ("protocol/GUIDE.md", 5500),
    ("protocol/START.md", 900), ("Sources/ARCHITECTURE.md", 3500)])
def test_a_page_stays_short(page, most):
    assert len((PROJECT / page).read_text().split()) <= most


def test_the_page_of_decisions_has_fifty_at_most():
    assert len(re.findall(r"^### ", (PROJECT / "Sources/DECISIONS.md").read_text(), re.MULTILINE)) <= 50


def test_the_first_page_names_each_provider():
    catalogue = json.loads((PROJECT / "Sources/Einlass/Descriptors/providers.json").read_text())["providers"]
    names = sorted((provider["name"] for provider in catalogue), key=str.lower)
    text = " ".join((PROJECT / "README.md").read_text().split())
    assert f"{len(names)} providers are built in" in text and f" {', '.join(names)}." in text


def test_the_picture_of_the_first_page_shows_the_lines_of_a_page():
    picture = html.unescape((PROJECT / "clients/images/first-steps.svg").read_text())
    page = (PROJECT / "clients/EINLASSCTL.md").read_text()
    shown = re.findall(r">(\$ .*)</text>", picture)
    assert len(shown) == 3 and all(re.search(rf"^{re.escape(line)}(  |$)", page, re.MULTILINE) for line in shown)


@pytest.mark.parametrize("page", [
    *PAGES, "protocol/methods.md", "protocol/FORMER-SYSTEMS.md", "clients/CONTAINERS.md", "clients/INSTALL.md",
    "clients/KEYS.md", "clients/POSTGRESQL.md", "clients/SANDBOXES.md", "clients/python/README.md"])
def test_links_between_the_pages_lead_to_a_heading(page):
    prose = re.sub(r"^ *```.*?^ *```$", "", (PROJECT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    for path, anchor in re.findall(r"\]\((?!https:)([^)#]*)#?([^)]*)\)", prose):
        target = (PROJECT / page).parent / path if path else PROJECT / page
        assert target.exists(), path
        headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE) if target.suffix == ".md" else []
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ["protocol/GUIDE.md", "protocol/START.md"])
def test_the_pages_say_what_is_left_out(page):
    text = " ".join((PROJECT / page).read_text().split())
    assert f"leave out {', '.join(f'`{name}`' for name in LEFT_OUT[:-1])} and `{LEFT_OUT[-1]}`" in text


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_there(page):
    assert any(block.page == page for block in BLOCKS)
