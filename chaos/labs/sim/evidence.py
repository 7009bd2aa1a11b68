"""What every simulated trial records: its nodes' lives, whatever they are; a target's own readings are told the rest.

An observer records before it forwards and after it receives, so the history's order is one that could have been seen
from outside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ....harness.history import Recorder
from ....harness.trials.schedule import Args
from ....reference.errors import StoreError, StoreRefused
from ..blame import Overgrown, Stuck, described
from .host import Host, Observer
from .kernel import Kernel
from .network import End


class Readings:
    """What a target makes of what is seen of its nodes. This one makes nothing of it."""

    by_time: Collection[str] = ()
    """Kinds of events that waiting alone makes, so that their number says nothing about nodes."""

    def watcher(self, host: Host) -> Any:
        """What a new node tells of itself to."""

    def starting(self, host: Host) -> None:
        """A node is about to start on what its disk holds."""

    def started(self, host: Host) -> None:
        """A node is up."""

    def refused(self, host: Host) -> None:
        """A node was about to start, and will not."""

    def opened(self, end: End, accepted: bool) -> None:
        """A connection stands at this end."""

    def closed(self, end: End, how: str) -> None:
        """A connection ended at this end: local, peer or reset."""

    def log_end(self, node: str) -> int:
        """Where the log of a node that runs, or ran last, ends."""
        return 0

    def replaced(self, host: Host) -> int | None:
        """A node that is down has another store; where its log ends by its files."""


class Evidence(Observer):
    """Records everything that is the same for all targets; ``readings``: the target's."""

    readings = Readings()

    def __init__(
        self,
        kernel: Kernel,
        recorder: Recorder,
        armed: Mapping[tuple[str, str], object],
        point: Callable[[str, str], None],
    ) -> None:
        self.armed = armed
        self.kernel = kernel
        self.recorder = recorder
        self.add = recorder.add
        self._point = point
        self.audits = 0
        self.addresses: Mapping[str, str] = {}
        """Which node an address belongs to."""

    def now(self) -> int:
        return self.kernel.now

    def node_at(self, address: str) -> str:
        return self.addresses.get(address, address)

    def point(self, host: str, name: str) -> None:
        self._point(host, name)

    # Nodes.

    def lab(self, healthy_ns: int, settings: Args) -> None:
        """The lab itself: what a healthy client's call spends on the way, and what was set for it."""
        own = {key: value for key, value in settings.items() if key.startswith("lab.")}
        self.add(self.kernel.now, "lab", f="sim", value=healthy_ns, detail=json.dumps(own, sort_keys=True))

    def config(self, name: str, shown: str) -> None:
        self.add(self.kernel.now, "config", name, detail=shown)

    def crashed(self, host: Host, how: str, lost: int, status: str | None = None, detail: str | None = None) -> None:
        """A node went down; its ends of connections went with it. ``status``: see kind ``crash``."""
        self.add(self.kernel.now, "crash", host.name, host.incarnation, f=how, status=status, value=lost, detail=detail)
        for end in host.ends:
            self.closed(end, "local")

    def failed(self, host: Host, why: BaseException) -> None:
        """A node ends by itself, for want of its disk perhaps."""
        status = "disk" if _is_for_its_disk(host, why) else "stuck" if isinstance(why, Stuck) else "own"
        self.crashed(host, "process", 0, status, described(why))
        if isinstance(why, Overgrown):
            self.recorder.stop(self.kernel.now)

    def aborted(self, host: Host, why: BaseException) -> None:
        f = "refused" if isinstance(why, StoreRefused) else "stuck" if isinstance(why, Stuck) else "ended"
        status = "disk" if _is_for_its_disk(host, why) else None
        self.add(self.kernel.now, "abort", host.name, host.incarnation, f=f, status=status, detail=described(why))
        if f == "refused":
            self.readings.refused(host)
        if isinstance(why, Overgrown):
            self.recorder.stop(self.kernel.now)

    def stopped(self, host: Host) -> None:
        self.add(self.kernel.now, "stop", host.name, host.incarnation)

    def paused(self, host: Host, kind: str) -> None:
        """A node stands still (``pause``), or goes on (``resume``)."""
        self.add(self.kernel.now, kind, host.name, host.incarnation)

    def clock_set(self, host: Host) -> None:
        self.add(self.kernel.now, "clock", host.name, value=host.skew_ms)

    def wiped(self, host: Host, f: str, whose: str | None = None) -> int:
        """A node that is down has another store, ``empty`` or an older ``image``; how many bytes its log is shorter.

        ``whose``: the node whose store it was until now, if another's.

        Its next start may cut that, a torn last record say, and is no ``cut`` of what the node had.
        """
        before, end = self.readings.log_end(host.name), self.readings.replaced(host)
        self.add(self.kernel.now, "wipe", host.name, f=f, hi=end, detail=whose)
        return max(0, before - (end or 0))

    # Connections.

    def opened(self, end: End, accepted: bool) -> None:
        self.readings.opened(end, accepted)

    def closed(self, end: End, how: str) -> None:
        self.readings.closed(end, how)


def _is_for_its_disk(host: Host, why: BaseException) -> bool:
    return isinstance(why, StoreError) and bool(host.disk.read_only or host.disk.full)
