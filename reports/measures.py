"""What a report counts, declared once for both engines: Spark, and Arrow where there is no Java.

A measure groups the rows of a view by its keys and sums columns. Views are the run folder's tables with the run's
target and lab beside them, verdicts as columns of 0 and 1, and JSON objects and lists taken apart; each engine says
how. No measure judges: verdicts over trials are merged afterwards by :func:`pairproof.harness.verdict.over_trials`.
"""

from __future__ import annotations

from typing import NamedTuple

from pairproof.harness.verdict import Verdict

VERDICTS = {each: each.value.replace("-", "_") for each in Verdict}
"""Each verdict and the column that counts its trials."""

COUNTS = ("trials", *VERDICTS.values(), "judged", "broken")


class Measure(NamedTuple):
    """``source``: a view, or an earlier measure, whose sums are summed again."""

    source: str
    keys: tuple[str, ...]
    sums: tuple[str, ...]


MEASURES = {
    "by_run": Measure("judged", ("run", "target", "lab", "law"), COUNTS),
    "matrix": Measure("by_run", ("law", "target", "lab"), COUNTS),
    "faults": Measure("injected", ("name", "lab"), ("uses", "bit", "missed")),
    "effects": Measure("effected", ("name", "lab", "effect"), ("amount",)),
    "contract": Measure("noted", ("law", "target", "lab", "note"), ("amount",)),
    "search": Measure("searched", ("target", "lab", "origin"), ("trials", "events", "virtual_ns", "kept")),
    "skipped": Measure("unexecuted", ("target", "lab", "reason"), ("trials",)),
}
"""By table. matrix: the conformance matrix. faults: ``bit`` uses did something, ``missed`` uses hit nothing. effects:
what the faults did, summed by the effect's name. contract: what laws counted besides (losses that were permitted, ...).
search: where trials came from. skipped: why operations were not executed."""

FIRSTS = ("run", "law", "verdict", "trial", "seq", "text")
"""The first trial of a run with a violation of a law, and the first with a doubt: the columns of table ``firsts``."""
