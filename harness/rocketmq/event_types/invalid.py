"""Answers to invalid requests and to bytes that are not a frame, at a trial's end."""

from __future__ import annotations

from ...event_types.base import OfNode
from ...event_types.text import The


class Invalid(OfNode):
    """A broker, or a simulated name server, answered an invalid request or bytes that are not a frame, or closed the
    connection. A node that does neither in time has no such event.
    """

    f: str
    """The request: a name of ``pairproof.harness.rocketmq.invalid_requests``."""
    status: str
    """The response code's name; PUT_OK is code 0, SUCCESS; CLOSED: the connection ended."""
    detail: str | None
    """The beginning of the broker's remark."""

    def words(self, the: The) -> str:
        remark = "" if self.detail is None else f": {self.detail}"
        return f"{the(self.node)} is sent an invalid request, {self.f}, and answers {self.status}{remark}"
