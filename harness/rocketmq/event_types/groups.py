"""Consumer groups: locks, send-backs, and calls that keep a client going."""

from __future__ import annotations

from typing import Literal

from ...event_types.text import The, client, plain
from ...history import Event, column

WORDS = {
    ("lock", "asked"): "asks {node} for the locks of {queues}",
    ("lock", "answered"): "receives from {node} the locks of {queues}",
    ("unlock", "asked"): "releases the locks of {queues} at {node}",
    ("unlock", "answered"): "has released the locks of {queues} at {node}",
    ("lock", "failed"): "could not ask {node} for its locks",
    ("unlock", "failed"): "could not release its locks at {node}",
    ("lock", "unknown"): "receives no answer from {node} about its locks",
    ("unlock", "unknown"): "receives no answer from {node} about its locks",
}
"""The event, by ``f`` and ``status``."""


class Lock(Event):
    """A member of an orderly group requested locks of queues from a broker, or released them; or the end of such a
    call.
    """

    process: int
    op: int
    """The number of the call, from 0 within one consumer."""
    f: Literal["lock", "unlock"]
    status: Literal["asked", "answered", "failed", "unknown"]
    """failed: it certainly did not happen; unknown: no answer, or none that shows the result."""
    node: str
    group: str
    client: str = column("message")
    """The client's id, by which brokers identify a lock's holder."""
    detail: str
    """JSON: the requested queues; for an answered lock those that the client holds now."""

    def words(self, the: The) -> str:
        what = WORDS.get((self.f, self.status), "calls about locks").format(
            node=the(self.node), queues=plain(self.detail)
        )
        return f"{client(self)} {what}"


class Back(Event):
    """A consumer sent a message back that it could not handle, or that call ended."""

    process: int
    op: int
    """The number of the call, from 0 within one trial."""
    f: Literal["asked", "ok", "fail", "info"]
    """Its end, if it has ended: see the event types of these names."""
    status: str | None
    """The response code's name; else timeout, disconnected, refused."""
    node: str
    group: str
    message: str | None
    queue: str
    queue_offset: int
    detail: str | None
    """For an asked one, JSON: at (the beginning of its record), times (how often it had been sent back before), level
    (the requested delay level, 0: the broker's choice), most (the retries after which it is a dead letter).
    """

    def words(self, the: The) -> str:
        what = f"{client(self)}: {self.message} of {self.queue}, sent back to {the(self.node)}"
        return f"{what} ({plain(self.detail)})" if self.f == "asked" else f"{what}: {self.status}"


class Ask(Event):
    """A consumer or a producer sent a periodic request, or that call ended; or a broker notified a consumer of a change
    of its group.
    """

    process: int
    op: int
    """The number of the call, from 0 within one client."""
    f: Literal["beat", "goodbye", "members", "route", "changed"]
    """beat: a heartbeat; members: the members of its group; route: a topic's route; changed: a broker's
    notification.
    """
    status: str
    """asked; or its end: answered, none (there is no such route), unreadable, the name of another response code,
    timeout, disconnected, refused. told: a broker's notification.
    """
    node: str
    group: str | None
    """None: a producer."""
    client: str = column("message")
    """The client's id, by which brokers identify a group's member."""
    topic: str | None = column("queue")
    """For a route."""
    detail: str | None
    """JSON, of an answer: the ids of a group's members; by broker name the nodes of a route, by their ids."""

    def words(self, the: The) -> str:
        what = {"beat": "heartbeat", "goodbye": "goodbye", "members": "question who is in the group"}.get(self.f)
        if self.f == "changed":
            return f"{client(self)} receives from {the(self.node)} that its group has changed"
        what = what or f"question where {self.topic} is"
        end = "" if self.status == "asked" else f": {self.status}{f' ({plain(self.detail)})' if self.detail else ''}"
        return f"{client(self)}: {what} to {the(self.node)}{end}"
