"""Bad input that once ended a node, held it up or filled its memory; more is in ``shell/test_shell_bad_input*``."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import namesrv_play
import pytest
from processor_play import Play, consumer

from pairproof.reference.core.consume_queue import Entry
from pairproof.reference.core.processors.members import MAX_GROUPS_OF_CLIENT
from pairproof.reference.core.processors.pulling import MAX_TAGS
from pairproof.reference.core.reading import MOST_SCANNED
from pairproof.reference.core.versioned_table import MAX_QUEUES
from pairproof.reference.wire import beans, fastjson, headers, remoting
from pairproof.reference.wire.bodies import (
    DataVersion,
    SubscriptionGroupConfig,
    SubscriptionGroups,
    TopicConfig,
    TopicConfigs,
)
from pairproof.reference.wire.bodies_client import LockBatchRequest, MessageQueue, TopicStatsTable
from pairproof.reference.wire.ha import encode_header, encode_report
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Message, encode
from pairproof.reference.wire.remoting import Command

MIB = 1024 * 1024


SLAVE: dict[str, Any] = {"brokerRole": "SLAVE", "brokerId": 1}
PULL: dict[str, Any] = {
    "consumerGroup": "G", "topic": "T", "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 4,
    "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0,
}  # fmt: skip


def slave_of(address: str) -> Play:
    """A slave whose connection ``m`` to this master stands."""
    play = Play(haMasterAddress=address, **SLAVE)
    play.broker.on_connected(address, "m")
    return play


# What ends the process.


def test_a_frame_at_the_end_of_all_offsets_ends_only_the_connection() -> None:
    play = slave_of("m:1")
    play.broker.on_bytes("m", encode_header(2**63 - 16, 16) + bytes(16))
    assert play.closed == ["m"]


def test_a_delayed_record_from_the_end_of_all_times_is_stored() -> None:
    play = slave_of("m:1")
    data = encode(Message("SCHEDULE_TOPIC_XXXX", 0, b"late", b"DELAY\x0118"), 0, 0, 2**63 - 1)
    play.broker.on_bytes("m", encode_header(0, len(data)) + data)
    assert play.broker.log.end == len(data)


# What takes for ever.


def test_a_slave_takes_no_topic_with_more_queues_than_a_topic_may_have() -> None:
    play = Play(**SLAVE)
    body = beans.encode(TopicConfigs({"T": TopicConfig("T", 2**31 - 1, 2**31 - 1)}, DataVersion(1, 1)))
    assert play.broker.sync.take_topics(body)
    assert play.parts.topics.get("T")[1:3] == (MAX_QUEUES, MAX_QUEUES)
    answer = play.ask(RequestCode.GET_TOPIC_STATS_INFO, topic="T")
    assert len(beans.decode(TopicStatsTable, answer.body).offset_table) == MAX_QUEUES


def test_nor_a_group_with_more_queues_for_its_retries() -> None:
    play = Play(**SLAVE)
    group = SubscriptionGroupConfig("G", retry_queue_nums=2**31 - 1)
    play.broker.sync.take_groups(beans.encode(SubscriptionGroups({"G": group}, DataVersion(1, 1))))
    assert play.parts.groups.get("G").retry_queue_nums == MAX_QUEUES


def test_a_heartbeat_saves_the_tables_once_however_many_groups_it_names() -> None:
    play = Play()
    groups = ",".join(f'{{"groupName":"g{number}"}}' for number in range(50))
    play.persists.clear()
    assert play.ask(RequestCode.HEART_BEAT, f'{{"clientID":"c","consumerDataSet":[{groups}]}}'.encode()).code == 0
    assert len(play.persists) <= 4


def test_a_heartbeat_names_no_more_groups_than_one_client_may_have() -> None:
    play = Play()
    for count, code in ((MAX_GROUPS_OF_CLIENT, remoting.SUCCESS), (MAX_GROUPS_OF_CLIENT + 1, remoting.SYSTEM_ERROR)):
        groups = ",".join(f'{{"groupName":"g{number}"}}' for number in range(count))
        body = f'{{"clientID":"c","consumerDataSet":[{groups}]}}'.encode()
        assert play.ask(RequestCode.HEART_BEAT, body).code == code


def test_a_table_that_is_nearly_full_takes_what_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    groups = play.parts.groups
    monkeypatch.setattr("pairproof.reference.core.versioned_table.MAX_ENTRIES", len(groups.entries) + 2)
    version = groups.version.counter
    assert list(groups.find_all(["TOOLS_CONSUMER", "a", "b", "c"])) == ["TOOLS_CONSUMER", "a", "b"]
    assert groups.version.counter == version + 1 and groups.find("c") is None


@pytest.mark.parametrize(("tags", "code"), [(MAX_TAGS, remoting.SUCCESS), (MAX_TAGS + 1, remoting.SYSTEM_ERROR)])
def test_a_pull_takes_no_more_tags_than_a_subscription_may_have(tags: int, code: int) -> None:
    play = Play()
    play.produce(properties="TAGS\x010")
    subscription = "||".join(map(str, range(tags)))
    assert play.ask(RequestCode.PULL_MESSAGE, **{**PULL, "subscription": subscription}).code == code


def test_a_pull_reads_no_more_entries_than_it_may_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    play.produce()
    asked: list[int] = []
    get = play.broker.store.queues.get

    def get_and_tell(topic: str, queue_id: int, offset: int, limit: int) -> list[Entry]:
        asked.append(limit)
        return get(topic, queue_id, offset, limit)

    monkeypatch.setattr(play.broker.store.queues, "get", get_and_tell)
    assert play.ask(RequestCode.PULL_MESSAGE, **{**PULL, "maxMsgNums": 2**31 - 1}).code == remoting.SUCCESS
    assert asked and max(asked) <= MOST_SCANNED


@pytest.mark.parametrize("code", [41, 42, 200])
def test_a_body_that_is_far_too_large_is_refused_unread(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    play = Play()
    read: list[int] = []
    loads = fastjson.loads

    def load_and_tell(text: str | bytes) -> Any:
        read.append(len(text))
        return loads(text)

    monkeypatch.setattr(fastjson, "loads", load_and_tell)
    answer = play.ask(
        code, b'{"consumerGroup":"G","groupName":"G","clientId":"c","mqSet":[' + b"[]," * (MIB // 2) + b"[]]}"
    )
    assert answer.code == remoting.SYSTEM_ERROR and read == []


# What keeps others out.


def test_an_ha_address_that_is_also_the_main_one_is_given_up_for_a_better_one() -> None:
    play = Play(namesrvAddr="n:1", **SLAVE)
    play.broker.registration.found("m:1", "m:1")
    play.parts.calls.call("m:1", RequestCode.GET_ALL_CONSUMER_OFFSET, {}, b"", lambda outcome: None)
    for number, address in enumerate(play.connects):
        play.broker.on_connected(address, f"c{number}")
    play.broker.registration.found("m:1", "m:2")
    play.wait(60)
    assert "m:2" in play.connects


# What takes memory without a bound.


@contextlib.contextmanager
def growth_below(most: int) -> Iterator[None]:
    """What is kept of the memory that is taken meanwhile."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield
        assert tracemalloc.get_traced_memory()[0] - before < most
    finally:
        tracemalloc.stop()


def heartbeat(number: int) -> tuple[int, dict[str, str], bytes]:
    return RequestCode.HEART_BEAT, {}, consumer("c" * 900_000, group=f"g{number}")


def lock(number: int) -> tuple[int, dict[str, str], bytes]:
    queue = MessageQueue("T" * 900_000, "b", number)
    return RequestCode.LOCK_BATCH_MQ, {}, beans.encode(LockBatchRequest("G", "c", (queue,)))


def long_poll(number: int) -> tuple[int, dict[str, str], bytes]:
    values = {**PULL, "queueOffset": 1, "sysFlag": 6, "suspendTimeoutMillis": 30_000, "subscription": "t" * 200_000}
    return RequestCode.PULL_MESSAGE, headers.encode_request(RequestCode.PULL_MESSAGE, values), b""


@pytest.mark.parametrize("asked", [heartbeat, lock, long_poll])
def test_what_a_client_says_is_kept_up_to_a_bound(asked: Callable[[int], tuple[int, dict[str, str], bytes]]) -> None:
    play = Play()
    play.produce()
    with growth_below(8 * MIB):
        for number in range(60):
            play.feed("c", Command(asked(number)[0], number, 0, *asked(number)[1:]))


def test_a_send_that_waits_for_a_slave_keeps_no_body() -> None:
    play = Play(brokerRole="SYNC_MASTER", mappedFileSizeCommitLog=16 * MIB)
    play.broker.on_accepted("s", "ha")
    play.broker.on_bytes("s", encode_report(0))
    send = headers.encode_request(
        RequestCode.SEND_MESSAGE,
        {
            "producerGroup": "P", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": 4, "queueId": 0,
            "sysFlag": 0, "bornTimestamp": 1, "flag": 0,
        },
    )  # fmt: skip
    play.feed("c", Command(RequestCode.SEND_MESSAGE, 1, 0, send, b"x" * 100_000))
    play.room = 0
    with growth_below(2 * MIB):
        for number in range(100):
            play.broker.on_bytes(
                "c", remoting.encode(Command(RequestCode.SEND_MESSAGE, number, 0, send, b"x" * 100_000))
            )


def test_names_that_one_broker_registers_under_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.routes.MAX_BROKERS", 3)
    play = namesrv_play.Play()
    for number in range(3):
        play.register("m", "127.0.0.1:10911", name=f"name{number}")
    with pytest.raises(AssertionError, match="too many brokers"):
        play.register("m", "127.0.0.1:10911", name="name3")
    play.register("m", "127.0.0.1:10911", name="name2")
    assert len(play.server.routes.brokers) == 3


def test_a_goodbye_under_a_wrong_name_leaves_no_route_behind() -> None:
    play = namesrv_play.Play()
    play.register("m", "127.0.0.1:10911")
    play.unregister("x", "127.0.0.1:10911", name="another")
    play.server.on_closed("m")
    assert play.addresses() == {}
