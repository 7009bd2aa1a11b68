"""Makes a report: opens the runs, measures them, and writes tables, pages and three files into one folder.

The files are report.json, junit.xml and summary.md. An engine counts (:mod:`pairproof.reports.engines`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ..harness.runs import atomic
from ..harness.runs.reader import histories
from ..harness.runs.schema import Row
from . import comparing, counting, engines, inputs, junit, kept, model, power, replacing, series, summary, trend
from .inputs import Corrupt, RunInput
from .measures import SPARK
from .model import Report

MAX_EVENTS = 20_000
"""Events of one trial that a timeline draws at most."""

MAX_WARNINGS = 5

PAGES = (
    "compared",
    "trials",
    "index",
    "runs",
    "faults",
    "laws",
    "losses",
    "coverage",
    "power",
    "releases",
)

OWN = (*(f"{page}.html" for page in PAGES), "report.json", "junit.xml", "summary.md", "findings", "trials", "tables")
"""The contents of a report; an earlier report's are replaced once a new one is written."""


class Options(NamedTuple):
    rejudge: bool
    compare: bool
    on_step: engines.OnStep


class Made(NamedTuple):
    """A finished report. ``first_page``: the page to open. ``without_spark``: why Spark did not count although
    requested.
    """

    out: Path
    report: Report
    first_page: Path
    without_spark: str = ""

    @property
    def exit_code(self) -> int:
        return self.report.exit_code

    @property
    def warnings(self) -> list[str]:
        """Lines about missing or damaged histories, and differences of rejudged ones: a few of each."""
        lines = [
            f"{each['run']}: {'' if each['trial'] is None else 'trial ' + str(each['trial']) + ', '}{each['part']}: "
            f"{each['problem']}"
            for each in self.report.problems[:MAX_WARNINGS]
        ]
        again = self.report.rejudged or {"differences": []}
        return lines + [
            f"{each['run']}: trial {each['trial']}: {each['law']} is {each['again'] or 'not judged'} when it is judged "
            f"again, and was recorded as {each['stored'] or 'not judged'}"
            for each in again["differences"][:MAX_WARNINGS]
        ]

    @property
    def corrupt(self) -> list[dict[str, Any]]:
        return self.report.corrupt


def make_report(
    folders: Iterable[Path],
    out: Path,
    *,
    rejudge: bool = True,
    compare: bool = False,
    engine: str = SPARK,
    master: str | None = None,
    on_step: engines.OnStep = lambda _: None,
) -> Made:
    """Make the report of ``folders`` in ``out``, replacing an earlier one there.

    ``rejudge``: judge every recorded history again and compare. ``compare``: there are two runs, and the report
    includes the changes from the first to the second. ``engine``: one of :data:`~pairproof.reports.measures.ENGINES`;
    the pages are the same. ``master``: a Spark cluster's master instead of this machine; run folders must be readable
    under the same paths there. ``on_step`` receives each step. Raises UsageError for a missing folder, SparkFailed if
    the job fails, CorruptRun if no folder can be read: nothing is written then. Other damaged folders are left out and
    named in the report.
    """
    options = Options(rejudge, compare, on_step)
    replacing.check(out)
    folders = list(folders)
    if len(folders) > 1:
        on_step("reading run folders")

    def made(runs: Sequence[RunInput], corrupt: Sequence[Corrupt]) -> Made:
        chosen = series.compared(runs, corrupt) if compare else series.of(runs)
        counted = engines.count(engine, master, chosen.judged, rejudge, on_step)
        past = engines.here(chosen.older, False)
        with replacing.replaced(out, OWN) as new:
            report = _written(counted, past, chosen.replaced_by, corrupt, options, new)
        return Made(out, report, out / "index.html", counted.without_spark)

    def alone(run: RunInput) -> None:
        with TemporaryDirectory(prefix="pairproof-report-") as new:
            nothing = engines.here((), False)
            _written(engines.here([run], rejudge), nothing, {}, (), options._replace(compare=False), Path(new))

    runs, corrupt = inputs.open_runs(folders)
    inputs.check_some(runs, corrupt)
    found = inputs.without_spoilt(runs, corrupt, made, alone)
    summary.append(summary.text(found.report))
    return found


def _written(
    counted: engines.Counted, past: engines.Counted, replaced_by: Mapping[str, str], corrupt: Sequence[Corrupt],
    options: Options, new: Path,
) -> Report:  # fmt: skip
    """Write the report of the counted runs, and of the folders left out, into the folder ``new``."""
    # The templates are imported only where they are used.
    from . import pages

    on_step = options.on_step
    measured, runs, corrupt = dict(counted.tables), counted.runs, [*corrupt, *counted.corrupt, *past.corrupt]
    inputs.check_some(runs, corrupt)
    by_search, kept_rows, unreadable = (measured.pop(name) for name in ("by_search", "kept", counting.UNREADABLE))
    report, earlier = _with_trend(counted, past, replaced_by, corrupt, options.rejudge)
    on_step("histories of findings")
    of_findings = model.wanted_trials(report.findings)
    shown = kept.chosen(kept_rows.to_pylist(), report.scenarios, set(of_findings), MAX_EVENTS)
    wanted = [*of_findings, *((row["run"], row["trial"]) for row in shown)]
    left_out = set(zip(*unreadable.to_pydict().values(), strict=True))
    measured["timelines"] = counting.of_trials(runs, "history", wanted, MAX_EVENTS, left_out)
    measured["verdicts"] = counting.of_trials(runs, "verdicts", wanted)
    trials = counting.of_trials(runs, "trials", wanted)
    if options.compare:
        rows = [*by_search.to_pylist(), *past.tables["by_search"].to_pylist()]
        report = report._replace(compared=comparing.comparison(rows, earlier, report))
    on_step("writing pages")
    strength = power.read()
    report = _completed(report, trials, strength, shown, measured["verdicts"].to_pylist())
    pages.write(report, dict(histories([measured["timelines"]])), seen_in(measured["verdicts"]), new, strength)
    _write_tables(measured, report, new)
    _write_files(report, new)
    return report


def assembled(folders: Iterable[Path]) -> Report:
    """The result of runs, counted in this process, without rejudging or pages: for ``show``, ``campaign`` and
    ``judge``.
    """

    def merged(runs: Sequence[RunInput], corrupt: Sequence[Corrupt]) -> Report:
        chosen = series.of(runs)
        counted, past = engines.here(chosen.judged, False), engines.here(chosen.older, False)
        inputs.check_some(counted.runs, known := [*corrupt, *counted.corrupt, *past.corrupt])
        return _with_trend(counted, past, chosen.replaced_by, known, False)[0]

    runs, corrupt = inputs.open_runs(folders)
    inputs.check_some(runs, corrupt)
    return inputs.without_spoilt(runs, corrupt, merged, lambda run: merged([run], ()))


def _with_trend(
    counted: engines.Counted, past: engines.Counted, replaced_by: Mapping[str, str], corrupt: Sequence[Corrupt],
    judging: bool,
) -> tuple[Report, Report]:  # fmt: skip
    """The report of the judged runs, with all runs in its trend, and one of the others."""
    report = model.assemble(counted.runs, corrupt, counted.tables, judging)
    earlier = model.assemble(past.runs, (), past.tables, judging=False)
    losses = [row for each in (past, counted) for row in each.tables["losses_by_run"].to_pylist()]
    return report._replace(trend=trend.rows((earlier, report), replaced_by, losses)), earlier


def _completed(
    report: Report, trials: pa.Table, strength: Row, shown: Sequence[Row], verdicts: Sequence[Row]
) -> Report:
    findings = model.with_schedules(report.findings, trials)
    schedules = {(row["run"], row["trial"]): json.loads(row["schedule"]) for row in trials.to_pylist()}
    trials = [kept.described(row, verdicts, schedules) | {"number": number} for number, row in enumerate(shown, 1)]
    return report._replace(findings=findings, trials=trials, power=power.summary(strength, report.search))


def _write_files(report: Report, out: Path) -> None:
    atomic.put_json(out, "report.json", report.to_json())
    atomic.put(out, "junit.xml", lambda hidden: junit.write(report, hidden))
    atomic.put_text(out, "summary.md", summary.text(report))


def _write_tables(measured: Mapping[str, pa.Table], report: Report, out: Path) -> None:
    verdicts = pa.array([row["verdict"] for row in report.by_run], pa.string())
    merged = {**measured, "by_run": measured["by_run"].append_column("verdict", verdicts)}
    for name, table in merged.items():
        atomic.put(out, f"tables/{name}.parquet", partial(pq.write_table, table, compression="zstd"))


def seen_in(verdicts: pa.Table) -> dict[tuple[str, int, str], int]:
    """The ``seq`` of the event at which each trial first broke each law, from verdict rows."""
    rows = (row for row in verdicts.to_pylist() if row["verdict"] == "violated" and row["seq"] is not None)
    return {(row["run"], row["trial"], row["law"]): row["seq"] for row in rows}
