"""Visits: what a client, or a broker, asks in turn that comes, changes its mind and goes; and what is to be answered.

Each step has a name, the codes with which it may be answered, and what the answer must say: a JSON text, as the reader
of answers makes it of lists in any order. Nothing of it depends on what a trial has done before.

Measured on brokers of 4.9.7 and 5.5.0 and a name server of 4.9.7 (tests/java). Sources: ClientManageProcessor,
ConsumerManager, ProducerManager, RebalanceLockManager, RouteInfoManager.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

VISITOR, BROKER = "visitor", "visited-broker"
MASTER, SLAVE = "10.0.0.1:10911", "10.0.0.2:10911"
HA, FILTER = "10.0.0.1:10912", "10.0.0.1:10921"
"""The master's further addresses, as it registers them."""
_OK = frozenset({"PUT_OK"})
_ERROR = frozenset({"SYSTEM_ERROR", "INVALID_PARAMETER"})


class Served(NamedTuple):
    """How a step is answered."""

    statuses: frozenset[str] = _OK
    says: str | None = None
    """None: nothing that is read."""


def said(**parts: object) -> str:
    """What an answer says, as one text."""
    return json.dumps(parts, sort_keys=True)


def _takes(**topics: list[object]) -> Served:
    return Served(
        says=said(
            clients=[VISITOR],
            ways=["CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET"],
            topics=topics,
        )
    )


def _holds(*queues: int) -> Served:
    return Served(says=said(queues=list(queues)))


def _leads(queues: list[int], *brokers: str, filters: tuple[str, ...] = ()) -> Served:
    addresses = {str(number): address for number, address in enumerate(brokers)}
    filtering = {brokers[0]: list(filters)} if filters else {}
    return Served(says=said(queues={BROKER: queues}, brokers={BROKER: addresses}, filters=filtering))


_AFTER = _takes(visited=["c", ["c"], [99], 2], third=["*", [], [], 2])

SERVED: Mapping[str, Served] = {
    "a consumer comes": Served(),
    "who consumes": Served(says=said(clients=[VISITOR])),
    "what it takes": _takes(visited=["a || b", ["a", "b"], [97, 98], 1], second=["*", [], [], 1]),
    "the consumer takes something else": Served(),
    "what it takes then": _AFTER,
    "the consumer says what it took before": Served(),
    "what it takes still": _AFTER,
    "the consumer leaves": Served(),
    "what nobody takes": Served(frozenset({"CONSUMER_NOT_ONLINE"})),
    "who is left": Served(_ERROR),
    "a producer comes": Served(),
    "who produces": Served(says=said(clients=[VISITOR])),
    "the producer leaves": Served(),
    "who produces no more": Served(_ERROR),
    "a member locks two queues": _holds(0, 1),
    "another one locks a queue of them, and one more": _holds(2),
    "the first one gives that queue back": Served(),
    "the other one locks it again": _holds(0),
    "the first one locks both again": _holds(1),
    "both give all back": Served(),
    "a master registers": Served(says=said(master="", ha="")),
    "the way to it": _leads([3, 2, 6], MASTER, filters=(FILTER,)),
    "its slave registers": Served(says=said(master=MASTER, ha=HA)),
    "the way to both": _leads([3, 2, 6], MASTER, SLAVE, filters=(FILTER,)),
    "the master registers a change, compressed": Served(says=said(master="", ha="")),
    "the way to what is changed": _leads([5, 4, 4], MASTER, SLAVE),
    "the slave leaves": Served(),
    "the way to the master alone": _leads([5, 4, 4], MASTER),
    "the master leaves": Served(),
    "the way to nobody": Served(frozenset({"TOPIC_NOT_EXIST"})),
}
