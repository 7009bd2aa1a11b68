"""Which stored messages a slave had, as far as its reports prove it.

A report names one offset: the slave's log reaches from wherever it *begins* up to there. So it covers a message only if
the message lies between the two. A slave that joined without a log begins with its master's last file, and whatever it
reports later says nothing about messages in older files.

Left out: which reports may be believed, and what is known of a slave's appends, see the ledger. Source: HAConnection
(where the copy for a slave without a log begins), HAService.push2SlaveMaxOffset (which forgets that).
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Put(NamedTuple):
    """A message in the master's log."""

    lo: int
    hi: int
    message: str | None


class Coverage:
    """Bounded by the messages and the slaves of one trial."""

    def __init__(self) -> None:
        self._waiting: deque[Put] = deque()
        """Puts that no report has reached, in the log's order."""
        self._missed: list[Put] = []
        """Puts that were reached by slaves which begin behind them only, in the log's order."""
        self._covered: set[tuple[int | None, str | None]] = set()
        self._held: dict[str, tuple[int, int]] = {}
        """Per slave: where its log begins, and how far it has reported."""

    def put(self, lo: int, hi: int, message: str | None) -> None:
        """The master appended a message."""
        self._waiting.append(Put(lo, hi, message))

    def cut(self, end: int) -> None:
        """The master's log lost what lay above ``end``: of other bytes in that place old reports say nothing."""
        self._held = {slave: (begin, min(reach, end)) for slave, (begin, reach) in self._held.items()}
        for puts in (self._waiting, self._missed):
            while puts and puts[-1].hi > end:
                puts.pop()

    def reported(self, slave: str, begin: int, reach: int) -> None:
        """A slave was heard and believed: it holds [begin, reach)."""
        held = self._held.get(slave)
        if held is None or held[0] != begin or held[1] < reach:
            self._held[slave] = (begin, reach)
        waiting = self._waiting
        while waiting and waiting[0].hi <= reach:
            put = waiting.popleft()
            if put.lo >= begin:
                self._covered.add((put.lo, put.message))
            else:
                self._missed.append(put)
        # The last one lies highest: most slaves begin behind all of them, and need no second look.
        if self._missed and self._missed[-1].lo >= begin:
            self._look_again(begin, reach)

    def _look_again(self, begin: int, reach: int) -> None:
        missed, self._missed = self._missed, []
        for put in missed:
            if begin <= put.lo and put.hi <= reach:
                self._covered.add((put.lo, put.message))
            else:
                self._missed.append(put)

    def has(self, lo: int | None, hi: int | None, message: str | None) -> bool:
        """Whether one slave held all of this message; by its place alone if its append was not seen."""
        if (lo, message) in self._covered:
            return True
        if hi is None:
            return False
        return any(hi <= reach and (lo is None or begin <= lo) for begin, reach in self._held.values())
