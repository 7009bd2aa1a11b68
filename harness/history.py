"""The history: a flat event row, the only interface between running and judging.

:class:`Event` declares it once; the Parquet schema, Spark's ``StructType`` and ``docs/history.md`` derive from
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
"""Version of the event row. Raised when a column or an event type changes its meaning."""

MS = 1_000_000
"""Times of events are in ns."""
CHUNK = 1024
"""Bytes of the absolute grid on which store readers digest a log. The last chunk of an audit may be shorter."""


class About(NamedTuple):
    unit: str
    meaning: str


class _Slotless(type):
    """Event types add names and words to a row, never a dictionary: a history has millions of rows."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Slotless:
        return super().__new__(mcs, name, bases, {"__slots__": (), **body})


class _Row(NamedTuple):
    seq: Annotated[int, About("", "order within the trial, from 0, dense")]
    t: Annotated[int, About("ns", "time since the trial began: virtual in the simulated lab")]
    kind: Annotated[str, About("", "what happened")]
    node: Annotated[str | None, About("", "broker or peer concerned: master, slave, slave2, rogue_slave")] = None
    incarnation: Annotated[int | None, About("", "how many times the node had been started, from 1")] = None
    link: Annotated[
        str | None, About("", "one connection, such as ha:3; for a fault the link's name, or all: each of its node")
    ] = None
    side: Annotated[str | None, About("", "end of the link where it was recorded: m (master's) or s (slave's)")] = None
    process: Annotated[int | None, About("", "logical client; a client that timed out continues with a new one")] = None
    op: Annotated[int | None, About("", "operation, fault or audit number within the trial")] = None
    f: Annotated[str | None, About("", "function: send, pull, commit; or the fault's, mark's or audit's name")] = None
    status: Annotated[str | None, About("", "outcome, such as PUT_OK; on/off of a fault; whole/broken of an audit")] = (
        None
    )
    message: Annotated[str | None, About("", "the message's key")] = None
    queue: Annotated[str | None, About("", "topic/queue id")] = None
    queue_offset: Annotated[int | None, About("", "logical offset in the queue")] = None
    lo: Annotated[int | None, About("byte", "first physical offset concerned")] = None
    hi: Annotated[int | None, About("byte", "physical offset after the last byte concerned")] = None
    digest: Annotated[int | None, About("", "digest() of the bytes [lo, hi)")] = None
    value: Annotated[int | None, About("by kind", "a number whose meaning the kind gives")] = None
    detail: Annotated[str | None, About("", "JSON text or a remark")] = None
    group: Annotated[str | None, About("", "consumer group")] = None
    broker: Annotated[int | None, About("", "broker id, 0 the master's: the one chosen, or the one suggested")] = None


class Event(_Row, metaclass=_Slotless):
    """One row of the history. Columns that an event type does not use are ``None``; see :func:`kinds`."""

    def words(self, the: Callable[[str | None], str]) -> str:
        """The event as a sentence for readers who do not know the columns; ``the`` formats a node."""
        return f"{self.kind} {self.detail or ''}".strip()


def column(name: str) -> Any:
    """The column ``name`` under another name, for the body of an event type's class."""
    return getattr(Event, name)


class Field(NamedTuple):
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
    """Classes of events by name. Another name is an error with a remedy."""

    def __missing__(self, kind: str) -> type[Event]:
        if (now := current("event_types", kind)) != kind:
            raise UsageError(f"the event type {kind} is called {now} now")
        raise UsageError(
            f"unknown kind of event {short(kind)}; register its class under the entry points pairproof.event_types"
        )


@cache
def kinds() -> Mapping[str, type[Event]]:
    """All registered event types (:mod:`pairproof.harness.event_types`)."""
    return Kinds(
        (name, cast(type[Event], registry.find("event_types", name))) for name in registry.names("event_types")
    )


LONG = range(-(2**63), 2**63)
"""Numbers that a history can hold: those of a Java long."""
UNREADABLE = "unreadable answer"
"""Status of a call whose answer arrived but cannot be parsed."""
BY_THEMSELVES = frozenset({"own", "disk", "stuck"})
"""Statuses of crashes that no operation caused."""


def own_kinds() -> frozenset[str]:
    """The event types of pairproof itself, without those of third parties."""
    return registry.own("event_types")


def digest(data: bytes | bytearray | memoryview) -> int:
    """A 64-bit signed digest of ``data`` (BLAKE2b)."""
    if type(data) is bytes and len(data) <= _SMALL:
        return _digest_of_small(data)
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


_SMALL = 4_096


@lru_cache(maxsize=4_096)
def _digest_of_small(data: bytes) -> int:
    # The same bytes occur at the sender, at the receiver, in both logs, and in the next trial.
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


_new = tuple.__new__
_REST = [(None,) * (len(Event._fields) - 3 - given) for given in range(len(Event._fields) - 2)]


STOPPED = "stopped"
"""The last mark of a trial that was stopped because it grew without bound."""


class Recorder:
    """Appends events in order and gives each its ``seq``.

    The caller gives ``t`` (ns), since only the lab has its clock. ``limit`` bounds the events of one trial; later ones
    are counted in ``dropped``. ``operations``: the number of executed operations.
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
            # tuple.__new__ with explicit defaults: half the cost of the named tuple's constructor.
            events.append(_new(self._kinds[kind], (seq, t, kind, *columns, *_REST[len(columns)])))

    def stop(self, t: int) -> None:
        """Record the last event of the trial; later events are not recorded."""
        self.add(t, "mark", f=STOPPED)
        self.is_stopped, self.limit = True, len(self.events)
