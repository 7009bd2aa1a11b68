"""The measures of a report, declared once for both engines: Spark, and Arrow in this process.

A measure groups the rows of a view by its keys and sums columns. Views are the run folder's tables with the run's
target and lab, verdicts as columns of 0 and 1, and expanded JSON objects and lists. A spread also counts trials and
computes the distribution of a column; its views are the objectives and the rows measured in each history
(:mod:`pairproof.reports.traces`). Measures do not judge: :func:`harness.judging.verdict.over_trials` merges verdicts
over trials.
"""

from typing import NamedTuple

from ..harness.commands.options import ENGINES
from ..harness.exploration.losses import SUMS
from ..harness.judging.verdict import Verdict

SPARK, LOCAL = ENGINES

VERDICTS = {each: each.value.replace("-", "_") for each in Verdict}
"""Each verdict and the column that counts its trials."""

COUNTS = ("trials", *VERDICTS.values(), "exercised", "judged", "broken")
"""``exercised``: trials in which the law judged something. ``judged``: how often, in all of them."""

SEARCHES = "searches"
"""The source of every origin of trials but the corpus, which a run's demands separate."""


class Measure(NamedTuple):
    """``source``: a view, or an earlier measure, whose sums are summed again."""

    source: str
    keys: tuple[str, ...]
    sums: tuple[str, ...]


MEASURES = {
    "by_source": Measure("judged", ("run", "target", "lab", "law", "source"), COUNTS),
    "by_run": Measure("by_source", ("run", "target", "lab", "law"), COUNTS),
    "faults_by_run": Measure("injected", ("run", "name"), ("uses", "bit")),
    "faults": Measure("injected", ("name", "lab"), ("uses", "bit", "missed")),
    "places": Measure("injected", ("place", "name", "lab"), ("uses", "bit", "missed")),
    "effects": Measure("effected", ("name", "lab", "effect"), ("amount",)),
    "contract": Measure("noted", ("law", "target", "lab", "note"), ("amount",)),
    "search_by_run": Measure("searched", ("run", "origin"), ("trials",)),
    "search": Measure("searched", ("target", "lab", "origin"), ("trials", "violated", "events", "virtual_ns", "kept")),
    "losses_by_run": Measure("lost", ("run",), ("acknowledged", "lost")),
    "skipped": Measure("unexecuted", ("target", "lab", "reason"), ("trials",)),
    "coverage": Measure("coverage", ("state", "event", "fault"), ("count",)),
}
"""By table. by_source: verdicts of a run's corpus and of its searches. by_run: the conformance matrix, in which runs
are never added up. faults: ``bit`` uses took effect, ``missed`` uses hit nothing. places: the same by the fault's node
or link. effects: the faults' effects, summed by name. contract: additional counts of laws (permitted losses, ...).
search: origins of trials. skipped: why operations were not executed. coverage: how often a state met an event under a
fault. faults_by_run and search_by_run are for :mod:`harness.exploration.evidence`.
"""

BY_SEARCH = ("run", "law", "origin"), ("trials", "violated")
"""Keys and sums of a comparison: trials that a law could judge, and the violating ones."""

KEPT = ("run", "trial", "origin", "seed", "events")
"""Columns of the sampled trials,"""
MAX_KEPT = 2_000
"""and the number of them that are listed."""

BLIND = (Verdict.NOT_OBSERVABLE.value, Verdict.NOT_APPLICABLE.value)
"""Verdicts of trials that prove nothing about a law."""

FIRSTS = ("run", "law", "verdict", "trial", "seq", "text", "origin")
"""Trials of a run that violate a law, and undecided ones: the columns of table ``firsts``,"""
MAX_FIRSTS = 10
"""which has the first ones of each."""

OBJECTIVES = ("rpo_messages", "rpo_bytes", "rpo_ns", "rto_ns", "catch_up_ns")
"""The objectives of a loss of the master, and, the last one, of a slave's return."""

CATCH_UP = OBJECTIVES[-1]

OUTCOMES = ("put_ok", "stored", "refused", "unanswered")

OF_LOSSES = ("unaudited", *SUMS)

OBJECTIVE_KEYS = ("what", "target", "lab", "cause", "fault", "role", "flush")
"""Keys of losses and returns; ``what`` is one of :data:`OBJECTIVES`."""

PERCENTILES = {"p50": 50, "p99": 99, "max": 100}
"""The distribution's percentile: the smallest value that at least so many percent of the values do not exceed."""

MEASURED = "measured"


class Spread(NamedTuple):
    """Columns of the table: the keys, ``trials``, the sums, and for a ``value`` its expected number (``times``), its
    nulls (``open``), and its percentiles.
    """

    source: str
    keys: tuple[str, ...]
    sums: tuple[str, ...]
    value: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.keys, "trials", *self.sums, "times", "open", *PERCENTILES)


PLACE = ("target", "lab")
PROMISED = (*PLACE, "role", "flush")

SPREADS = {
    "objectives": Spread(MEASURED, OBJECTIVE_KEYS, (), "amount"),
    "latency": Spread("sends", (*PROMISED, "fault"), OUTCOMES, "latency_ns"),
    "losses": Spread("lost", (*PLACE, "mode", "fault", "of"), OF_LOSSES, "unavailable_ns"),
}
"""By table. Objectives and losses count every trial; latency uses the sampled histories, and is explained in
:mod:`pairproof.reports.traces.sends`.
"""

HISTORIES = Measure(
    "traces",
    ("run", "target", "lab"),
    ("kept", "read", "odd", "events", "unended", "judged", "verdicts", "different", "worse", "absent"),
)
"""Table ``histories``: the state of each run's histories."""

MAX_LISTED = 100
"""Rows of a list; table ``histories`` counts the rest."""

LISTS = {
    "problems": ("run", "part", "trial", "problem"),
    "differences": ("rank", "run", "trial", "law", "stored", "again", "stored_judged", "again_judged"),
}
"""Histories that could not be measured, and verdicts that differ: columns, and the order of the rows."""
