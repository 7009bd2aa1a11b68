"""What a law is: a bounded fold over one trial's history.

A law declares the kinds of event that it needs and handles those it wants in methods named ``on_<kind>``; the judge
calls them in ``seq`` order, then ``end``. It reads what happened *before* the event from a :class:`Known`, which the
judge keeps for all laws that declare the same one.

:func:`only` says which events of its kind a handler is about, and under which circumstances the law abstains from them.
The judge checks both before the law receives the event, and each verdict counts the abstentions by their reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from ..history import Event
from .disturbances import doubted
from .known import Known

MAX_VIOLATIONS = 16
"""Violations that one law keeps of one trial; the rest are counted only."""
DURABILITY, PROTOCOL, CONVENTION = "durability", "protocol", "convention"
"""What kind of promise a law is: one of any replicated pair; one of the system's protocol; or the system's own way of
doing it, such as an order, a wording, a limit or a pace. Targets that do not say that they follow the system's
conventions (``Target.follows_conventions``) are only warned of the third."""
STALLS = "stalled"
"""A law's note: how many violations the machine's stalls may have made."""


ABSTAINED = "abstained: "
"""How the notes begin that count a law's abstentions; the reason follows."""
JUDGED = "judged: "
"""How the notes begin that count what a law with several parts judged; the part follows."""
Handler = TypeVar("Handler", bound=Callable[..., None])


class Circumstance(NamedTuple):
    """A reason why a law does not judge an event."""

    id: str
    holds: Callable[[Any, Any], bool]
    """By the model, as it was before the event, and the event."""


class Heard(NamedTuple):
    """Which events of its kind a handler is about; an empty set: all."""

    f: frozenset[str] = frozenset()
    nodes: frozenset[str | None] = frozenset()
    unless: tuple[Circumstance, ...] = ()
    but: frozenset[str | None] = frozenset()
    """Nodes that it is not about."""

    def includes(self, f: str | None, node: str | None) -> bool:
        return (not self.f or f in self.f) and (not self.nodes or node in self.nodes) and node not in self.but


EVERY = Heard()


def only(
    *f: str,
    node: str | Collection[str | None] = (),
    but: Collection[str | None] = (),
    unless: tuple[Circumstance, ...] = (),
) -> Callable[[Handler], Handler]:
    """A handler that is about some events of its kind: those with one of these ``f``, at one of these nodes.

    ``but``: nodes that it is not about, for where nodes have names that nobody foresees, as slaves in a capture.
    ``unless``: circumstances under which the law abstains from an event that is left.
    """
    heard = Heard(frozenset(f), frozenset((node,) if isinstance(node, str) else node), unless, frozenset(but))

    def marked(handler: Handler) -> Handler:
        handler.__dict__["heard"] = heard
        return handler

    return marked


class Violation(NamedTuple):
    """One broken promise: the event at which it was seen to break, and a sentence that says how."""

    seq: int
    t: int
    text: str
    message: str | None = None


class Law:
    """Base of all laws. Subclasses set the class attributes and define ``on_<kind>`` methods and perhaps ``end``."""

    id: ClassVar[str]
    promise: ClassVar[str]
    source: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    """Kinds without which nothing can be judged: a lab that cannot record one of them cannot observe the law."""
    system: ClassVar[str] = ""
    """The system of targets that it is about; empty: any. Other targets are not judged by it, unless asked for."""
    kind: ClassVar[str] = PROTOCOL
    """The kind of promise."""
    known_type: ClassVar[type[Known]] = Known
    """The model that it asks: a system's own laws have a base class that names the system's."""
    deaf_to: ClassVar[frozenset[str]] = frozenset()
    """Nodes that it is not about: it hears none of their events."""
    applies_with: ClassVar[str] = ""
    """Of a promise that every user counts on: what a configuration must have for it to be judged. A run in which no
    trial judged the law says so."""
    awaits: ClassVar[Mapping[str, Heard]] = {}
    """By kind: events before which there is nothing to judge and nothing to remember but settings. Of a trial without
    one the law receives no others; empty: it receives all from the beginning."""
    parts: ClassVar[tuple[str, ...]] = ()
    """What it judges, where that is several things: a run says which of them it never judged."""
    timed: ClassVar[bool] = False
    """Whether the law measures time: each violation then says since when the time ran, or that no time decided it."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.judged = 0
        self.violations: list[Violation] = []
        self.broken = 0
        self.doubt: str | None = None
        self.doubted: list[Violation] = []
        """Those that a stall may have made."""
        self.applicable = True
        self.notes: dict[str, int] = {}
        self.begin()

    def begin(self) -> None:
        """A trial begins: what the law remembers of it is set up here."""

    def abstain(self, reason: str) -> None:
        """The law was offered something to judge, and does not judge it."""
        note = ABSTAINED + reason
        self.notes[note] = self.notes.get(note, 0) + 1

    def abstains(self, event: Event, *circumstances: Circumstance) -> bool:
        """Whether one of these keeps the law from judging what it is offered; the first that does is counted."""
        for each in circumstances:
            if each.holds(self.known, event):
                self.abstain(each.id)
                return True
        return False

    def judge_part(self, part: str) -> None:
        """The law judges one of its :attr:`parts`."""
        self.judged += 1
        note = JUDGED + part
        self.notes[note] = self.notes.get(note, 0) + 1

    def violate(self, event: Event, text: str, since: int | None = None, until: int | None = None) -> None:
        """The promise was broken at ``event``.

        ``since``: where a time decides, when that began to run, ns; ``until``: when it was read, if not at ``event``.
        Where this machine stalled between the two, nobody knows whether the target was late or the machine: the law is
        unknown there, and goes on.
        """
        if since is not None:
            stall = self.known.disturbances.stall(since, event.t if until is None else until)
            if stall is not None:
                self.notes[STALLS] = self.notes.get(STALLS, 0) + 1
                self.doubt = self.doubt or doubted(stall, text)
                if len(self.doubted) < MAX_VIOLATIONS:
                    self.doubted.append(Violation(event.seq, event.t, text, event.message))
                return
        self.broken += 1
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(Violation(event.seq, event.t, text, event.message))

    def end(self, last: Event) -> None:
        """The history is over; ``last`` is its last event."""
