"""How a broker makes itself known at its name servers, and what a slave learns there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cluster_play import NAMES, SECOND, World, pair
from fake_port import FakePort

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.registration import Registration
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.bodies import TopicConfig
from pairproof.reference.wire.bodies_route import RegisterBrokerBody, decode_registration
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command, CommandReader

FIRST, SECOND_SERVER = "10.0.0.1:9876", "10.0.0.2:9876"
MASTER = {"masterAddr": "10.0.0.9:10911", "haServerAddr": "10.0.0.9:10912"}
GOLDEN = Path(__file__).parent.parent / "golden" / "rocketmq-4.9.7" / "remoting"


class Play(FakePort):
    """One broker; name servers are connections that are called by their addresses."""

    def __init__(self, kind: type[Registration] = Registration, **settings: Any) -> None:
        super().__init__(SimDisk())

        class Kind(Broker):
            registration_class = kind

        self.broker = Kind(BrokerConfig(**{"namesrvAddr": FIRST, **settings}), self, self)
        self.broker.on_start()

    def stand(self, *addresses: str) -> None:
        """The connections that the broker asked for can be made."""
        for address in addresses:
            assert self.connects.count(address) == 1
            self.connects.remove(address)
            self.broker.on_connected(address, address)

    def asked(self, address: str = FIRST, code: int = RequestCode.REGISTER_BROKER) -> list[Command]:
        """The requests that came since the last time."""
        commands = list(CommandReader().feed(self.sent.pop(address, b"")))
        assert {each.code for each in commands} <= {code}
        return commands

    def answer(self, command: Command, address: str = FIRST, code: int = 0, fields: Any = None) -> None:
        self.broker.on_bytes(address, remoting.response(command, code, fields or {}, b"", None))

    def wait(self, seconds: float) -> None:
        """Time passes, and timers ring on time."""
        end = self.time + int(seconds * SECOND)
        while self.timers and min(self.timers.values()) <= end:
            key = min(self.timers, key=lambda each: self.timers[each])
            self.time = max(self.time, self.timers.pop(key))
            self.broker.on_timer(key)
        self.time = end

    def seconds(self, until: int) -> Iterator[int]:
        """At which whole seconds a registration leaves; each is answered at once."""
        for second in range(until):
            for command in self.asked():
                yield second
                self.answer(command)
            self.wait(1)

    def add_topic(self, name: str) -> None:
        """An administrator changes a topic."""
        self.broker.parts.topics.put(name, TopicConfig(name))
        self.broker.registration.topics_changed()


def registered(command: Command) -> RegisterBrokerBody:
    return decode_registration(command.body, headers.decode_request(command))


# When.


def test_it_registers_at_the_start_then_after_ten_seconds_then_every_period() -> None:
    play = Play()
    play.stand(FIRST)
    assert list(play.seconds(100)) == [0, 10, 40, 70]


@pytest.mark.parametrize(("period_ms", "seconds"), [(1, [0, 10, 20, 30]), (600_000, [0, 10, 70, 130])])
def test_the_period_is_at_least_ten_seconds_and_at_most_sixty(period_ms: int, seconds: list[int]) -> None:
    play = Play(registerNameServerPeriod=period_ms)
    play.stand(FIRST)
    assert list(play.seconds(seconds[-1] + 1)) == seconds


def test_without_a_name_server_nothing_is_timed_and_nobody_is_asked() -> None:
    play = Play(namesrvAddr="")
    play.add_topic("new")
    play.broker.on_stop()
    assert (play.connects, play.timers, play.sent) == ([], {}, {})


def test_changes_of_one_turn_are_one_registration() -> None:
    play = Play()
    play.stand(FIRST)
    play.answer(*play.asked())
    for name in ("one", "two", "three"):
        play.add_topic(name)
    assert play.asked() == []
    play.wait(0)
    (command,) = play.asked()
    assert {"one", "two", "three"} <= registered(command).topic_config_serialize_wrapper.topic_config_table.keys()


def test_a_topic_that_a_send_creates_is_registered() -> None:
    play = Play()
    play.stand(FIRST)
    play.answer(*play.asked())
    play.broker.on_accepted("c", "main")
    send = remoting.send_request(1, producer_group="g", topic="new", queue_id=0, born_ms=1, body=b"", properties="")
    play.broker.on_bytes("c", send)
    play.wait(0)
    assert "new" in registered(*play.asked()).topic_config_serialize_wrapper.topic_config_table
    play.broker.on_bytes("c", send)
    play.wait(0)
    assert play.asked() == []


def test_what_changes_while_a_registration_is_under_way_follows_it() -> None:
    play = Play()
    play.stand(FIRST)
    (first,) = play.asked()
    for name in ("one", "two"):
        play.add_topic(name)
        play.wait(1)
    assert play.asked() == []
    play.answer(first)
    (second,) = play.asked()
    assert "two" in registered(second).topic_config_serialize_wrapper.topic_config_table
    play.answer(second)
    assert play.asked() == []


# What.


def test_a_registration_has_the_fields_of_a_captured_one() -> None:
    frames = (GOLDEN / "master--namesrv.bin").read_bytes()
    row = json.loads((GOLDEN / "master--namesrv.jsonl").read_text().splitlines()[0])
    (captured,) = CommandReader().feed(frames[: row["length"]])
    play = Play(brokerName="broker-a", brokerClusterName="golden-cluster", listenPort=20911, brokerIP2="127.0.0.1")
    play.stand(FIRST)
    (ours,) = play.asked()
    varying = {"bodyCrc32"}
    assert {key: ours.fields[key] for key in ours.fields.keys() - varying} == {
        key: captured.fields[key] for key in captured.fields.keys() - varying
    }
    topics = registered(ours).topic_config_serialize_wrapper
    assert topics == (dict(play.broker.parts.topics.entries), play.broker.parts.topics.version)
    assert registered(captured).topic_config_serialize_wrapper.topic_config_table.keys() <= topics[0].keys()


def test_a_slave_registers_under_its_id_with_its_own_addresses() -> None:
    play = Play(brokerRole="SLAVE", brokerId=2, brokerIP1="10.0.0.4", brokerIP2="10.1.0.4", listenPort=10921)
    play.stand(FIRST)
    fields = play.asked()[0].fields
    assert (fields["brokerId"], fields["brokerAddr"]) == ("2", "10.0.0.4:10921")
    assert fields["haServerAddr"] == "10.1.0.4:10922"


@pytest.mark.parametrize(("version", "port"), [("4.4.0", 10_912), ("4.9.7", 10_912), ("5.5.0", 10_999)])
def test_the_ha_port_of_the_settings_is_registered_where_the_version_has_one(version: str, port: int) -> None:
    play = Play(brokerIP2="10.1.0.4", haListenPort=10_999, rocketmqVersion=version)
    play.stand(FIRST)
    assert play.asked()[0].fields["haServerAddr"] == f"10.1.0.4:{port}"


@pytest.mark.parametrize("permission", [2, 4, 6])
def test_topics_are_registered_with_the_permissions_that_the_broker_has(permission: int) -> None:
    play = Play(brokerPermission=permission)
    play.stand(FIRST)
    table = registered(play.asked()[0]).topic_config_serialize_wrapper.topic_config_table
    own = play.broker.parts.topics.entries
    assert {name: each.perm for name, each in table.items()} == {
        name: each.perm if permission == 6 else each.perm & permission for name, each in own.items()
    }


# Answers.


def slave(**settings: Any) -> Play:
    return Play(**{"brokerRole": "SLAVE", "brokerId": 1, "namesrvAddr": f"{FIRST};{SECOND_SERVER}", **settings})


def test_a_slave_follows_the_first_answer_of_a_round() -> None:
    play = slave()
    play.stand(FIRST, SECOND_SERVER)
    early, late = play.asked(SECOND_SERVER), play.asked(FIRST)
    play.answer(*early, SECOND_SERVER, fields=MASTER)
    assert (play.broker.sync.master, play.broker.replica.address) == ("10.0.0.9:10911", "10.0.0.9:10912")
    assert play.connects == ["10.0.0.9:10912"]
    play.answer(*late, FIRST, fields={})
    assert play.broker.sync.master == "10.0.0.9:10911"
    assert play.registrations == [MASTER, {}]
    play.wait(10)
    play.answer(*play.asked(FIRST), FIRST, fields={})
    assert play.broker.sync.master == ""


def test_an_ha_address_of_one_s_own_is_never_replaced() -> None:
    play = slave(haMasterAddress="10.0.0.7:10912")
    play.stand(FIRST)
    play.answer(*play.asked(), fields=MASTER)
    assert (play.broker.sync.master, play.broker.replica.address) == ("10.0.0.9:10911", "10.0.0.7:10912")


def test_a_name_server_that_is_away_is_asked_at_the_next_period_and_the_other_at_once() -> None:
    play = slave()
    play.broker.on_connect_failed(FIRST)
    play.stand(SECOND_SERVER)
    play.answer(*play.asked(SECOND_SERVER), SECOND_SERVER, fields=MASTER)
    assert play.registrations == [None, MASTER]
    assert play.connects.count(FIRST) == 1
    play.wait(9.999)
    assert play.connects.count(FIRST) == 1
    play.wait(0.001)
    assert play.connects.count(FIRST) == 2


def test_a_silent_name_server_is_given_six_seconds() -> None:
    play = Play()
    play.stand(FIRST)
    play.asked()
    play.wait(5.999)
    assert play.registrations == []
    play.wait(0.001)
    assert play.registrations == [None]
    play.wait(4)
    assert len(play.asked()) == 1


@pytest.mark.parametrize("code", [1, 3])
def test_a_refusal_is_no_answer(code: int) -> None:
    play = slave(namesrvAddr=FIRST)
    play.stand(FIRST)
    play.answer(*play.asked(), code=code, fields=MASTER)
    assert (play.registrations, play.broker.sync.master) == ([None], "")


def test_the_end_of_the_connection_is_no_answer_and_the_next_period_connects_anew() -> None:
    play = Play()
    play.stand(FIRST)
    play.asked()
    play.broker.on_closed(FIRST)
    assert play.registrations == [None]
    assert play.connects == []
    play.wait(10)
    play.stand(FIRST)
    assert len(play.asked()) == 1


# The end.


def test_a_stop_says_goodbye_where_a_connection_stands() -> None:
    play = slave()
    play.stand(FIRST)
    play.answer(*play.asked())
    play.broker.on_stop()
    (goodbye,) = play.asked(code=RequestCode.UNREGISTER_BROKER)
    assert goodbye.is_oneway
    assert goodbye.fields["brokerId"] == "1"
    assert SECOND_SERVER not in play.sent
    assert FIRST in play.closed
    assert [key for key in play.timers if key[0] == "register"] == []  # type: ignore[index]


class ForgetsTheMaster(Registration):
    """Takes the last answer of a round instead of the first."""

    def _ended(self, address: str, number: int, asked: Mapping[str, str], outcome: Any) -> None:
        super()._ended(address, self._answered_round + 1, asked, outcome)


def test_the_test_of_the_first_answer_can_fail() -> None:
    play = Play(ForgetsTheMaster, brokerRole="SLAVE", brokerId=1, namesrvAddr=f"{FIRST};{SECOND_SERVER}")
    play.stand(FIRST, SECOND_SERVER)
    play.answer(*play.asked(FIRST), FIRST, fields=MASTER)
    play.answer(*play.asked(SECOND_SERVER), SECOND_SERVER, fields={})
    assert play.broker.sync.master == ""


# With a real name server.


def test_a_pair_without_any_ha_address_finds_itself_and_a_goodbye_is_heard() -> None:
    world = World()
    names, master, slave = pair(world)
    names.start()
    slave.start()
    world.run(1)
    assert slave.registrations == [{}]
    master.start()
    world.send(10911)
    world.run(10)
    assert slave.registrations[-1] == {"masterAddr": "127.0.0.1:10911", "haServerAddr": "127.0.0.1:10912"}
    world.run(10)
    assert slave.node.log.end == master.node.log.end > 0
    master.stop()
    world.run(0.01)
    assert names.node.routes.brokers["broker-a"].broker_addrs == {1: "127.0.0.1:10921"}


def test_a_name_server_that_returns_knows_everybody_within_a_period() -> None:
    world = World()
    names, master, slave = pair(world)
    for each in (names, master, slave):
        each.start()
    world.run(15)
    names.kill()
    world.run(30)
    names.start()
    world.run(10.01)
    assert names.node.routes.brokers["broker-a"].broker_addrs == {0: "127.0.0.1:10911", 1: "127.0.0.1:10921"}


def test_an_address_that_nobody_can_connect_to_keeps_a_broker_from_nothing() -> None:
    world = World()
    world.cut.add(NAMES)
    master = world.broker(10911)
    master.start()
    world.send(10911)
    world.run(60)
    # At the start, for the topic that the send made, and at six periods.
    assert master.registrations == [None] * 8
