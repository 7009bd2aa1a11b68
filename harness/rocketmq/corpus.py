"""The fixed corpus: a few schedules, the same in every run, in which every law of pairproof has something to judge.

They are data, ``corpus.json`` beside this module, chosen from the searches' schedules by ``python -m
pairproof.harness.rocketmq.make_corpus``; run that again if a test reports that a law has nothing to judge. A run's
demands on the corpus are in docs/decisions/0034.
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
    """The installed corpus."""
    data = json.loads(resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return tuple(map(from_json, data))


def to_text(found: Iterable[Schedule]) -> str:
    """The corpus in the format of :func:`corpus`, a schedule per line."""
    return "[\n" + ",\n".join(json.dumps(each.to_json()) for each in found) + "\n]\n"
