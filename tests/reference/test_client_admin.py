"""What an administrator asks: what is sent, and what becomes of answers that say no, nothing, or nonsense."""

from __future__ import annotations

from typing import Any

import pytest
from client_peers import SILENCE, Answer, Scripted
from client_world import World

from pairproof.reference.client import admin
from pairproof.reference.client.producer import Producer, ProducerSettings
from pairproof.reference.wire import beans, record, remoting
from pairproof.reference.wire.bodies import (
    ConsumerOffsets,
    DataVersion,
    DelayOffsets,
    SubscriptionGroupConfig,
    SubscriptionGroups,
    TopicConfig,
    TopicConfigs,
)
from pairproof.reference.wire.bodies_client import MessageQueue
from pairproof.reference.wire.bodies_route import ClusterInfo
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Message

QUEUE = MessageQueue("T", "a", 3)
RECORDS = b"".join(record.encode(Message("T", 0, b"body"), n, 100 * n, 0) for n in range(3))
TABLES = [
    TopicConfigs({"T": TopicConfig("T")}, DataVersion(1, 2)),
    SubscriptionGroups({"g": SubscriptionGroupConfig("g")}, DataVersion(3, 4)),
    ConsumerOffsets({"T@g": {0: 5}}),
    DelayOffsets({1: 6}),
    ClusterInfo({}, {"c": ("a",)}),
]  # fmt: skip


class Desk:
    """An administrator and one broker."""

    def __init__(self) -> None:
        self.world = World()
        self.broker: Scripted = self.world.host("m").start(Scripted)
        self.calls = (
            self.world.host("desk").start(lambda host: Producer(host, ProducerSettings("d", "d", ("n",)))).calls
        )

    def ask(self, function: Any, *arguments: Any) -> tuple[Any, ...]:
        found: list[tuple[Any, ...]] = []
        function(self.calls, "m", *arguments, lambda *each: found.append(each))
        self.world.run(4)
        assert len(found) == 1
        return found[0]

    def says(self, code: int, answer: Any) -> None:
        self.broker.scripts[code] = lambda request: answer


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.parametrize("table", TABLES, ids=lambda each: type(each).__name__)
def test_tables_are_read_and_what_cannot_be_read_is_unknown(desk: Desk, table: Any) -> None:
    code = admin.TABLES[type(table)]
    desk.says(code, Answer(body=beans.encode(table)))
    outcome, found = desk.ask(admin.table, type(table))
    assert outcome.phase == "ok" and found == table
    desk.says(code, Answer(body=b"nonsense"))
    outcome, found = desk.ask(admin.table, type(table))
    assert outcome[:2] == ("info", "unreadable answer") and found is None
    desk.says(code, Answer(remoting.SYSTEM_ERROR, body=beans.encode(table)))
    outcome, found = desk.ask(admin.table, type(table))
    assert outcome[:2] == ("fail", "SYSTEM_ERROR") and found is None
    desk.says(code, SILENCE)
    outcome, found = desk.ask(admin.table, type(table))
    assert outcome[:2] == ("info", "timeout") and found is None


def test_a_topic_and_a_group_are_written_whole(desk: Desk) -> None:
    desk.says(RequestCode.UPDATE_AND_CREATE_TOPIC, Answer())
    (outcome,) = desk.ask(admin.update_topic, TopicConfig("T", 3, 2, 4, topic_sys_flag=1, order=True))
    assert outcome.phase == "ok" and desk.broker.requests[-1].header == {
        "topic": "T", "defaultTopic": "TBW102", "readQueueNums": 3, "writeQueueNums": 2, "perm": 4,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 1, "order": True,
    }  # fmt: skip
    desk.says(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, Answer())
    group = SubscriptionGroupConfig("g", broker_id=2, which_broker_when_consume_slowly=3)
    (outcome,) = desk.ask(admin.update_group, group)
    assert outcome.phase == "ok"
    assert beans.decode(SubscriptionGroupConfig, desk.broker.requests[-1].body) == group


@pytest.mark.parametrize(
    ("function", "code", "before"),
    [
        (admin.min_offset, RequestCode.GET_MIN_OFFSET, ()),
        (admin.max_offset, RequestCode.GET_MAX_OFFSET, ()),
        (admin.query_offset, RequestCode.QUERY_CONSUMER_OFFSET, ("g",)),
    ],
)
def test_offsets_of_a_queue_are_read(desk: Desk, function: Any, code: int, before: tuple[str, ...]) -> None:
    desk.says(code, Answer(values={"offset": 17}))
    outcome, offset = desk.ask(function, *before, QUEUE)
    assert (outcome.phase, offset) == ("ok", 17)
    header = desk.broker.requests[-1].header
    assert (header["topic"], header["queueId"], header.get("consumerGroup")) == ("T", 3, before[0] if before else None)
    desk.says(code, Answer())
    assert desk.ask(function, *before, QUEUE)[0].status == "unreadable answer", "an answer without its offset"


def test_a_group_without_progress_is_no_failure(desk: Desk) -> None:
    desk.says(RequestCode.QUERY_CONSUMER_OFFSET, Answer(remoting.QUERY_NOT_FOUND))
    outcome, offset = desk.ask(admin.query_offset, "g", QUEUE)
    assert outcome[:2] == ("ok", "QUERY_NOT_FOUND") and offset is None
