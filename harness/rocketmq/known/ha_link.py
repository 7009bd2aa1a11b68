"""One HA connection from the master's end. Left out: the content of partial frames and reports."""

from __future__ import annotations

from dataclasses import dataclass

from ..event_types.ha import Frame, Report


@dataclass(slots=True, eq=False)
class Link:
    peer: str
    incarnation: int
    since: int
    open: bool = True
    closed: int | None = None
    """When the connection ended before the master's incarnation did, ns."""
    first: int | None = None
    """The first report that reached the master."""
    valid: bool = False
    """Whether that report was valid for a correct slave."""
    ahead: Report | None = None
    """That report, if it was above the master's log end."""
    began: Frame | None = None
    """The first frame that left after it."""
    sent: int | None = None
    """The end of the last frame that left."""

    @property
    def following(self) -> int | None:
        """The next pushed offset; None before the first frame to a slave without a log."""
        if self.sent is None:
            return (self.first or None) if self.valid else None
        return self.sent
