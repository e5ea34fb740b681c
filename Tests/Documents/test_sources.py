"""The page that shows each fact of the catalogue: `sources.json` beside `providers.json`.

    python -m pytest -s Tests/Documents/test_sources.py    lists the ten oldest days
"""
import copy
import datetime
import json
import re

import pytest

from pages import PROJECT

FOLDER = PROJECT / "Sources/Einlass/Descriptors"
CATALOGUE = json.loads((FOLDER / "providers.json").read_text())["providers"]
SOURCES = json.loads((FOLDER / "sources.json").read_text())
GROUPS = ["endpoints", "scopes", "pkce", "refresh", "revocation", "redirect", "verification", "registration"]


def faults(sources, ids):
    """Returns what is wrong with the sources of these providers."""
    found = [f"{id} has no sources" for id in ids if id not in sources]
    found += [f"{id} is no provider" for id in sources if id not in ids]
    for id, entry in sources.items():
        unsourced = entry.get("unsourced", [])
        found += [f"{id}: {group} is neither sourced nor listed" for group in GROUPS
                  if (group in entry) == (group in unsourced)]
        found += [f"{id}: {name} is no group" for name in [*entry, *unsourced] if name not in [*GROUPS, "unsourced"]]
        for group in (group for group in GROUPS if group in entry):
            page, day = entry[group].get("page", ""), entry[group].get("read", "")
            if not re.fullmatch(r"https://[a-z0-9.-]+/\S*", page):
                found.append(f"{id}: {group} has no https address")
            try:
                if datetime.date.fromisoformat(day) > datetime.date.today() + datetime.timedelta(days=1):
                    found.append(f"{id}: {group} was read in the future")
            except ValueError:
                found.append(f"{id}: {group} has no day")
    return found


def test_each_provider_has_a_page_for_each_group_of_facts_or_says_that_none_was_found():
    ids = [provider["id"] for provider in CATALOGUE]
    assert list(SOURCES) == ids, "in the order of the catalogue"
    assert faults(SOURCES, ids) == []


def test_the_ten_oldest_days_are_listed():
    days = sorted((entry[group]["read"], id, group) for id, entry in SOURCES.items() for group in GROUPS if group in entry)
    assert len(days) > 80, "about half of the groups have a page"
    print("\n" + "\n".join("  ".join(row) for row in days[:10]))


@pytest.mark.parametrize("harm, fault", [
    (lambda sources: sources.pop("github"), "github has no sources"),
    (lambda sources: sources.update(nobody={}), "nobody is no provider"),
    (lambda sources: sources["github"].pop("pkce"), "github: pkce is neither sourced nor listed"),
    (lambda sources: sources["github"].update(unsourced=["pkce"]), "github: pkce is neither sourced nor listed"),
    (lambda sources: sources["github"].update(prices={}), "github: prices is no group"),
    (lambda sources: sources["github"]["pkce"].update(page="http://example.com/"), "github: pkce has no https address"),
    (lambda sources: sources["github"]["pkce"].update(read="2999-01-01"), "github: pkce was read in the future"),
    (lambda sources: sources["github"]["pkce"].update(read="yesterday"), "github: pkce has no day")])
def test_a_missing_or_wrong_source_is_found(harm, fault):
    sources = copy.deepcopy(SOURCES)
    harm(sources)
    assert fault in faults(sources, [provider["id"] for provider in CATALOGUE])


def test_no_program_contains_the_sources():
    assert 'exclude: ["Descriptors/sources.json"]' in (PROJECT / "Package.swift").read_text()


def words(text):
    """Returns the words that the readers of descriptors allow."""
    lists = re.findall(r"\bmembers(?: = |: )\[([^\]]*)\]", text)
    return {word for found in lists for word in re.findall(r'"([A-Za-z]+)"', found)}


def test_the_page_about_providers_has_every_word_of_a_descriptor():
    page = (PROJECT / "protocol/PROVIDERS.md").read_text()
    known = set().union(*(words(path.read_text()) for path in (PROJECT / "Sources/Einlass").rglob("*.swift")
                          if "DescriptorReader" in path.read_text()))
    assert len(known) > 90 and "proofKey" in known
    # The two flows for accounts of iOS, which no other provider can have.
    systems = {"applicationToken", "renew", "providers"}
    assert [word for word in sorted(known - systems) if not re.search(rf"\b{word}\b", page)] == []
