"""Visits: what a client, or a broker, asks in turn that comes, changes its mind and goes; and what is to be answered.

Each step names a request, the codes with which it may be answered, and what the answer must say: a JSON text, as the
reader of answers makes it of lists in any order. Nothing of it depends on what a trial has done before. A new visit is
one more tuple of steps in one of the modules' lists; a name that several steps share has one right answer.

Visitors have names that no other client has, and join groups in which nobody else is. What they send and make is in a
topic and a group of their own; it comes after the last audit, and nothing of it stands in the history.

Measured on brokers of 4.9.7 and 5.5.0 and a name server of 4.9.7 (tests/java).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import long
from .boundaries import AT_BOUNDARIES
from .brokers import OF_BROKERS, OF_SLAVES
from .masters import OF_MASTERS, PERMITTED
from .names import OF_NAMES
from .served import OK, Served
from .steps import Conversation, named

LEAST_QUEUES = 4
"""A topic that a send makes has no more queues than TBW102, whose number is the master's defaultTopicQueueNums."""
MASTER, FEW, SLAVE, NAMES = "master", "master of few queues", "slave", "name server"
"""Who is visited; a master with a defaultTopicQueueNums below :data:`LEAST_QUEUES` apart."""


def _made(topic: str, conversations: Sequence[Conversation]) -> Sequence[Conversation]:
    return tuple(named(each, topic) for each in conversations)


# Neither topic may be there before. Visitors of a name server register another one: where time passes in a visit the
# master may register its own.
_WIDE = _made("visitor", OF_MASTERS)
_NARROW = _made("visitor", [each for each in OF_MASTERS if each is not PERMITTED])
_BOUNDARIES = _made("visitor", AT_BOUNDARIES)
CONVERSATIONS: Mapping[str, Sequence[Conversation]] = {
    MASTER: (*OF_BROKERS, *_WIDE, *_BOUNDARIES),
    FEW: (*OF_BROKERS, *_NARROW, *_BOUNDARIES),
    SLAVE: (*OF_BROKERS, *OF_SLAVES),
    NAMES: OF_NAMES,
}
"""Those in which no time passes."""
_TIMED = (*long.OF_BROKERS, *_made("visited-in-time", long.OF_MASTERS))
IN_TIME: Mapping[str, Sequence[Conversation]] = {
    MASTER: _TIMED, FEW: _TIMED, SLAVE: long.OF_BROKERS, NAMES: long.OF_NAMES,
}  # fmt: skip
_STEPS = [
    step
    for paid in (CONVERSATIONS, IN_TIME)
    for conversations in paid.values()
    for conversation in conversations
    for step in conversation
]
SERVED: Mapping[str, Served] = {step.name: step.served for step in _STEPS if step.served is not None}
"""By the names of steps, as histories have them."""
BY_KEY = frozenset(
    step.name
    for step in _STEPS
    if step.asks.code == "QUERY_MESSAGE" and step.served is not None and step.served.statuses == OK
)
"""What a broker without an index does not find."""
