"""Public names for laws about RocketMQ in another repository: ``from pairproof.rocketmq import Law``.

Such a law asks a :class:`Ledger` that follows a pair's logs, connections and settings, and hears nothing of the other
broker name's master unless it sets ``deaf_to``.
"""

from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.laws.ledger import Ledger

__all__ = ["Law", "Ledger"]
