"""What laws share that compare an answer with the master's log: was it given in the life in which it was asked for?

An answer that was under way when the master stopped or crashed is of a life that is over: what it says of a place need
not be so in the next one.
"""

from pairproof.harness.kinds.client import Fail, Info, Invoke, Ok
from pairproof.harness.kinds.node import Crash, Start, Stop
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER


class OneLife(Law):
    """Counts the master's lives. Bounded by the sends in flight."""

    def begin(self) -> None:
        self.life = 0
        """How often the master came or went."""
        self.began: dict[int | None, int] = {}
        """Sends in flight, and when they began, by that count."""
        self.lost_power = False
        """Whether the master's machine crashed since it started last."""

    def asked(self, event: Invoke) -> None:
        self.began[event.op] = self.life

    def is_of_one_life(self, event: Ok) -> bool:
        """Whether a send began and was answered, now, in one life."""
        return self.began.pop(event.op, None) == self.life

    def recovered(self, event: Start) -> None:
        """The master starts with what its recovery found."""

    def on_fail(self, event: Fail | Info) -> None:
        self.began.pop(event.op, None)

    on_info = on_fail

    def on_crash(self, event: Crash | Stop) -> None:
        if event.node == MASTER:
            self.life += 1
            self.lost_power = self.lost_power or event.f == "machine"

    on_stop = on_crash

    def on_start(self, event: Start) -> None:
        if event.node == MASTER:
            self.life += 1
            self.recovered(event)
            self.lost_power = False
