"""The events of tapped HA connections, in every lab: frames, the master's files behind them, reports, and what is
incomplete.
"""

from __future__ import annotations

from collections.abc import Callable

from ...harness.history import MS, digest
from ..observers.ha_tap import FrameTap, ReportTap

MASTERS, SLAVES = "m", "s"
Tap = FrameTap | ReportTap


class HaEvents:
    """``add`` records an event; ``stored``: the bytes [lo, hi) in a node's files now; None unless they have all."""

    def __init__(
        self, add: Callable[..., None], now: Callable[[], int], stored: Callable[[str, int, int], bytes | None]
    ) -> None:
        self._add = add
        self._now = now
        self._stored = stored
        self._noted: dict[Tap, object] = {}
        """Taps with an incomplete frame or report, and their last note."""

    def connect(self, node: str, link: str, side: str) -> None:
        self._add(self._now(), "connect", node, link=link, side=side, f=node)

    def close(self, node: str, link: str, side: str, how: str, sent: Tap, received: Tap) -> None:
        unfinished = sent.pending or received.pending or None
        self._add(self._now(), "close", node, link=link, side=side, f=how, value=unfinished)
        for tap in (sent, received):
            self._noted.pop(tap, None)

    def frames(self, node: str, link: str, side: str, tap: FrameTap, data: bytes) -> None:
        """Bytes left the master, or are about to reach the slave; none: the sender has more, which are not accepted."""
        now = self._now()
        for offset, body in tap.feed(data):
            hi = offset + len(body)
            known = digest(body)
            self._add(now, "frame", node, link=link, side=side, lo=offset, hi=hi, digest=known)
            if side == MASTERS and body:
                stored = self._stored(node, offset, hi)
                if stored is not None:
                    known = known if stored == body else digest(stored)
                    self._add(now, "source", node, link=link, lo=offset, hi=hi, digest=known)
        self._incomplete(node, link, side, "out" if side == MASTERS else "in", tap, not data)

    def report(self, node: str, link: str, side: str, offset: int) -> None:
        self._add(self._now(), "report", node, link=link, side=side, hi=offset)

    def reported(self, node: str, link: str, side: str, tap: ReportTap, data: bytes) -> None:
        """The reports of ``data`` are recorded, as in :meth:`frames`."""
        self._incomplete(node, link, side, "in" if side == MASTERS else "out", tap, not data)

    def _incomplete(self, node: str, link: str, side: str, f: str, tap: Tap, blocked: bool) -> None:
        """A frame or report is incomplete at this end, or reading is paused; noted once a millisecond until it is
        complete.
        """
        if not (tap.pending or tap.broken or blocked):
            # A frame that arrives in slices is noted once a millisecond, regardless of the frames before it.
            if self._noted and (f == "out" or side == MASTERS):
                self._noted.pop(tap, None)
            return
        now, lo, broken = self._now(), tap.announced, tap.broken
        what = broken or (now // MS, lo)
        if self._noted.get(tap) == what:
            return
        self._noted[tap] = what
        detail = f"broken: {broken}" if broken else None
        self._add(now, "partial", node, link=link, side=side, f=f, lo=lo, value=tap.pending, detail=detail)
