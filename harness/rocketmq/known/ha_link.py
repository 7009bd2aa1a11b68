"""One HA connection from the master's end. Left out: the content of partial frames and reports."""

from __future__ import annotations

from ..event_types.ha import Frame, Report


class Link:
    __slots__ = ("ahead", "began", "closed", "first", "incarnation", "open", "peer", "sent", "since", "valid")

    def __init__(self, peer: str, incarnation: int, since: int) -> None:
        self.peer = peer
        self.incarnation = incarnation
        self.since = since
        self.open = True
        self.closed: int | None = None
        """When the connection ended before the master's incarnation did, ns."""
        self.first: int | None = None
        """The first report that reached the master."""
        self.valid = False
        """Whether that report was valid for a correct slave."""
        self.ahead: Report | None = None
        """That report, if it was above the master's log end."""
        self.began: Frame | None = None
        """The first frame that left after it."""
        self.sent: int | None = None
        """The end of the last frame that left."""

    @property
    def following(self) -> int | None:
        """The next pushed offset; None before the first frame to a slave without a log."""
        if self.sent is None:
            return (self.first or None) if self.valid else None
        return self.sent
