"""The events of every simulated trial: incarnations of its nodes; a target's readings record the rest.

An observer records before it forwards and after it receives, so an outside observer could have seen the history's
order.
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
    """Converts observations of a target's nodes into events. The base class ignores them."""

    by_time: Collection[str] = ()
    """Event types that waiting alone produces, so their number does not show nodes' activity."""

    def watcher(self, host: Host) -> Any:
        """The watcher of a new node."""

    def starting(self, host: Host) -> None:
        """A node is about to start on its disk's contents."""

    def started(self, host: Host) -> None:
        """A node has started."""

    def refused(self, host: Host) -> None:
        """A node refused to start."""

    def opened(self, end: End, accepted: bool) -> None:
        """A connection is open at this end."""

    def closed(self, end: End, how: str) -> None:
        """A connection ended at this end: local, peer or reset."""

    def log_end(self, node: str) -> int:
        """The log end of a node that runs, or of its last incarnation."""
        return 0

    def replaced(self, host: Host) -> int | None:
        """A stopped node has another store; returns its log end by its files."""


class Evidence(Observer):
    """Records the events that are common to all targets; ``readings``: the target's."""

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
        """By address: its node."""

    def now(self) -> int:
        return self.kernel.now

    def node_at(self, address: str) -> str:
        return self.addresses.get(address, address)

    def point(self, host: str, name: str) -> None:
        self._point(host, name)

    # Nodes.

    def lab(self, healthy_ns: int, settings: Args) -> None:
        own = {key: value for key, value in settings.items() if key.startswith("lab.")}
        self.add(self.kernel.now, "lab", f="sim", value=healthy_ns, detail=json.dumps(own, sort_keys=True))

    def config(self, name: str, shown: str) -> None:
        self.add(self.kernel.now, "config", name, detail=shown)

    def crashed(self, host: Host, how: str, lost: int, status: str | None = None, detail: str | None = None) -> None:
        """A node went down, with its ends of connections. ``status``: see event type ``crash``."""
        self.add(self.kernel.now, "crash", host.name, host.incarnation, f=how, status=status, value=lost, detail=detail)
        for end in host.ends:
            self.closed(end, "local")

    def failed(self, host: Host, why: BaseException) -> None:
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
        """A node is paused (``pause``), or continues (``resume``)."""
        self.add(self.kernel.now, kind, host.name, host.incarnation)

    def clock_set(self, host: Host) -> None:
        self.add(self.kernel.now, "clock", host.name, value=host.skew_ms)

    def wiped(self, host: Host, f: str, whose: str | None = None) -> int:
        """A stopped node has another store, ``empty`` or an older ``image``; returns the bytes that its log lost.

        ``whose``: the previous owner of the store, if another node.

        Its next start may truncate that log (a torn last record); this is not a ``cut`` of the node's earlier log.
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
