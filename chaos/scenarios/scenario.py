"""A scenario: a question about replication, with all the data to answer it.

A file is read into one :class:`Scenario`; each combination of its variables is a :class:`Case`, already checked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ...harness.judging.versions import Range
from ...harness.trials.schedule import Args, Op
from .amounts import Bound

BEFORE, DURING, AFTER = "before", "during", "after"
PHASES = (BEFORE, DURING, AFTER)


class Load(NamedTuple):
    """A repeated operation: every ``every_ms`` from ``from_ms`` until before ``until_ms``."""

    op: Op
    every_ms: int
    from_ms: int
    until_ms: int


class When(NamedTuple):
    """When a step begins. One of: ms from the begin; ms after the end of the step before; at the n-th send."""

    at_ms: int | None = None
    after_ms: int | None = None
    sends: int | None = None


class Step(NamedTuple):
    """A single event. A fault with ``for_ms`` ends by itself, one without lasts until it is healed."""

    when: When
    op: Op
    for_ms: int | None = None
    id: str | None = None
    line: int = 0

    @property
    def name(self) -> str:
        """Its id, its fault's name, or the operation's."""
        return self.id or (str(self.op.args["name"]) if self.op.do == "fault" else self.op.do)


class Counts(NamedTuple):
    """Expected counts. Keys may end in ``@node``.

    ``statuses``: of sends, by answer. ``events``: of the history, by type.
    """

    statuses: Mapping[str, Bound] = {}
    events: Mapping[str, Bound] = {}


class Phase(NamedTuple):
    """Expectations before, during or after the fault of the step ``id``."""

    when: str
    id: str
    counts: Counts


class Expect(NamedTuple):
    judged: tuple[str, ...] = ()
    """Laws that at least one trial of the scenario must judge."""
    whole: Counts = Counts()
    """Sends between warm-up and healing; events of the whole history."""
    phases: tuple[Phase, ...] = ()
    costs: Mapping[str, Bound] = {}
    """The fault's cost, by name of an outcome of :mod:`pairproof.harness.rocketmq.losses`."""
    bites: bool = True
    """Whether every fault must have an effect."""
    violated: tuple[str, ...] = ()
    """Laws that a target with a seeded bug must violate."""

    def plus(self, more: Expect) -> Expect:
        whole = Counts({**self.whole.statuses, **more.whole.statuses}, {**self.whole.events, **more.whole.events})
        return Expect(
            (*self.judged, *more.judged), whole, (*self.phases, *more.phases), {**self.costs, **more.costs},
            self.bites and more.bites, (*self.violated, *more.violated),
        )  # fmt: skip


class Only(NamedTuple):
    """Targets of an expectation: a range of versions, with or without known deviations."""

    text: str
    versions: tuple[Range, ...]
    """All must contain the version that the target behaves as."""
    deviations: Mapping[str, bool]
    """By id: whether the target must have it, or must not."""

    def holds(self, version: str, known: Collection[str]) -> bool:
        """Whether it applies to such a target."""
        of_versions = all(each.holds(version) for each in self.versions)
        return of_versions and all((name in known) is wanted for name, wanted in self.deviations.items())


class Case(NamedTuple):
    """One combination of a scenario's variables."""

    values: Args
    settings: Args
    loads: tuple[Load, ...]
    steps: tuple[Step, ...]
    lasts_ms: int
    """Minimum length; 0: until the last step and the last load have ended."""
    expect: Expect
    """For every target; in a case :meth:`on` a target, all expectations for it."""
    apart: tuple[tuple[Only, Expect], ...] = ()
    """Additional expectations for some targets."""

    @property
    def judged(self) -> set[str]:
        """Laws that some target must judge."""
        return {law for each in (self.expect, *(more for _, more in self.apart)) for law in each.judged}

    def on(self, version: str, known: Collection[str]) -> Case:
        wanted = self.expect
        for only, more in self.apart:
            wanted = wanted.plus(more) if only.holds(version, known) else wanted
        return self._replace(expect=wanted, apart=())

    @property
    def label(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.values.items())


class Scenario(NamedTuple):
    name: str
    about: str
    promises: tuple[str, ...]
    cases: tuple[Case, ...]
    repeat: int
    laws: tuple[str, ...]
    """Ids; empty for all."""
    catches: tuple[str, ...]
    differs: Mapping[str, str]
    """By a law, or ``verdict``: the reason why labs may disagree."""
    target: str
    """A target of the system that it is about."""
