"""Heartbeats, consumer lists, who is told, subscriptions, queue locks; and the capture's consumers are served so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof.reference.core.client_table import EXPIRES_NS, ClientTable
from pairproof.reference.core.queue_locks import LOCK_LIVES_NS, QueueLocks
from pairproof.reference.wire import beans, headers, remoting
from pairproof.reference.wire.bodies_client import (
    ConsumerData,
    ConsumerList,
    HeartbeatData,
    LockBatchRequest,
    LockBatchResponse,
    ProducerData,
    SubscriptionData,
)
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command, CommandReader

SECOND = 1_000_000_000


def consumer(client: str, topics: str = "T", group: str = "G", version: int = 1, tags: str = "*") -> HeartbeatData:
    subscriptions = tuple(SubscriptionData(topic, tags, sub_version=version) for topic in topics.split())
    return HeartbeatData(client, (), (ConsumerData(group, subscription_data_set=subscriptions),))


def producer(client: str, group: str = "P") -> HeartbeatData:
    return HeartbeatData(client, (ProducerData(group),))


@pytest.fixture
def table() -> ClientTable:
    return ClientTable()


# Who is told.


def test_new_member_makes_all_members_be_told(table: ClientTable) -> None:
    assert table.heartbeat("c1", consumer("one"), 0) == ["G"]
    assert table.heartbeat("c2", consumer("two"), 0) == ["G"]
    assert table.consumers_of("G") == ["c1", "c2"]
    assert table.consumer_ids("G") == ["one", "two"]


def test_heartbeat_that_says_nothing_new_makes_nobody_be_told(table: ClientTable) -> None:
    table.heartbeat("c1", consumer("one"), 0)
    assert table.heartbeat("c1", consumer("one"), SECOND) == []
    assert table.heartbeat("c1", consumer("one", version=2), SECOND) == []
    assert table.heartbeat("c1", producer("one"), SECOND) == []


@pytest.mark.parametrize("topics", ["T U", "U", ""])
def test_other_topics_make_the_group_be_told(table: ClientTable, topics: str) -> None:
    table.heartbeat("c1", consumer("one"), 0)
    assert table.heartbeat("c1", consumer("one", topics), 0) == ["G"]


def test_member_that_leaves_or_is_cut_off_makes_the_others_be_told(table: ClientTable) -> None:
    for conn in ("c1", "c2", "c3"):
        table.heartbeat(conn, consumer(conn), 0)
    assert table.unregister("c1", None, "G") == ["G"]
    assert table.consumers_of("G") == ["c2", "c3"]
    assert table.closed("c2") == ["G"]
    assert table.consumers_of("G") == ["c3"] and table.consumer_ids("G") == ["c3"]


def test_who_is_no_member_leaves_without_a_word(table: ClientTable) -> None:
    table.heartbeat("c1", consumer("one"), 0)
    assert table.unregister("c2", "P", "G") == [] and table.closed("c2") == []
    assert table.unregister("c1", None, "Other") == []
    assert table.consumer_ids("G") == ["one"]


def test_other_groups_are_not_told(table: ClientTable) -> None:
    table.heartbeat("c1", consumer("one"), 0)
    assert table.heartbeat("c2", consumer("two", group="H"), 0) == ["H"]
    assert table.closed("c2") == ["H"] and table.consumers_of("G") == ["c1"]


# Being forgotten.


def test_client_is_forgotten_after_120_s_of_silence_and_not_before(table: ClientTable) -> None:
    table.heartbeat("c1", consumer("one"), 0)
    table.heartbeat("p1", producer("one"), 0)
    table.heartbeat("c2", consumer("two"), SECOND)
    assert table.expire(EXPIRES_NS) == []
    assert table.expire(EXPIRES_NS + 1) == ["p1", "c1"]
    assert [table.closed(conn) for conn in ("p1", "c1")] == [[], ["G"]]
    assert table.producers == {} and table.consumer_ids("G") == ["two"]


def test_heartbeat_keeps_a_client(table: ClientTable) -> None:
    table.heartbeat("c1", consumer("one"), 0)
    table.heartbeat("c1", consumer("one"), 100 * SECOND)
    assert table.expire(200 * SECOND) == []


def test_group_without_members_is_unknown(table: ClientTable) -> None:
    table.heartbeat("c1", consumer("one"), 0)
    table.closed("c1")
    assert table.consumer_ids("G") == [] and table.consumers_of("G") == [] and table.subscription("G", "T") is None
    assert table.consumers == {}


def test_producer_leaves_its_group(table: ClientTable) -> None:
    table.heartbeat("c1", producer("one"), 0)
    table.heartbeat("c2", producer("two"), 0)
    table.unregister("c1", "P", None)
    assert [client.client_id for client in table.producers["P"].values()] == ["two"]


def test_groups_are_bounded(table: ClientTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.client_table.MAX_GROUPS", 1)
    assert table.heartbeat("c1", consumer("one"), 0) == ["G"]
    assert table.heartbeat("c1", consumer("one", group="H"), 0) == []
    assert table.heartbeat("c2", consumer("two"), 0) == ["G"]
    assert list(table.consumers) == ["G"]


def test_subscriptions_are_bounded_and_make_room_when_they_go(
    table: ClientTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairproof.reference.core.client_table.MAX_SUBSCRIBED", 2_000)
    large = " ".join(["t" * 100, "u" * 100])
    table.heartbeat("c1", consumer("one", large), 0)
    table.heartbeat("c2", consumer("two", large, "H"), 0)
    assert [len(group.subscriptions) for group in table.consumers.values()] == [2, 0]
    assert table.heartbeat("c1", consumer("one"), 0) == ["G"]
    table.heartbeat("c2", consumer("two", large, "H"), 0)
    assert [len(group.subscriptions) for group in table.consumers.values()] == [1, 2]
    table.closed("c1")
    table.closed("c2")
    assert table.subscribed == 0


# Subscriptions.


def test_pull_finds_the_groups_newest_subscription(table: ClientTable) -> None:
    table.heartbeat("c1", consumer("one", tags="old", version=1), 0)
    table.heartbeat("c2", consumer("two", tags="new", version=2), 0)
    table.heartbeat("c1", consumer("one", tags="old", version=1), 0)
    table.heartbeat("c1", consumer("one", tags="other", version=2), 0)
    found = table.subscription("G", "T")
    assert found is not None and (found.sub_string, found.sub_version) == ("new", 2)


def test_topic_that_the_newest_heartbeat_lacks_is_not_found(table: ClientTable) -> None:
    table.heartbeat("c1", consumer("one", "T U"), 0)
    table.heartbeat("c1", consumer("one", "U"), 0)
    assert table.subscription("G", "T") is None and table.subscription("G", "U") is not None


# Queue locks.


def test_lock_is_its_holders_until_60_s_after_the_last_renewal() -> None:
    locks = QueueLocks()
    assert locks.lock("G", "one", ["q1", "q2", "q1"], 0) == ["q1", "q2"]
    assert locks.lock("G", "one", ["q1"], 30 * SECOND) == ["q1"]
    assert locks.lock("G", "two", ["q1", "q2"], LOCK_LIVES_NS) == []
    assert locks.lock("G", "two", ["q1", "q2"], LOCK_LIVES_NS + 1) == ["q2"]
    assert locks.lock("G", "one", ["q2", "q1"], LOCK_LIVES_NS + 1) == ["q1"]
    assert locks.holder("G", "q1", 95 * SECOND) == "one"


def test_locks_of_another_group_or_client_are_not_touched() -> None:
    locks = QueueLocks()
    locks.lock("G", "one", ["q"], 0)
    assert locks.lock("H", "two", ["q"], 0) == ["q"]
    locks.unlock("G", "two", ["q", "unknown"])
    assert locks.holder("G", "q", 0) == "one"
    locks.unlock("G", "one", ["q"])
    assert locks.holder("G", "q", 0) is None and locks.holder("H", "q", 0) == "two"


def test_locks_are_bounded_and_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.queue_locks.MAX_LOCKS", 1)
    locks = QueueLocks()
    assert locks.lock("G", "one", ["q1", "q2"], 0) == ["q1"]
    locks.expire(LOCK_LIVES_NS)
    assert locks.holder("G", "q1", LOCK_LIVES_NS) == "one"
    locks.expire(LOCK_LIVES_NS + 1)
    assert locks.lock("G", "one", ["q2"], LOCK_LIVES_NS + 1) == ["q2"]


# The capture.


class Answers:
    """What these tables make of a captured consumer's requests to one broker, in the words of the capture."""

    def __init__(self, table: ClientTable) -> None:
        self.table = table
        self.locks = QueueLocks()
        self.notices: list[tuple[int, str]] = []

    def take(self, conn: int, command: Command, now: int) -> Any:
        fields = headers.decode_request(command)
        if command.code == RequestCode.HEART_BEAT:
            changed = self.table.heartbeat(conn, beans.decode(HeartbeatData, command.body), now)
        elif command.code == RequestCode.UNREGISTER_CLIENT:
            changed = self.table.unregister(conn, fields.get("producerGroup"), fields.get("consumerGroup"))
        elif command.code == RequestCode.GET_CONSUMER_LIST_BY_GROUP:
            return ConsumerList(tuple(self.table.consumer_ids(fields["consumerGroup"])))
        else:
            group, client, queues = beans.decode(LockBatchRequest, command.body)
            if command.code == RequestCode.LOCK_BATCH_MQ:
                return LockBatchResponse(tuple(self.locks.lock(group, client, queues, now)))
            self.locks.unlock(group, client, queues)
            return None
        self.notices += [(told, group) for group in changed for told in self.table.consumers_of(group)]
        return None


READS = {RequestCode.GET_CONSUMER_LIST_BY_GROUP: ConsumerList, RequestCode.LOCK_BATCH_MQ: LockBatchResponse}
SILENT = (RequestCode.HEART_BEAT, RequestCode.UNREGISTER_CLIENT, RequestCode.UNLOCK_BATCH_MQ)


def replay(path: Path, table: ClientTable) -> tuple[int, list[str], list[tuple[int, str]]]:
    """How many requests, what our answers and notices differ in, and the notices."""
    rows = [json.loads(line) for line in path.with_suffix(".jsonl").read_text().splitlines()]
    frames = list(zip(rows, CommandReader().feed(path.read_bytes()), strict=True))
    said = {(row["connection"], frame.opaque): frame for row, frame in frames if frame.is_response}
    notices = sorted(
        (row["connection"], frame.fields["consumerGroup"])
        for row, frame in frames
        if frame.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
    )
    ours, count, differences = Answers(table), 0, []
    for row, frame in frames:
        if frame.is_response or frame.code not in (*READS, *SILENT):
            continue
        count += 1
        answer = ours.take(row["connection"], frame, int(row["at_ms"] * 1e6))
        theirs = said[row["connection"], frame.opaque]
        assert theirs.code == remoting.SUCCESS
        expected = beans.decode(READS[frame.code], theirs.body) if frame.code in READS else None  # type: ignore[index]
        if ordered(answer) != ordered(expected):
            differences.append(f"{row['at_ms']} {frame.code}: {answer} is not {expected}")
    if sorted(ours.notices) != notices:
        differences.append(f"{ours.notices} is not {notices}")
    return count, differences, notices


def ordered(answer: Any) -> Any:
    """Java answers with sets: without an order."""
    return None if answer is None else sorted(answer[0])


@pytest.mark.parametrize(("broker", "requests"), [("master", 46), ("slave", 17), ("late-slave", 17)])
def test_captured_consumers_are_served_as_rocketmq_did(golden: Path, broker: str, requests: int) -> None:
    count, differences, notices = replay(golden / "remoting" / f"consumer--{broker}.bin", ClientTable())
    assert (count, differences, len(notices)) == (requests, [], 2)


class TellsNobody(ClientTable):
    def consumers_of(self, group: str) -> list[Any]:
        return []


class TellsAlways(ClientTable):
    def heartbeat(self, conn: Any, data: HeartbeatData, now: int) -> list[str]:
        super().heartbeat(conn, data, now)
        return [each.group_name for each in data.consumer_data_set]


class MixesGroups(ClientTable):
    def consumer_ids(self, group: str) -> list[str]:
        return [each for name in self.consumers for each in super(MixesGroups, self).consumer_ids(name)]


@pytest.mark.parametrize("table", [TellsNobody, TellsAlways, MixesGroups])
def test_replay_of_the_capture_sees_a_wrong_table(golden: Path, table: type[ClientTable]) -> None:
    assert replay(golden / "remoting" / "consumer--master.bin", table())[1]
