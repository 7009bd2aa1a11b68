"""Base of laws that compare a broker's answers with its log, as the last audit listed it.

An answer is compared only while the log is unchanged since the audit began, and not on a diverged slave, whose log is a
copy of no single log.
"""

from __future__ import annotations

from ...event_types.answers import Answer
from ...known.audits import Listing
from ...known.circumstances import DIVERGED
from ...law import Law

BUSY = "SYSTEM_BUSY"
SILENT = frozenset({"timeout", "disconnected", "refused"})
NOT_ANSWERED = SILENT | {BUSY}


class Asked(Law):
    """Passes each comparable answer to one of its ``subjects`` to :meth:`judge`."""

    subjects: frozenset[str] = frozenset()

    def judge(self, event: Answer, log: Listing) -> None:
        """Compare an answer with the log, and count the checks."""
        raise NotImplementedError

    def on_answer(self, event: Answer) -> None:
        if event.f not in self.subjects or event.status in NOT_ANSWERED or self.abstains(event, DIVERGED):
            return
        listing = self.known.listing(event.node)
        if listing is not None:
            self.judge(event, listing)


def named(event: Answer, asked: str) -> str:
    """The beginning of a violation's text."""
    return f"{event.node}, asked {asked}, answers"
