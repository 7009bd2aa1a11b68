"""The history: one flat event row, the only thing that running and judging share.

Declared once, in :class:`Event`; the Parquet schema, Spark's ``StructType`` and ``docs/history.md`` derive from
:data:`FIELDS`. Operations have Jepsen's phases (``invoke``, then ``ok``, ``fail`` or ``info``). Faults, HA frames and
reports, appends, crashes and store reads are events of the same history, so a law needs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from reprlib import repr as short
from typing import Annotated, Any, NamedTuple, cast, get_args, get_type_hints

from . import registry
from .errors import UsageError
from .renamed import current

FORMAT = 5
"""Version of the event row. Raised whenever a column or a kind changes its meaning."""

MS = 1_000_000
"""A millisecond: times of events are in ns."""
CHUNK = 1024
"""Bytes of the absolute grid on which store readers digest a log. The last chunk of an audit may be shorter."""


class About(NamedTuple):
    """Unit and meaning of one column."""

    unit: str
    meaning: str


class Event(NamedTuple):
    """One row of the history. ``None`` where a kind does not use a column; see :func:`kinds`."""

    seq: Annotated[int, About("", "order within the trial, from 0, dense")]
    t: Annotated[int, About("ns", "time since the trial began: virtual in the simulated lab")]
    kind: Annotated[str, About("", "what happened")]
    node: Annotated[str | None, About("", "broker or peer concerned: master, slave, slave2, hostile")] = None
    incarnation: Annotated[int | None, About("", "how many times the node had been started, from 1")] = None
    link: Annotated[
        str | None, About("", "one connection, such as ha:3; for a fault the link's name, or all: each of its node")
    ] = None
    side: Annotated[str | None, About("", "end of the link where it was seen: m (master's) or s (slave's)")] = None
    process: Annotated[int | None, About("", "logical client; a client that timed out goes on under a new one")] = None
    op: Annotated[int | None, About("", "operation, fault or audit number within the trial")] = None
    f: Annotated[str | None, About("", "function: send, pull, commit; or the fault's, mark's or audit's name")] = None
    status: Annotated[str | None, About("", "outcome, such as PUT_OK; on/off of a fault; whole/broken of an audit")] = (
        None
    )
    message: Annotated[str | None, About("", "the message's key")] = None
    queue: Annotated[str | None, About("", "topic/queue id")] = None
    queue_offset: Annotated[int | None, About("", "logical offset in the queue")] = None
    lo: Annotated[int | None, About("byte", "first physical offset concerned")] = None
    hi: Annotated[int | None, About("byte", "physical offset behind the last byte concerned")] = None
    digest: Annotated[int | None, About("", "digest() of the bytes [lo, hi)")] = None
    value: Annotated[int | None, About("by kind", "a number whose meaning the kind gives")] = None
    detail: Annotated[str | None, About("", "JSON text or a remark")] = None
    group: Annotated[str | None, About("", "consumer group")] = None
    broker: Annotated[int | None, About("", "broker id, 0 the master's: the one chosen, or the one suggested")] = None

    def words(self, the: Callable[[str | None], str]) -> str:
        """What happened, as a sentence for somebody who does not know the columns; ``the`` names a node in it."""
        return f"{self.kind} {self.detail or ''}".strip()


def column(name: str) -> Any:
    """The column ``name`` under a name of a kind's own, to be set in the body of the kind's class."""
    return getattr(Event, name)


class Field(NamedTuple):
    """A column as other formats need it."""

    name: str
    type: type
    unit: str
    meaning: str


def _fields() -> tuple[Field, ...]:
    found = []
    for name, hint in get_type_hints(Event, include_extras=True).items():
        kind, about = get_args(hint)
        plain = next(each for each in (get_args(kind) or (kind,)) if each is not type(None))
        found.append(Field(name, plain, about.unit, about.meaning))
    return tuple(found)


FIELDS = _fields()


class Kinds(dict[str, type[Event]]):
    """Classes of events by kind. Another kind is an error that says what to do."""

    def __missing__(self, kind: str) -> type[Event]:
        if (now := current("event_types", kind)) != kind:
            raise UsageError(f"the event type {kind} is called {now} now")
        raise UsageError(
            f"unknown kind of event {short(kind)}; register its class under the entry points pairproof.event_types"
        )


@cache
def kinds() -> Mapping[str, type[Event]]:
    """Every registered kind (:mod:`pairproof.harness.event_types`)."""
    return Kinds(
        (name, cast(type[Event], registry.find("event_types", name))) for name in registry.names("event_types")
    )


LONG = range(-(2**63), 2**63)
"""Numbers that a history can hold, which are those of a Java long."""
UNREADABLE = "unreadable answer"
"""Status of a call whose answer came and cannot be read."""
BY_THEMSELVES = frozenset({"own", "disk", "stuck"})
"""Status of a crash that nobody from outside was behind."""


def own_kinds() -> frozenset[str]:
    """Those that pairproof itself registers, not a third party."""
    return registry.own("event_types")


def digest(data: bytes | bytearray | memoryview) -> int:
    """A 64-bit signed digest of ``data`` (BLAKE2b): equal bytes, equal digest."""
    if type(data) is bytes and len(data) <= _SMALL:
        return _digest_of_small(data)
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


_SMALL = 4_096


@lru_cache(maxsize=4_096)
def _digest_of_small(data: bytes) -> int:
    # The same bytes are seen at the sender, at the receiver, in both logs, and again in the next trial.
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


_new = tuple.__new__
_REST = [(None,) * (len(Event._fields) - 3 - given) for given in range(len(Event._fields) - 2)]


STOPPED = "stopped"
"""The last mark of a trial that was stopped, for it grew without bound."""


class Recorder:
    """Appends events in order and gives each its ``seq``.

    ``t`` is given by the caller (ns), since only the lab knows its clock. ``limit`` bounds the events of one trial;
    what comes later is counted in ``dropped``, never silently lost. ``operations``: how many the trial has done.
    """

    __slots__ = ("_kinds", "dropped", "events", "is_stopped", "limit", "operations")

    def __init__(self, limit: int = 2_000_000) -> None:
        self.events: list[Event] = []
        self.limit = limit
        self.dropped = 0
        self.operations = 0
        self.is_stopped = False
        self._kinds = kinds()

    def add(self, t: int, kind: str, *columns: object, **named: object) -> None:
        """Record one event; positional ``columns`` follow :class:`Event` from ``node`` on."""
        events = self.events
        seq = len(events)
        if seq >= self.limit:
            self.dropped += not self.is_stopped
            return
        if named:
            events.append(self._kinds[kind](seq, t, kind, *columns, **named))  # type: ignore[arg-type]
        else:
            # tuple.__new__ with the defaults spelled out: half the cost of the named tuple's own constructor.
            events.append(_new(self._kinds[kind], (seq, t, kind, *columns, *_REST[len(columns)])))

    def stop(self, t: int) -> None:
        """The trial is stopped: this is its last event. What still happens says nothing."""
        self.add(t, "mark", f=STOPPED)
        self.is_stopped, self.limit = True, len(self.events)
