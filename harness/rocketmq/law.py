"""What a law about RocketMQ is: one that asks RocketMQ's ledger, and as a rule about one broker name."""

from __future__ import annotations

from pairproof.harness import law
from pairproof.harness.rocketmq.laws.ledger import Ledger
from pairproof.harness.rocketmq.places import OTHER


class Law(law.Law):
    """Base of the laws about RocketMQ. Most are about the pair: they hear nothing of the other broker name's master."""

    system = "rocketmq"
    ledger_type = Ledger
    deaf_to = frozenset((OTHER,))
    ledger: Ledger
