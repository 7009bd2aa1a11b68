"""Conformance conversations at a trial's end."""

from __future__ import annotations

from ...event_types.base import OfNode
from ...event_types.text import The


class Conversation(OfNode):
    """A visitor asked a broker of the reference, or a simulated name server, a step of its visit, and was answered."""

    __slots__ = ()
    f: str
    """Which step: a name of ``pairproof.harness.rocketmq.conversations``."""
    status: str
    """The response code's name; PUT_OK is code 0, SUCCESS; unreadable answer: ``detail`` says what is wrong with it.
    TOLD: the node said this by itself; NOTHING: it said nothing while the visitor waited."""
    detail: str | None
    """JSON: what the answer says."""

    def words(self, the: The) -> str:
        says = "" if self.detail is None else f": {self.detail}"
        return f"a visitor of {the(self.node)}: {self.f}; it answers {self.status}{says}"
