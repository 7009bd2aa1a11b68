"""What a report says of known deviations and of configurations that were brought, from the facts of its runs alone."""

import re
from collections.abc import Sequence
from typing import Any

from ..harness.judging import deviations
from ..harness.judging.verdict import Verdict

Row = dict[str, Any]

_PLACE = re.compile(r"([\w-]+/[\w-]+) (?:issues?|(PR)) (?=\d)")
UNSAID: Row = {"means": "", "versions": [], "node": "", "avoided_by": "", "loses": False}
"""What a run of an earlier version does not say of a deviation."""
MAX_CONFIGURATIONS = 3
"""Of different ones that a page shows; report.json has all."""


def is_amber(run: Row) -> bool:
    """Whether a run is not green although it passes: its configuration met what is known."""
    return run["verdict"] == Verdict.HOLDS and bool(run.get(deviations.CONFIGURATION)) and bool(deviations.met(run))


def headline(runs: Sequence[Row], verdict: str, told: str) -> str:
    """The first sentences of a report, with what is known of the versions: first, unless these are plain or worse."""
    cost = deviations.consequence(runs)
    if not cost:
        return told
    is_first = verdict == Verdict.DEVIATES or any(map(is_amber, runs))
    return f"{cost}. {told}" if is_first else f"{told} Known: {cost}."


def cards(runs: Sequence[Row]) -> list[Row]:
    """The known deviations that runs met, those that lose messages first, and that an operator can look at.

    What each says of itself, ``laws``, ``seen`` (target, lab, in how many trials, of how many; of each run), and
    ``ruled_out``: whether every configuration rules it out, so that the lab's own settings showed it.
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
    """Those that are known of what was tested, that no configuration rules out, and that no trial met."""
    found: dict[str, Row] = {}
    for run in runs:
        brought = run.get(deviations.CONFIGURATION) or {}
        known = brought.get("deviations") or [each.to_json() for each in deviations.of_named(str(run["target"]))]
        found |= {each["id"]: each for each in known if each["means"] and each["id"] not in brought.get("avoided", ())}
    met = {row["id"] for run in runs for row in run.get("deviations") or ()}
    return [each for name, each in sorted(found.items()) if name not in met]


def configurations(runs: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Each configuration that runs were given, once, with the first of these runs."""
    found: list[tuple[Row, Row]] = []
    for run in runs:
        told = run.get(deviations.CONFIGURATION)
        if told and not any(told == each for _, each in found):
            found.append((run, told))
    return found


def upstream(text: str) -> list[tuple[str, str]]:
    """An issue or a pull request, or several, in pieces: what to show, and where it leads, mostly nowhere."""
    place = _PLACE.match(text)
    if place is None:
        return [(text, "")]
    told, bracket, rest = text.partition(" (")
    kind = "pull" if place[2] else "issues"
    pieces = re.split(r"(?<=[ ,])(\d+)", told)
    return [
        (piece, f"https://github.com/{place[1]}/{kind}/{piece}" if piece.isdecimal() else "")
        for piece in [*pieces, bracket + rest]
        if piece
    ]
