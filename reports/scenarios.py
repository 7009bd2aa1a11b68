"""What runs of scenarios came to: a row for each scenario of a run, and the same scenario in all targets and labs.

Read from the facts of a run folder, where ``pairproof chaos run`` keeps them. A scenario of a run that was killed has
no verdict there: it is unknown here, never green. What a lab lacks the abilities for is no row: it is named apart. Left
out: why labs may differ, which ``pairproof chaos parity`` says.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..harness.errors import CorruptRun

Row = dict[str, Any]

VIOLATED, UNMET, FAILED, UNKNOWN, SKIPPED, HOLDS = VERDICTS = (
    "violated", "unmet", "failed", "unknown", "skipped", "holds",
)  # fmt: skip
"""Worst first."""
DEVIATES = "known-deviation"
OF_RUNS = (VIOLATED, UNMET, DEVIATES, *VERDICTS[2:])
"""A run deviates where what is known of the version fails it."""

MEANINGS = {
    UNMET: ("✕", "no law is broken, but what the scenario expects did not come true"),
    FAILED: ("!", "the lab failed, so the scenario was not played to its end"),
    SKIPPED: ("–", "the lab cannot do a part of the scenario, on that machine or at all"),
}
"""Sign and meaning of those verdicts that laws do not have."""

ENDED_EARLY = "the run ended before it said what became of it"

_FIELDS: dict[str, tuple[type, ...]] = {
    "name": (str,), "verdict": (str,), "trials": (int,), "seconds": (int, float), "reasons": (list,), "laws": (dict,),
    "not_observable": (list,),
}  # fmt: skip

Place = tuple[str, str]
"""A target and a lab."""


class Line(NamedTuple):
    """One scenario in every target and lab where it was played; of several runs of one, the worst."""

    name: str
    verdict: str
    """The worst of all."""
    cells: dict[Place, Row]


def rows(facts: Mapping[str, Any], where: str) -> list[Row]:
    """The scenarios of a run with these facts, those that are not green first; empty if it is none of scenarios.

    Keys: run, target, lab, name, verdict (one of :data:`VERDICTS`), trials and seconds (None if not known), reasons,
    not_observable (what it is about and the lab cannot see of the target), laws (verdict by id). CorruptRun names
    ``where`` if they are not what a run writes.
    """
    told = facts.get("scenarios") or []
    place = {name: facts.get(name) for name in ("run", "target", "lab")}
    if not isinstance(told, list) or not all(_is_one(each) for each in told):
        raise CorruptRun(f"{where} has scenarios that are not as this version writes them; record the run again")
    return sorted((place | _row(each) for each in told), key=lambda row: (VERDICTS.index(row["verdict"]), row["name"]))


def check_left_out(facts: Mapping[str, Any], where: str) -> None:
    """CorruptRun names ``where`` if what a run left out is not told as a run tells it."""
    told = facts.get("left_out") or []
    if not isinstance(told, list) or not all(map(_is_left_out, told)):
        raise CorruptRun(f"{where} leaves out what is not as this version writes it; record the run again")


def _is_left_out(told: object) -> bool:
    if not isinstance(told, dict) or not isinstance(told.get("name"), str):
        return False
    lacks = told.get("lacks")
    return isinstance(lacks, list) and bool(lacks) and all(isinstance(each, str) for each in lacks)


def left_out(runs: Iterable[Row]) -> dict[Place, dict[str, str]]:
    """By target and lab, the scenarios that runs left out there, with the abilities that the lab lacks."""
    found: dict[Place, dict[str, str]] = {}
    for run in runs:
        for told in run["left_out"] or ():
            found.setdefault((run["target"], run["lab"]), {})[told["name"]] = ", ".join(told["lacks"])
    return found


def _is_one(told: object) -> bool:
    if not isinstance(told, dict) or not isinstance(told.get("name"), str):
        return False
    known = all(isinstance(told[field], kinds) for field, kinds in _FIELDS.items() if field in told)
    return known and told.get("verdict", UNKNOWN) in VERDICTS


def _row(told: Row) -> Row:
    row = {"name": told["name"], "verdict": told.get("verdict", UNKNOWN)}
    reasons = [str(each) for each in told.get("reasons", ())] if "verdict" in told else [ENDED_EARLY]
    row |= {"trials": told.get("trials"), "seconds": told.get("seconds"), "reasons": reasons}
    row |= {"not_observable": [str(each) for each in told.get("not_observable", ())]}
    return row | {"laws": {str(law): str(verdict) for law, verdict in told.get("laws", {}).items()}}


def worst(verdicts: Iterable[str]) -> str:
    """The worst of some verdicts; unknown without any."""
    return min(verdicts, key=OF_RUNS.index, default=UNKNOWN)


def places(found: Iterable[Row]) -> list[Place]:
    """Where scenarios were played."""
    return sorted({(row["target"], row["lab"]) for row in found})


def lines(found: Iterable[Row]) -> list[Line]:
    """A line for each scenario, those that are not green first."""
    cells: dict[str, dict[Place, Row]] = {}
    for row in found:
        own = cells.setdefault(row["name"], {})
        place = row["target"], row["lab"]
        # A later run must not hide what an earlier one had shown.
        own[place] = min(own.get(place, row), row, key=lambda each: VERDICTS.index(each["verdict"]))
    made = [Line(name, worst(row["verdict"] for row in own.values()), own) for name, own in cells.items()]
    return sorted(made, key=lambda line: (VERDICTS.index(line.verdict), line.name))


def sentence(found: Sequence[Row]) -> str:
    """How many scenarios came to what; empty without any."""
    told = lines(found)
    counted = Counter(line.verdict for line in told)
    if not told:
        return ""
    if set(counted) == {HOLDS}:
        return f"Scenario {told[0].name} holds." if len(told) == 1 else f"All {len(told)} scenarios hold."
    if len(told) == 1:
        return f"Scenario {told[0].name}: {told[0].verdict}."
    parts = [f"{counted[each]} {_said(each, counted[each])}" for each in VERDICTS if counted[each]]
    return f"Of {len(told)} scenario{'' if len(told) == 1 else 's'}: {', '.join(parts)}."


def _said(verdict: str, amount: int) -> str:
    return "hold" if verdict == HOLDS and amount > 1 else verdict


def of_seed(found: Iterable[Row], run: str, seed: object) -> str:
    """Which scenario of a run a trial with this seed belongs to; empty if none."""
    # A scenario's trials have the seed SEED/NAME/CASE/REPETITION.
    parts = str(seed).rsplit("/", 3)
    names = {row["name"] for row in found if row["run"] == run}
    return parts[1] if len(parts) == 4 and parts[1] in names else ""
