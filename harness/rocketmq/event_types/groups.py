"""Consumer groups: locks, send-backs, and calls that keep a client going."""

from __future__ import annotations

from typing import Literal

from ...event_types.text import The, client, plain
from ...history import Event, column

WORDS = {
    ("lock", "asked"): "asks {node} for the locks of {queues}",
    ("lock", "answered"): "is told by {node} that it holds the locks of {queues}",
    ("unlock", "asked"): "gives {node} back the locks of {queues}",
    ("unlock", "answered"): "is told by {node} that it holds the locks of {queues} no more",
    ("lock", "failed"): "could not ask {node} for its locks",
    ("unlock", "failed"): "could not give {node} back its locks",
    ("lock", "unknown"): "hears nothing from {node} about its locks",
    ("unlock", "unknown"): "hears nothing from {node} about its locks",
}
"""What happened, by ``f`` and ``status``."""


class Lock(Event):
    """A member of an orderly group asked a broker for the locks of queues, or gave them back; or how that ended."""

    __slots__ = ()
    process: int
    op: int
    """The number of the call, from 0 within one consumer."""
    f: Literal["lock", "unlock"]
    status: Literal["asked", "answered", "failed", "unknown"]
    """failed: it certainly did not happen; unknown: no answer came, or none that says what happened."""
    node: str
    group: str
    client: str = column("message")
    """The client's id, by which brokers know who holds a lock."""
    detail: str
    """JSON: the queues asked about; of an answered lock those that the client holds now."""

    def words(self, the: The) -> str:
        told = WORDS.get((self.f, self.status), "says something of locks").format(
            node=the(self.node), queues=plain(self.detail)
        )
        return f"{client(self)} {told}"


class Back(Event):
    """A consumer sent a message back that it could not handle, or heard what became of that."""

    __slots__ = ()
    process: int
    op: int
    """The number of the call, from 0 within one trial."""
    f: Literal["asked", "ok", "fail", "info"]
    """How it ended, if it has: see the kinds of these names."""
    status: str | None
    """The response code's name; else timeout, disconnected, refused."""
    node: str
    group: str
    message: str | None
    queue: str
    queue_offset: int
    detail: str | None
    """Of one that is asked, JSON: at (where its record begins), times (how often it had been sent back before), level
    (the delay level asked for, 0: as the broker chooses), most (after how many retries it is a dead letter)."""

    def words(self, the: The) -> str:
        what = f"{client(self)}: {self.message} of {self.queue}, sent back to {the(self.node)}"
        return f"{what} ({plain(self.detail)})" if self.f == "asked" else f"{what}: {self.status}"


class Ask(Event):
    """A consumer or a producer asked for what keeps it going, or heard how that ended; or a broker told a consumer that
    its group has changed."""

    __slots__ = ()
    process: int
    op: int
    """The number of the call, from 0 within one client."""
    f: Literal["beat", "goodbye", "members", "route", "changed"]
    """beat: a heartbeat; members: who is in its group; route: where a topic is; changed: what a broker told."""
    status: str
    """asked; or how it ended: answered, none (there is no such route), unreadable, the name of another response code,
    timeout, disconnected, refused. told: of what a broker told."""
    node: str
    group: str | None
    """None: a producer."""
    client: str = column("message")
    """The client's id, by which brokers know who is in a group."""
    topic: str | None = column("queue")
    """Of a route."""
    detail: str | None
    """JSON, of an answer: the ids of a group's members; by broker name the nodes of a route, by their ids."""

    def words(self, the: The) -> str:
        what = {"beat": "heartbeat", "goodbye": "goodbye", "members": "question who is in the group"}.get(self.f)
        if self.f == "changed":
            return f"{client(self)} is told by {the(self.node)} that its group has changed"
        what = what or f"question where {self.topic} is"
        end = "" if self.status == "asked" else f": {self.status}{f' ({plain(self.detail)})' if self.detail else ''}"
        return f"{client(self)}: {what} to {the(self.node)}{end}"
