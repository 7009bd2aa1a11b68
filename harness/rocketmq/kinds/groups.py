"""What members of orderly consumer groups ask of brokers: locks of queues."""

from __future__ import annotations

from typing import Literal

from pairproof.harness.history import Event, column
from pairproof.harness.kinds.text import The, client, plain

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
