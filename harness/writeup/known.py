"""The known deviations of the tested version that a trial shows, with their causes and upstream reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..judging import deviations
from ..judging.deviations import Deviation
from ..judging.verdict import Verdict
from ..ports import Target
from ..trials.trial import Trial
from .blocks import Block, Table, Text


def of(target: Target, law: str, trial: Trial) -> Iterator[Block]:
    """The deviations that the trial shows, those of ``law`` first, and the laws that none of them explains."""
    listed = deviations.of(target)
    if not listed:
        yield Text("Unknown: pairproof has no list of known deviations for this target.")
        return
    apart = deviations.sorted_out(trial.judgements, trial.events, listed)
    by_law = {each.law: each.deviations for each in apart if each.deviations}
    names = dict.fromkeys(name for each in (law, *by_law) for name in by_law.get(each, ()))
    for name in names:
        yield from _explained(deviations.find(name), [each for each, found in by_law.items() if name in found])
    if new := [each.law for each in apart if each.verdict is Verdict.VIOLATED]:
        yield Text(
            f"The violations of {', '.join(new)} do not, or not all, belong to a deviation that pairproof lists for "
            "this version. Whether it was reported elsewhere is unknown."
        )
    elif not names:
        yield Text("No law was violated, so nothing was looked up.")


def _explained(found: Deviation, laws: Sequence[str]) -> Iterator[Block]:
    yield Text(f"{found.id}: {found.about}. This explains the violations of {', '.join(laws)}.")
    yield Text(found.reason)
    rows = [("source", found.source), ("versions", "; ".join(each.text for each in found.versions))]
    rows += [("upstream", each) for each in found.upstream or ("no report is known to pairproof",)]
    yield Table(("what", "where"), rows)
