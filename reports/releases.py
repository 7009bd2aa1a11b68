"""Releases of one system side by side: each law in each release, and what changed from one to the next.

A table has the judged runs of one lab and profile whose targets are releases (``rocketmq-4.9.7``,
``rocketmq@5.4.0``). Runs of one release are added up. A known deviation counts as broken: it is a difference between
releases, too. The test of a change is that of :mod:`pairproof.reports.comparing`, with all searches of a run as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..harness.judging.verdict import Verdict
from ..harness.runs.schema import Row
from .comparing import CHANCE, Counted, chance, holm
from .measures import VERDICTS
from .model import MAX_PAGES, Report

RELEASE = re.compile(r"(\w+)[-@](\d+(?:\.\d+)+)((?:@\w+)?)")
BROKEN = (Verdict.VIOLATED, Verdict.DEVIATES)
WORST = (*BROKEN, Verdict.UNKNOWN, Verdict.HOLDS, Verdict.VACUOUS)
"""Verdicts of a law in a release, worst first; any other means that it was not judged."""


class Cell(NamedTuple):
    """A law in a release: ``broken`` of ``judged`` trials. ``finding``: the row of the first one with a page."""

    verdict: str
    judged: int
    broken: int
    finding: Row | None


class Change(NamedTuple):
    law: str
    before: Cell
    after: Cell
    sure: bool
    """Whether equal releases differ so much in fewer than :data:`~pairproof.reports.comparing.CHANCE`."""


class Releases(NamedTuple):
    system: str
    lab: str
    profile: str
    versions: list[str]
    trials: list[int]
    laws: dict[str, list[Cell]]
    """The laws that some release broke, with a cell for each release."""
    unbroken: list[str]
    """Those that were judged and never broken."""
    changes: list[tuple[str, str, list[Change]]]
    """Neighbours that differ: the earlier release, the later one, and the laws."""


def of(report: Report) -> list[Releases]:
    """A table for each system, lab and profile with several releases."""
    alike: dict[tuple[str, str, str], dict[str, list[Row]]] = {}
    for run in report.runs:
        named = RELEASE.fullmatch(str(run["target"]))
        if named is not None:
            key = named[1] + named[3], str(run["lab"]), str(run["profile"] or "")
            alike.setdefault(key, {}).setdefault(named[2], []).append(run)
    several = {key: runs for key, runs in alike.items() if len(runs) > 1}
    if not several:
        return []
    rows: dict[str, dict[str, Row]] = {}
    for row in report.by_run:
        rows.setdefault(row["run"], {})[row["law"]] = row
    findings = {(each["run"], each["law"]): each for each in reversed(report.findings[:MAX_PAGES])}
    return [_table(key, runs, rows, findings) for key, runs in several.items()]


def _table(
    key: tuple[str, str, str], runs: Mapping[str, Sequence[Row]], rows: Mapping[str, Mapping[str, Row]],
    findings: Mapping[tuple[str, str], Row],
) -> Releases:  # fmt: skip
    versions = sorted(runs, key=lambda each: tuple(map(int, each.split("."))))
    names = {law for each in versions for run in runs[each] for law in rows.get(run["run"], ())}
    cells = {law: [_cell(law, runs[each], rows, findings) for each in versions] for law in sorted(names)}
    broken = {law: own for law, own in cells.items() if any(each.broken for each in own)}
    changes = [(*pair, _changes(broken, at)) for at, pair in enumerate(pairwise(versions))]
    return Releases(
        *key, versions, [sum(run["trials"] or 0 for run in runs[each]) for each in versions], broken,
        [law for law, own in cells.items() if law not in broken and any(each.judged for each in own)],
        [each for each in changes if each[2]],
    )  # fmt: skip


def _cell(
    law: str, runs: Iterable[Row], rows: Mapping[str, Mapping[str, Row]], findings: Mapping[tuple[str, str], Row]
) -> Cell:
    own = [(run["run"], rows[run["run"]][law]) for run in runs if law in rows.get(run["run"], ())]
    seen = {row["verdict"] for _, row in own}
    verdict = next((each.value for each in WORST if each in seen), "")
    broken = sum(row[VERDICTS[each]] for _, row in own for each in BROKEN)
    found = (findings.get((run, law)) for run, _ in own)
    return Cell(verdict, sum(row["exercised"] for _, row in own), broken, next(filter(None, found), None))


def _changes(laws: Mapping[str, Sequence[Cell]], at: int) -> list[Change]:
    """The laws that only one of two neighbours broke, or one clearly more often; surest first."""
    both = [(law, cells[at], cells[at + 1]) for law, cells in laws.items() if cells[at].judged and cells[at + 1].judged]
    counted = [Counted(before.judged, after.judged, before.broken, after.broken) for _, before, after in both]
    shared = holm([chance([each]) for each in counted])
    found = [
        (p, Change(*each, p <= CHANCE))
        for each, p in zip(both, shared, strict=True)
        if p <= CHANCE or (each[1].broken == 0) != (each[2].broken == 0)
    ]
    return [change for _, change in sorted(found, key=lambda each: (each[0], each[1].law))]
