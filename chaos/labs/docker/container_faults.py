"""Faults of containers only: their network is removed, their memory limited.

Traffic that waits while a node is disconnected is counted in the kernel's buffers of the container's sockets, and of
the
observer's to it. Connects from inside fail at once, since there is no network; those to it get no answer.

A kernel with cgroup v1 refuses a limit below a process's present use; there the node is killed and started again within
the limit, and the kernel kills it once it needs more. With cgroup v2 the kernel kills it at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ....harness.errors import LabError
from ....harness.ports import Effect
from ..real.evidence import OBSERVER
from ..real.proc import sockets_of
from ..real.store_faults import StoreFaults
from .connection import Refused
from .nodes import NodeContainer

if TYPE_CHECKING:
    from .environment import DockerEnvironment

SYN_SENT = "02"
"""A connect that waits for an answer, in /proc/net/tcp."""
AGAIN_NS = 5_000_000_000
"""Time for waiting traffic to continue after the reconnection."""


class Unplugged(NamedTuple):
    node: NodeContainer
    token: object
    since: int


class Limited(NamedTuple):
    node: NodeContainer
    mb: int
    was_up: bool
    killed: int


class ContainerFaults(StoreFaults):
    """Abilities CanDisconnect and CanLimitMemory besides those of every real lab."""

    @property
    def _environment(self) -> DockerEnvironment:
        return cast("DockerEnvironment", self.world.environment)

    # The network.

    def disconnect(self, node: str) -> Unplugged:
        found = self._contained(node)
        handle = Unplugged(found, object(), self.world.evidence.now())
        if not found.unplugged:
            assert found.container is not None
            self.world.aside(found.container.disconnect)
        found.unplugged.append(handle.token)
        return handle

    def reconnect(self, handle: Unplugged) -> Effect:
        node = handle.node
        effect = self._waiting(node)
        node.unplugged.remove(handle.token)
        if not node.unplugged:
            assert node.container is not None
            self.world.aside(node.container.connect)
            # TCP retries after as long as it has already waited.
            limit = self.world.evidence.now() - handle.since + AGAIN_NS
            if not self.world.run_until(lambda: not (node.is_up and any(self._waiting(node).values())), limit):
                raise LabError(f"waiting traffic of {node.name} did not continue within {limit / 1e9:.0f} s")
        return effect

    def _waiting(self, node: NodeContainer) -> Effect:
        host = self._environment.host(node.name)
        sockets = [each for each in sockets_of(self._environment.pid(OBSERVER)) if each.remote.host == host]
        connects = sum(each.state == SYN_SENT for each in sockets)
        if node.pid is not None:
            sockets += [each for each in sockets_of(node.pid) if each.local.host == host]
        held = sum(each.unacknowledged for each in sockets if each.state != SYN_SENT)
        return {"bytes_held": held, "connects_unanswered": connects}

    # Memory.

    def limit_memory(self, node: str, mb: int) -> Limited:
        found = self._contained(node)
        was_up = found.is_up
        found.limits.append(mb)
        killed = 0
        try:
            self.world.aside(found.limit_memory)
        except Refused:
            # The kernel takes no memory from a running process.
            killed = self.kill(node).get("processes_killed", 0)
            self.world.aside(found.limit_memory)
            self.processes.boot(node)
        return Limited(found, mb, was_up, killed)

    def lift_memory(self, handle: Limited) -> Effect:
        node = handle.node
        self._bury_at_once(node)
        starved = handle.was_up and not node.is_up and node.is_starved(node.status())
        node.limits.remove(handle.mb)
        try:
            self.world.aside(node.limit_memory)
        except Refused:
            # It has ended just now; its next start uses the new limit.
            self._bury_at_once(node)
            if node.is_up:
                raise
            self.world.aside(node.limit_memory)
        return {"processes_killed": handle.killed + int(starved), "limits_hit": int(starved)}

    def _bury_at_once(self, node: NodeContainer) -> None:
        self.world.run_until(lambda: not (node.is_up and node.status().over), AGAIN_NS)

    def _contained(self, node: str) -> NodeContainer:
        return cast("NodeContainer", self.world.node(node))
