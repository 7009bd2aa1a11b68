"""Public names for laws about RocketMQ in another repository: ``from pairproof.rocketmq import Law``.

Such a law asks a :class:`Known` that follows a pair's logs, connections and settings, and hears nothing of the other
broker name's master unless it sets ``ignored_nodes``.
"""

from pairproof.harness.rocketmq.known.model import Known
from pairproof.harness.rocketmq.law import Law

__all__ = ["Known", "Law"]
