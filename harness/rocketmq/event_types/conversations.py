"""Conformance conversations at a trial's end."""

from __future__ import annotations

from ...event_types.base import OfNode
from ...event_types.text import The


class Conversation(OfNode):
    """A broker of the reference, or a simulated name server, answered a step of a conformance conversation."""

    f: str
    """The step: a name of ``pairproof.harness.rocketmq.conversations``."""
    status: str
    """The response code's name; PUT_OK is code 0, SUCCESS; unreadable answer: ``detail`` has the error. TOLD: the node
    sent this by itself; NOTHING: it sent nothing within the wait.
    """
    detail: str | None
    """JSON: the content of the answer."""

    def words(self, the: The) -> str:
        content = "" if self.detail is None else f": {self.detail}"
        return f"conversation with {the(self.node)}: {self.f}; it answers {self.status}{content}"
