"""Clients and their groups: who is known, who is told of changes, what a heartbeat makes, and queue locks."""

from __future__ import annotations

from typing import Any

import pytest
from processor_play import SLAVE, Play, consumer, producer

from pairproof.reference.core.processors import limits, members
from pairproof.reference.wire import beans, remoting
from pairproof.reference.wire.bodies import SubscriptionGroupConfig
from pairproof.reference.wire.bodies_client import (
    Connection,
    ConsumerConnection,
    ConsumerList,
    LockBatchRequest,
    LockBatchResponse,
    MessageQueue,
    ProducerConnection,
)
from pairproof.reference.wire.headers import RequestCode

BEAT, LEAVE = RequestCode.HEART_BEAT, RequestCode.UNREGISTER_CLIENT
QUEUES = tuple(MessageQueue("T", "broker-a", number) for number in range(3))


def told(play: Play) -> dict[str, int]:
    """How often each client was told that its group changed, since the last look."""
    found = play.told()
    for commands in found.values():
        for each in commands:
            assert each.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED and each.is_oneway
            assert each.fields == {"consumerGroup": "G"}
    return {conn: len(commands) for conn, commands in found.items()}


def ids(play: Play, group: str = "G") -> list[str] | None:
    answer = play.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, conn="asker", consumerGroup=group)
    if answer.code != remoting.SUCCESS:
        assert answer.code == remoting.SYSTEM_ERROR and answer.remark
        return None
    return list(beans.decode(ConsumerList, answer.body).consumer_id_list)


def three(**settings: Any) -> Play:
    play = Play(**settings)
    for conn in ("c1", "c2", "c3"):
        assert play.ask(BEAT, consumer(conn), conn).code == remoting.SUCCESS
    told(play)
    return play


# Who is told.


def test_all_members_hear_of_a_new_one_and_nobody_of_an_old_one() -> None:
    play = Play()
    play.ask(BEAT, consumer("c1"), "c1")
    assert told(play) == {"c1": 1}
    play.ask(BEAT, consumer("c2"), "c2")
    assert told(play) == {"c1": 1, "c2": 1}
    play.ask(BEAT, consumer("c1"), "c1")
    play.ask(BEAT, producer("p"), "p")
    assert told(play) == {} and ids(play) == ["c1", "c2"]


def test_others_hear_when_a_member_changes_its_topics_leaves_or_is_cut_off() -> None:
    play = three()
    play.ask(BEAT, consumer("c1", "T U"), "c1")
    assert told(play) == {"c1": 1, "c2": 1, "c3": 1}
    play.ask(LEAVE, conn="c1", clientID="c1", consumerGroup="G")
    assert told(play) == {"c2": 1, "c3": 1}
    play.end("c2")
    play.ask(LEAVE, conn="c1", clientID="c1", consumerGroup="G")
    assert told(play) == {"c3": 1} and ids(play) == ["c3"]


def test_group_that_does_not_want_to_hear_is_not_told() -> None:
    play = Play()
    play.parts.groups.put("G", SubscriptionGroupConfig("G", notify_consumer_ids_changed_enable=False))
    play.ask(BEAT, consumer("c1"), "c1")
    play.ask(BEAT, consumer("c2"), "c2")
    play.end("c2")
    assert told(play) == {} and ids(play) == ["c1"]


def test_silent_client_is_cut_off_after_120_s_and_the_others_hear_of_it() -> None:
    play = three()
    for _ in range(12):
        play.wait(10)
        play.ask(BEAT, consumer("c1"), "c1")
    assert play.closed == []
    play.wait(11)
    assert sorted(play.closed) == ["c2", "c3"]
    play.ask(BEAT, consumer("c1"), "c1")
    assert ids(play) == ["c1"] and told(play)["c1"] >= 1


def test_sweep_goes_on_only_while_there_is_anybody() -> None:
    play = Play()
    play.ask(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)
    assert ("clients", None) not in play.timers
    play.ask(BEAT, producer("p"), "p")
    assert ("clients", None) in play.timers
    play.end("p")
    play.wait(11)
    assert ("clients", None) not in play.timers


# What a heartbeat makes.


def test_first_heartbeat_makes_group_and_retry_topic_and_the_next_saves_nothing() -> None:
    play = Play()
    play.ask(BEAT, consumer("c1"), "c1")
    assert play.parts.groups.get("G") == SubscriptionGroupConfig("G")
    assert play.parts.topics.get("%RETRY%G").write_queue_nums == 1
    before = list(play.persists), play.parts.topics.version, play.parts.groups.version
    assert {"topics", "groups"} <= set(play.persists)
    play.wait(30)
    play.ask(BEAT, consumer("c1"), "c1")
    play.ask(BEAT, consumer("c2"), "c2")
    assert (list(play.persists), play.parts.topics.version, play.parts.groups.version) == before


def test_retry_topic_has_as_many_queues_as_the_group_says() -> None:
    play = Play()
    play.parts.groups.put("G", SubscriptionGroupConfig("G", retry_queue_nums=3))
    play.ask(BEAT, consumer("c1"), "c1")
    assert play.parts.topics.get("%RETRY%G").read_queue_nums == 3


def test_without_automatic_creation_an_unknown_group_has_members_but_no_retry_topic() -> None:
    play = Play(autoCreateSubscriptionGroup=False)
    play.ask(BEAT, consumer("c1"), "c1")
    assert play.parts.groups.get("G") is None and play.parts.topics.get("%RETRY%G") is None
    assert ids(play) == ["c1"] and told(play) == {"c1": 1}


def test_slave_knows_its_clients_and_makes_neither_groups_nor_topics() -> None:
    play = three(**SLAVE)
    assert play.parts.groups.get("G") is None and play.parts.topics.get("%RETRY%G") is None
    assert play.persists == [] and ids(play) == ["c1", "c2", "c3"]
    play.end("c3")
    assert told(play) == {"c1": 1, "c2": 1}


def test_group_with_a_name_too_long_for_a_retry_topic_has_none() -> None:
    play = Play()
    assert play.ask(BEAT, consumer("c1", group="g" * 120), "c1").code == remoting.SUCCESS
    assert play.ask(BEAT, consumer("c1", group="h" * 121), "c1").code == remoting.SUCCESS
    made = [name for name in play.parts.topics.entries if name.startswith("%RETRY%")]
    assert made == ["%RETRY%" + "g" * 120]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{}", b'{"clientID":1}', b"\xff", consumer("c", group="white space"), producer("p", "g" * 256),
        b'{"clientID":"c","producerDataSet":[{}]}', b" " * (limits.MAX_BODY + 1),
    ],
)  # fmt: skip
def test_heartbeat_that_is_none_is_refused_and_nobody_is_known_by_it(body: bytes) -> None:
    play = Play()
    answer = play.ask(BEAT, body, "c1")
    assert answer.code == remoting.SYSTEM_ERROR and answer.remark
    assert not play.broker.members.busy and ids(play) is None


def test_large_heartbeat_is_taken_in_but_not_remembered() -> None:
    play = Play()
    topics = " ".join(f"topic-{number}" for number in range(300))
    body = consumer("c1", topics)
    assert len(body) > members.REMEMBERED
    kept = members._heartbeat.cache_info().currsize
    assert play.ask(BEAT, body, "c1").code == remoting.SUCCESS
    assert len(play.parts.clients.consumers["G"].subscriptions) == 300
    assert members._heartbeat.cache_info().currsize == kept


# Lists.


def test_members_are_listed_with_address_language_and_version() -> None:
    play = Play()
    body = consumer("c1", consume_type="CONSUME_ACTIVELY", message_model="BROADCASTING")
    play.ask(BEAT, body, "c1")
    play.ask(BEAT, producer("p1"), "p1")
    found = play.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, consumerGroup="G")
    group = beans.decode(ConsumerConnection, found.body)
    assert group.connection_set == (Connection("c1", "127.0.0.1:40000", "JAVA", 401),)
    assert list(group.subscription_table) == ["T"]
    assert (group.consume_type, group.message_model) == ("CONSUME_ACTIVELY", "BROADCASTING")
    assert group.consume_from_where == "CONSUME_FROM_LAST_OFFSET"
    found = play.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup="P")
    connections = beans.decode(ProducerConnection, found.body).connection_set
    assert connections == (Connection("p1", "127.0.0.1:40001", "JAVA", 401),)


def test_lists_of_groups_without_members_are_refused_with_the_code_that_tools_know() -> None:
    play = three()
    for conn in ("c1", "c2", "c3"):
        play.end(conn)
    assert ids(play) is None
    assert play.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, consumerGroup="G").code == remoting.CONSUMER_NOT_ONLINE
    assert play.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup="P").code == remoting.SYSTEM_ERROR


def test_producer_that_leaves_is_listed_no_more() -> None:
    play = Play()
    play.ask(BEAT, producer("p1"), "p1")
    play.ask(LEAVE, conn="p1", clientID="p1", producerGroup="P")
    assert play.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup="P").code == remoting.SYSTEM_ERROR


# Locks.


def lock(play: Play, client: str, *queues: MessageQueue) -> tuple[MessageQueue, ...]:
    answer = play.ask(RequestCode.LOCK_BATCH_MQ, beans.encode(LockBatchRequest("G", client, queues)))
    return beans.decode(LockBatchResponse, answer.body).lock_ok_mq_set


@pytest.mark.parametrize("role", [{}, SLAVE])
def test_queue_is_its_holder_s_until_it_is_given_back_or_60_s_have_passed(role: dict[str, Any]) -> None:
    play = Play(**role)
    assert lock(play, "one", *QUEUES[:2]) == QUEUES[:2]
    assert lock(play, "two", *QUEUES) == QUEUES[2:]
    back = beans.encode(LockBatchRequest("G", "one", QUEUES[:1]))
    assert play.ask(RequestCode.UNLOCK_BATCH_MQ, back).code == remoting.SUCCESS
    assert lock(play, "two", *QUEUES[:2]) == QUEUES[:1]
    play.wait(61)
    assert lock(play, "two", QUEUES[1]) == QUEUES[1:2]


def test_old_locks_are_forgotten_and_the_sweep_ends() -> None:
    play = Play()
    lock(play, "one", *QUEUES)
    assert play.broker.members.busy
    play.wait(59)
    assert play.broker.members.busy and play.parts.locks.holder("G", QUEUES[0], play.now()) == "one"
    play.wait(20)
    assert not play.broker.members.busy and ("clients", None) not in play.timers
    assert not play.parts.locks._locks


@pytest.mark.parametrize("code", [RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ])
def test_lock_request_that_is_none_is_refused(code: int) -> None:
    assert Play().ask(code, b'{"consumerGroup":"G"}').code == remoting.SYSTEM_ERROR
