"""The history: one flat event row, the only thing that running and judging share.

Declared once, in :class:`Event`; the Parquet schema, Spark's ``StructType`` and ``docs/history.md`` derive from
:data:`FIELDS`. Operations have Jepsen's phases (``invoke``, then ``ok``, ``fail`` or ``info``). Faults, HA frames and
reports, appends, crashes and store reads are events of the same history, so a law needs nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, NamedTuple, get_args, get_type_hints

FORMAT = 4
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
    """One row of the history. ``None`` where a kind does not use a column; see :data:`KINDS`."""

    seq: Annotated[int, About("", "order within the trial, from 0, dense")]
    t: Annotated[int, About("ns", "time since the trial began: virtual in the simulated lab")]
    kind: Annotated[str, About("", "one of KINDS")]
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

KINDS: dict[str, str] = {
    "lab": "where the trial runs, once, first of all: f (the lab's name), value (ns that a healthy client's call may "
    "spend on the way, and what else the lab adds), detail (JSON: the lab's own settings; instantNs: what lies between "
    "two things that a node does at once, absent in virtual time; stalls: counted, or seen where the kernel does "
    "not count how long a process waited for a CPU)",
    "config": "settings of a node, once, before its first start: node, detail (JSON: RocketMQ's keys and values)",
    "start": "a node came up: node, incarnation, lo/hi (log start and end after recovery), f (normal, abnormal, empty)",
    "crash": "a node went down without its will: node, incarnation, f (process, machine), value (log bytes lost), "
    "status (lied: its disk had called durable what is lost; own: it ended by itself; disk: so it did, and its disk "
    "was failing it; stuck: it went on without end, and was ended), detail (of the last three: what it said)",
    "abort": "a node that was down did not come up: node, incarnation, f (refused: it declares that it will not start "
    "on its store; ended: it ended in another way; stuck: it went on without end, and was ended), status (disk: its "
    "disk was failing it), detail (what it said)",
    "stop": "a node ended cleanly: node, incarnation",
    "cut": "recovery ended the log earlier than it had been: node, incarnation, lo (new end), hi (old end)",
    "wipe": "the node's store was replaced while it was down: node, f (empty; image: an older state of it), hi (where "
    "the new store's log ends), detail (the node whose store it was until now, if another's)",
    "expire": "the oldest files of a node's log were deleted: node, incarnation, lo (the log's new start)",
    "pause": "a node was stopped in its tracks, as by SIGSTOP: node, incarnation",
    "resume": "it goes on: node, incarnation",
    "stall": "a process was late by this machine's fault, not by the target's or the lab's; t: when that began (it is "
    "known before laws judge): f (harness, keeper, proxy, tap, node), node (if it was a node's), value (ns that it "
    "lasted), detail (how: a signal stopped it, it waited for a CPU or a disk, its loop did not turn)",
    "clock": "a node's wall clock was set: node, value (ms ahead of the true time)",
    "append": "bytes entered a node's log: node, incarnation, lo, hi, digest, f (put, filler, replicate), message",
    "flush": "a node's log became durable up to hi: node, incarnation, hi",
    "connect": "an HA connection opened at one end: link, side, node (who that end is), f (slave, hostile)",
    "close": "an HA connection ended at one end: link, side, node, f (local, peer, reset), value (bytes "
    "of an unfinished frame or report that had left, or reached, this end; none if 0)",
    "report": "an 8-byte report left the slave (side s) or reached the master (side m): link, side, hi (offset)",
    "frame": "a whole HA frame left the master (side m) or reached the slave (side s): link, side, lo, hi, digest; "
    "lo = hi for a heartbeat",
    "partial": "bytes passed one end of an HA connection and left a frame or a report unfinished, or the connection "
    "took no more: link, side, node, f (out, in), value (bytes of it so far), lo (the offset that its header names, if "
    "known), detail (broken: ..., from where on the stream is no frames any more)",
    "source": "a store reader's digest of the master's log over a range that a frame just carried: node, link, lo, hi, "
    "digest",
    "diverged": "the master refuses a slave that is ahead of it, and says so: node, link, hi (the refused report), "
    "value (the master's end)",
    "invoke": "a client began: process, op, f, node (asked), message, queue, value (send: 1 waits, 0 does not; "
    "pull: offset asked for), detail (of a send, JSON: body (its digest), flag, tags; level of a "
    "delayed one, half: true of a half message). Of a consumer also group and broker (the id that it chose of its "
    "route). f: send; pull; "
    "commit (queue_offset: the group's progress; value: 1 if a pull carries it); query (the group's progress); topic "
    "and group (an administrator creates or changes one at node: message is its name, detail its JSON)",
    "ok": "it happened: as invoke, and status; of a send also queue_offset, lo, hi (where its record lies); of a pull "
    "queue_offset (where to go on), lo, hi (the queue's first and next logical offset as answered), broker (the id "
    "suggested for the next pull); of a query queue_offset (none where the broker knows none)",
    "fail": "it did not happen: as invoke, and status (the response code's name), detail (remark)",
    "info": "nobody knows: as invoke, and status (timeout, disconnected; unreadable answer: one came, and detail says "
    "what is wrong with it)",
    "deliver": "one message of a pull's answer: process, op, node, message, queue, queue_offset, lo, hi, digest, group",
    "consumer": "a consumer came (status on) or went (off; lost: as its process dies): process, group, f (clustering, "
    "broadcasting), broker (the id that its user fixed, when it comes; none: it asks whom brokers suggest)",
    "assign": "a consumer took a queue (status on) or gave it up (off): process, group, queue, value (the offset that "
    "it goes on from)",
    "route": "a client learned where its topic is: process, status (found, none), detail (JSON: broker id to node, of "
    "the pair's broker name)",
    "table": "one of a node's tables was read: node, op (audit), f (topics, groups, offsets, delays; brokers: a name "
    "server's, broker name to id to node), value, lo (counter and timestamp of its data version; none for offsets, "
    "delays and brokers), detail (its content as JSON with sorted keys; of delays on a slave its file's)",
    "garbled": "one of a node's tables cannot be read: node, op (audit), f (as of table), detail (what is "
    "wrong with it)",
    "sync": "a slave did a step of its metadata sync: node, incarnation, f (topics, offsets, delays, groups), status "
    "(asked, same, applied, failed)",
    "persist": "a node wrote one of its tables to its disk: node, incarnation, f (topics, groups, offsets, delays)",
    "register": "a broker was answered by a name server, or not: node, incarnation, status (ok, failed), detail (JSON: "
    "master, ha: the addresses answered, as nodes; absent where it has none)",
    "dispatch": "a node derived its queues from more of its log: node, incarnation, hi (up to where)",
    "entries": "a store reader read a consume queue: node, op (audit), queue, lo, hi (its first and next logical "
    "offset), queue_offset, digest (its entries from there on, over the range that both nodes read hold), value (the "
    "log offset behind its last message)",
    "keys": "a store reader asked a key index: node, op (audit), message (the key), digest (of the log offsets found "
    "within the range that both nodes hold)",
    "record": "a store reader found a record: node, op (audit), lo, hi, message, queue, queue_offset, digest, "
    "value (store timestamp, ms), detail (JSON: body (its digest), flag, tags, and the real queue that its properties "
    "name)",
    "chunk": "a store reader's digest over the grid: node, op (audit), lo, hi, digest",
    "audit": "a store reader is done: node, incarnation, op, f (recovery, final; compare: chunks only), lo, hi (the "
    "log's range), status (whole, broken), value (where it stops being whole), detail (why)",
    "fault": "a fault began (status on) or ended (off): op, f, node or link, detail (JSON); at its end value = how "
    "often it bit and detail = what it did",
    "mark": "the trial's own milestones: f (warm, heal, converged, unsettled, end; probe: op is a send "
    "that must show that the pair is alive)",
}

LONG = range(-(2**63), 2**63)
"""Numbers that a history can hold, which are those of a Java long."""
UNREADABLE = "unreadable answer"
"""Status of a call whose answer came and cannot be read."""
BY_THEMSELVES = frozenset({"own", "disk", "stuck"})
"""Status of a crash that nobody from outside was behind."""


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


class Recorder:
    """Appends events in order and gives each its ``seq``.

    ``t`` is given by the caller (ns), since only the lab knows its clock. ``limit`` bounds the events of one trial;
    what comes later is counted in ``dropped``, never silently lost.
    """

    __slots__ = ("dropped", "events", "limit")

    def __init__(self, limit: int = 2_000_000) -> None:
        self.events: list[Event] = []
        self.limit = limit
        self.dropped = 0

    def add(self, t: int, kind: str, *columns: object, **named: object) -> None:
        """Record one event; positional ``columns`` follow :class:`Event` from ``node`` on."""
        events = self.events
        seq = len(events)
        if seq >= self.limit:
            self.dropped += 1
            return
        if named:
            events.append(Event(seq, t, kind, *columns, **named))  # type: ignore[arg-type]
        else:
            # tuple.__new__ with the defaults spelled out: half the cost of the named tuple's own constructor.
            events.append(_new(Event, (seq, t, kind, *columns, *_REST[len(columns)])))
