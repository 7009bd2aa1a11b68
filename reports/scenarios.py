"""Results of scenario runs: a row for each scenario of a run, and for each scenario over all targets and labs.

Read from the facts of a run folder, written by ``pairproof chaos run``. A scenario of a killed run has no verdict
there: it is unknown, never green. Scenarios that need abilities that a lab lacks have no row: they are listed
separately. Left out: why labs may differ, see ``pairproof chaos parity``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..harness.errors import CorruptRun
from ..harness.runs.schema import Row

VIOLATED, UNMET, FAILED, UNKNOWN, SKIPPED, HOLDS = VERDICTS = (
    "violated", "unmet", "failed", "unknown", "skipped", "holds",
)  # fmt: skip
DEVIATES = "known-deviation"
OF_RUNS = (VIOLATED, UNMET, DEVIATES, *VERDICTS[2:])
"""A run deviates if known deviations of the version fail it."""

MEANINGS = {
    UNMET: ("✕", "no law is broken, but an expectation of the scenario was not met"),
    FAILED: ("!", "the lab failed, so the scenario was not played to its end"),
    SKIPPED: ("–", "the lab cannot do a part of the scenario, on that machine or at all"),
}
"""Sign and meaning of the verdicts that laws do not have."""

ENDED_EARLY = "the run ended before it recorded a result"

_FIELDS: dict[str, tuple[type, ...]] = {
    "name": (str,), "verdict": (str,), "trials": (int,), "seconds": (int, float), "reasons": (list,), "laws": (dict,),
    "not_observable": (list,),
}  # fmt: skip

Place = tuple[str, str]


class Line(NamedTuple):
    """One scenario in every target and lab; of several runs of one, the worst."""

    name: str
    verdict: str
    cells: dict[Place, Row]


def rows(facts: Mapping[str, Any], where: str) -> list[Row]:
    """The scenarios of a run with these facts, those that are not green first; empty for other runs.

    Keys: run, target, lab, name, verdict (one of :data:`VERDICTS`), trials and seconds (None if unknown), reasons,
    not_observable (events that the lab cannot record), laws (verdict by id). CorruptRun names ``where`` for malformed
    facts.
    """
    fact = facts.get("scenarios") or []
    place = {name: facts.get(name) for name in ("run", "target", "lab")}
    if not isinstance(fact, list) or not all(_is_one(each) for each in fact):
        raise CorruptRun(f"{where} has scenarios that are not as this version writes them; record the run again")
    return sorted((place | _row(each) for each in fact), key=lambda row: (VERDICTS.index(row["verdict"]), row["name"]))


def check_left_out(facts: Mapping[str, Any], where: str) -> None:
    """CorruptRun names ``where`` if the scenarios left out are malformed."""
    fact = facts.get("left_out") or []
    if not isinstance(fact, list) or not all(map(_is_left_out, fact)):
        raise CorruptRun(f"{where} leaves out what is not as this version writes it; record the run again")


def _is_left_out(fact: object) -> bool:
    if not isinstance(fact, dict) or not isinstance(fact.get("name"), str):
        return False
    lacks = fact.get("lacks")
    return isinstance(lacks, list) and bool(lacks) and all(isinstance(each, str) for each in lacks)


def left_out(runs: Iterable[Row]) -> dict[Place, dict[str, str]]:
    """By target and lab, the scenarios that runs left out there, with the abilities that the lab lacks."""
    found: dict[Place, dict[str, str]] = {}
    for run in runs:
        for fact in run["left_out"] or ():
            found.setdefault((run["target"], run["lab"]), {})[fact["name"]] = ", ".join(fact["lacks"])
    return found


def _is_one(fact: object) -> bool:
    if not isinstance(fact, dict) or not isinstance(fact.get("name"), str):
        return False
    known = all(isinstance(fact[field], kinds) for field, kinds in _FIELDS.items() if field in fact)
    return known and fact.get("verdict", UNKNOWN) in VERDICTS


def _row(fact: Row) -> Row:
    row = {"name": fact["name"], "verdict": fact.get("verdict", UNKNOWN)}
    reasons = [str(each) for each in fact.get("reasons", ())] if "verdict" in fact else [ENDED_EARLY]
    row |= {"trials": fact.get("trials"), "seconds": fact.get("seconds"), "reasons": reasons}
    row |= {"not_observable": [str(each) for each in fact.get("not_observable", ())]}
    return row | {"laws": {str(law): str(verdict) for law, verdict in fact.get("laws", {}).items()}}


def worst(verdicts: Iterable[str]) -> str:
    """The worst of some verdicts; unknown without any."""
    return min(verdicts, key=OF_RUNS.index, default=UNKNOWN)


def places(found: Iterable[Row]) -> list[Place]:
    """The targets and labs of scenarios."""
    return sorted({(row["target"], row["lab"]) for row in found})


def lines(found: Iterable[Row]) -> list[Line]:
    """A line for each scenario, those that are not green first."""
    cells: dict[str, dict[Place, Row]] = {}
    for row in found:
        own = cells.setdefault(row["name"], {})
        place = row["target"], row["lab"]
        # A later run must not hide an earlier result.
        own[place] = min(own.get(place, row), row, key=lambda each: VERDICTS.index(each["verdict"]))
    made = [Line(name, worst(row["verdict"] for row in own.values()), own) for name, own in cells.items()]
    return sorted(made, key=lambda line: (VERDICTS.index(line.verdict), line.name))


def sentence(found: Sequence[Row]) -> str:
    """The number of scenarios by verdict; empty without any."""
    fact = lines(found)
    counted = Counter(line.verdict for line in fact)
    if not fact:
        return ""
    if set(counted) == {HOLDS}:
        return f"Scenario {fact[0].name} holds." if len(fact) == 1 else f"All {len(fact)} scenarios hold."
    if len(fact) == 1:
        return f"Scenario {fact[0].name}: {fact[0].verdict}."
    parts = [f"{counted[each]} {_said(each, counted[each])}" for each in VERDICTS if counted[each]]
    return f"Of {len(fact)} scenario{'' if len(fact) == 1 else 's'}: {', '.join(parts)}."


def _said(verdict: str, amount: int) -> str:
    return "hold" if verdict == HOLDS and amount > 1 else verdict


def of_seed(found: Iterable[Row], run: str, seed: object) -> str:
    """The scenario of a run that a trial with this seed belongs to; empty without one."""
    # A scenario's trials have the seed SEED/NAME/CASE/REPETITION.
    parts = str(seed).rsplit("/", 3)
    names = {row["name"] for row in found if row["run"] == run}
    return parts[1] if len(parts) == 4 and parts[1] in names else ""
