"""Ends of transactions that producers requested."""

from __future__ import annotations

from typing import Literal

from ...event_types.text import The, client, count, plain
from ...history import Event


class Decide(Event):
    """A producer asked a broker to end a transaction, or heard what became of that."""

    __slots__ = ()
    process: int
    op: int
    """The number of the call, from 0 within one trial."""
    f: Literal["asked", "ok", "fail", "info"]
    """How it ended, if it has: see the kinds of these names."""
    status: str | None
    """The response code's name; else timeout, disconnected, refused."""
    node: str
    message: str
    """That of the half message."""
    queue: str
    """To which it goes if it is committed."""
    queue_offset: int
    """Of the half message, in the topic of half messages."""
    detail: str | None
    """Of one that is asked, JSON: says (commit or rollback), at (where the half message's record begins); else the
    answer's remark."""

    def words(self, the: The) -> str:
        what = f"{client(self)}: end of the transaction of {self.message}, half {count(self.queue_offset)}"
        told = f"asked of {the(self.node)} ({plain(self.detail)})" if self.f == "asked" else f"{self.status}"
        return f"{what}: {told}"
