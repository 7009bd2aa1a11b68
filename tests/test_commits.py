"""Commit messages since the day that CONTRIBUTING asks for this form: ``component: imperative subject``, and a body."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SINCE = "2026-11-28T17:45:00Z"
MOST = 72
SUBJECT = re.compile(r"[a-z0-9][\w./, -]*: [a-z`]\S*( \S+)*[^.\s]")


def complaints(message: str) -> list[str]:
    """What a commit message lacks, a line each."""
    subject, _, body = message.strip().partition("\n")
    found = [] if len(subject) <= MOST else [f"{subject!r} has {len(subject)} characters, more than {MOST}"]
    if not SUBJECT.fullmatch(subject):
        found.append(f"{subject!r} is not of the form 'component: what it does', without a full stop")
    if not body.startswith("\n") or not body.strip():
        found.append(f"{subject!r} has no body that says why, behind an empty line")
    return found


def messages() -> list[str]:
    """Of the commits of this checkout, merges left out; none where it is not a repository."""
    asked = ["git", "log", "--no-merges", f"--since={SINCE}", "--format=%B%x00"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return [each.strip() for each in done.stdout.split("\0") if each.strip()]


def test_commit_messages_name_a_component_and_say_why() -> None:
    assert [line for message in messages() for line in complaints(message)] == []


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("route-expiry: start the deadline at takeover\n\nA client that takes a queue over had too little time.", 0),
        ("route-expiry: start the deadline at takeover", 1),
        ("Who takes a queue over has its time from then\n\nWhy not.", 1),
        (f"route-expiry: {'x' * 72}\n\nIt is long.", 1),
        ("docs: two words.\n\nIt ends with a full stop.", 1),
        ("docs: shorten\nNo empty line.", 1),
    ],
)
def test_a_message_without_form_is_reported(message: str, number: int) -> None:
    assert len(complaints(message)) == number
