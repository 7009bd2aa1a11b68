"""The report in one sentence: the cause of a violation, or what holds, and what prevents green.

The parts come worst first, joined by semicolons. An incomplete run is named at the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..harness.exploration import minimums
from ..harness.judging.verdict import Verdict
from ..harness.runs.schema import Row
from ..harness.texts.wording import counted
from . import known_cases, rejudging, scenarios

MAX_NAMED = 5
MAX_TEXT = 160

ENDED = {"interrupted": "Interrupted", "failed": "The lab failed", "running": "Killed, or still running,"}
"""By state, the start of the sentence of a single incomplete run."""


def headline(
    runs: Sequence[Row], by_run: Sequence[Row], played: Sequence[Row] = (), causes: Sequence[Row] = (),
    findings: Iterable[Row] = (),
) -> str:  # fmt: skip
    """The sentence. ``causes`` and ``findings`` of a report of the same runs."""
    broken = _broken(by_run, causes, {row["number"]: row["text"] for row in findings})
    known = known_cases.sentence(runs).rstrip(".")
    laws = _of_laws(by_run) if not broken else ""
    scenes = scenarios.sentence(played).rstrip(".")
    parts = [
        _idle(runs),
        *([known] if any(known_cases.amiss(runs)) else []),
        broken,
        scenes,
        laws,
        *([known] if not any(known_cases.amiss(runs)) else []),
        _nothing_judged(runs, by_run),
        _of_minimums(runs),
    ]
    first, *others = [each for each in parts if each]
    summary = "; ".join([first, *map(_lowered, others)])
    ended = _ended(runs)
    return f"{ended}: {_lowered(summary)}." if ended else f"{_raised(summary)}."


def _lowered(text: str) -> str:
    """A sentence in the middle of another; names of runs, targets and nodes are unchanged."""
    first = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if first in ("All", "Nothing", "The", "Scenario", "A") else text


def _raised(text: str) -> str:
    """A separate sentence; names of messages (``m37``) are unchanged."""
    return text if any(map(str.isdigit, text.partition(" ")[0])) else text[:1].upper() + text[1:]


def _broken(rows: Sequence[Row], causes: Sequence[Row], texts: Mapping[int, str]) -> str:
    laws = {row["law"] for row in rows if row["verdict"] == Verdict.VIOLATED}
    if not laws:
        return ""
    summary = f"{len(laws)} of {_laws_of(rows)} {'is' if len(laws) == 1 else 'are'} violated{_by_whom(rows)}"
    described = list(dict.fromkeys(short(texts[cause["first"]]) for cause in causes if texts.get(cause["first"])))
    if not described:
        return f"{summary}: {', '.join(sorted(laws)[:MAX_NAMED])}{', ...' if len(laws) > MAX_NAMED else ''}"
    more = f" ({counted(len(causes), 'cause')}; this is the first)" if len(causes) > 1 else ""
    return f"{described[0]}{more}: {summary}"


def short(text: str) -> str:
    """The beginning of a finding's text, up to its last whole word."""
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT].rpartition(' ')[0]} ..."


def _ended(runs: Sequence[Row]) -> str:
    """Why a report without violations is not a success: see :func:`pairproof.reports.rejudging.exit_code`."""
    left = [run for run in runs if run.get("state", rejudging.COMPLETE) != rejudging.COMPLETE]
    if len(runs) == 1 and left:
        state = str(left[0]["state"])
        why = f" ({short(str(left[0]['reason']))})" if state == "failed" and left[0].get("reason") else ""
        return f"{ENDED.get(state, state.capitalize())} after {counted(int(left[0].get('trials') or 0), 'trial')}{why}"
    named = [f"{run['run']} ({run['state']})" for run in left]
    more = ", ..." if len(named) > MAX_NAMED else ""
    return f"Not complete: {', '.join(named[:MAX_NAMED])}{more}" if named else ""


def _idle(runs: Iterable[Row]) -> str:
    idle = [str(run["run"]) for run in runs if minimums.NOTHING_REPLICATED in (run.get("minimums_missed") or ())]
    return f"{minimums.NOTHING_REPLICATED.capitalize()} of {', '.join(idle[:MAX_NAMED])}" if idle else ""


def _of_minimums(runs: Iterable[Row]) -> str:
    missed = {
        str(run["run"]): [each for each in run.get("minimums_missed") or () if each != minimums.NOTHING_REPLICATED]
        for run in runs
    }
    poor = [f"{'; '.join(each)}{f' in {run}' if len(missed) > 1 else ''}" for run, each in missed.items() if each]
    return f"less than demanded: {', '.join(poor[:MAX_NAMED])}" if poor else ""


def _nothing_judged(runs: Sequence[Row], rows: Sequence[Row]) -> str:
    idle = sorted({str(run["run"]) for run in runs} - {str(row["run"]) for row in rows})
    more = ", ..." if len(idle) > MAX_NAMED else ""
    return f"nothing was judged in {', '.join(idle[:MAX_NAMED])}{more}" if idle and rows else ""


def _of_laws(rows: Sequence[Row]) -> str:
    number = {verdict: len({row["law"] for row in rows if row["verdict"] == verdict}) for verdict in Verdict}
    doubts, empty = number[Verdict.UNKNOWN], len({row["law"] for row in rows if row["forbidden"]})
    if doubts or empty:
        parts = [f"{doubts} could not be decided"] if doubts else []
        parts += [f"{empty} had nothing to judge although the run demands it"] if empty else []
        return f"Nothing is violated, but of {_laws_of(rows)} {' and '.join(parts)}"
    known = number[Verdict.DEVIATES]
    # A law may hold in one run and deviate in another.
    held = len({row["law"] for row in rows if row["verdict"] in (Verdict.HOLDS, Verdict.DEVIATES)})
    if not held:
        return "Nothing was judged"
    most = Counter[str]()
    for row in rows:
        most[row["run"]] = max(most[row["run"]], row["trials"])
    but = f"{known} of them {'deviates' if known == 1 else 'deviate'} as known" if known else "each of them holds"
    return f"{held} of {_laws_of(rows)} could be judged in {counted(most.total(), 'trial')}, and {but}"


def _by_whom(rows: Sequence[Row]) -> str:
    """With several targets: those that violate laws."""
    guilty = sorted({row["target"] for row in rows if row["verdict"] == Verdict.VIOLATED})
    return f" by {', '.join(guilty)}" if len({row["target"] for row in rows}) > 1 else ""


def _laws_of(rows: Iterable[Row]) -> str:
    return counted(len({row["law"] for row in rows}), "law")
