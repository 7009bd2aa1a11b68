"""The fixed corpus: a few schedules, the same in every run, that give every law of pairproof something to judge.

They are data, ``corpus.json`` beside this module, chosen by ``python -m pairproof.harness.rocketmq.make_corpus`` from
what the searches draw; run that again when a test says that a law, a new one say, has nothing to judge. What a run
demands of the corpus is in docs/decisions/0034.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources

from ..trials.schedule import Schedule
from ..trials.schedule_json import from_json

FILE = "corpus.json"


@cache
def corpus() -> tuple[Schedule, ...]:
    """The corpus that is installed."""
    data = json.loads(resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return tuple(map(from_json, data))


def to_text(found: Iterable[Schedule]) -> str:
    """The corpus as :func:`corpus` reads it, a schedule a line."""
    return "[\n" + ",\n".join(json.dumps(each.to_json()) for each in found) + "\n]\n"
