"""A slave's tables become its master's: when it looks, what it asks, what it takes over, and what it survives."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import pytest
from cluster_play import SECOND, World, pair
from fake_port import MS, FakePort

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.metadata_sync import MetadataSync
from pairproof.reference.wire import beans, remoting
from pairproof.reference.wire.bodies import (
    ConsumerOffsets,
    DataVersion,
    DelayOffsets,
    SubscriptionGroupConfig,
    SubscriptionGroups,
    TopicConfig,
    TopicConfigs,
)
from pairproof.reference.wire.remoting import Command, CommandReader

MASTER, FAST = "10.0.0.9:10911", "10.0.0.9:10909"
TABLES = ["topics", "offsets", "delays", "groups"]
CODES = {"topics": 21, "offsets": 43, "delays": 45, "groups": 201}
PORTS = {"topics": FAST, "offsets": MASTER, "delays": MASTER, "groups": MASTER}
VERSION = DataVersion(5, 5)
BODIES: Mapping[str, bytes] = {
    "topics": beans.encode(TopicConfigs({"T": TopicConfig("T", 4, 4)}, VERSION)),
    "offsets": beans.encode(ConsumerOffsets({"T@G": {0: 7, 1: 8}})),
    "delays": beans.encode(DelayOffsets({3: 9})),
    "groups": beans.encode(SubscriptionGroups({"G": SubscriptionGroupConfig("G")}, VERSION)),
}
BAD = {"no json": b"{", "nothing": b"", "another table": b'{"table":{}}'}


class Play(FakePort):
    """A slave that was told its master; connections are called by their addresses and stand at once.

    ``bodies``: what the master answers; a table without one is not answered, an int is a response code.
    """

    def __init__(self, master: str = MASTER, kind: type[MetadataSync] = MetadataSync, **settings: Any) -> None:
        super().__init__(SimDisk())

        class Kind(Broker):
            sync_class = kind

        slave = {"brokerRole": "SLAVE", "brokerId": 1, "namesrvAddr": "10.0.0.1:9876"}
        self.broker = Kind(BrokerConfig(**{**slave, **settings}), self, self)
        self.refuses: set[str] = {"10.0.0.1:9876"}
        self.bodies: dict[str, bytes | int] = dict(BODIES)
        self.asked: list[tuple[int, str]] = []
        self.broker.on_start()
        self.broker.sync.master = master
        self._serve()

    def wait(self, seconds: float) -> None:
        end = self.time + int(seconds * SECOND)
        while self.timers and min(self.timers.values()) <= end:
            key = min(self.timers, key=lambda each: self.timers[each])
            self.time = max(self.time, self.timers.pop(key))
            self.broker.on_timer(key)
            self._serve()
        self.time = end

    def _serve(self) -> None:
        while self.connects or self.sent:
            for address in list(self.connects):
                self.connects.remove(address)
                if address in self.refuses:
                    self.broker.on_connect_failed(address)
                else:
                    self.broker.on_connected(address, address)
            for address in list(self.sent):
                for command in CommandReader().feed(self.sent.pop(address)):
                    self._answer(address, command)

    def _answer(self, address: str, command: Command) -> None:
        table = next(table for table, code in CODES.items() if code == command.code)
        assert (address, command.fields, command.body) == (PORTS[table], {}, b"")
        self.asked.append((self.time // SECOND, table))
        body = self.bodies.get(table)
        if isinstance(body, int):
            self.broker.on_bytes(address, remoting.response(command, body, {}, b"", "no"))
        elif body is not None:
            self.broker.on_bytes(address, remoting.response(command, 0, {}, body, None))

    def saved(self, table: str) -> bytes | None:
        return self.disk.read_whole(f"config/{table}.json")  # type: ignore[no-any-return]

    def rounds(self) -> list[int]:
        """When it asked for topics, seconds since the start."""
        return [second for second, table in self.asked if table == "topics"]


# When.


@pytest.mark.parametrize(
    ("version", "seconds"),
    [("4.4.0", [10, 70, 130]), ("4.9.2", [3, 13, 23]), ("4.9.7", [3, 13, 23]), ("5.5.0", [61, 121, 181])],
)
def test_a_slave_looks_when_its_version_does(version: str, seconds: list[int]) -> None:
    play = Play(rocketmqVersion=version)
    play.wait(seconds[-1] + 1)
    assert play.rounds() == seconds


def test_a_master_that_becomes_known_late_is_asked_at_the_next_look() -> None:
    for version, seconds in (("4.9.7", [23]), ("5.5.0", [70])):
        play = Play("", rocketmqVersion=version)
        play.wait(seconds[0] - 2)
        assert (play.asked, play.syncs) == ([], [])
        play.broker.sync.master = MASTER
        play.wait(3)
        assert play.rounds() == seconds


@pytest.mark.parametrize("master", ["", "127.0.0.1:10911", "somewhere", "host:port", "10.0.0.9:"])
def test_an_unknown_or_impossible_master_and_the_slave_itself_are_not_asked(master: str) -> None:
    play = Play(master)
    play.wait(30)
    assert (play.asked, play.syncs) == ([], [])


def test_without_a_name_server_no_timer_runs() -> None:
    play = Play(namesrvAddr="")
    assert [key for key in play.timers if key[0] == "sync"] == []  # type: ignore[index]


def test_a_master_has_no_sync() -> None:
    play = Play(brokerRole="ASYNC_MASTER", brokerId=0)
    play.wait(30)
    assert (play.asked, play.syncs) == ([], [])


# What is asked and taken over.


def test_four_tables_in_order_each_asked_when_the_one_before_is_through() -> None:
    play = Play()
    play.wait(4)
    assert play.asked == [(3, table) for table in TABLES]
    assert play.syncs == [(table, status) for table in TABLES for status in ("asked", "applied")]
    parts = play.broker.parts
    assert (parts.topics.entries, parts.topics.version) == ({"T": TopicConfig("T", 4, 4)}, VERSION)
    assert (parts.groups.entries, parts.groups.version) == ({"G": SubscriptionGroupConfig("G")}, VERSION)
    assert parts.offsets.table == {"T@G": {0: 7, 1: 8}}
    assert play.saved("delayOffset") == BODIES["delays"]


def test_topics_and_groups_are_rewritten_iff_the_version_differs() -> None:
    play = Play()
    play.wait(14)
    assert play.syncs[8:] == [
        ("topics", "asked"), ("topics", "same"), ("offsets", "asked"), ("offsets", "applied"),
        ("delays", "asked"), ("delays", "applied"), ("groups", "asked"), ("groups", "same"),
    ]  # fmt: skip
    assert play.persists == ["topics", "offsets", "delays", "groups"]
    # Not: iff it is newer.
    older = DataVersion(VERSION.timestamp, VERSION.counter - 1)
    play.bodies["topics"] = beans.encode(TopicConfigs({"U": TopicConfig("U")}, older))
    play.wait(10)
    assert ("topics", "applied") in play.syncs[16:]
    assert play.broker.parts.topics.entries.keys() == {"U"}


def test_consumer_offsets_replace_each_topic_and_group_as_a_whole_and_leave_the_others() -> None:
    play = Play()
    offsets = play.broker.parts.offsets
    offsets.commit("G", "T", 0, 100)
    offsets.commit("G", "T", 5, 100)
    offsets.commit("H", "T", 0, 100)
    play.wait(4)
    assert offsets.table == {"T@G": {0: 7, 1: 8}, "T@H": {0: 100}}
    offsets.commit("G", "T", 0, 200)
    play.wait(10)
    assert offsets.table["T@G"] == {0: 7, 1: 8}
    assert not offsets.changed


def test_delay_offsets_are_the_master_s_text_and_are_not_believed_yet() -> None:
    play = Play()
    play.bodies["delays"] = b'{"offsetTable":{ 3:9 ,1:2}}'
    play.wait(4)
    assert play.saved("delayOffset") == b'{"offsetTable":{ 3:9 ,1:2}}'
    assert play.broker.parts.delay_offsets.table == {}


def test_a_table_that_found_no_room_is_saved_when_there_is_some() -> None:
    play = Play()
    full = ActiveFault()
    play.disk.full.append(full)
    play.wait(4)
    assert play.saved("delayOffset") is None
    play.disk.full.remove(full)
    play.wait(10)
    assert play.saved("delayOffset") == BODIES["delays"]
    assert not play.broker.parts.offsets.changed


def test_topics_and_groups_that_found_no_room_are_saved_in_a_later_round_though_they_have_not_changed() -> None:
    play = Play()
    full = ActiveFault()
    play.disk.full.append(full)
    play.wait(14)
    assert play.saved("topics") is None and ("topics", "same") in play.syncs
    play.disk.full.remove(full)
    play.wait(10)
    assert play.saved("topics") and play.saved("subscriptionGroup")
    saves = len(play.persists)
    play.wait(10)
    assert len(play.persists) == saves


def test_topics_that_were_taken_over_are_registered() -> None:
    play = Play()
    play.wait(2.9)
    assert len(play.registrations) == 1
    play.wait(0.1)
    assert len(play.registrations) == 2
    # The same topics again ten seconds later are no reason; the period is.
    play.wait(10)
    assert len(play.registrations) == 3


# What goes wrong.


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("bad", [*BAD.values(), 1, 3], ids=[*BAD, "code 1", "code 3"])
def test_a_table_that_cannot_be_read_or_is_refused_keeps_no_other_from_being_taken_over(
    table: str, bad: bytes | int
) -> None:
    play = Play()
    play.bodies[table] = bad
    play.wait(4)
    kept = "failed" if isinstance(bad, int) else "unread"
    assert play.syncs == [
        (each, status) for each in TABLES for status in ("asked", kept if each == table else "applied")
    ]
    assert sorted(play.persists) == sorted(set(TABLES) - {table})


@pytest.mark.parametrize("address", [FAST, MASTER])
def test_a_port_that_refuses_keeps_no_table_of_the_other_from_being_taken_over(address: str) -> None:
    play = Play()
    play.refuses.add(address)
    play.wait(4)
    failed = {table for table, port in PORTS.items() if port == address}
    assert play.syncs == [
        (each, status) for each in TABLES for status in ("asked", "failed" if each in failed else "applied")
    ]
    play.refuses.remove(address)
    play.wait(10)
    assert {each for each, status in play.syncs[8:] if status == "failed"} == set()


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_is_not_answered_is_given_three_seconds(table: str) -> None:
    play = Play()
    del play.bodies[table]
    play.wait(5.999)
    assert (table, "failed") not in play.syncs
    play.wait(0.001)
    assert (table, "failed") in play.syncs
    assert [each for each, _ in play.syncs[::2]] == TABLES


def test_the_end_of_the_connection_fails_the_table_that_was_asked_for() -> None:
    play = Play()
    del play.bodies["topics"]
    play.wait(4)
    play.broker.on_closed(FAST)
    assert play.syncs[:3] == [("topics", "asked"), ("topics", "failed"), ("offsets", "asked")]


class Overlapping(MetadataSync):
    """Looks again although the last round has not ended."""

    def on_timer(self, key: Any) -> None:
        self._schedule_next()
        super().on_timer(key)


@pytest.mark.parametrize(("kind", "seconds"), [(MetadataSync, [3, 15, 27]), (Overlapping, [3, 13])])
def test_a_round_that_takes_longer_than_the_period_delays_the_next(
    kind: type[MetadataSync], seconds: list[int]
) -> None:
    play = Play(kind=kind)
    play.bodies.clear()
    play.wait(28)
    assert play.rounds()[: len(seconds)] == seconds
    waiting = list(accumulate(1 if status == "asked" else -1 for _, status in play.syncs))
    assert (max(waiting) == 1) is (kind is MetadataSync)


def test_a_master_that_is_lost_in_the_middle_of_a_round_is_asked_no_further() -> None:
    play = Play()
    del play.bodies["offsets"]
    play.wait(4)
    play.broker.sync.master = ""
    play.wait(30)
    assert play.asked == [(3, "topics"), (3, "offsets")]


# With a real master.


def synced_pair() -> tuple[World, Any, Any]:
    world = World()
    machines = pair(world)
    for each in machines:
        each.start()
        world.run(0.1)
    world.run(15)
    return world, machines[1], machines[2]


def tables(machine: Any) -> dict[str, Any]:
    parts = machine.node.parts
    return {
        "topics": (parts.topics.entries, parts.topics.version),
        "groups": (parts.groups.entries, parts.groups.version),
        "offsets": parts.offsets.table,
    }


def test_the_tables_of_a_pair_are_equal_one_period_after_a_change() -> None:
    world, master, slave = synced_pair()
    parts = master.node.parts
    world.send(10911, "new")
    parts.topics.put("made", TopicConfig("made", 3, 3))
    parts.groups.put("G", SubscriptionGroupConfig("G", which_broker_when_consume_slowly=2))
    parts.offsets.commit("G", "new", 0, 1)
    assert tables(slave) != tables(master)
    world.run(10.1)
    assert tables(slave) == tables(master)
    assert slave.disk.read_whole("config/delayOffset.json") == parts.delay_offsets.encode()
    assert {status for _, _, status in slave.syncs} == {"asked", "same", "applied"}


def test_nothing_flows_from_a_slave_to_its_master() -> None:
    world, master, slave = synced_pair()
    before = tables(master)
    slave.node.parts.topics.put("mine", TopicConfig("mine"))
    slave.node.parts.groups.put("mine", SubscriptionGroupConfig("mine"))
    world.run(10.1)
    assert tables(master) == before
    assert (slave.node.parts.topics.get("mine"), slave.node.parts.groups.get("mine")) == (None, None)


def test_synced_tables_survive_the_death_of_both() -> None:
    world, master, slave = synced_pair()
    master.node.parts.topics.put("made", TopicConfig("made", 3, 3))
    master.node.parts.offsets.commit("G", "made", 0, 5)
    world.run(10.1)
    expected = tables(master)
    master.kill()
    slave.kill()
    slave.start()
    assert tables(slave) == expected
    world.run(30)
    assert slave.syncs[-1][0] < world.kernel.now // MS - 20_000, "a lost master was asked"


def test_a_slave_of_a_returned_master_takes_its_older_offsets() -> None:
    world, master, slave = synced_pair()
    master.node.parts.offsets.commit("G", "T", 0, 5)
    world.run(10.1)
    master.kill()
    slave.node.parts.offsets.commit("G", "T", 0, 9)
    world.run(1)
    master.start()
    master.node.parts.offsets.commit("G", "T", 0, 4)
    world.run(25)
    assert slave.node.parts.offsets.query("G", "T", 0) == 4
