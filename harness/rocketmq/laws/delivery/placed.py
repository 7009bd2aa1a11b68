"""What laws share that judge calls which name a message by its place: can the master's log say which one is meant?

Where the master's log has lost a part, another message may lie at that place by now: nothing is judged from then on.
"""

from pairproof.harness.kinds.node import Crash, Start, Stop, Wipe
from pairproof.harness.rocketmq.kinds.log import Cut, Expire
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER


class Placed(Law):
    """Counts the master's lives, too."""

    def begin(self) -> None:
        self.life = 0
        """How often the master went down."""
        self.excused = False
        """Whether the master's log ever lost something."""

    def on_crash(self, event: Crash | Stop) -> None:
        if event.node == MASTER:
            self.life += 1
            self.excused |= event.f == "machine"

    on_stop = on_crash

    def on_start(self, event: Start) -> None:
        if event.node == MASTER:
            self.excused |= event.hi is None or event.hi < self.known.logs.ends.get(MASTER, 0)

    def on_wipe(self, event: Wipe | Expire | Cut) -> None:
        self.excused |= event.node == MASTER

    on_expire = on_cut = on_wipe
