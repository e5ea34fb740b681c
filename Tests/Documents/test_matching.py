"""The comparison finds what is wrong in an example: each of these would pass if it looked away."""
import pytest

from commands import Shell
from matching import Matcher, Mismatch, read
from pages import blocks

ACCOUNT = {"account": "a_0123456789012345678901", "username": "ada", "signedIn": True}


def matches(example, actual, **more):
    Matcher(**more).match(read(example)[0], actual)


@pytest.mark.parametrize("example", [
    '{"account":"a_…","username":"ada","signedIn":true}', '{"account":"a_…",…}', '{…,"username":"a…"}',
    '{"account":…,"username":"…","signedIn":…}', "{…}"])
def test_a_true_example_passes(example):
    matches(example, ACCOUNT)


@pytest.mark.parametrize("example", [
    '{"account":"a_…","username":"grace","signedIn":true}',  # a wrong member
    '{"account":"a_…","username":"ada"}',  # a member is missing from the example
    '{"account":"a_…","username":"ada","signedIn":true,"preferred":…}',  # a member that is not there
    '{"account":"p_…",…}', '{"signedIn":1,…}', '{"username":"ada…",…}', '{"signedIn":"…",…}'])
def test_a_wrong_example_fails(example):
    with pytest.raises(Mismatch):
        matches(example, ACCOUNT)


def test_arrays_have_the_elements_shown():
    matches("[1,2]", [1, 2])
    matches("[1,…]", [1, 2])
    matches("[…,3,…]", [1, 2, 3, 4])
    for example in ("[1]", "[2,1]", "[1,2,3]", "[2,…]", "[…,3,…,2]", "[…,5]"):
        with pytest.raises(Mismatch):
            matches(example, [1, 2])


def test_a_placeholder_is_one_id():
    matcher = Matcher()
    matcher.match(read('{"account":"a_x…"}')[0], {"account": "a_1"})
    assert matcher.resolved({"account": "a_x…"}) == {"account": "a_1"}
    with pytest.raises(Mismatch):
        matcher.match("a_x…", "a_2")
    with pytest.raises(Mismatch):
        matcher.match("a_y…", "a_1")


@pytest.mark.parametrize("value", ["a_x…", "p_…", "WDJB-…"])
def test_an_unknown_placeholder_is_not_sent(value):
    with pytest.raises(Mismatch):
        Matcher(known={"a_ada…": "a_1"}).resolved({"value": value})


def test_a_known_placeholder_is_that_id():
    matches('"a_ada…"', "a_1", known={"a_ada…": "a_1"})
    with pytest.raises(Mismatch):
        matches('"a_ada…"', "a_2", known={"a_ada…": "a_1"})


def test_output_lines():
    matcher = Matcher()
    matcher.match_line("Added twitter/ada (a_jEMuDa8ppc7V8EkIWrOUMQ).", "Added twitter/ada (a_0123456789012345678901).")
    matcher.match_line("a … b", "a … b")
    for expected, actual in [("Signed in: github/ada.", "Signed in: github/bob."), ("a … b", "a c"),
                             ("a_jEMuDa8ppc7V8EkIWrOUMQ", "a_5123456789012345678901")]:
        with pytest.raises(Mismatch):
            matcher.match_line(expected, actual)


def test_left_out_lines_of_output():
    shell = Shell.__new__(Shell)
    shell.matcher = Matcher()
    for expected in (["1", "2", "3"], ["…"], ["1", "…"], ["…", "3"], ["1", "…", "3"], ["1", "2", "…", "3"]):
        shell.match_lines(expected, ["1", "2", "3"])
    for expected in (["1", "3"], ["2", "…"], ["…", "2"], ["1", "2", "3", "…", "3"]):
        with pytest.raises(Mismatch):
            shell.match_lines(expected, ["1", "2", "3"])


def test_every_block_is_found():
    text = "a\n```jsonl\n-> {}\n```\n\n  ```\n  $ ls\n  ```\n"
    assert [(block.line, block.kind) for block in blocks("p", text)] == [(2, "jsonl"), (6, "console")]
    with pytest.raises(AssertionError):
        blocks("p", "```json\n{}\n")
