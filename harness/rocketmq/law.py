"""What a law about RocketMQ is: one that asks RocketMQ's known, and as a rule about one broker name."""

from __future__ import annotations

from ..judging import law
from .known.model import Known
from .topology import OTHER


class Law(law.Law):
    """Base of the laws about RocketMQ. Most are about the pair: they hear nothing of the other broker name's master."""

    system = "rocketmq"
    known_type = Known
    deaf_to = frozenset((OTHER,))
    known: Known
