"""Do labs agree? The same scenarios in several labs, verdicts and laws side by side, every difference with its reason.

A scenario's ``differs`` has the reason why labs may disagree in a law, or in its ``verdict``. Other differences are
unexplained, except for a lab that skipped the scenario with a reason. A law that one lab cannot observe, or that does
not apply there, is not a difference; nor is a scenario for which a lab lacks an ability: only the others are compared.
Between a target's model and the target, differences in judged laws and in shown deviations are listed and need no other
reason, since real brokers do not act at the same times. Two labs that play the same program need one.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from ...harness.errors import EXIT_VIOLATED
from ...harness.judging.disturbances import STALLED
from ...harness.judging.verdict import Verdict
from .play import HOLDS, NOTHING, SKIP, SKIPPED, UNKNOWN, Result, code_of
from .reading import VERDICT
from .scenario import Scenario

SILENT = (Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE)
MISSING = "not played"
CANNOT = "cannot"
"""Replaces a verdict if the lab lacks an ability."""
Lacking = Mapping[str, Mapping[str, Sequence[str]]]
"""By lab and scenario name: the abilities that the lab lacks; complete ones are absent."""


HOW_CANNOT = f" *{CANNOT}*: the lab lacks the named abilities (`pairproof labs`), so only the others are compared."


class Difference(NamedTuple):
    """``what`` is a law or ``verdict``; ``seen``: each lab's result, in order; ``reason`` is empty if unexplained."""

    what: str
    seen: tuple[str, ...]
    reason: str


class Row(NamedTuple):
    scenario: Scenario
    verdicts: tuple[str, ...]
    """:data:`CANNOT` if the lab lacks an ability."""
    trials: tuple[int, ...]
    seconds: tuple[float, ...]
    differences: tuple[Difference, ...]
    reasons: tuple[tuple[str, ...], ...]
    lacking: tuple[tuple[str, ...], ...]
    """By lab: the abilities that it lacks for it."""

    @property
    def unexplained(self) -> list[Difference]:
        return [each for each in self.differences if not each.reason]


def rows(
    scenarios: Sequence[Scenario],
    by_lab: Mapping[str, Sequence[Result]],
    lacking: Lacking | None = None,
    models: Set[str] = frozenset(),
) -> list[Row]:
    """A row for each scenario; ``models``: the labs that played the target's model."""
    found = {lab: {each.scenario.name: each for each in results} for lab, results in by_lab.items()}
    lacks = {lab: (lacking or {}).get(lab, {}) for lab in by_lab}
    return [
        _row(
            scenario,
            [found[lab].get(scenario.name) for lab in by_lab],
            [tuple(lacks[lab].get(scenario.name, ())) for lab in by_lab],
            [lab in models for lab in by_lab],
        )
        for scenario in scenarios
    ]


def _row(
    scenario: Scenario,
    results: Sequence[Result | None],
    lacking: Sequence[tuple[str, ...]],
    modelled: Sequence[bool],
) -> Row:
    verdicts = tuple(
        each.verdict if each else CANNOT if lacks else MISSING for each, lacks in zip(results, lacking, strict=True)
    )
    differences = []
    if len(set(verdicts) - {CANNOT}) > 1:
        reason = scenario.differs.get(VERDICT, "") or _stalled(verdicts, results)
        skipped = [each.reasons for each in results if each is not None and each.verdict == SKIPPED]
        if _only_across(verdicts, modelled) and not set(verdicts) - {CANNOT, SKIPPED, UNKNOWN, HOLDS}:
            # A model excuses only verdicts for its own reasons.
            unsure = [each.reasons for each in results if each is not None and each.verdict == UNKNOWN]
            skipped += [lines for lines in unsure if all(NOTHING in line or SKIP in line for line in lines)]
        differences.append(
            Difference(VERDICT, verdicts, reason or "; ".join(line for lines in skipped for line in lines))
        )
    laws = sorted({law for each in results if each for law in each.laws})
    for law in laws:
        seen = tuple(
            str(each.laws.get(law, MISSING)) if each else verdict
            for each, verdict in zip(results, verdicts, strict=True)
        )
        if len(set(seen) - {CANNOT}) > 1 and not set(seen) & {*map(str, SILENT), MISSING}:
            reason = scenario.differs.get(law, "") or _stalled(seen, results, law)
            met = _met(seen) if _only_across(seen, modelled) else ""
            differences.append(Difference(law, seen, reason or met))
    return Row(
        scenario,
        verdicts,
        tuple(len(each.played) if each else 0 for each in results),
        tuple(each.seconds if each else 0.0 for each in results),
        tuple(differences),
        tuple(tuple(each.reasons) if each else () for each in results),
        tuple(lacking),
    )


def _stalled(seen: Sequence[str], results: Sequence[Result | None], law: str = "") -> str:
    """The reason, if only stalled machines explain the difference; otherwise empty."""
    said = set(seen) - {CANNOT, UNKNOWN}
    if said == _OR_NOTHING:
        # A late or missing event changes whether a law has something to judge: not a contradiction.
        steady = {each for each, result in zip(seen, results, strict=True) if result is None or not result.stalled}
        return f"{STALLED} during the trial, so only one had something to judge" if len(steady - {CANNOT}) < 2 else ""
    if len(said) > 1:
        return ""
    unsure = [each for each, said in zip(results, seen, strict=True) if each is not None and said == UNKNOWN]
    lines = [[line for line in each.reasons if law in line] for each in unsure]
    # Its other missing results may never appear.
    return lines[0][0] if lines and all(each and all(STALLED in line for line in each) for each in lines) else ""


_OR_NOTHING = {str(Verdict.HOLDS), str(Verdict.VACUOUS)}


def _only_across(seen: Sequence[str], modelled: Sequence[bool]) -> bool:
    """Whether labs differ only as a model and its original: labs that play the same program agree."""
    kinds = [
        {said for said, is_model in zip(seen, modelled, strict=True) if is_model is kind} for kind in (True, False)
    ]
    return all(len(kind - {CANNOT}) == 1 for kind in kinds)


def _met(seen: Sequence[str]) -> str:
    """The allowed difference between a model and its original; empty for others."""
    said = set(seen) - {CANNOT, str(Verdict.HOLDS), str(Verdict.VACUOUS)}
    if not said:
        return "only one had something to judge"
    return "a known deviation that only one showed" if said == {str(Verdict.DEVIATES)} else ""


def exit_code(found: Sequence[Row]) -> int:
    """1 for an unexplained difference, 3 for one that a stalled machine explains, else as
    :func:`pairproof.chaos.scenarios.play.exit_code` for the common verdicts of the labs that played a scenario; skipped
    if none did.
    """
    played = [set(row.verdicts) - {CANNOT, SKIPPED} or {SKIPPED} for row in found]
    alike = {verdict for verdicts in played if len(verdicts) == 1 for verdict in verdicts}
    if any(row.unexplained for row in found):
        return EXIT_VIOLATED
    late = any(STALLED in each.reason for row in found for each in row.differences)
    return code_of(alike | {UNKNOWN} if late else alike)


def cell(verdict: str, lacks: Sequence[str]) -> str:
    """A lab's verdict, with the abilities that it lacks."""
    return f"{verdict}: {', '.join(lacks)}" if verdict == CANNOT else verdict


def page(found: Sequence[Row], labs: Sequence[str], target: str, command: str) -> str:
    """The Markdown page of a command; ``labs``: the headings of their columns."""
    lines = [
        f"<!-- Made by pairproof {command}; run it again, do not change this page. -->",
        "# Do the labs agree?",
        "",
        f"Verdicts, trials and wall clock of [scenarios](scenarios.md) played against `{target}` in "
        f"{', '.join(labs[:-1])} and {labs[-1]}, and the laws that differ."
        f"{HOW_CANNOT if any(CANNOT in row.verdicts for row in found) else ''}",
        "",
        f"| scenario | {' | '.join(labs)} | trials | seconds | differences |",
        "|---|" + "---|" * (len(labs) + 3),
    ]  # fmt: skip
    for row in found:
        cells = [
            row.scenario.name,
            *map(cell, row.verdicts, row.lacking),
            "/".join(map(str, row.trials)),
            "/".join(f"{each:.1f}" for each in row.seconds),
            ", ".join(each.what for each in row.differences) or "none",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## Differences", ""]
    listed = [(row, each) for row in found for each in row.differences]
    for row, each in listed:
        said = ", ".join(f"{lab}: {seen}" for lab, seen in zip(labs, each.seen, strict=True))
        lines.append(f"- **{row.scenario.name}**, {each.what} ({said}): {each.reason or 'not explained'}")
    lines += [] if listed else ["None."]
    grey = [(row, lab, why) for row in found for lab, why in zip(labs, row.reasons, strict=True) if why]
    if grey:
        lines += ["", "## Not green", ""]
        lines += [f"- **{row.scenario.name}** in {lab}: {'; '.join(why[:5])}" for row, lab, why in grey]
    return "\n".join(lines) + "\n"
