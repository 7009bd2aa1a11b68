"""The evidence of each run of a report, from its tables: see :mod:`harness.exploration.evidence`."""

from collections.abc import Iterable, Sequence

from ..harness.exploration import evidence
from ..harness.exploration.evidence import Evidence
from ..harness.judging.verdict import Verdict
from ..harness.runs.schema import Row
from .inputs import RunInput


def is_amber(run: Row) -> bool:
    """Whether a run has no violation but too few trials to be green."""
    return bool(run["evidence"]["little"]) and run["verdict"] == Verdict.HOLDS


def by_run(runs: Sequence[RunInput], search: Iterable[Row], faults: Iterable[Row]) -> dict[str, Evidence]:
    """``search`` and ``faults``: rows of the tables ``search_by_run`` and ``faults_by_run``."""
    origins: dict[str, dict[str, int]] = {}
    for row in search:
        origins.setdefault(row["run"], {})[row["origin"]] = row["trials"]
    began: dict[str, dict[str, int]] = {}
    for row in faults:
        began.setdefault(row["run"], {})[row["name"]] = row["bit"]
    return {run.run: evidence.of(run.facts, origins.get(run.run, {}), began.get(run.run, {})) for run in runs}
