"""Known deviations and user configurations of a report, from the facts of its runs."""

import re
from collections.abc import Sequence

from ..harness.judging import deviations
from ..harness.judging.verdict import Verdict
from ..harness.runs.schema import Row

_ISSUE = re.compile(r"([\w-]+/[\w-]+) (?:issues?|(PR)) (?=\d)")
UNSAID: Row = {"means": "", "versions": [], "node": "", "avoided_by": "", "loses": False}
"""Defaults for runs of earlier versions."""
MAX_CONFIGURATIONS = 3
"""Configurations on a page; report.json has all."""


def is_amber(run: Row) -> bool:
    """Whether a run passes but is not green: its configuration met a known deviation."""
    return run["verdict"] == Verdict.HOLDS and bool(run.get(deviations.CONFIGURATION)) and bool(deviations.met(run))


def headline(runs: Sequence[Row], verdict: str, text: str) -> str:
    """The first sentences of a report, with the known deviations, which come first unless the others are worse."""
    cost = deviations.consequence(runs)
    if not cost:
        return text
    is_first = verdict == Verdict.DEVIATES or any(map(is_amber, runs))
    return f"{cost}. {text}" if is_first else f"{text} Known: {cost}."


def cards(runs: Sequence[Row]) -> list[Row]:
    """The known deviations that runs met, those that lose messages first, then those that an operator can inspect.

    Each with its own columns, ``laws``, ``seen`` (per run: target, lab, trials that met it, trials), and ``ruled_out``:
    whether every configuration rules it out, so that only the lab's own settings showed it.
    """
    found: dict[str, Row] = {}
    for run in runs:
        counts = {row["id"] for row in deviations.met(run)}
        for row in run.get("deviations") or ():
            card = found.setdefault(row["id"], {**UNSAID})
            card |= row | {
                "laws": sorted({*card.get("laws", ()), *row["laws"]}),
                "seen": [*card.get("seen", ()), (run["target"], run["lab"], row["trials"], run.get("trials") or 0)],
                "ruled_out": card.get("ruled_out", True) and bool(row.get("means")) and row["id"] not in counts,
            }
    return sorted(found.values(), key=lambda card: (card["ruled_out"], not card["loses"], -card["trials"], card["id"]))


def not_met(runs: Sequence[Row]) -> list[Row]:
    """Known deviations of the tested version that no configuration rules out and no trial met."""
    found: dict[str, Row] = {}
    for run in runs:
        brought = run.get(deviations.CONFIGURATION) or {}
        known = brought.get("deviations") or [each.to_json() for each in deviations.of_named(str(run["target"]))]
        found |= {each["id"]: each for each in known if each["means"] and each["id"] not in brought.get("avoided", ())}
    met = {row["id"] for run in runs for row in run.get("deviations") or ()}
    return [each for name, each in sorted(found.items()) if name not in met]


def configurations(runs: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Each configuration of a run, once, with the first of these runs."""
    found: list[tuple[Row, Row]] = []
    for run in runs:
        text = run.get(deviations.CONFIGURATION)
        if text and not any(text == each for _, each in found):
            found.append((run, text))
    return found


def upstream(text: str) -> list[tuple[str, str]]:
    """An issue or a pull request, or several, in pieces: text and link, mostly empty."""
    issue = _ISSUE.match(text)
    if issue is None:
        return [(text, "")]
    text, bracket, rest = text.partition(" (")
    kind = "pull" if issue[2] else "issues"
    pieces = re.split(r"(?<=[ ,])(\d+)", text)
    return [
        (piece, f"https://github.com/{issue[1]}/{kind}/{piece}" if piece.isdecimal() else "")
        for piece in [*pieces, bracket + rest]
        if piece
    ]
