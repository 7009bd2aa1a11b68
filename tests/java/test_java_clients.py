"""Real Java clients against a name server, a master and its slave: every way to send, every kind of consumer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest
from clients import Clients, Driver, JavaError, Message, Queue, Sent, all_keys, keys, messages
from pairs import Pair, committed_on_disk, topics_on_disk, until_replicated
from processes import Kind, until

pytestmark = pytest.mark.slow
TRIES = 40


def expanded(sent: list[Sent]) -> list[tuple[str, str, int, int]]:
    """Id, offset id, queue and offset of every message: a batch has one result for all of its messages."""
    return [
        (id_, offset_id, each.queue, each.offset + n)
        for each in sent
        for n, (id_, offset_id) in enumerate(zip(each.msgId.split(","), each.offsetMsgId.split(","), strict=True))
    ]


def places(got: list[Message]) -> list[tuple[str, str, int, int]]:
    return [(each.msgId, each.offsetMsgId, each.queue, each.offset) for each in got]


def stored(queues: list[Queue]) -> list[Message]:
    """All messages of whole queues without holes."""
    for each in queues:
        assert [message.offset for message in each.messages] == list(range(each.min, each.max))
    return [message for each in queues for message in each.messages]


@pytest.mark.parametrize("way", ["sync", "async", "oneway", "batch", "ordered"])
def test_what_is_sent_is_consumed_once_and_is_where_the_broker_said(clients: Clients, way: str) -> None:
    topic = clients.make_topic(f"sent-{way}")
    wanted = [{**each, "shard": n, "tag": "tag"} for n, each in enumerate(messages(20, f"{way}-"))]
    with clients.producer() as send, clients.push(topic, f"group-of-{topic}") as consumer:
        sent = send(way, topic, wanted)
        got = clients.driver.wait([consumer], all_keys(wanted))
    assert {each.status for each in sent} <= {"SEND_OK"}, "the slave has it, too"
    assert Counter((each.key, each.body, each.tag) for each in got) == Counter(
        (each["key"], each["body"], "tag") for each in wanted
    )
    if way != "oneway":
        assert sorted(places(got)) == sorted(expanded(sent))
    assert sorted(places(stored(clients.read(topic)))) == sorted(places(got))


def test_a_message_that_is_too_large_is_refused_and_the_next_one_is_not(clients: Clients) -> None:
    topic = clients.make_topic("refused")
    with clients.producer() as send:
        # Hexadecimal digits of a cube: compressed it has about half of its size.
        large = "".join(f"{n**3:x}" for n in range(20_000))
        with pytest.raises(JavaError, match="CODE: 13"):
            send("sync", topic, [{"key": "large", "body": large}])
        send("sync", topic, messages(1, "small"))
    assert keys(stored(clients.read(topic))) == ["small0"]


def test_a_compressed_body_comes_out_as_it_went_in(clients: Clients) -> None:
    topic = clients.make_topic("compressed")
    wanted = [{"key": "long", "body": "all work and no play " * 1_000}]
    with clients.producer() as send:
        send("sync", topic, wanted)
    (message,) = stored(clients.read(topic))
    assert message.body == wanted[0]["body"]


def test_a_delayed_message_comes_after_its_delay_and_the_others_do_not_wait(clients: Clients) -> None:
    topic = clients.make_topic("delayed")
    wanted = [*messages(2, "second-", delay=1), *messages(2, "now-")]
    with clients.producer() as send, clients.push(topic, "group-of-delayed") as consumer:
        sent = send("sync", topic, wanted)
        got = clients.driver.wait([consumer], all_keys(wanted))
    assert {each.status for each in sent} == {"SEND_OK"}
    assert sorted(keys(got)) == sorted(each["key"] for each in wanted)
    waited = {each.key: each.storeMs - each.bornMs for each in got}
    assert all(waited[f"second-{n}"] >= 1_000 > waited[f"now-{n}"] for n in range(2)), waited


def test_a_topic_that_nobody_made_is_made_by_the_first_send(clients: Clients) -> None:
    wanted = messages(3, "auto-")
    with clients.producer() as send:
        send("sync", "nobody-made-this", wanted)
    assert sorted(keys(stored(clients.read("nobody-made-this")))) == sorted(each["key"] for each in wanted)


def test_only_messages_with_a_wanted_tag_come(clients: Clients) -> None:
    topic = clients.make_topic("tagged")
    wanted, unwanted = [*messages(4, "a-", tag="a"), *messages(4, "b-", tag="b")], messages(4, "c-", tag="c")
    with clients.producer() as send:
        send("sync", topic, [*unwanted, *wanted])
    with clients.push(topic, "group-of-tagged", tags="a || b") as consumer:
        got = clients.driver.wait([consumer], all_keys(wanted))
    assert sorted(keys(got)) == sorted(each["key"] for each in wanted)


def test_every_broadcast_consumer_gets_every_message(clients: Clients) -> None:
    topic = clients.make_topic("broadcast")
    wanted = messages(8, "to-all-")
    with (
        clients.push(topic, "listeners", model="BROADCASTING") as one,
        clients.push(topic, "listeners", model="BROADCASTING") as other,
        clients.producer() as send,
    ):
        send("sync", topic, wanted)
        for each in (one, other):
            got = clients.driver.wait([each], all_keys(wanted))
            assert sorted(keys(got)) == sorted(each["key"] for each in wanted)


def rounds(clients: Clients, topic: str, prefix: str, consumers: list[str]) -> Generator[list[list[str]], None, None]:
    """Send a message to each queue, again and again; who got how much of each round once all of it has come."""
    with clients.producer() as send:
        for n in range(TRIES):
            wanted = [{**each, "shard": shard} for shard, each in enumerate(messages(4, f"{prefix}{n}-"))]
            send("ordered", topic, wanted)
            clients.driver.wait(consumers, all_keys(wanted))
            names = {each["key"] for each in wanted}
            yield [[key for key in keys(clients.driver.got(each)) if key in names] for each in consumers]
    raise AssertionError(f"not within {TRIES} rounds")


def test_a_group_shares_its_queues_and_takes_over_those_of_one_that_leaves(clients: Clients) -> None:
    topic = clients.make_topic("shared")
    with clients.push(topic, "sharers") as one:
        with clients.push(topic, "sharers") as other:
            halves = rounds(clients, topic, "both-", [one, other])
            assert next(each for each in halves if [len(half) for half in each] == [2, 2])
            halves.close()
        alone = rounds(clients, topic, "one-", [one, other])
        assert next(each for each in alone if [len(half) for half in each] == [4, 0])
        alone.close()


def test_orderly_consumers_keep_each_queue_s_order_and_hand_it_over(clients: Clients) -> None:
    topic = clients.make_topic("orderly")
    first, later = (
        [{**each, "shard": n % 4} for n, each in enumerate(messages(20, prefix))] for prefix in ("first-", "later-")
    )
    with clients.producer() as send:
        send("ordered", topic, first)
        with clients.push(topic, "orderly-group", orderly=True) as one:
            before = clients.driver.wait([one], all_keys(first))
            clients.commit(one, topic, "orderly-group")
        # Queues that the first one did not unlock would stay its own for a minute.
        with clients.push(topic, "orderly-group", orderly=True) as other:
            send("ordered", topic, later)
            after = clients.driver.wait([other], all_keys(later))
    for got, wanted in ((before, first), (after, later)):
        for shard in range(4):
            queue = {each.queue for each in got if int(each.key.split("-")[1]) % 4 == shard}
            assert len(queue) == 1
            assert [each.key for each in got if each.queue in queue] == [
                each["key"] for each in wanted if each["shard"] == shard
            ]


def test_a_message_that_is_sent_back_comes_again(clients: Clients) -> None:
    topic = clients.make_topic("retried")
    wanted = messages(4, "retried-")
    with clients.push(topic, "retriers", fail_once=["retried-2"]) as consumer, clients.producer() as send:
        send("sync", topic, wanted)
        got = clients.driver.wait([consumer], lambda got: len(got) == 5)
    assert Counter((each.key, each.reconsumed) for each in got) == Counter(
        {("retried-0", 0): 1, ("retried-1", 0): 1, ("retried-2", 0): 1, ("retried-2", 1): 1, ("retried-3", 0): 1}
    )
    again = next(each for each in got if each.reconsumed)
    assert (again.topic, again.body) == (topic, "body of retried-2")


@pytest.mark.parametrize("consumer", ["push", "lite"])
def test_a_consumer_that_comes_back_goes_on_where_its_group_was(clients: Clients, consumer: str) -> None:
    topic, group = clients.make_topic(f"resumed-{consumer}"), f"resumers-{consumer}"
    begin = {"push": clients.push, "lite": clients.lite}[consumer]
    first, later = messages(8, "first-"), messages(8, "later-")
    with clients.producer() as send:
        send("sync", topic, first)
        with begin(topic, group) as name:
            got = clients.driver.wait([name], all_keys(first))
            assert sorted(keys(got)) == sorted(each["key"] for each in first)
            clients.commit(name, topic, group)
        send("sync", topic, later)
        with begin(topic, group) as name:
            got = clients.driver.wait([name], all_keys(later))
            assert sorted(keys(got)) == sorted(each["key"] for each in later)


def test_what_a_lite_pull_consumer_did_not_commit_comes_again(clients: Clients) -> None:
    topic, wanted = clients.make_topic("uncommitted"), messages(8, "uncommitted-")
    with clients.producer() as send:
        send("sync", topic, wanted)
    for _ in range(2):
        with clients.lite(topic, "forgetful") as name:
            got = clients.driver.wait([name], all_keys(wanted))
            assert sorted(keys(got)) == sorted(each["key"] for each in wanted)


def test_a_consumer_goes_on_from_the_slave_and_returns_to_the_master(
    kind: Kind, driver: Driver, tmp_path: Path
) -> None:
    pair = Pair(tmp_path, kind)
    clients = Clients(driver, pair.namesrv.address)
    try:
        pair.start()
        topic = clients.make_topic("survivor")
        until_replicated(clients)
        until(lambda: topic in topics_on_disk(pair.slave))
        with clients.push(topic, "survivors") as consumer:
            unseen = leave_unseen(clients, topic, consumer)
            pair.master.kill()
            driver.ask("resume", client=consumer)
            got = driver.wait([consumer], all_keys(unseen))
            assert {each.pulledFrom for each in got if each.key.startswith("seen")} == {pair.master.address}
            assert {each.pulledFrom for each in got if each.key.startswith("unseen")} == {pair.slave.address}
            pair.master.start()
            return_to(pair.master.address, clients, topic, consumer)
            clients.commit(consumer, topic, "survivors")
    finally:
        pair.kill()


def test_a_group_s_progress_is_on_the_slave_when_the_master_is_gone(kind: Kind, driver: Driver, tmp_path: Path) -> None:
    pair = Pair(tmp_path, kind)
    clients = Clients(driver, pair.namesrv.address)
    seen, unseen = messages(8, "seen-"), messages(8, "unseen-")
    try:
        pair.start()
        topic = clients.make_topic("survivor")
        until_replicated(clients)
        with clients.producer() as send:
            send("sync", topic, seen)
            with clients.push(topic, "survivors") as consumer:
                driver.wait([consumer], all_keys(seen))
                clients.commit(consumer, topic, "survivors")
            assert {each.status for each in send("sync", topic, unseen)} == {"SEND_OK"}
        until(lambda: committed_on_disk(pair.slave, topic, "survivors") == [2] * 4)
        pair.master.kill()
        with clients.push(topic, "survivors") as consumer:
            got = driver.wait([consumer], all_keys(unseen))
            assert sorted(keys(got)) == sorted(each["key"] for each in unseen)
            assert {each.pulledFrom for each in got} == {pair.slave.address}
    finally:
        pair.kill()


def leave_unseen(clients: Clients, topic: str, consumer: str) -> list[dict[str, object]]:
    """Send messages that the consumer gets, then others, replicated, that it has not pulled; these."""
    with clients.producer() as send:

        def to_all_queues(prefix: str) -> list[dict[str, object]]:
            sent = [{**each, "shard": n} for n, each in enumerate(messages(4, prefix))]
            assert {each.status for each in send("ordered", topic, sent)} == {"SEND_OK"}
            return sent

        clients.driver.wait([consumer], all_keys(to_all_queues("seen-")))
        # Now a pull waits at the broker for the next message of each queue; the one after it waits for the resumption.
        until(lambda: clients.driver.ask("pulls", client=consumer, topic=topic) == [1] * 4)
        clients.driver.ask("suspend", client=consumer)
        clients.driver.wait([consumer], all_keys(to_all_queues("seen-last-")))
        return [*to_all_queues("unseen-"), *to_all_queues("unseen-last-")]


def return_to(address: str, clients: Clients, topic: str, consumer: str) -> None:
    """Wait until what is sent comes from this broker: pulls may wait at the other one for some seconds."""
    with clients.producer() as send:
        for n in count():
            wanted = [{**each, "shard": shard} for shard, each in enumerate(messages(4, f"after-{n}-"))]
            try:
                send("ordered", topic, wanted)
            except JavaError:
                assert n < TRIES
                continue
            got = clients.driver.wait([consumer], all_keys(wanted))
            if {each.pulledFrom for each in got if each.key.startswith(f"after-{n}-")} == {address}:
                return
            assert n < TRIES, f"not from {address} within {TRIES} rounds"
