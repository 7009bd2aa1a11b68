"""How a step of a visit is answered: codes, and what the answer must say, a JSON text.

Helpers that make such texts, as the readers of answers do (``pairproof.chaos.rocketmq.visits``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

VISITOR, OTHER, BROKER, SECOND = "visitor", "other-visitor", "visited-broker", "visited-too"
MASTER, SLAVE, ELSEWHERE = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"
HA, FILTER = "10.0.0.1:10912", "10.0.0.1:10921"
"""The master's further addresses, as it registers them."""
OK = frozenset({"PUT_OK"})
TOLD, NOTHING = "TOLD", "NOTHING"
"""What a visitor hears that has not asked: what the node sends by itself, and nothing."""
READ = OK | {TOLD}
"""After these it is read what was said."""
ERROR = frozenset({"SYSTEM_ERROR", "INVALID_PARAMETER"})


class Served(NamedTuple):
    """How a step is answered."""

    statuses: frozenset[str] = OK
    says: str | None = None
    """None: nothing that is read."""
    or_says: str | None = None
    """What is right as well, where that depends on the settings."""

    @property
    def right(self) -> tuple[str, ...]:
        """All that an answer may say; nothing where it may say anything."""
        return tuple(each for each in (self.says, self.or_says) if each is not None)


def said(**parts: object) -> str:
    """What an answer says, as one text."""
    return json.dumps(parts, sort_keys=True)


def takes(**topics: list[object]) -> Served:
    """The subscriptions of a group."""
    return Served(
        says=said(
            clients=[VISITOR],
            ways=["CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET"],
            topics=topics,
        )
    )


def holds(*queues: int) -> Served:
    """The queues that a member holds now."""
    return Served(says=said(queues=list(queues)))


def leads(queues: list[int], *brokers: str, filters: tuple[str, ...] = ()) -> Served:
    """A route to one broker name."""
    addresses = {str(number): address for number, address in enumerate(brokers)}
    filtering = {brokers[0]: list(filters)} if filters else {}
    return Served(says=said(queues={BROKER: queues}, brokers={BROKER: addresses}, filters=filtering))


def ways(ways: Mapping[str, tuple[list[int], Mapping[str, str]]]) -> Served:
    """By broker: its queues to read and write with their permissions, and its addresses."""
    queues = {name: numbers for name, (numbers, _) in ways.items()}
    return Served(says=said(queues=queues, brokers={name: each for name, (_, each) in ways.items()}, filters={}))


def compared(changed: str, counter: int | None) -> Served:
    """Whether the topics are others than those that were registered, and their version."""
    return Served(says=said(changed=changed, counter=counter))


def clustered(*brokers: str) -> Served:
    """The brokers of a cluster."""
    addresses = {str(number): address for number, address in enumerate(brokers)}
    return Served(says=said(brokers=[BROKER] if brokers else [], addresses=addresses or None))


def stored(offset: int, queue: int = 0, ids: int = 1) -> Served:
    """Where a message was stored; ``ids``: of how many."""
    return Served(says=said(offset=offset, queue=queue, ids=ids, length=32))


def pulled(most: int, following: int, *messages: list[object]) -> Served:
    """What a pull finds in a queue that begins at 0."""
    return Served(says=said(min=0, max=most, nextBegin=following, messages=list(messages)))


def found(*messages: list[object]) -> Served:
    """The messages that a query finds."""
    return Served(says=said(messages=list(messages)))


def readers(*groups: str) -> Served:
    """Groups, by what follows the topic's name in theirs."""
    return Served(says=said(groups=list(groups)))


def at(offset: int) -> Served:
    """An offset."""
    return Served(says=said(offset=offset))


def message(queue: int, offset: int, body: str, flag: int = 5, flags: int = 0, **properties: str) -> list[object]:
    """A message, as readers show it: place, body, flag, transaction, age, times, properties."""
    return [queue, offset, body, flag, flags, 0, 0, properties]
