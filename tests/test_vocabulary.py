"""Public names consist of words of the glossary, RocketMQ's and common ones; no private word has come back."""

from __future__ import annotations

from collections import Counter

import pytest
import vocabulary
from vocabulary import glossary, is_in, listed, public_names, segments

from pairproof.harness import registry
from pairproof.harness.history import FIELDS
from pairproof.harness.runs.schema import TABLES

GROUPS = ("faults", "operations", "event_types", "laws", "targets", "labs")
RETIRED = frozenset(
    """
    told hear heard restless stranger strangers visitor visitors ears passage keeper seam seams floors falter misdirect
    remake hostile impostor intruder trouble troubles story stories owed owes proportion calm
    """.split()  # noqa: SIM905
)
"""Words of earlier versions for which the glossary has a term."""
SHORT = 2
"""A segment of one letter is an index or a type variable."""


def names() -> list[tuple[str, str]]:
    """Public names of the code, and those that users meet: registered names, columns of tables and histories."""
    found = list(public_names())
    found += [(f"pairproof.{group}", name) for group in GROUPS for name in registry.own(group)]
    found += [(f"table {table}", name) for table, columns in TABLES.items() for name, _ in columns]
    return [*found, *(("history", each.name) for each in FIELDS)]


def unknown(found: list[tuple[str, str]]) -> list[str]:
    """Each name with a segment that no list has, or a retired one."""
    known = glossary() | listed("rocketmq") | listed("common")
    return sorted(
        f"{where}: {name} ({each})"
        for where, name in set(found)
        for each in segments(name)
        if len(each) >= SHORT and (each in RETIRED or not is_in(each, known))
    )


def test_public_names_use_known_words() -> None:
    found = unknown(names())
    lists = {name: listed(name) for name in ("rocketmq", "common")} | {"glossary": glossary()}
    used = Counter(each for _, name in names() for each in segments(name))
    assert len(used) > 1_000 and all(any(is_in(word, each) for word in used) for each in lists.values())
    assert found == [], "a new word: take the glossary's, or add it to tests/words if it is common in this field"


def test_the_glossary_has_at_most_forty_terms() -> None:
    text = (vocabulary.ROOT / "docs" / "glossary.md").read_text("utf-8")
    assert 30 <= sum(line.startswith("| ") for line in text.splitlines()) - 1 <= 41


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("KeeperServer", 1),
        ("told", 1),
        ("restless_trials", 1),
        ("frobnicate", 1),
        ("ha_master_port", 0),
        ("LawGroup", 0),
    ],
)
def test_a_private_word_is_reported(name: str, number: int) -> None:
    assert len(unknown([("x", name)])) == number


def test_pages_are_measured() -> None:
    words, sentences, mean, longest, *_ = vocabulary.row(vocabulary.ROOT / "README.md").split()
    assert int(words) > 300 and int(sentences) > 20 and 3 < float(mean) < 40 and int(longest) < 100
