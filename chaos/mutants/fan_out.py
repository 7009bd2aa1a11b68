"""Mutants of the isolation of a failing slave or link: effects on the other slaves, the clients, the reconnects."""

from ...reference.core import ha_slave
from ...reference.core.broker import Broker
from ...reference.core.group_transfer import Waiting
from ...reference.core.ha_master import HaMaster, Phase
from ...reference.core.ha_slave import HaSlave
from ...reference.core.processors.pulling import Pulling
from ...reference.core.requests import Request
from ...reference.ports import Conn
from ...reference.wire import remoting
from ...reference.wire.remoting import Command
from .mutant import seeded


@seeded("master", "role-fan-out", "sends new data only after every connected slave has reported the last")
class LockStep(HaMaster):
    def wake(self) -> None:
        peers = [each for each in self.connections.values() if each.phase is Phase.TRANSFER]
        if all(each.acked >= each.next_offset for each in peers):
            super().wake()

    def believe(self, reported: int) -> None:
        super().believe(reported)
        self.wake()


@seeded("master", "role-fan-out", "answers a send only after every connected slave has it")
class WaitsForAll(HaMaster):
    def reached(self) -> int:
        return min(self._replicas().values(), default=0)

    def enough(self, send: Waiting) -> bool:
        return self.reached() >= send.end


@seeded("master", "live-progress", "answers no pull while a send waits for a slave")
class HoldsPulls(Pulling):
    def on_pull(self, request: Request) -> None:
        if not self.parts.puts.ha.group_transfer.waiting:
            super().on_pull(request)


@seeded("slave", "live-progress", "a slave answers no pull while it has no master")
class MuteAlone(Broker):
    def _on_command(self, conn: Conn, command: Command) -> None:
        if command.code != remoting.PULL_MESSAGE or self.replica.phase is ha_slave.Phase.CONNECTED:
            super()._on_command(conn, command)


@seeded("slave", "live-no-spin", "reconnects without a pause", seen_in="4.9")
class ReconnectsAtOnce(HaSlave):
    def _move(self, received: ha_slave.Received) -> None:
        self.last_attempt -= ha_slave.RECONNECT_NS
        super()._move(received)
