"""Mutants of what goes on beside a slave or a link in trouble: the other slaves, the clients, the reconnects."""

from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.reference.core import ha_slave
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.group_transfer import Waiting
from pairproof.reference.core.ha_master import HaMaster, Phase
from pairproof.reference.core.ha_slave import HaSlave
from pairproof.reference.core.processors.pulling import Pulling
from pairproof.reference.core.requests import Request
from pairproof.reference.ports import Conn
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command


class LockStep(HaMaster):
    def wake(self) -> None:
        peers = [each for each in self.connections.values() if each.phase is Phase.TRANSFER]
        if all(each.acked >= each.next_offset for each in peers):
            super().wake()

    def believe(self, reported: int) -> None:
        super().believe(reported)
        self.wake()


class WaitsForAll(HaMaster):
    def reached(self) -> int:
        return min(self._replicas().values(), default=0)

    def enough(self, send: Waiting) -> bool:
        return self.reached() >= send.end


class HoldsPulls(Pulling):
    def on_pull(self, request: Request) -> None:
        if not self.parts.puts.ha.group_transfer.waiting:
            super().on_pull(request)


class MuteAlone(Broker):
    def _on_command(self, conn: Conn, command: Command) -> None:
        if command.code != remoting.PULL_MESSAGE or self.replica.phase is ha_slave.Phase.CONNECTED:
            super()._on_command(conn, command)


class ReconnectsAtOnce(HaSlave):
    def _move(self, heard: ha_slave.Heard) -> None:
        self.last_attempt -= ha_slave.RECONNECT_NS
        super()._move(heard)


FAN_OUT = (
    Mutant("lock_step", "master", with_parts(master_class=LockStep), "role-fan-out",
           "sends new data only when every connected slave has reported the last"),
    Mutant("waits_for_all", "master", with_parts(master_class=WaitsForAll), "role-fan-out",
           "answers a send only when every connected slave has it"),
    Mutant("holds_pulls", "master", with_parts(pulling_class=HoldsPulls), "live-progress",
           "answers no pull while a send waits for a slave"),
    Mutant("mute_alone", "slave", MuteAlone, "live-progress", "a slave answers no pull while it has no master"),
    Mutant("reconnects_at_once", "slave", with_parts(slave_class=ReconnectsAtOnce), "live-no-spin",
           "tries again at once whenever its connection fails (4.9 after a failed dispatch)"),
)  # fmt: skip
