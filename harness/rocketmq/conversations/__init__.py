"""Conformance conversations: sequences of requests of a client or a broker, each with its allowed answers.

Each step has a request, the allowed codes, and the required content of the answer: a JSON text, as the reader of
answers makes it of lists in any order. Nothing depends on earlier operations of a trial. A new conversation is one more
tuple of steps in one of the modules' lists; steps with the same name have the same correct answer.

The conversations' clients have their own names and groups, and use their own topic and group; they run after
the last audit, and their messages are not in the history.

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
"""A topic that a send creates has at most as many queues as TBW102, which has the master's defaultTopicQueueNums."""
MASTER, FEW, SLAVE, NAMES = "master", "master of few queues", "slave", "name server"
"""The nodes of conversations; a master with a defaultTopicQueueNums below :data:`LEAST_QUEUES` is separate."""


def _made(topic: str, conversations: Sequence[Conversation]) -> Sequence[Conversation]:
    return tuple(named(each, topic) for each in conversations)


# No topic may exist before. Conversations with name servers register another one, since in long conversations the
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
"""Conversations without waits."""
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
BY_KEY = frozenset(
    step.name
    for step in _STEPS
    if step.asks.code == "QUERY_MESSAGE" and step.served is not None and step.served.statuses == OK
)
"""Steps whose answers need an index."""
