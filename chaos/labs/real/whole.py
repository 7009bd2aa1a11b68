"""What a trial has besides the pair where there is a name server: consumers, and a longer end.

As in the simulated lab: at its end everybody who runs must have come to rest, also those who look only every so often.
Delayed messages are delivered and consumers catch up, or a bound passes; then a period of the slaves' metadata sync is
quiet, and 12 s for its calls.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pairproof.chaos.rocketmq.consumers import Consumers
from pairproof.chaos.rocketmq.provision import TOPIC
from pairproof.harness.rocketmq import places

if TYPE_CHECKING:
    from pairproof.chaos.labs.real.session import RealSession

LOOK_S = 0.5
CATCH_UP_S = 180.0
"""Routes are asked for every 30 s, a group shared out every 20 s, a lost member missed after 120 s."""
CALLS_MS = 12_000


class Whole:
    """Consumers of one session, and its end."""

    def __init__(self, session: RealSession) -> None:
        self.session = session
        address = session.links.by_name[places.NAMES_CLIENT].address
        build, fixed = session.target.consumer_class(), places.chosen_by_user(session.settings)
        self.consumers = Consumers(session.clients, session.machine, build, address, fixed)

    def settle(self) -> None:
        """Until consumers have caught up, or the bound passes; then quiet."""
        ends = time.monotonic() + CATCH_UP_S
        while not self._at_rest() and time.monotonic() < ends:
            self.session.advance(int(LOOK_S * 1_000))
        self.session.advance(self.session.target.sync_period_ms(self.session.settings) + CALLS_MS)

    def _at_rest(self) -> bool:
        inspection = self.session.inspection
        if self.session.run(inspection.delayed()):
            return False
        return self.consumers.stand_at(self.session.run(inspection.queue_ends(TOPIC)))
