"""More visits of name servers: several topics, the same version said again, a broker that changes its number.

What is to be answered, see ``pairproof.harness.rocketmq.visits_more``.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.observers.table_reader import parsed
from pairproof.chaos.rocketmq.questions import Answered
from pairproof.chaos.rocketmq.visits import Step, as_json, compares, goes, mastered, way, whom
from pairproof.harness.rocketmq.served import HA, MASTER, SLAVE, said

FIRST, SECOND = "visited", "visited-second"
_BORN_MS = 1_690_000_000_000


def _registers(name: str, number: int, address: str, version: tuple[int, int], **topics: tuple[int, int]) -> Step:
    """``version``: its counter, and the milliseconds of its time; of each topic its queues and its system flags."""
    table = {
        topic.replace("_", "-"): {
            "order": False, "perm": 6, "readQueueNums": queues, "topicFilterType": "SINGLE_TAG",
            "topicName": topic.replace("_", "-"), "topicSysFlag": flags, "writeQueueNums": queues,
        }
        for topic, (queues, flags) in topics.items()
    }  # fmt: skip
    state = {"counter": version[0], "timestamp": _BORN_MS + version[1]}
    body = as_json({"filterServerList": [], "topicConfigSerializeWrapper": {
        "dataVersion": state, "topicConfigTable": table,
    }})  # fmt: skip
    fields = {
        **whom(number, address), "haServerAddr": HA, "compressed": "false",
        "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF),
    }  # fmt: skip
    return Step(name, Request.REGISTER_BROKER, fields, body, mastered)


def _leads(name: str, topic: str) -> Step:
    return Step(
        name, Request.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, "acceptStandardJsonOnly": "true"}, read=_flagged
    )  # fmt: skip


def _flagged(answered: Answered) -> str:
    told: Any = parsed(answered.body)
    (queues,), (broker,) = told["queueDatas"], told["brokerDatas"]
    numbers = [queues[each] for each in ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")]
    return said(queues=numbers, brokers=broker["brokerAddrs"], cluster=broker["cluster"])


def _listed(answered: Answered) -> str:
    told: Any = parsed(answered.body)
    return said(topics=sorted(each for each in told["topicList"] if each.startswith(FIRST)))


_LISTS = Step("which topics were registered", Request.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, read=_listed)
_SAID_AGAIN = (
    _registers("a slave registers before its master", 1, SLAVE, (9, 9), visited=(9, 9)),
    way("where a slave's topic is"),
    _registers("a master registers two topics", 0, MASTER, (1, 1), visited=(3, 1), visited_second=(1, 0)),
    _leads("where the first topic is", FIRST), _leads("where the second topic is", SECOND), _LISTS,
    _registers("the master registers others by the same version", 0, MASTER, (1, 1), visited=(5, 0)),
    _leads("where the first topic still is", FIRST),
    compares("the master's time is another", MASTER, 1, ms=2),
    _registers("the master registers others by another time", 0, MASTER, (1, 2), visited=(5, 0)),
    _leads("where the first topic is then", FIRST), _leads("where the second topic still is", SECOND),
    _registers("the master registers by an older version", 0, MASTER, (0, 0), visited=(6, 2)),
    _leads("where the first topic is at last", FIRST),
    goes("a broker leaves that never came", 7, "10.0.0.7:10911"),
    _leads("where the first topic is all the same", FIRST),
    goes("the slave of two topics leaves", 1, SLAVE), goes("the master of two topics leaves", 0, MASTER),
    way("where no topic is any more"), _LISTS._replace(name="which topics are left"),
)  # fmt: skip
_ANOTHER_NUMBER = (
    _registers("a broker registers as a slave", 3, MASTER, (1, 1), visited=(2, 0)),
    _registers("it registers as the master", 0, MASTER, (1, 1), visited=(2, 0)),
    _leads("where its topic is", FIRST),
    _registers("a slave registers with it", 1 << 40, SLAVE, (1, 1), visited=(8, 0)),
    _leads("where its topic is for both", FIRST),
    _registers("the slave takes its own number", 4, SLAVE, (1, 1), visited=(8, 0)),
    _leads("where its topic is for both then", FIRST),
    goes("the master of one topic leaves", 0, MASTER),
    _leads("where its topic is for the slave", FIRST),
    goes("the slave of one topic leaves", 4, SLAVE),
    way("where the topic of nobody is"),
)  # fmt: skip
OF_NAMES: Sequence[Sequence[Step]] = (_SAID_AGAIN, _ANOTHER_NUMBER)
