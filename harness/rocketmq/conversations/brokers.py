"""Conformance conversations with any broker, and with slaves alone: their services, and those that they leave to
masters.

Sources: ClientManageProcessor, ConsumerManager, ProducerManager, RebalanceLockManager.
"""

from __future__ import annotations

from collections.abc import Sequence

from .asks import (
    BORN_MS,
    COMMIT,
    PRODUCERS,
    READERS,
    asks_progress,
    at_time,
    beats,
    begins,
    by_id,
    comes,
    commits,
    consumers,
    deletes_group,
    deletes_topic,
    earliest,
    ends,
    figures,
    leaves,
    locks,
    makes_group,
    makes_topic,
    of_key,
    producers,
    pulls,
    sends,
    unlocks,
)
from .served import (
    CLIENT,
    NO_KEY,
    OTHER,
    REFUSED,
    Served,
    at,
    clients,
    expects,
    holds,
    only,
    queues,
)  # fmt: skip
from .steps import Ask, Conversation, Step

_TAKEN = Ask("GET_CONSUMER_CONNECTION_LIST", {"consumerGroup": READERS}, reads=("taken",))


def _takes(**topics: list[object]) -> Served:
    ways = ["CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET"]
    return expects(clients=[CLIENT], ways=ways, topics=topics)


_AFTER = _takes(visited=["c", ["c"], [99], 2], third=["*", [], [], 2])
_CONSUMERS = (
    Step("a consumer comes", comes(READERS, ("visited", "a || b", 1), ("second", "*", 1))),
    Step("who consumes", consumers(READERS), clients(CLIENT)),
    Step("what it takes", _TAKEN, _takes(visited=["a || b", ["a", "b"], [97, 98], 1], second=["*", [], [], 1])),
    Step("the consumer takes something else", comes(READERS, ("visited", "c", 2), ("third", "*", 2))),
    Step("what it takes then", _TAKEN, _AFTER),
    Step("the consumer says what it took before", comes(READERS, ("visited", "a || b", 1), ("third", "*", 2))),
    Step("what it takes still", _TAKEN, _AFTER),
    Step("the consumer leaves", leaves(consumerGroup=READERS)),
    Step("what nobody takes", _TAKEN, only("CONSUMER_NOT_ONLINE")),
    Step("who is left", consumers(READERS), REFUSED),
)
_PRODUCERS = (
    Step("a producer comes", beats(CLIENT, producerDataSet=[{"groupName": "visitors"}])),
    Step("who produces", producers("visitors"), clients(CLIENT)),
    Step("the producer leaves", leaves(producerGroup="visitors")),
    Step("who produces no more", producers("visitors"), REFUSED),
)
_LOCKS = (
    Step("a member locks two queues", locks(CLIENT, 0, 1), holds(0, 1)),
    Step("another one locks a queue of them, and one more", locks(OTHER, 0, 2), holds(2)),
    Step("the first one gives that queue back", unlocks(CLIENT, 0)),
    Step("the other one locks it again", locks(OTHER, 0), holds(0)),
    Step("the first one locks both again", locks(CLIENT, 0, 1), holds(1)),
    Step("both give all back", unlocks(CLIENT, 0, 1)),
    Step("both give all back", unlocks(OTHER, 0, 2)),
)
OF_BROKERS: Sequence[Conversation] = (_CONSUMERS, _PRODUCERS, _LOCKS)


EMPTY = "BenchmarkTest"
"""A topic of every broker to which no client sends."""
_GROUP = f"{EMPTY}-group"
_QUEUE = 3
_NO_SENDS = only("SERVICE_NOT_AVAILABLE", "SYSTEM_BUSY")
_BUSY = ("SYSTEM_BUSY", "SUBSCRIPTION_GROUP_NOT_EXIST")
"""A slave of 5.x with slaveReadEnable off; one that creates no groups by itself."""
_ENDS = Step("a slave's empty queue ends", ends(_QUEUE, EMPTY), at(0))
# Slaves of 5.5.0 accept requests for masters, and answer no others as busy.
_REFUSED = (
    Step("a slave is sent a message", sends(0, "no", topic=EMPTY), _NO_SENDS),
    Step(
        "a slave is sent a message to a topic that is not there", sends(0, "no", topic="visited-slave"), _NO_SENDS
    ),
    Step("a slave is to make a topic", makes_topic(1, 1, topic="visited-slave"), REFUSED, in_5=False),
    Step("a slave is to delete a topic", deletes_topic(EMPTY), REFUSED),
    Step("a slave is to make a group", makes_group("visited-slave"), REFUSED, in_5=False),
    Step("a slave is to delete a group", deletes_group("visited-slave"), REFUSED, in_5=False),
    Step("a slave is sent a message back", Ask("CONSUMER_SEND_MSG_BACK", {
        "offset": "0", "group": _GROUP, "delayLevel": "0", "originTopic": EMPTY, "originMsgId": "", "unitMode": "false",
    }), REFUSED, in_5=False),
    Step("a slave is to end a transaction", Ask("END_TRANSACTION", {
        "producerGroup": PRODUCERS, "tranStateTableOffset": "0", "commitLogOffset": "0",
        "commitOrRollback": str(COMMIT), "fromTransactionCheck": "false", "msgId": "",
    }), only("SLAVE_NOT_AVAILABLE")),
    Step("a slave's empty queue is read", pulls(_QUEUE, 0, topic=EMPTY), only(*_BUSY, "PULL_NOT_FOUND")),
    Step("a slave's empty queue is read behind its end", pulls(_QUEUE, 5, topic=EMPTY),
         only(*_BUSY, "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED")),
    Step("a slave's queue is read that is not there", pulls(1_024, 0, topic=EMPTY),
         only(*_BUSY, *REFUSED.statuses)),
    _ENDS,
)  # fmt: skip
_SERVED = (
    Step("a consumer comes to a slave", comes(_GROUP, (EMPTY, "*", 1))),
    Step("a slave is told progress", commits(_QUEUE, 9, EMPTY)),
    Step("the progress that a slave was told", asks_progress(_QUEUE, EMPTY), at(9)),
    Step("a slave is told progress by a pull", pulls(_QUEUE, 0, commits=4, topic=EMPTY),
         only(*_BUSY, "PULL_NOT_FOUND")),
    Step("the progress that a slave still has", asks_progress(_QUEUE, EMPTY), at(9)),
    Step("a slave is told progress that is none", commits(_QUEUE, -1, EMPTY)),
    Step("no progress that a slave has", asks_progress(_QUEUE, EMPTY), at(0), in_5=False),
    Step("the consumer leaves the slave", leaves(consumerGroup=_GROUP)),
    _ENDS,
    Step("a slave's empty queue begins", begins(_QUEUE, EMPTY), at(0)),
    Step("nothing was ever stored in a slave's empty queue", earliest(_QUEUE, EMPTY), expects(ms=-1)),
    Step("nothing is in a slave's empty queue since any time", at_time(_QUEUE, BORN_MS, EMPTY), at(0)),
    Step("how far a slave's empty topic goes", figures("SELF_TEST_TOPIC"), queues([0, 0])),
    Step("a slave has nothing with such a key", of_key("nobody's", topic=EMPTY), NO_KEY),
    Step("a slave has nothing so far on", by_id(str(1 << 40)), REFUSED),
)  # fmt: skip
OF_SLAVES: Sequence[Conversation] = (_REFUSED, _SERVED)
