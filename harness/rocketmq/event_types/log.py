"""Logs: actions of nodes, and what readers of their stores found."""

from __future__ import annotations

from typing import Literal

from ...event_types.base import OfNode, OfReader
from ...event_types.text import The, count, span
from ...history import Event, column


class Cut(OfNode):
    """Recovery truncated the log."""

    new_end: int = column("lo")
    old_end: int = column("hi")

    def words(self, the: The) -> str:
        return f"recovery of {self.node} ends the log at {count(self.new_end)}, earlier than {count(self.old_end)}"


class Expire(OfNode):
    """The oldest files of a node's log were deleted."""

    new_start: int = column("lo")

    def words(self, the: The) -> str:
        return f"{self.node} deletes its oldest files; its log starts at {count(self.new_start)} now"


class Append(OfNode):
    """Bytes entered a node's log."""

    caused_by = "message"
    lo: int
    hi: int
    digest: int
    f: Literal["put", "filler", "replicate"]
    message: str | None

    def words(self, the: The) -> str:
        what = f"message {self.message}" if self.message else "bytes"
        return f"{self.node} appended {'an end-of-file filler' if self.f == 'filler' else what} {span(self)}"


class Commit(OfNode):
    """A node's log left its transient store pool for the page cache."""

    upto: int = column("hi")

    def words(self, the: The) -> str:
        return f"{self.node} committed its log up to {count(self.upto)} to the page cache"


class Flush(OfNode):
    """A node's log became durable."""

    upto: int = column("hi")

    def words(self, the: The) -> str:
        return f"{self.node} flushed its log up to {count(self.upto)}"


class Dispatch(OfNode):
    """A node derived its queues from more of its log."""

    upto: int = column("hi")

    def words(self, the: The) -> str:
        return f"{self.node} has derived its queues from its log up to {count(self.upto)}"


class Source(Event):
    """A store reader's digest of the master's log over a range that a frame just carried."""

    node: str
    link: str
    lo: int
    hi: int
    digest: int

    def words(self, the: The) -> str:
        return f"store reader: the digest of the {self.node}'s log {span(self)}"


class Entries(OfReader):
    """A store reader read a consume queue."""

    queue: str
    first: int = column("lo")
    """The first logical offset."""
    following: int = column("hi")
    """The next logical offset."""
    compared_from: int = column("queue_offset")
    """The offset from which both compared nodes hold entries."""
    digest: int
    """For the entries in the range that both nodes hold."""
    log_end: int | None = column("value")
    """The log offset after its last message; none: it has no message."""

    def words(self, the: The) -> str:
        return f"store reader: {self.queue} of {self.node} holds [{count(self.first)}, {count(self.following)})"


class Keys(OfReader):
    """A store reader queried a key index."""

    message: str
    """The key."""
    digest: int
    """For the found log offsets in the range that both nodes hold."""

    def words(self, the: The) -> str:
        return f"store reader: the key index of {self.node} is asked for {self.message}"


class Derived(OfReader):
    """A store reader compared a node's queues, or its key index, with those that it derives from the node's log."""

    f: Literal["queues", "index"]
    status: Literal["same", "lacks", "other", "behind", "form", "slots"]
    """The first difference: a record lacks its entry; an entry is other than its record's; a queue continues behind the
    log's last record; an index file has another form than RocketMQ's, or counts each entry as a used slot."""
    lo: int
    hi: int
    """The compared range of the log; for a difference that of the record."""
    compared: int = column("value")
    """The number of records, or of hashes of keys."""
    detail: str | None
    """The difference."""

    def words(self, the: The) -> str:
        what = "queues" if self.f == "queues" else "key index"
        return f"store reader: the {what} of {self.node}: {self.detail or 'what its log gives'}"


class Checkpoint(OfReader):
    """A store reader read a node's checkpoint file."""

    queues_ms: int = column("value")
    """The store time up to which the queues are durable, from the file; 0: none yet."""
    log_ms: int | None = column("lo")
    """The same for the log, in newer histories."""
    index_ms: int | None = column("hi")
    """The same for the full files of the key index."""

    def words(self, the: The) -> str:
        return f"store reader: the checkpoint of {self.node} has its queues durable up to {self.queues_ms} ms"


class Found(OfNode):
    """A store reader read the store of a node that is about to start; only stores with a log."""

    f: Literal["orderly", "crash"]
    """The end of its last incarnation, from its abort file."""
    status: Literal["whole", "broken"]
    """broken: after the unbroken chain of whole records follow bytes other than zeros."""
    lo: int
    """The beginning of its log."""
    whole_to: int = column("hi")
    """The end of the unbroken chain of its whole records."""
    used: int = column("value")
    """The offset after the last byte that is not zero."""
    detail: str
    """JSON: ends (allowed log ends, ascending, the last one whole_to); records (the end that every recovery must keep);
    why (what ends the chain); queued (after an orderly stop with a broken log: the log offset behind the last queued
    message)."""

    def words(self, the: The) -> str:
        how = "in an orderly way" if self.f == "orderly" else "in a crash"
        return f"store reader: {self.node} ended {how}; whole records fill its log {span(self)}"


class Left(OfNode):
    """A store reader read the store of a node right after its start, or after it refused to start."""

    f: Literal["kept", "lacks"]
    """Whether queues and index kept everything; for a refused store, whether all its files did."""
    status: Literal["same", "other"]
    """Whether the log is unchanged: from its beginning to its current end; all of it after an orderly stop."""
    lo: int
    hi: int
    """The log's range, as the node reports it; if it refused its store, the earlier range."""
    used: int = column("value")
    """The offset after the last byte that is not zero."""
    detail: str
    """JSON: differs; dirty (bytes of the log that are not durable); behind (whole records behind its present end:
    certain ones, all); lost and cut_from (what the node reports of a cut)."""

    def words(self, the: The) -> str:
        how = "as it was" if self.status == "same" else "changed"
        return f"store reader: the start of {self.node} leaves its log {span(self)} {how}"


class Record(OfReader):
    """A store reader found a record."""

    lo: int
    hi: int
    message: str | None
    queue: str
    queue_offset: int
    digest: int
    store_ms: int = column("value")
    """Its store timestamp, ms."""
    detail: str
    """JSON: body (its digest), flag, tags, and the real queue that its properties name."""

    def words(self, the: The) -> str:
        return f"store reader: {self.node} holds {self.message or 'a record'} {span(self)}"


class Chunk(OfReader):
    """A store reader's digest over the grid."""

    lo: int
    hi: int
    digest: int

    def words(self, the: The) -> str:
        return f"store reader: the digest of the {self.node}'s log {span(self)}"


class Audit(OfNode):
    """A store reader has finished."""

    number: int = column("op")
    f: Literal["recovery", "final", "compare"]
    """compare: chunks only."""
    lo: int
    hi: int
    """The log's range."""
    status: Literal["whole", "broken"]
    whole_to: int = column("value")
    """The end of its whole part."""
    detail: str | None
    """The reason."""

    def words(self, the: The) -> str:
        return f"store reader: the {self.node}'s log {span(self)} is {self.status} ({self.f} audit)"
