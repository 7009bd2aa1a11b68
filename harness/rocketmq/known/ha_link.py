"""What is known of one HA connection by the master's end. Left out: what pieces of frames and reports said."""

from __future__ import annotations

from ..event_types.ha import Frame, Report


class Link:
    """One HA connection as the master's end knows it."""

    __slots__ = ("ahead", "began", "closed", "first", "incarnation", "open", "peer", "sent", "since", "valid")

    def __init__(self, peer: str, incarnation: int, since: int) -> None:
        self.peer = peer
        self.incarnation = incarnation
        """The master's, when it accepted."""
        self.since = since
        """When it accepted, ns."""
        self.open = True
        self.closed: int | None = None
        """When the connection ended before the master's incarnation did, ns."""
        self.first: int | None = None
        """The first report that reached the master."""
        self.valid = False
        """Whether that report was one that an honest slave could have made."""
        self.ahead: Report | None = None
        """That report, if it was above the master's log end."""
        self.began: Frame | None = None
        """The first frame that left after it."""
        self.sent: int | None = None
        """Where the last frame that left ended."""

    @property
    def following(self) -> int | None:
        """Where the log goes on that is pushed; None before the first frame to a slave without a log."""
        if self.sent is None:
            return (self.first or None) if self.valid else None
        return self.sent
