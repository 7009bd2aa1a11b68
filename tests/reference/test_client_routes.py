"""Routes: which broker is chosen, which queues there are, and how a client comes to know."""

from __future__ import annotations

import itertools

import pytest
from client_peers import SILENCE, Answer, FakeBroker, Names
from client_world import SECOND, Host, World

from pairproof.reference.client import routes as module
from pairproof.reference.client.consumer import Consumer, ConsumerSettings
from pairproof.reference.client.producer import Producer, ProducerSettings
from pairproof.reference.client.routes import Choice, Routes, choose
from pairproof.reference.core.calls import Calls
from pairproof.reference.wire.bodies_client import MessageQueue
from pairproof.reference.wire.bodies_route import BrokerData, QueueData, TopicRouteData
from pairproof.reference.wire.headers import RequestCode

IDS = range(4)
PRESENT = [set(each) for size in range(5) for each in itertools.combinations(IDS, size)]


def by_the_book(present: set[int], wanted: int, only_this: bool) -> int | None:
    """findBrokerAddressInSubscribe since 4.8.0, step by step."""
    if wanted in present:
        return wanted
    if wanted != 0 and wanted + 1 in present:
        return wanted + 1
    if not only_this and present:
        return sorted(present)[0]
    return None


@pytest.mark.parametrize("only_this", [False, True])
@pytest.mark.parametrize("wanted", [0, 1, 2, 3, 7, -1])
def test_the_chosen_broker_is_the_wanted_one_the_next_or_any(wanted: int, only_this: bool) -> None:
    for present in PRESENT:
        # The order in which a route lists its brokers must not matter.
        for addresses in ({n: f"b{n}" for n in sorted(present)}, {n: f"b{n}" for n in sorted(present, reverse=True)}):
            expected = by_the_book(present, wanted, only_this)
            found = choose(addresses, wanted, only_this)
            assert found == (None if expected is None else Choice(expected, f"b{expected}")), (present, wanted)


def test_the_rows_of_the_table_that_people_get_wrong() -> None:
    assert choose({1: "a", 2: "b"}, 0) == Choice(1, "a"), "any is not 'the next one' for a master"
    assert choose({1: "a"}, 0, only_this=True) is None, "a master has no next one"
    assert choose({0: "m", 2: "b"}, 1) == Choice(2, "b"), "the next slave goes before the master"
    assert choose({0: "m", 3: "c"}, 1) == Choice(0, "m"), "but only the very next one"
    assert choose({0: "m", 2: "b"}, 1, only_this=True) == Choice(2, "b")


@pytest.mark.parametrize(("present", "wanted", "is_slave"), [([0, 1], 1, True), ([0, 2], 1, True), ([0, 1], 0, False),
                                                            ([0], 1, False), ([1], 0, True)])  # fmt: skip
def test_the_found_broker_tells_whether_it_is_a_slave(present: list[int], wanted: int, is_slave: bool) -> None:
    found = choose(dict.fromkeys(present, "b"), wanted)
    assert found is not None and found.is_slave is is_slave


def test_the_found_broker_tells_its_version_once_a_heartbeat_was_answered() -> None:
    world = World()
    world.host("names").start(lambda host: Names(host, 1, a={0: "m", 1: "s"}))
    brokers = {name: world.host(name).start(FakeBroker) for name in ("m", "s")}
    brokers["m"].peers.version, brokers["s"].peers.version = 407, 513
    settings = ConsumerSettings("c", "g", {"T": "*"}, ("names",))
    consumer: Consumer = world.host("client").start(lambda host: Consumer(host, settings))
    assert consumer.routes.choose("a", 0) is None
    world.run(1)
    assert [consumer.routes.choose("a", wanted) for wanted in (0, 1)] == [(0, "m", 407), (1, "s", 513)]
    # A broker that was replaced says so with the next heartbeat.
    brokers["s"].peers.version = 407
    world.run(31)
    assert consumer.routes.choose("a", 1) == (1, "s", 407)


def test_no_version_is_kept_of_brokers_that_no_route_names_or_that_refuse_heartbeats() -> None:
    world = World()
    names = world.host("names").start(lambda host: Names(host, 1, a={0: "m", 1: "s"}))
    brokers = {name: world.host(name).start(FakeBroker) for name in ("m", "s")}
    brokers["s"].scripts[RequestCode.HEART_BEAT] = lambda request: Answer(1)
    settings = ConsumerSettings("c", "g", {"T": "*"}, ("names",))
    consumer: Consumer = world.host("client").start(lambda host: Consumer(host, settings))
    world.run(1)
    assert [consumer.routes.choose("a", wanted) for wanted in (0, 1)] == [(0, "m", 407), (1, "s", 0)]
    consumer.routes.record_version("nobody", 1)
    names.brokers = {"b": {0: "x"}}
    world.run(31)
    assert consumer.routes.choose("a", 0) is None and not consumer.routes._versions


class Asker:
    """Routes on a host of their own, with what they learned."""

    def __init__(self, world: World, *servers: str) -> None:
        self.host: Host = world.host("client")
        # Any node that passes on what the shell says will do.
        self.node = self.host.start(lambda host: Producer(host, ProducerSettings("c", "p", servers)))
        self.calls: Calls = self.node.calls
        self.learned: list[tuple[str, TopicRouteData | None]] = []
        self.routes = Routes(self.host, self.calls, servers, lambda *each: self.learned.append(each))
        self.ended = 0

    def refresh(self, topic: str = "T") -> None:
        self.routes.refresh(topic, self.end)

    def end(self) -> None:
        self.ended += 1


def test_a_route_is_learned_and_kept_when_the_server_forgets_it() -> None:
    world = World()
    names = world.host("names").start(lambda host: Names(host, queues=2, a={0: "m", 1: "s"}))
    asker = Asker(world, "names")
    asker.refresh()
    world.run(1)
    assert asker.ended == 1 and asker.routes.brokers == {"a": {0: "m", 1: "s"}}
    assert asker.routes.readable("T") == [MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)]
    names.brokers = {}
    asker.refresh()
    world.run(1)
    assert asker.learned[-1] == ("T", None) and asker.ended == 2
    assert asker.routes.brokers == {"a": {0: "m", 1: "s"}}
    names.brokers = {"a": {1: "s"}}
    asker.refresh()
    world.run(1)
    assert asker.routes.brokers == {"a": {1: "s"}}


def test_refreshes_of_one_topic_share_one_request() -> None:
    world = World()
    names = world.host("names").start(lambda host: Names(host, a={0: "m"}))
    asker = Asker(world, "names")
    for _ in range(5):
        asker.refresh()
    world.run(1)
    assert asker.ended == 5 and len(names.requests) == 1


def test_the_next_name_server_is_asked_when_one_is_dead_or_silent_and_then_stays() -> None:
    world = World()
    mute = world.host("mute").start(Names)
    mute.scripts[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda request: SILENCE
    names = world.host("names").start(lambda host: Names(host, a={0: "m"}))
    asker = Asker(world, "dead", "mute", "names")
    asker.refresh()
    world.run(4)
    assert asker.ended == 1 and asker.routes.brokers and len(mute.requests) == 1
    asker.refresh()
    world.run(1)
    assert len(names.requests) == 2 and len(mute.requests) == 1


def test_each_of_two_topics_asks_the_next_name_server_once() -> None:
    world = World()
    asker = Asker(world, "dead", "gone")
    asker.routes.refresh("T")
    asker.routes.refresh("U")
    world.run(1)
    assert [address for _, address in asker.host.connects] == ["dead", "gone"]


def test_a_refresh_ends_even_if_no_name_server_answers_and_asks_each_once() -> None:
    world = World()
    asker = Asker(world, "dead", "gone")
    asker.refresh()
    world.run(1)
    assert asker.ended == 1 and asker.learned == []
    assert [address for _, address in asker.host.connects] == ["dead", "gone"]


def test_an_unreadable_route_counts_as_no_answer() -> None:
    world = World()
    names = world.host("names").start(lambda host: Names(host, a={0: "m"}))
    names.scripts[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda request: Answer(body=b"{")
    asker = Asker(world, "names")
    asker.refresh()
    world.run(1)
    assert asker.ended == 1 and asker.learned == [] and asker.routes.topics == {}


def test_failures_ask_for_a_route_every_three_seconds_at_most() -> None:
    world = World()
    names = world.host("names").start(lambda host: Names(host, a={0: "m"}))
    asker = Asker(world, "names")
    for _ in range(100):
        asker.routes.refresh_if_old("T")
        world.run(0.1)
    assert [request.time // SECOND for request in names.requests] == [0, 3, 6, 9]


def test_queues_follow_permissions_and_masters_and_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    asker = Asker(World(), "names")
    brokers = (BrokerData("b", "c", {0: "m"}), BrokerData("a", "c", {1: "s"}), BrokerData("r", "c", {0: "m2"}))
    queues = (QueueData("b", 2, 1, 6), QueueData("a", 1, 1, 6), QueueData("r", 3, 3, 4), QueueData("w", 1, 0, 2))
    asker.routes.topics["T"] = TopicRouteData(brokers, queues)
    asker.routes.brokers = {each.broker_name: each.broker_addrs for each in brokers}
    readable = [(each.broker_name, each.queue_id) for each in asker.routes.readable("T")]
    assert readable == [("a", 0), ("b", 0), ("b", 1), ("r", 0), ("r", 1), ("r", 2)]
    assert asker.routes.writable("T") == [MessageQueue("T", "b", 0)], "a has no master, r may only be read"
    assert asker.routes.readable("unknown") == asker.routes.writable("unknown") == []
    monkeypatch.setattr(module, "MAX_QUEUES", 4)
    asker.routes.topics["U"] = asker.routes.topics["T"]
    assert len(asker.routes.readable("U")) == 4
