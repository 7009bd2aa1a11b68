"""Consumers and producers with a real name server, master and slave: shared queues, a master that dies and returns."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any, ClassVar

import pytest
from client_peers import TOPIC, Notes
from client_world import World

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.client import admin
from pairproof.reference.client.consumer import Consumer, ConsumerSettings
from pairproof.reference.client.producer import Outgoing, Producer, ProducerSettings, Sent
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.wire.bodies import (
    ConsumerOffsets,
    DelayOffsets,
    SubscriptionGroupConfig,
    SubscriptionGroups,
    TopicConfig,
    TopicConfigs,
)
from pairproof.reference.wire.bodies_client import BatchItem, MessageQueue
from pairproof.reference.wire.bodies_route import ClusterInfo

QUEUES = 4


class Watcher:
    """Deaf."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None


class Pair:
    """Name server, master, slave, a producer, consumers; one topic with four queues."""

    PORTS: ClassVar[dict[int, int]] = {0: 10_911, 1: 10_921}

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.world = World()
        self.world.host("names", ports={"main": "127.0.0.1:9876"}).start(NameServer)
        self.brokers: dict[int, Broker] = {}
        for broker_id, port in self.PORTS.items():
            ports = {
                "main": f"127.0.0.1:{port}", "fast": f"127.0.0.1:{port - 2}", "ha": f"127.0.0.1:{port + 1}"
            }  # fmt: skip
            self.world.host(f"b{broker_id}", SimDisk(), ports)
            self.start(broker_id)
        self.producer: Producer = self.world.host("p1").start(
            lambda host: Producer(host, ProducerSettings("p1", "producers", ("127.0.0.1:9876",)))
        )
        self.sent: list[Sent] = []
        self.consumers: dict[str, Consumer] = {}
        self.notes: dict[str, Notes] = {}
        self.done = 0
        topic = TopicConfig(TOPIC, QUEUES, QUEUES)
        admin.update_topic(self.producer.calls, self.address(0), topic, lambda outcome: self.ended(outcome))
        # The slave finds its master, and fetches its tables.
        self.world.run(30)
        assert self.done == 1

    def address(self, broker_id: int) -> str:
        return f"127.0.0.1:{self.PORTS[broker_id]}"

    def ended(self, outcome: Any) -> None:
        assert outcome.phase == "ok", outcome
        self.done += 1

    def start(self, broker_id: int) -> None:
        config = BrokerConfig(
            brokerId=broker_id, brokerRole="SLAVE" if broker_id else "ASYNC_MASTER", listenPort=self.PORTS[broker_id],
            namesrvAddr="127.0.0.1:9876", mappedFileSizeCommitLog=1 << 16, mappedFileSizeConsumeQueue=200,
            maxHashSlotNum=8, maxIndexNum=16, registerNameServerPeriod=10_000, **self.settings,
        )  # fmt: skip
        host = self.world.hosts[f"b{broker_id}"]
        self.brokers[broker_id] = host.start(lambda host: Broker(config, host, Watcher()))

    def kill(self, broker_id: int) -> None:
        self.world.hosts[f"b{broker_id}"].kill()

    def join(self, name: str, **settings: Any) -> Consumer:
        host = self.world.host(name)
        self.notes[name] = Notes(host)
        given: dict[str, Any] = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", "topics": {TOPIC: "*"}, **settings}
        what = ConsumerSettings(client_id=name, group="g", name_servers=("127.0.0.1:9876",), **given)
        self.consumers[name] = host.start(lambda host: Consumer(host, what, self.notes[name]))
        return self.consumers[name]

    def send(self, count: int, **properties: str) -> list[Sent]:
        """Send, let everything arrive, and say what became of it."""
        before = len(self.sent)
        for n in range(count):
            message = Outgoing(TOPIC, f"m{before + n}".encode(), {"KEYS": f"k{before + n}", **properties})
            self.producer.send(message, self.sent.append)
        self.world.run(4)
        assert len(self.sent) == before + count
        return self.sent[before:]

    def received(self) -> Counter[str]:
        return Counter(body for notes in self.notes.values() for body in notes.delivered_bodies())

    def shares(self) -> dict[str, int]:
        return {name: len(each.progress) for name, each in self.consumers.items() if not each.over}

    def read(self, function: Any, address: str, *arguments: Any) -> Any:
        found: list[Any] = []
        function(self.producer.calls, address, *arguments, lambda outcome, value: found.append((outcome, value)))
        self.world.run(1)
        assert len(found) == 1, "neither an answer nor an end"
        return found[0]


def test_two_consumers_share_the_queues_and_one_takes_over_from_the_other() -> None:
    pair = Pair()
    pair.send(8)
    pair.join("c1")
    pair.world.run(2)
    pair.join("c2")
    pair.world.run(5)
    assert pair.shares() == {"c1": 2, "c2": 2}
    pair.send(8)
    assert pair.received() == Counter(f"m{n}" for n in range(16))
    assert all(len(notes.delivered_bodies()) >= 4 for notes in pair.notes.values())
    pair.consumers["c1"].stop()
    pair.world.run(3)
    assert pair.shares() == {"c2": 4}
    pair.send(8)
    assert pair.received() == Counter(f"m{n}" for n in range(24)), "none twice, none lost"
    pair.consumers["c2"].abandon()
    pair.send(4)
    pair.join("c3")
    pair.world.run(5)
    assert set(pair.received()) == {f"m{n}" for n in range(28)}


@pytest.mark.parametrize("slave_read", [False, True])
def test_while_the_master_is_dead_its_slave_serves_and_the_master_is_used_again_when_it_is_back(
    slave_read: bool,
) -> None:
    pair = Pair(slaveReadEnable=slave_read)
    pair.join("c1")
    pair.send(8)
    pair.world.run(10)
    # What the consumer has not seen yet when the master dies.
    pair.world.hosts["c1"].silent = True
    pair.send(8)
    pair.world.run(2)
    pair.kill(0)
    pair.world.hosts["c1"].silent = False
    assert all(each.phase in ("fail", "info") for each in pair.send(2)), "nobody takes the master's place"
    pair.world.until(lambda: len(pair.received()) == 16, 75)
    assert pair.received() == Counter(f"m{n}" for n in range(16))
    pair.world.run(10)
    assert sum(pair.brokers[1].parts.offsets.query("g", TOPIC, n) or 0 for n in range(QUEUES)) == 16
    pair.start(0)
    pair.world.run(75)
    sent = pair.send(8)
    assert all(each.phase == "ok" for each in sent)
    pair.world.until(lambda: len(pair.received()) == 24, 40)
    assert set(pair.received().values()) == {1}, "it lived through it all: nothing comes twice"
    assert pair.notes["c1"].of("pull_began")[-1][3:] == (0, pair.address(0))
    pair.world.run(10)
    assert sum(pair.brokers[0].parts.offsets.query("g", TOPIC, n) or 0 for n in range(QUEUES)) == 24


def test_the_group_s_slow_broker_is_respected_once_messages_have_left_the_memory() -> None:
    pair = Pair(slaveReadEnable=True, accessMessageInMemoryMaxRatio=0)
    pair.send(40)
    pair.world.run(3)
    pair.join("c1", consume_from_where="CONSUME_FROM_FIRST_OFFSET", pull_batch_size=1)
    # Without progress of its own, and nothing in memory, the group begins where the queues do.
    pair.world.until(lambda: len(pair.received()) == 40, 20)
    pulls, ends = pair.notes["c1"].of("pull_began"), pair.notes["c1"].of("pull_ended")
    header = {op: header for op, _, header in ends}
    by_queue: dict[MessageQueue, list[Any]] = {}
    for op, queue, _, broker_id, _ in pulls:
        by_queue.setdefault(queue, []).append((broker_id, header.get(op)))
    assert {broker_id for steps in by_queue.values() for broker_id, _ in steps} == {0, 1}
    for steps in by_queue.values():
        for (_, answer), (broker_id, _) in itertools.pairwise(steps):
            assert broker_id == answer["suggestWhichBrokerId"]


def test_an_orderly_pair_of_consumers_never_holds_a_queue_twice() -> None:
    pair = Pair()
    pair.join("c1", orderly=True)
    pair.send(8)
    pair.join("c2", orderly=True)
    pair.world.run(25)
    assert pair.shares() == {"c1": 2, "c2": 2}
    pair.send(8)
    pair.consumers["c2"].stop()
    pair.world.run(10)
    pair.send(8)
    assert pair.shares() == {"c1": 4} and pair.received() == Counter(f"m{n}" for n in range(24))
    holders: dict[MessageQueue, str] = {}
    steps = [(t, name, what, args[0]) for name, notes in pair.notes.items() for t, what, args in notes.all
             if what in ("assigned", "given_up")]  # fmt: skip
    for _, name, what, queue in sorted(steps, key=lambda step: (step[0], step[2] == "assigned")):
        if what == "assigned":
            assert holders.setdefault(queue, name) == name
        else:
            del holders[queue]


def test_sends_of_every_kind_arrive() -> None:
    pair = Pair()
    pair.join("c1")
    pair.world.run(3)
    for sent in pair.send(8):
        assert (sent.phase, sent.status, sent.tries, sent.queue_offset is not None) == ("ok", "PUT_OK", 1, True)
    assert Counter(sent.queue for sent in pair.sent) == {MessageQueue(TOPIC, "broker-a", n): 2 for n in range(QUEUES)}
    done: list[Sent] = []
    batch = [BatchItem(f"b{n}".encode()) for n in range(3)]
    pair.producer.send_batch(TOPIC, batch, done.append, MessageQueue(TOPIC, "broker-a", 2))
    for n in range(4):
        pair.producer.send(Outgoing(TOPIC, f"o{n}".encode()), done.append, order_key="order 7")
    pair.producer.send(Outgoing(TOPIC, b"late", {"DELAY": "2"}), done.append)
    pair.world.run(2)
    assert [each.phase for each in done] == ["ok"] * 6
    assert done[0].message_id.count(",") == 2 and done[0].queue == MessageQueue(TOPIC, "broker-a", 2)
    assert len({each.queue for each in done[1:5]}) == 1
    assert {"b0", "b1", "b2", "o0", "o1", "o2", "o3"} <= set(pair.received()) and "late" not in pair.received()
    pair.world.run(6)
    assert "late" in pair.received()


def test_what_an_administrator_reads_is_what_was_written() -> None:
    pair = Pair()
    master, slave = pair.address(0), pair.address(1)
    pair.send(4)
    group = SubscriptionGroupConfig("slow", broker_id=1, which_broker_when_consume_slowly=1)
    admin.update_group(pair.producer.calls, master, group, pair.ended)
    pair.join("c1")
    pair.world.run(30)
    assert pair.done == 2
    for address in (master, slave):
        assert pair.read(admin.table, address, TopicConfigs)[1].topic_config_table[TOPIC].read_queue_nums == QUEUES
        assert pair.read(admin.table, address, SubscriptionGroups)[1].subscription_group_table["slow"] == group
        offsets = pair.read(admin.table, address, ConsumerOffsets)[1].offset_table
        assert sum(offsets[f"{TOPIC}@g"].values()) == 4
        assert pair.read(admin.table, address, DelayOffsets)[1] is not None
        queue = pair.sent[0].queue
        assert queue is not None
        assert (
            pair.read(admin.max_offset, address, queue)[1] == 1 and pair.read(admin.min_offset, address, queue)[1] == 0
        )
        assert pair.read(admin.query_offset, address, "g", queue)[1] == 1
    assert pair.read(admin.table, "127.0.0.1:9876", ClusterInfo)[1].broker_addr_table["broker-a"].broker_addrs == {
        0: master, 1: slave
    }  # fmt: skip
    refused: list[Any] = []
    admin.update_topic(pair.producer.calls, slave, TopicConfig("no", 1, 1), refused.append)
    pair.world.run(1)
    assert refused[0].phase == "fail"
