"""What a scenario is: a question about replication, as data, with everything that it takes to answer it.

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
    """An operation again and again: every ``every_ms`` from ``from_ms`` until ``until_ms``, that moment excluded."""

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
    """Something that happens once. A fault with ``for_ms`` ends by itself, one without lasts until it is healed."""

    when: When
    op: Op
    for_ms: int | None = None
    id: str | None = None
    line: int = 0

    @property
    def name(self) -> str:
        """What people call it: its id, its fault's name, or the operation's."""
        return self.id or (str(self.op.args["name"]) if self.op.do == "fault" else self.op.do)


class Counts(NamedTuple):
    """How often something is expected. Keys may end in ``@node``.

    ``statuses``: of sends, by what they were answered. ``events``: of the history, by kind.
    """

    statuses: Mapping[str, Bound] = {}
    events: Mapping[str, Bound] = {}


class Phase(NamedTuple):
    """What is expected before, during or after the fault of the step ``id``."""

    when: str
    id: str
    counts: Counts


class Expect(NamedTuple):
    """What must be so besides the laws."""

    judged: tuple[str, ...] = ()
    """Laws that some trial of the scenario must have put to the test."""
    whole: Counts = Counts()
    """Sends between warm-up and healing; events of the whole history."""
    phases: tuple[Phase, ...] = ()
    costs: Mapping[str, Bound] = {}
    """What the fault costs the deployment, by name of an outcome of :mod:`pairproof.harness.rocketmq.losses`."""
    bites: bool = True
    """Whether every fault must have done something."""
    violated: tuple[str, ...] = ()
    """Laws that a target with a seeded bug must break."""

    def plus(self, more: Expect) -> Expect:
        whole = Counts({**self.whole.statuses, **more.whole.statuses}, {**self.whole.events, **more.whole.events})
        return Expect(
            (*self.judged, *more.judged), whole, (*self.phases, *more.phases), {**self.costs, **more.costs},
            self.bites and more.bites, (*self.violated, *more.violated),
        )  # fmt: skip


class Only(NamedTuple):
    """Of which targets something is expected: of a range of versions, and of those with known deviations or without."""

    text: str
    versions: tuple[Range, ...]
    """All must hold the version whose behaviour the target has."""
    deviations: Mapping[str, bool]
    """By id, whether it must be known of the target, or must not."""

    def holds(self, version: str, known: Collection[str]) -> bool:
        """Whether it is a target like this one."""
        of_versions = all(each.holds(version) for each in self.versions)
        return of_versions and all((name in known) is wanted for name, wanted in self.deviations.items())


class Case(NamedTuple):
    """One combination of a scenario's variables."""

    values: Args
    settings: Args
    loads: tuple[Load, ...]
    steps: tuple[Step, ...]
    lasts_ms: int
    """At least so long; 0: until the last step and the last load are over."""
    expect: Expect
    """Of every target, or in a case :meth:`on` a target all that is expected of this one."""
    apart: tuple[tuple[Only, Expect], ...] = ()
    """What is expected besides, of some targets only."""

    @property
    def judged(self) -> set[str]:
        """Laws that some target must put to the test."""
        return {law for each in (self.expect, *(more for _, more in self.apart)) for law in each.judged}

    def on(self, version: str, known: Collection[str]) -> Case:
        """The case for a target that behaves as this version, with these known deviations."""
        wanted = self.expect
        for only, more in self.apart:
            wanted = wanted.plus(more) if only.holds(version, known) else wanted
        return self._replace(expect=wanted, apart=())

    @property
    def label(self) -> str:
        """The variables' values as text; empty if there are none."""
        return ", ".join(f"{key}={value}" for key, value in self.values.items())


class Scenario(NamedTuple):
    """A whole file."""

    name: str
    about: str
    """What a user learns."""
    promises: tuple[str, ...]
    cases: tuple[Case, ...]
    repeat: int
    laws: tuple[str, ...]
    """Ids; empty for all."""
    catches: tuple[str, ...]
    """Mutants of the reference that this scenario notices."""
    differs: Mapping[str, str]
    """What labs may disagree in (a law, or ``verdict``), and why."""
    target: str
    """A target of the system that it is about."""
