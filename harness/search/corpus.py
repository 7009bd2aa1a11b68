"""The fixed corpus: a few schedules, the same in every run, that give every law of pairproof something to judge.

They are data, ``corpus.json`` beside this module, chosen by ``python -m pairproof.harness.search.make_corpus`` from
what the searches draw; run that again after a new law, or when a test says that a law has nothing to judge any more.
What a run may demand of them is in docs/decisions/0034.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import NamedTuple

from pairproof.harness.schedule import Schedule, from_json

FILE = "corpus.json"


class Corpus(NamedTuple):
    """``laws``: ids of those that the schedules give something to judge on the correct pair in the simulation."""

    laws: frozenset[str]
    schedules: tuple[Schedule, ...]


@cache
def corpus() -> Corpus:
    """The corpus that is installed."""
    data = json.loads(resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return Corpus(frozenset(data["laws"]), tuple(map(from_json, data["schedules"])))


def to_text(found: Corpus) -> str:
    """The corpus as :func:`corpus` reads it, a schedule a line."""
    schedules = ",\n".join("  " + json.dumps(each.to_json()) for each in found.schedules)
    return f'{{"laws": {json.dumps(sorted(found.laws))},\n "schedules": [\n{schedules}\n]}}\n'
