"""What the troubles of a simulated trial share with it: the parts that every ability acts on."""

from __future__ import annotations

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.labs.sim.kernel import Kernel
from pairproof.chaos.labs.sim.network import Link, Network
from pairproof.harness.schedule import Args
from pairproof.reference.core.broker import Broker


class World:
    """Base of the troubles; the session fills it in."""

    kernel: Kernel
    network: Network
    evidence: Evidence
    hosts: dict[str, Host]
    nodes: tuple[str, ...]
    """The pair's brokers, the master first."""
    settings: Args
    seed: str
    acting: str | None = None
    """The node in the middle of whose doing a trigger fires right now."""

    def node_host(self, name: str) -> Host:
        """A broker's or name server's machine; UsageError for one that this trial does not have."""
        raise NotImplementedError

    def stranger_host(self) -> Host:
        """A machine of a stranger's own, from which all ports can be reached."""
        raise NotImplementedError

    def link(self, name: str) -> Link:
        """A link; UsageError for one that this trial does not have."""
        raise NotImplementedError

    def boot(self, name: str) -> None:
        """Start a node's process on whatever its disk holds."""
        raise NotImplementedError

    def provide(self, name: str, disk: SimDisk) -> None:
        """Put into a node's fresh store what its operator prepares."""
        raise NotImplementedError

    def broker(self, name: str) -> Broker | None:
        """The running broker, or None."""
        raise NotImplementedError

    def audit(self, f: str, *nodes: str) -> None:
        """Read stores from outside."""
        raise NotImplementedError
