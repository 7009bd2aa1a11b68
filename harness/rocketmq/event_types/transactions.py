"""Ends of transactions that producers requested."""

from __future__ import annotations

from typing import Literal

from ...event_types.text import The, client, count, plain
from ...history import Event


class Decide(Event):
    """A producer asked a broker to end a transaction, or that call ended."""

    process: int
    op: int
    """The number of the call, from 0 within one trial."""
    f: Literal["asked", "ok", "fail", "info"]
    """Its end, if it has ended: see the event types of these names."""
    status: str | None
    """The response code's name; else timeout, disconnected, refused."""
    node: str
    message: str
    """For the half message."""
    queue: str
    """The queue for the committed message."""
    queue_offset: int
    """For the half message, in the topic of half messages."""
    detail: str | None
    """For an asked one, JSON: says (commit or rollback), at (the beginning of the half message's record); else the
    answer's remark.
    """

    def words(self, the: The) -> str:
        what = f"{client(self)}: end of the transaction of {self.message}, half {count(self.queue_offset)}"
        state = f"asked of {the(self.node)} ({plain(self.detail)})" if self.f == "asked" else f"{self.status}"
        return f"{what}: {state}"
