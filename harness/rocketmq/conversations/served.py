"""What may come back in a step of a visit: codes, and what the answer must say, a JSON text.

Helpers that make such texts, as the readers of answers do (``pairproof.chaos.rocketmq.conversations``).
"""

from __future__ import annotations

import json
from typing import NamedTuple

CLIENT, OTHER, BROKER, SECOND = "visitor", "other-visitor", "visited-broker", "visited-too"
MASTER, SLAVE, ELSEWHERE = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"
HA, FILTER = "10.0.0.1:10912", "10.0.0.1:10921"
"""The master's further addresses, as it registers them."""
OK = frozenset({"PUT_OK"})
TOLD, NOTHING = "TOLD", "NOTHING"
"""What a visitor receives without a request: what the node sends by itself, and nothing."""
READ = OK | {TOLD}
"""After these it is read what was said."""


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


def says(**parts: object) -> Served:
    """Success, and this text."""
    return Served(says=said(**parts))


def only(*statuses: str) -> Served:
    """One of these codes, whatever the answer says."""
    return Served(frozenset(statuses))


DONE = Served()
REFUSED = only("SYSTEM_ERROR", "INVALID_PARAMETER")
WAITS = only("PUT_OK", "UNANSWERED")
"""The reference waits for a slave, or a disk, where no time passes."""
ELSEWHERE_STORED = says(queue=0, ids=1, length=32)
"""A message whose queue offset is in a queue that others have sent to, too."""
NO_TOPIC = only("TOPIC_NOT_EXIST")
NO_KEY = only("QUERY_NOT_FOUND")
NOTHING_NEW = only("PULL_NOT_FOUND")
MOVED = only("PULL_OFFSET_MOVED")
MASTERLESS = says(master="", ha="")
"""The answer to a broker that registers as a master, or before its master."""
WITH_MASTER = says(master=MASTER, ha=HA)


def leads(queues: list[int], *brokers: str, filters: tuple[str, ...] = ()) -> Served:
    """A route to one broker name."""
    addresses = {str(number): address for number, address in enumerate(brokers)}
    return says(
        queues={BROKER: queues}, brokers={BROKER: addresses}, filters={brokers[0]: list(filters)} if filters else {}
    )


def ways(**brokers: tuple[list[int], dict[str, str]]) -> Served:
    """By broker, with ``_`` for ``-``: its queues to read and write with their permissions, and its addresses."""
    told = {name.replace("_", "-"): each for name, each in brokers.items()}
    return says(
        queues={name: queues for name, (queues, _) in told.items()},
        brokers={name: addresses for name, (_, addresses) in told.items()},
        filters={},
    )


def clustered(*brokers: str) -> Served:
    """The brokers of a cluster."""
    addresses = {str(number): address for number, address in enumerate(brokers)}
    return says(brokers=[BROKER] if brokers else [], addresses=addresses or None)


def stored(offset: int, queue: int = 0, ids: int = 1) -> Served:
    """Where a message was stored; ``ids``: of how many."""
    return says(offset=offset, queue=queue, ids=ids, length=32)


def pulled(most: int, following: int, *messages: list[object]) -> Served:
    """What a pull finds in a queue that begins at 0."""
    return says(min=0, max=most, nextBegin=following, messages=list(messages))


def found(*messages: list[object]) -> Served:
    """The messages that a query finds."""
    return says(messages=list(messages))


def at(offset: int) -> Served:
    """An offset."""
    return says(offset=offset)


def holds(*queues: int) -> Served:
    """The queues that a member holds now."""
    return says(queues=list(queues))


def queues(*figures: list[int]) -> Served:
    """Two figures of each queue."""
    return says(queues={str(queue): each for queue, each in enumerate(figures)})


def clients(*names: str) -> Served:
    """The members of a group."""
    return says(clients=sorted(names))


def topic(readers: int, writers: int, perm: int, kind: str = "SINGLE_TAG", flags: int = 0) -> Served:
    """A topic of a table: its queues to read and to write, its permissions, and the rest."""
    return says(topic=[readers, writers, perm, False, kind, flags])


def message(queue: int, offset: int, body: str, flag: int = 5, flags: int = 0, **properties: str) -> list[object]:
    """A message, as readers show it: place, body, flag, transaction, age, times, properties."""
    return [queue, offset, body, flag, flags, 0, 0, properties]
