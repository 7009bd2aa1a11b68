"""Record a run: verdicts, trials, faults, objectives and kept histories as Parquet parts, findings and facts as JSON.

A run that is interrupted or killed at any moment can be read, and every trial in it is complete. A part of each table
has the same number; ``trials`` is renamed last, which commits the part. Rows of other tables with a number that
``trials`` lacks do not count. A kill loses at most the pending part, bounded in trials, events and seconds.

A campaign's files are also synced to the disk, and read again before the campaign counts as complete. The layout is
defined in ``harness/runs/schema.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

from pairproof import __version__

from ..errors import LabError, UsageError, interrupted
from ..exploration.retention import measured as measured_of
from ..judging import deviations
from ..texts import invocation
from ..texts.plain import without_secrets
from ..trials import resolve
from ..trials.trial import Finding, Trial
from . import atomic, locations, parts
from .parts import About, Pending, Written
from .sampling import sampling
from .schema import FORMAT, STATES, TABLES
from .wholeness import check_digests, contents, part_name

PART_TRIALS = 4_096
PART_EVENTS = 250_000
PART_S = 1.0
PARTS_PER_DOUBLING = 64
"""Each time a run's age doubles it writes about this many parts, so their number stays small."""
MAX_KEPT_EVENTS = 50_000_000
"""The limit of a run's kept events (a few GB); ``reason`` reports later histories that are not kept."""
MAX_FINDINGS = 9_999
MAX_FAILURES = 99
MAX_FAILED_EVENTS = 20_000
"""The number of last events that are kept of each."""

COMMITS = ("PAIRPROOF_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA")
"""Variables with the commit of the target; the first one that is set counts."""
MAX_COMMIT_CHARS = 100
MAX_NAME_CHARS = 120
"""For a target's name in the name of a run."""

ENDING = ("seconds", "trials", "events", "again", "searches", "contents", "deviations", "reason")
"""Facts that are known when a run ends."""


def run_folder(runs: Path, lab: str, target: str, *more: str) -> Path:
    """A new folder name in ``runs``, of the time and the target; UsageError if there are too many."""
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    stem = "-".join((when, lab, re.sub(r"[^\w.-]+", "-", target)[:MAX_NAME_CHARS], *more))
    for number in range(1_000):
        found = runs / (f"{stem}-{number}" if number else stem)
        if not _is_there(found):
            return found
    raise UsageError(f"a thousand runs named {stem} exist in {runs}; remove some")


def _is_there(path: Path) -> bool:
    if locations.is_remote(path):
        with locations.reached(path):
            return path.exists()
    # Unlike Path.exists, no error for a name that is too long or invalid: creating the folder reports it.
    return os.path.lexists(path)


class Part:
    """The trials of the next part, and the number of trials and events of earlier parts."""

    def __init__(self, number: int = 0, trials_before: int = 0, events_before: int = 0) -> None:
        self.number = number
        self.trials: list[Pending] = []
        self.kept_events = 0
        self.trials_before = trials_before
        self.events_before = events_before
        self.began = monotonic()

    def next(self) -> Part:
        events = sum(each.events for each in self.trials)
        return Part(self.number + 1, self.trials_before + len(self.trials), self.events_before + events)


class RunWriter:
    """Writes one run folder. A context manager: the run ends as interrupted or failed if its block raises.

    ``facts``: the caller's part of ``schema.FACTS`` (``keep``: ``all`` or N for one history in N; ``seed`` decides the
    sample). Raises UsageError if the folder already holds a run, PairproofError if it cannot be written. ``again``:
    resume the run of the folder; see :meth:`adopt`.
    """

    def __init__(self, folder: Path, facts: Mapping[str, object], again: bool = False) -> None:
        self.folder = folder
        if not again and _is_there(folder / "run.json"):
            raise UsageError(f"{folder} already holds a run; name another folder, or delete it")
        self._system = resolve.system(str(facts.get("system", "")))
        self.sampling = sampling(facts.get("keep", 1), str(facts.get("seed", "")))
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.facts: dict[str, object] = {
            "format": FORMAT, "run": folder.name, "state": "running", "began": now, "versions": versions(),
            "commit": commit(), **facts,
        }  # fmt: skip
        if again:
            self.facts = {name: each for name, each in self.facts.items() if name not in ENDING} | {"state": "running"}
        self._about = About(*(without_secrets(str(self.facts.get(each, ""))) for each in About._fields))
        self.kept_events = self.not_kept = self._again = 0
        self._findings, self._failures = count(1), count(1)
        self._began = monotonic()
        self._part = Part()
        self._coverage: dict[tuple[str, str, str], int] = {}
        self.deviations = deviations.Seen()
        self._rows: dict[str, dict[str, int]] = {}
        """By table: the names of its parts with their rows."""
        self._digests: dict[str, str] = {}
        """Digests of parts, by their names in the folder."""
        self._lasting = "campaign" in self.facts
        """Whether files are synced: a campaign can be resumed after a power loss."""
        try:
            self._make_folders()
        except KeyboardInterrupt as why:
            self.close("interrupted", reason=interrupted(why))
            raise

    def trial(self, trial: Trial, keep: bool | None = None) -> None:
        """Record a trial; ``keep`` overrides the sampling of its history, if it was not measured."""
        events, measured = trial.events, trial.measured
        if measured is None:
            measured = measured_of(self._system, events)
            wanted = self.sampling.wants(trial, trial.number) if keep is None else keep
        else:
            # The process that played it has sampled it already.
            wanted = len(events) == measured.events
        kept = wanted and self.kept_events + len(events) <= MAX_KEPT_EVENTS
        part = self._part
        # A single append, so an interrupt cannot split the record.
        part.trials.append(Pending.of(trial, measured, kept))
        self.deviations.add(trial.judgements, trial.origin, trial.number)
        self._again += trial.again
        self.not_kept += wanted and not kept
        if kept:
            for node, log in trial.logs.items():
                atomic.put_text(self.folder, f"logs/{trial.number:06d}-{node}.log", log)
            self.kept_events += len(events)
            part.kept_events += len(events)
        if len(part.trials) >= PART_TRIALS or part.kept_events >= PART_EVENTS or self._is_late(part):
            self.flush()

    def _is_late(self, part: Part) -> bool:
        now = monotonic()
        return now - part.began >= max(PART_S, (now - self._began) / PARTS_PER_DOUBLING)

    def adopt(
        self, written: Mapping[int, Mapping[str, Written]], parts: int, trials: int, events: int, not_kept: int
    ) -> None:
        """Resume after ``parts`` parts of other processes: by number and table, with their trials and events, and the
        number of histories beyond the limit.
        """
        for number, tables in written.items():
            self._wrote(number, tables)
        self._part, self.not_kept = Part(parts, trials, events), not_kept

    def flush(self) -> None:
        """Write the pending part. If it was interrupted, the next call writes the same part again."""
        part = self._part
        if part.trials:
            self._wrote(part.number, parts.write(self.folder, self._about, part.number, part.trials))
            self._part = part.next()

    def _wrote(self, number: int, written: Mapping[str, Written]) -> None:
        for table, each in written.items():
            self._rows.setdefault(table, {})[part_name(number)] = each.rows
            self._digests[f"{table}/{part_name(number)}"] = each.digest

    def finding(self, finding: Finding) -> Path:
        """Write a finding after the pending part, so that its trials can be read. Returns the file."""
        self.flush()
        number = next(self._findings)
        if number > MAX_FINDINGS:
            raise UsageError(f"a run holds at most {MAX_FINDINGS} findings; explore fewer laws at a time")
        name = f"findings/{number:04d}.json"
        return atomic.put_json(self.folder, name, finding_json(finding, self.folder / name), keep=self._lasting)

    def failure(self, target: str, lab: str, why: LabError) -> Path | None:
        """Write the unfinished trial of a failed lab. Returns the file, or None if the trial had not begun."""
        trial = why.trial
        if trial is None or (number := next(self._failures)) > MAX_FAILURES:
            return None
        name = f"failures/{number:04d}.json"
        found = Finding("", str(why), target, lab, -1, -1, trial.schedule, len(trial.schedule.ops))
        # The last events lead to the failure.
        last = trial.events[-MAX_FAILED_EVENTS:]
        history = [{name: value for name, value in each._asdict().items() if value is not None} for each in last]
        content = finding_json(found, self.folder / name)
        return atomic.put_json(self.folder, name, {**content, "logs": dict(trial.logs), "history": history})

    @property
    def known_deviations(self) -> list[dict[str, Any]]:
        return self.deviations.rows()

    def coverage(self, rows: Mapping[tuple[str, str, str], int]) -> None:
        """Set the run's coverage, by (state, event, fault), which is written when the run ends."""
        self._coverage = dict(rows)

    def close(self, state: str = "complete", **facts: object) -> None:
        """Write the pending part and the last facts (trials and events are counted here); nothing if already closed."""
        assert state in STATES[1:], f"state {state!r} is not one of {STATES[1:]}"
        if self.facts["state"] != "running":
            return
        self.flush()
        self._write_coverage()
        self.facts |= {"seconds": round(monotonic() - self._began, 3)}
        if self.not_kept:
            limit = f"{self.not_kept} histories not kept: a run keeps at most {MAX_KEPT_EVENTS:,} events"
            facts["reason"] = "; ".join(filter(None, (str(facts.get("reason") or ""), limit)))
        # The tables count, not the caller's numbers before an interrupt.
        counted = {"trials": self._part.trials_before, "events": self._part.events_before, "again": self._again}
        listed = {"contents": contents(self.folder, self._rows, self._digests), "deviations": self.known_deviations}
        if self._lasting:
            atomic.sync(self.folder / name for name in self._digests)
        if self._lasting and state == "complete":
            check_digests(self.folder, self._digests)
        self.facts |= {**facts, **counted, **listed, "state": state}
        self._write_facts()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            self.close()
        elif isinstance(error, KeyboardInterrupt):
            self.close("interrupted", reason=interrupted(error))
        else:
            self.close("failed", reason=f"{type(error).__name__}: {error}")

    def _make_folders(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write_facts()
            for name in (*TABLES, "findings"):
                (self.folder / name).mkdir(exist_ok=True)
        except OSError as why:
            raise UsageError(
                f"cannot create {self.folder}: {why.strerror or why}; name another path with --runs"
            ) from None

    def _write_facts(self) -> None:
        atomic.put_json(self.folder, "run.json", self.facts, keep=self._lasting)

    def _write_coverage(self) -> None:
        # With the last part's number, which ``trials`` has committed; without a trial there is no coverage.
        if self._coverage and self._part.number:
            number = self._part.number - 1
            self._wrote(
                number, {"coverage": parts.write_coverage(self.folder, self._about.run, number, self._coverage)}
            )


def finding_json(finding: Finding, path: Path) -> dict[str, object]:
    """The JSON object of a finding that is written at ``path``."""
    fields = finding._asdict()
    schedule = fields.pop("schedule")
    program = {"program": schedule.program(), "schedule": schedule.to_json()}
    return {"format": FORMAT, **fields, **program, "replay": replay_line(path, finding.target)}


def case_name(target: str, lab: str, law: str, schedule: object) -> str:
    """The file name of a regression case, derived from its program, so that equal cases share a file.

    ``schedule``: as JSON.
    """
    content = json.dumps([target, lab, law, schedule], sort_keys=True)
    return f"{law}-{hashlib.blake2b(content.encode(), digest_size=4).hexdigest()}.json"


def commit() -> str:
    """The commit of the target, from the environment."""
    return next(filter(None, (os.environ.get(name, "").strip()[:MAX_COMMIT_CHARS] for name in COMMITS)), "")


def replay_line(path: Path, target: str = "") -> str:
    """The command that replays the finding at ``path``, quoted for a shell; with a target that a file must not
    choose.
    """
    typed = f" --target {shlex.quote(target)}" if resolve.leads_to_files(target) else ""
    return invocation.line("replay", path) + typed


def versions() -> dict[str, str]:
    """Versions of pairproof, Python and Hypothesis."""
    try:
        hypothesis = version("hypothesis")
    except PackageNotFoundError:
        hypothesis = "unknown"
    return {"python": platform.python_version(), "pairproof": __version__, "hypothesis": hypothesis}
