"""Visits that slaves alone are paid: what they serve, and what they leave to their master.

What is to be answered, see ``pairproof.harness.rocketmq.visits_more``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.rocketmq.questions import FOREVER
from pairproof.chaos.rocketmq.steps_of_masters import (
    BORN_MS,
    COMMIT,
    PRODUCERS,
    asks_progress,
    at_time,
    commits,
    deletes_group,
    deletes_topic,
    earliest,
    ends,
    group_of,
    makes_group,
    makes_topic,
    of_key,
    of_queue,
    pulls,
    sends,
    shown_queues,
)
from pairproof.chaos.rocketmq.visits import Step, comes, leaves

EMPTY = "BenchmarkTest"
"""Every broker has it, and nobody sends to it."""
_GROUP = group_of(EMPTY)
_QUEUE = 3
_FAR = 1 << 40


def _by_id(name: str, offset: int) -> Step:
    return Step(name, Request.VIEW_MESSAGE_BY_ID, {"offset": str(offset)})


_REFUSED = (
    sends("a slave is sent a message", EMPTY, 0, b"no"),
    sends("a slave is sent a message to a topic that is not there", "visited-slave", 0, b"no"),
    makes_topic("a slave is to make a topic", "visited-slave", 1, 1),
    deletes_topic("a slave is to delete a topic", EMPTY),
    makes_group("a slave is to make a group", "visited-slave"),
    deletes_group("a slave is to delete a group", "visited-slave"),
    Step("a slave is sent a message back", Request.CONSUMER_SEND_MSG_BACK, {
        "offset": "0", "group": _GROUP, "delayLevel": "0", "originTopic": EMPTY, "originMsgId": "", "unitMode": "false",
    }),
    Step("a slave is to end a transaction", Request.END_TRANSACTION, {
        "producerGroup": PRODUCERS, "tranStateTableOffset": "0", "commitLogOffset": "0",
        "commitOrRollback": str(COMMIT), "fromTransactionCheck": "false", "msgId": "",
    }),
    pulls("a slave's empty queue is read", EMPTY, _QUEUE, 0),
    pulls("a slave's empty queue is read behind its end", EMPTY, _QUEUE, 5),
    pulls("a slave's queue is read that is not there", EMPTY, 1_024, 0),
    ends("a slave's empty queue ends", EMPTY, _QUEUE),
)  # fmt: skip
_SERVED = (
    comes("a consumer comes to a slave", (EMPTY, "*", 1), group=_GROUP),
    commits("a slave is told progress", EMPTY, _QUEUE, 9),
    asks_progress("the progress that a slave was told", EMPTY, _QUEUE),
    pulls("a slave is told progress by a pull", EMPTY, _QUEUE, 0, commits=4),
    asks_progress("the progress that a slave still has", EMPTY, _QUEUE),
    commits("a slave is told progress that is none", EMPTY, _QUEUE, -1),
    asks_progress("no progress that a slave has", EMPTY, _QUEUE),
    leaves("the consumer leaves the slave", consumerGroup=_GROUP),
    ends("a slave's empty queue ends", EMPTY, _QUEUE),
    of_queue("a slave's empty queue begins", Request.GET_MIN_OFFSET, EMPTY, _QUEUE),
    earliest("nothing was ever stored in a slave's empty queue", EMPTY, _QUEUE),
    at_time("nothing is in a slave's empty queue since any time", EMPTY, _QUEUE, BORN_MS),
    Step(
        "how far a slave's empty topic goes", Request.GET_TOPIC_STATS_INFO, {"topic": "SELF_TEST_TOPIC"},
        read=shown_queues("minOffset", "maxOffset"),
    ),
    of_key("a slave has nothing with such a key", EMPTY, "nobody's", until=FOREVER),
    _by_id("a slave has nothing so far on", _FAR),
)  # fmt: skip
OF_SLAVES: Sequence[Sequence[Step]] = (_REFUSED, _SERVED)
