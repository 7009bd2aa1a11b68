"""The page of inherited bugs: made from docstrings, each with a law that exists."""

from pathlib import Path

import pytest

from pairproof.chaos.rocketmq import inherited_page
from pairproof.harness import registry

PAGE = Path(__file__).parents[2] / "docs" / inherited_page.PAGE


def test_the_page_is_as_the_docstrings_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == inherited_page.page(), f"run python -m {inherited_page.__name__}"


def test_each_bug_has_a_law_and_is_listed_once() -> None:
    found = inherited_page.inherited()
    issues = [issue for each in found for issue in each.issues.split(", ")]
    assert len(set(issues)) == len(issues) >= 8
    assert {each.law for each in found} <= registry.own("laws")


def test_a_paragraph_is_read_and_a_wrong_one_refused() -> None:
    right = (
        "Text.\n\nInherited: 12, 34 (4.x):\n    it waits. Law: ``ack-prompt``.\n\nInherited: 5 (all): b. Law: ``x``."
    )
    first, second = inherited_page.fields(right, "m.py")
    assert first == ("12, 34", "4.x", "it waits.", "ack-prompt", "m.py") and second.issues == "5"
    for wrong in ("Inherited: 12: it waits. Law: ``x``.", "Inherited: 12 (4.x): it waits."):
        with pytest.raises(ValueError, match=r"m\.py: write 'Inherited:"):
            list(inherited_page.fields(wrong, "m.py"))
