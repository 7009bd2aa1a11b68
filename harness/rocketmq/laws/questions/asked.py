"""What laws share that compare a broker's answers with its log: the log as the last audit listed it.

An answer is compared only where nothing has happened to the broker's log since the audit began, and not on a
diverged slave (see ``logs``), whose log is no copy of any one log.
"""

from __future__ import annotations

from ...event_types.answers import Answer
from ...known.audits import Listing
from ...known.circumstances import DIVERGED
from ...law import Law

BUSY = "SYSTEM_BUSY"
SILENT = frozenset({"timeout", "disconnected", "refused"})
"""How a question can end without an answer."""
NOT_ANSWERED = SILENT | {BUSY}
"""Statuses that say nothing about a log."""


class Asked(Law):
    """Hands each answer that can be compared to :meth:`judge`."""

    subjects: frozenset[str] = frozenset()
    """The questions that it is about."""

    def judge(self, event: Answer, log: Listing) -> None:
        """Compare an answer with the log; it counts what it judges."""
        raise NotImplementedError

    def on_answer(self, event: Answer) -> None:
        if event.f not in self.subjects or event.status in NOT_ANSWERED or self.abstains(event, DIVERGED):
            return
        listing = self.known.listing(event.node)
        if listing is not None:
            self.judge(event, listing)


def named(event: Answer, asked: str) -> str:
    """A broker, and what it was asked for, in a violation."""
    return f"{event.node}, asked {asked}, answers"
