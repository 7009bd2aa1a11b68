"""SECURITY.md names, for each promise, the tests that hold it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def rows(text: str) -> list[list[str]]:
    """The cells of the table of promises, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def lacking(text: str) -> list[str]:
    """Promises without a test that is there."""
    found = []
    for promise, _, tests in rows(text):
        named = re.findall(r"`(tests/[\w/]+\.py)`", tests)
        if not named or not all((ROOT / each).is_file() for each in named):
            found.append(promise)
    return found


def test_each_promise_names_the_test_that_holds_it() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert len(rows(text)) >= 6 and not lacking(text)
    assert (ROOT / "tests" / "control" / "control_attacks.py").is_file()
    # The broken case.
    assert lacking(text.replace("test_untrusted_runs.py", "test_nothing.py"))
