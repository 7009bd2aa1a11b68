"""Laws: bounded folds over one trial's history.

A law declares the event types that it needs and handles events in methods named ``on_<type>``; the judge calls them in
``seq`` order, then ``end``. It reads the state *before* the event from a :class:`Known`, which the judge keeps for all
laws that declare the same one.

:func:`only` selects the events that a handler receives, and the circumstances under which the law abstains. The judge
checks both before the law receives the event, and each verdict counts the abstentions by reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from ..history import Event
from .disturbances import doubted
from .known import Known

MAX_VIOLATIONS = 16
"""Violations that a law keeps of one trial; later ones are only counted."""
DURABILITY, PROTOCOL, CONVENTION = "durability", "protocol", "convention"
"""The kinds of promise: of any replicated pair; of the system's protocol; or a convention of the system, such as an
order, a wording, a limit or a pace. Violated conventions are only warnings for targets that do not claim to follow them
(``Target.follows_conventions``).
"""
STALLS = "stalled"
"""A law's note: the number of violations that stalls may have caused."""


ABSTAINED = "abstained: "
"""The prefix of notes that count a law's abstentions, before the reason."""
JUDGED = "judged: "
"""The prefix of notes that count the judgements of a law's part, before the part."""
Handler = TypeVar("Handler", bound=Callable[..., None])


class Circumstance(NamedTuple):
    id: str
    holds: Callable[[Any, Any], bool]
    """From the model, as it was before the event, and the event."""


class EventFilter(NamedTuple):
    """A filter for the events of a handler; an empty set matches all."""

    f: frozenset[str] = frozenset()
    nodes: frozenset[str | None] = frozenset()
    unless: tuple[Circumstance, ...] = ()
    but: frozenset[str | None] = frozenset()
    """Nodes whose events are excluded."""

    def includes(self, f: str | None, node: str | None) -> bool:
        return (not self.f or f in self.f) and (not self.nodes or node in self.nodes) and node not in self.but


EVERY = EventFilter()


def only(
    *f: str,
    node: str | Collection[str | None] = (),
    but: Collection[str | None] = (),
    unless: tuple[Circumstance, ...] = (),
) -> Callable[[Handler], Handler]:
    """A handler for some events of its type: those with one of these ``f``, at one of these nodes.

    ``but``: excluded nodes, where names are not known in advance, such as slaves in a capture. ``unless``:
    circumstances under which the law abstains from the selected events.
    """
    nodes = (node,) if isinstance(node, str) else node
    event_filter = EventFilter(frozenset(f), frozenset(nodes), unless, frozenset(but))

    def marked(handler: Handler) -> Handler:
        handler.__dict__["event_filter"] = event_filter
        return handler

    return marked


class Violation(NamedTuple):
    seq: int
    t: int
    text: str
    message: str | None = None


class Law:
    """Base of all laws. Subclasses set the class attributes and define ``on_<type>`` methods and perhaps ``end``."""

    id: ClassVar[str]
    promise: ClassVar[str]
    source: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    """Required event types: if a lab cannot record one of them, the law is not observable."""
    system: ClassVar[str] = ""
    """The system that it is about; empty: any. It judges other targets only on request."""
    kind: ClassVar[str] = PROTOCOL
    known_type: ClassVar[type[Known]] = Known
    """Its model; a system's own laws have a base class with the system's model."""
    ignored_nodes: ClassVar[frozenset[str]] = frozenset()
    """Nodes whose events it does not receive."""
    applies_with: ClassVar[str] = ""
    """For a promise that every user counts on: the configuration that it requires. A run reports if no trial judged
    such a law.
    """
    awaits: ClassVar[Mapping[str, EventFilter]] = {}
    """By event type: the first events that the law can judge. Before one of them it receives only settings; empty: it
    receives all events.
    """
    parts: ClassVar[tuple[str, ...]] = ()
    """Its parts, if it judges several things; a run reports the parts that it never judged."""
    timed: ClassVar[bool] = False
    """Whether the law measures time; its violations then have the beginning of the interval, or none if time did not
    matter.
    """

    # Values before the first event are the class's: each trial creates every law, and most change none.
    judged: int = 0
    violations: tuple[Violation, ...] = ()
    broken: int = 0
    doubt: str | None = None
    doubted: tuple[Violation, ...] = ()
    """Violations that a stall may have caused."""
    applicable: bool = True

    def __init__(self, known: Known) -> None:
        self.known = known
        self.notes: dict[str, int] = {}
        self.begin()

    def begin(self) -> None:
        """Set up the state for a new trial."""

    def applies(self) -> bool:
        """Whether the promise concerns this trial, by the settings of its nodes: asked at the first start."""
        return self.applicable

    def abstain(self, reason: str) -> None:
        """Count an event that the law does not judge."""
        note = ABSTAINED + reason
        self.notes[note] = self.notes.get(note, 0) + 1

    def abstains(self, event: Event, *circumstances: Circumstance) -> bool:
        """Whether one of these circumstances keeps the law from judging; counts the first."""
        for each in circumstances:
            if each.holds(self.known, event):
                self.abstain(each.id)
                return True
        return False

    def judge_part(self, part: str) -> None:
        self.judged += 1
        note = JUDGED + part
        self.notes[note] = self.notes.get(note, 0) + 1

    def violate(self, event: Event, text: str, since: int | None = None, until: int | None = None) -> None:
        """Report that the promise was broken at ``event``.

        ``since``: the beginning of a measured interval, ns; ``until``: its end, if not at ``event``. If the machine
        stalled in the interval, the lateness may be the machine's: the violation becomes a doubt, and the law
        continues.
        """
        if since is not None:
            stall = self.known.disturbances.stall(since, event.t if until is None else until)
            if stall is not None:
                self.notes[STALLS] = self.notes.get(STALLS, 0) + 1
                self.doubt = self.doubt or doubted(stall, text)
                if len(self.doubted) < MAX_VIOLATIONS:
                    self.doubted += (Violation(event.seq, event.t, text, event.message),)
                return
        self.broken += 1
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations += (Violation(event.seq, event.t, text, event.message),)

    def end(self, last: Event) -> None:
        """The history is over; ``last`` is its last event."""
