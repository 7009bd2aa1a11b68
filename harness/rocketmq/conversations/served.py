"""Allowed answers of a conversation's step: codes, and the required content, a JSON text.

Helpers make such texts in the format of the readers of answers (``pairproof.chaos.rocketmq.conversations``).
"""

from __future__ import annotations

import json
from typing import NamedTuple

CLIENT, OTHER, BROKER, SECOND = "visitor", "other-visitor", "visited-broker", "visited-too"
MASTER, SLAVE, ELSEWHERE = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"
HA, FILTER = "10.0.0.1:10912", "10.0.0.1:10921"
"""The master's further addresses in its registration."""
OK = frozenset({"PUT_OK"})
TOLD, NOTHING = "TOLD", "NOTHING"
"""Statuses without a request: a message that the node sends by itself, and silence."""
READ = OK | {TOLD}
"""After these the content is read."""


class Served(NamedTuple):
    statuses: frozenset[str] = OK
    expects: str | None = None
    """None: the content is not read."""
    or_expects: str | None = None
    """An alternative, if the content depends on the settings."""

    @property
    def right(self) -> tuple[str, ...]:
        return tuple(each for each in (self.expects, self.or_expects) if each is not None)


def as_text(**parts: object) -> str:
    """The content of an answer, as one text."""
    return json.dumps(parts, sort_keys=True)


def expects(**parts: object) -> Served:
    """Success with this content."""
    return Served(expects=as_text(**parts))


def only(*statuses: str) -> Served:
    """One of these codes with any content."""
    return Served(frozenset(statuses))


DONE = Served()
REFUSED = only("SYSTEM_ERROR", "INVALID_PARAMETER")
WAITS = only("PUT_OK", "UNANSWERED")
"""The reference waits for a slave or a disk in conversations without time."""
ELSEWHERE_STORED = expects(queue=0, ids=1, length=32)
"""A message in a queue that other clients also use, so its offset varies."""
NO_TOPIC = only("TOPIC_NOT_EXIST")
NO_KEY = only("QUERY_NOT_FOUND")
NOTHING_NEW = only("PULL_NOT_FOUND")
MOVED = only("PULL_OFFSET_MOVED")
MASTERLESS = expects(master="", ha="")
"""The answer to a broker that registers as a master, or before its master."""
WITH_MASTER = expects(master=MASTER, ha=HA)


def leads(queues: list[int], *brokers: str, filters: tuple[str, ...] = ()) -> Served:
    """A route to one broker name."""
    addresses = {str(number): address for number, address in enumerate(brokers)}
    return expects(
        queues={BROKER: queues}, brokers={BROKER: addresses}, filters={brokers[0]: list(filters)} if filters else {}
    )


def ways(**brokers: tuple[list[int], dict[str, str]]) -> Served:
    """By broker, with ``_`` for ``-``: its queues to read and write with their permissions, and its addresses."""
    named = {name.replace("_", "-"): each for name, each in brokers.items()}
    return expects(
        queues={name: queues for name, (queues, _) in named.items()},
        brokers={name: addresses for name, (_, addresses) in named.items()},
        filters={},
    )


def clustered(*brokers: str) -> Served:
    """The brokers of a cluster."""
    addresses = {str(number): address for number, address in enumerate(brokers)}
    return expects(brokers=[BROKER] if brokers else [], addresses=addresses or None)


def stored(offset: int, queue: int = 0, ids: int = 1) -> Served:
    """The position of a message; ``ids``: the number of messages."""
    return expects(offset=offset, queue=queue, ids=ids, length=32)


def pulled(most: int, following: int, *messages: list[object]) -> Served:
    """The result of a pull from a queue that begins at 0."""
    return expects(min=0, max=most, nextBegin=following, messages=list(messages))


def found(*messages: list[object]) -> Served:
    """The messages that a query finds."""
    return expects(messages=list(messages))


def at(offset: int) -> Served:
    """An offset."""
    return expects(offset=offset)


def holds(*queues: int) -> Served:
    """The queues that a member holds."""
    return expects(queues=list(queues))


def queues(*figures: list[int]) -> Served:
    """Two numbers for each queue."""
    return expects(queues={str(queue): each for queue, each in enumerate(figures)})


def clients(*names: str) -> Served:
    """The members of a group."""
    return expects(clients=sorted(names))


def topic(readers: int, writers: int, perm: int, kind: str = "SINGLE_TAG", flags: int = 0) -> Served:
    """A topic of a table: its queues to read and to write, its permissions, and the rest."""
    return expects(topic=[readers, writers, perm, False, kind, flags])


def message(queue: int, offset: int, body: str, flag: int = 5, flags: int = 0, **properties: str) -> list[object]:
    """A message in the readers' format: queue, offset, body, flag, transaction, age, times, properties."""
    return [queue, offset, body, flag, flags, 0, 0, properties]
