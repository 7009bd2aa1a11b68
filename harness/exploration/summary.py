"""What an exploration came to: verdicts, counts, findings, and how far each search came."""

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
"""Where tests keep their findings."""


BESIDES = {LOSSES: "losses", evidence.SHRINK: "shrinking"}
"""What to call trials that no search draws."""


class Summary(NamedTuple):
    """What an exploration came to."""

    seen: dict[str, frozenset[tuple[str, Verdict]]]
    """By law: the origins of the trials that it judged, each with its verdicts."""
    trials: int
    events: int
    by_origin: dict[str, int]
    findings: list[Finding]
    totals: dict[str, int]
    """How many schedules each enumerated search has, executed or not, by origin; empty where it did not begin."""
    seconds: float
    """Wall clock, with those of ``shrinking_s``."""
    coverage: CoverageTable
    shrinking_s: float = 0.0
    """What shrinking took."""
    bound: str = "the clock"
    """What ends the searches."""
    exercised: Mapping[str, int] = MappingProxyType({})
    """By law: trials that gave it something to judge."""
    tally: Tally | None = None
    """What the searches did, where the profile has coverage minimums."""
    again: int = 0
    """Trials that the machine spoilt, and that were played again."""
    faults: Mapping[str, int] = MappingProxyType({})
    """By name of each fault that began: how often it took effect."""
    replicated: Counter[bool] = Counter()
    """Trials with a slave, by whether a slave held a record of the workload."""
    offered: Sequence[Offered] = ()
    """What laws abstained from, and what those with several parts judged."""
    must_judge: bool = False
    """Whether a law that abstains from nearly all that it is offered is a floor that was missed."""
    refused: Mapping[str, int] = MappingProxyType({})
    """Drawn schedules that were not played, by the reason."""
    demanded: int | None = None
    """Trials that the searches must have played."""
    losses: Losses = Losses()
    """What its trials lost, by class of fault."""
    laws: Sequence[type[Law]] = ()
    """What judged, for :meth:`assert_holds`."""
    named: Sequence[str] = ()
    """Those of them that were asked for."""
    shown: Trial | None = None
    """The trial of the first finding's program, for its events, where playing it once more takes no real time."""

    def __repr__(self) -> str:
        broken = f"{len(self.findings)} findings" if self.findings else "nothing is violated"
        return f"<Summary: {self.trials:,} trials, {self.events:,} events, {broken}>"

    def assert_holds(self, folder: Path = FOLDER) -> None:
        """AssertionError with the whole story of the first finding, as the fixture ``pair`` raises it.

        Also where nothing was replicated, or where a law that was asked for by ``laws=`` judged nothing. ``folder``:
        where the finding is kept, so that it can be replayed.
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
        """What the run met of what it demands: replication always, and what the profile asks of its searches."""
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
        """By law, over all trials."""
        return {law: over_trials(each for _, each in seen) for law, seen in self.seen.items()}

    def standings(self, demands: Demands = NO_DEMANDS) -> dict[str, Standing]:
        """What all trials say of each law, measured by what the run demands."""
        return {law: standing(law, seen, demands) for law, seen in self.seen.items()}

    def rate(self) -> str:
        """Trials a minute, in words, and what shrinking took besides."""
        trials, seconds = self.trials - self.by_origin.get("shrink", 0), self.seconds - self.shrinking_s
        a_minute = f"{60 * trials / seconds:,.0f} trials a minute" if seconds > 0 else "no time"
        shrinking = f"; shrinking took {self.shrinking_s:.0f} s besides" if self.shrinking_s >= 1 else ""
        return a_minute + shrinking + (f"; {played_again(self.again)}" if self.again else "")

    def complete(self, origin: str) -> bool:
        """Whether every schedule of an enumerated search was executed."""
        return 0 < self.totals.get(origin, 0) <= self.by_origin.get(origin, 0)

    def searches(self) -> list[dict[str, object]]:
        """How far each enumerated search came: the fact ``searches`` of the run."""
        return [
            {
                "origin": origin, "what": wording.search(origin), "done": self.by_origin.get(origin, 0), "of": total,
                "complete": self.complete(origin),
            }
            for origin, total in self.totals.items()
        ]  # fmt: skip

    def unjudged(self) -> list[str]:
        """The promises that every user counts on and that no trial judged, each with what it takes to judge it."""
        verdicts = self.verdicts if self.trials else {}
        idle = [law for law in sorted(verdicts) if verdicts[law] in (Verdict.VACUOUS, Verdict.NOT_APPLICABLE)]
        known = registry.names("laws")
        return [
            f"{law.id} was judged in no trial ({verdicts[law.id]}): it takes {law.applies_with}"
            for law in judging.laws(each for each in idle if each in known)
            if law.applies_with
        ]

    def abstentions(self) -> list[str]:
        """Laws that abstained from nearly all that they were offered, and parts that no trial judged."""
        return [*abstentions.lines(self.offered)]

    def refusals(self) -> list[str]:
        """How many schedules of the searches could not be played, and why: a line for each reason."""
        return [
            f"{counted(count, 'schedule')} of the searches refused: {why}"
            for why, count in sorted(self.refused.items(), key=lambda each: -each[1])
        ]

    def played(self) -> str:
        """What was played, by search: how much of each that ends, what cut them short, and how long it took."""
        corpus = self.by_origin.get(CORPUS, 0)
        names = sorted({*self.by_origin, *self.totals} - {CORPUS}, key=wording.search)
        cut = any(total and not self.complete(origin) for origin, total in self.totals.items())
        told = [self._how_far(origin) for origin in names] + [f"cut short by {self.bound}"] * cut
        first, after = (f"fixed corpus: {counted(corpus, 'trial')}; ", " after it") if corpus else ("", "")
        besides = {what: self.by_origin.get(origin, 0) for origin, what in BESIDES.items()}
        drawn = counted(self.trials - corpus - sum(besides.values()), "trial")
        trials = " + ".join([drawn, *(f"{n:,} of {what}" for what, n in besides.items() if n)])
        return f"{first}{trials}{after} in {self.seconds:.1f} s ({', '.join(told) or 'no search began'})"

    def _how_far(self, origin: str) -> str:
        done, total = self.by_origin.get(origin, 0), self.totals.get(origin)
        return f"{wording.search(origin)} " + (
            f"{done:,}" if total is None else f"{done:,} of {total:,}" if total else "none here"
        )

    def of_corpus(self) -> str:
        """What the corpus contributed, in words; empty where it was not played."""
        number = self.by_origin.get(CORPUS, 0)
        if not number:
            return ""
        judged = counted(sum((CORPUS, Verdict.HOLDS) in seen for seen in self.seen.values()), "law")
        alone = sorted(law for law, each in self.standings().items() if each.corpus_only)
        told = f"; judged by it only: {', '.join(alone)}" if alone else ""
        return f"fixed corpus: {judged} judged and held{told}"


def played_again(number: int) -> str:
    """How many trials were, in words."""
    return (
        f"{counted(number, 'trial')} {'was' if number == 1 else 'were'} played again, because the machine had stalled"
    )
