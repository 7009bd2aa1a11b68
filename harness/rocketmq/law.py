"""Laws about RocketMQ: they use RocketMQ's model, and normally concern one broker name."""

from __future__ import annotations

from ..judging import law
from .known.model import Known
from .topology import OTHER


class Law(law.Law):
    """Base of the laws about RocketMQ. By default they receive no events of the other broker name's master."""

    system = "rocketmq"
    known_type = Known
    ignored_nodes = frozenset((OTHER,))
    known: Known
