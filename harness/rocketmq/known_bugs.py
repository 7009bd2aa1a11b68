"""Seeded bugs with the small programs that show them: data, ``known_bugs.jsonl`` beside this module.

Made by ``python -m pairproof.chaos.make_known_bugs``; run that again after adding mutants. Purpose:
docs/decisions/0058.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources

from ..system import KnownBug
from ..trials.schedule_json import from_json

FILE = "known_bugs.jsonl"


@cache
def of_mutants() -> tuple[KnownBug, ...]:
    """The installed bugs."""
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    return tuple(KnownBug(**{**each, "schedule": from_json(each["schedule"])}) for each in lines)


def to_text(found: Iterable[KnownBug]) -> str:
    """Bugs in the format of :func:`of_mutants`, a line each."""
    lines = ({**each._asdict(), "schedule": each.schedule.to_json()} for each in found)
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines)
