"""The summary of an exploration: verdicts, counts, findings, and the progress of each search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from .. import registry
from ..judging import abstentions
from ..judging import judge as judging
from ..judging.abstentions import MOST_PERCENT, Offered
from ..judging.law import Law
from ..judging.verdict import CORPUS, NO_DEMANDS, Demands, Standing, Verdict, over_trials, standing
from ..texts import wording
from ..texts.wording import counted
from ..trials.trial import Finding, Trial
from . import evidence, minimums
from .coverage_table import CoverageTable
from .losses import NAME as LOSSES
from .losses import Losses
from .minimums import Minimum
from .tally import Tally

FOLDER = Path(".pairproof")


BESIDES = {LOSSES: "losses", evidence.SHRINK: "shrinking"}
"""Names of trials that no search draws."""


class Summary(NamedTuple):
    seen: dict[str, frozenset[tuple[str, Verdict]]]
    """By law: the origins of the trials that it judged, each with its verdicts."""
    trials: int
    events: int
    by_origin: dict[str, int]
    findings: list[Finding]
    totals: dict[str, int]
    """The number of schedules of each enumerated search that began, executed or not, by origin."""
    seconds: float
    """Wall clock, including ``shrinking_s``."""
    coverage: CoverageTable
    shrinking_s: float = 0.0
    bound: str = "the clock"
    exercised: Mapping[str, int] = MappingProxyType({})
    """By law: trials in which it had something to judge."""
    tally: Tally | None = None
    """Counts of the searches, if the profile has coverage minimums."""
    again: int = 0
    """Trials that were played again after a stall of the machine."""
    faults: Mapping[str, int] = MappingProxyType({})
    """By name of each fault that began: how often it took effect."""
    replicated: Counter[bool] = Counter()
    """Trials with a slave, by whether a slave held a record of the workload."""
    offered: Sequence[Offered] = ()
    """The abstentions of laws, and the judged parts of laws with several."""
    must_judge: bool = False
    """Whether a law that abstains from nearly all of its events is a missed minimum."""
    refused: Mapping[str, int] = MappingProxyType({})
    demanded: int | None = None
    """Trials that the searches must have played."""
    losses: Losses = Losses()
    laws: Sequence[type[Law]] = ()
    named: Sequence[str] = ()
    """The laws that were requested by name."""
    shown: Trial | None = None
    """The trial of the first finding's program, for its events, in labs without real time."""

    def __repr__(self) -> str:
        broken = f"{len(self.findings)} findings" if self.findings else "nothing is violated"
        return f"<Summary: {self.trials:,} trials, {self.events:,} events, {broken}>"

    def assert_holds(self, folder: Path = FOLDER) -> None:
        """AssertionError with an account of the first finding, as the fixture ``pair`` raises it.

        Also raised if nothing was replicated, or if a law requested by ``laws=`` judged nothing. ``folder``: where the
        finding is written for a replay.
        """
        from ..pair import SETTLED, Unsettled, broken

        for first in self.findings:
            also = [each.law for each in self.findings if each.shrunk_trial == first.shrunk_trial]
            own = {each.id for each in self.laws} - set(registry.names("laws"))
            raise broken(first, self.shown, self.laws, folder, also, own)
        verdicts = self.verdicts
        open_ = [f"{law} is {verdicts[law]}" for law in self.named if verdicts[law] not in SETTLED]
        if lacks := [*minimums.missed(self.minimums), *open_]:
            raise Unsettled(f"nothing is violated, but after {self.trials:,} trials {'; '.join(lacks)}")

    @property
    def minimums(self) -> list[Minimum]:
        """The run's reached and demanded minimums: replication, and the minimums of the profile."""
        of_profile = self.tally.rows() if self.tally is not None else []
        silent = [
            Minimum(f"percent of what {each.law} was offered that it judged", 100 - each.percent, 100 - MOST_PERCENT)
            for each in self.offered
            if self.must_judge and each.percent > MOST_PERCENT
        ]
        played = (evidence.of({}, self.by_origin, {}).trials or 0) - self.by_origin.get(LOSSES, 0)
        demanded = [Minimum("trials of the searches", played, self.demanded)] if self.demanded is not None else []
        return [*minimums.replicated(self.replicated), *demanded, *of_profile, *silent, *self.losses.minimums()]

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {law: over_trials(each for _, each in seen) for law, seen in self.seen.items()}

    def standings(self, demands: Demands = NO_DEMANDS) -> dict[str, Standing]:
        """Each law's verdict over all trials, given the demands of the run."""
        return {law: standing(law, seen, demands) for law, seen in self.seen.items()}

    def rate(self) -> str:
        """Trials a minute, in words, and the time of shrinking."""
        trials, seconds = self.trials - self.by_origin.get("shrink", 0), self.seconds - self.shrinking_s
        a_minute = f"{60 * trials / seconds:,.0f} trials a minute" if seconds > 0 else "no time"
        shrinking = f"; shrinking took {self.shrinking_s:.0f} s in addition" if self.shrinking_s >= 1 else ""
        return a_minute + shrinking + (f"; {played_again(self.again)}" if self.again else "")

    def complete(self, origin: str) -> bool:
        return 0 < self.totals.get(origin, 0) <= self.by_origin.get(origin, 0)

    def searches(self) -> list[dict[str, object]]:
        """The progress of each enumerated search: the fact ``searches`` of the run."""
        return [
            {
                "origin": origin, "what": wording.search(origin), "done": self.by_origin.get(origin, 0), "of": total,
                "complete": self.complete(origin),
            }
            for origin, total in self.totals.items()
        ]  # fmt: skip

    def unjudged(self) -> list[str]:
        """The promises that every user counts on but that no trial judged, each with its requirement."""
        verdicts = self.verdicts if self.trials else {}
        idle = [law for law in sorted(verdicts) if verdicts[law] in (Verdict.VACUOUS, Verdict.NOT_APPLICABLE)]
        known = registry.names("laws")
        return [
            f"{law.id} was judged in no trial ({verdicts[law.id]}): it takes {law.applies_with}"
            for law in judging.laws(each for each in idle if each in known)
            if law.applies_with
        ]

    def lacks(self) -> dict[str, object]:
        """What the run lacks, as facts."""
        minimums = [each._asdict() for each in self.minimums]
        return {"minimums": minimums, "refused": self.refusals(), "unjudged": self.unjudged()}

    def abstentions(self) -> list[str]:
        """Laws that abstained from nearly all of their events, and parts of laws that no trial judged."""
        return [*abstentions.lines(self.offered)]

    def refusals(self) -> list[str]:
        """The number of refused schedules, a line for each reason."""
        return [
            f"{counted(count, 'schedule')} of the searches refused: {why}"
            for why, count in sorted(self.refused.items(), key=lambda each: -each[1])
        ]

    def played(self) -> str:
        """The trials of each search, the limit that cut them short, and the duration."""
        corpus = self.by_origin.get(CORPUS, 0)
        names = sorted({*self.by_origin, *self.totals} - {CORPUS}, key=wording.search)
        cut = any(total and not self.complete(origin) for origin, total in self.totals.items())
        progress = [self._how_far(origin) for origin in names] + [f"cut short by {self.bound}"] * cut
        first, after = (f"fixed corpus: {counted(corpus, 'trial')}; ", " after it") if corpus else ("", "")
        besides = {what: self.by_origin.get(origin, 0) for origin, what in BESIDES.items()}
        drawn = counted(self.trials - corpus - sum(besides.values()), "trial")
        trials = " + ".join([drawn, *(f"{n:,} of {what}" for what, n in besides.items() if n)])
        return f"{first}{trials}{after} in {self.seconds:.1f} s ({', '.join(progress) or 'no search began'})"

    def _how_far(self, origin: str) -> str:
        done, total = self.by_origin.get(origin, 0), self.totals.get(origin)
        return f"{wording.search(origin)} " + (
            f"{done:,}" if total is None else f"{done:,} of {total:,}" if total else "none here"
        )

    def of_corpus(self) -> str:
        """The corpus's contribution in words; empty if it was not played."""
        number = self.by_origin.get(CORPUS, 0)
        if not number:
            return ""
        judged = counted(sum((CORPUS, Verdict.HOLDS) in seen for seen in self.seen.values()), "law")
        alone = sorted(law for law, each in self.standings().items() if each.corpus_only)
        only = f"; judged by it only: {', '.join(alone)}" if alone else ""
        return f"fixed corpus: {judged} judged and held{only}"


def played_again(number: int) -> str:
    """The number of retried trials, in words."""
    return (
        f"{counted(number, 'trial')} {'was' if number == 1 else 'were'} played again, because the machine had stalled"
    )
