"""Sharing queues out: the rule itself, and consumers that come, go, and are told things that do not add up."""

from __future__ import annotations

from typing import Any

import pytest
from client_peers import SILENCE, TOPIC, Answer, FakeBroker, Names, Notes, Request
from client_world import SECOND, World
from hypothesis import given
from hypothesis import strategies as st

from pairproof.reference.client.consumer import Consumer, ConsumerSettings
from pairproof.reference.client.rebalancing import allocate
from pairproof.reference.wire import beans, remoting
from pairproof.reference.wire.bodies_client import ConsumerList
from pairproof.reference.wire.headers import RequestCode

clients = st.lists(st.text("abc0", min_size=1, max_size=3), unique=True, min_size=1, max_size=12)


@given(clients, st.integers(0, 40), st.randoms(use_true_random=False))
def test_every_queue_has_exactly_one_owner_and_shares_differ_by_one_at_most(
    group: list[str], count: int, dice: Any
) -> None:
    queues = list(range(count))
    shares = []
    for each in group:
        # Every member asks for itself, and brokers list members in any order.
        listed = list(group)
        dice.shuffle(listed)
        shares.append((each, allocate(each, queues, listed)))
    owned = [queue for _, share in shares for queue in share]
    assert sorted(owned) == queues
    sizes = {len(share) for _, share in shares}
    assert max(sizes) - min(sizes) <= 1
    in_order = [share for _, share in sorted(shares)]
    assert [queue for share in in_order for queue in share] == queues, "shares are runs, in the order of the ids"
    assert [len(share) for share in in_order] == sorted(map(len, in_order), reverse=True), "the first are the larger"


@given(clients, st.integers(1, 40))
def test_who_is_not_in_the_list_has_no_share(group: list[str], count: int) -> None:
    assert allocate("not there", list(range(count)), group) == []


def test_shares_of_the_known_examples() -> None:
    # The figures of RocketMQ's documentation: 8 queues and 3 consumers.
    group = ["c2", "c0", "c1"]
    assert [allocate(each, list(range(8)), group) for each in sorted(group)] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert [allocate(each, ["q"], group) for each in sorted(group)] == [["q"], [], []]
    assert allocate("a", [1, 2], ["a", "a", "b"]) == [1], "a member that is listed twice counts once"


LIST = RequestCode.GET_CONSUMER_LIST_BY_GROUP


class Group:
    """A name server, a master, and as many consumers as a test starts."""

    def __init__(self, queues: int = 4) -> None:
        self.world = World()
        self.names = self.world.host("names").start(lambda host: Names(host, queues, a={0: "m"}))
        self.broker: FakeBroker = self.world.host("m").start(FakeBroker)
        self.consumers: dict[str, Consumer] = {}
        self.notes: dict[str, Notes] = {}

    def join(self, name: str, **settings: Any) -> Consumer:
        host = self.world.host(name)
        self.notes[name] = Notes(host)
        given: dict[str, Any] = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", "topics": {TOPIC: "*"}, **settings}
        what = ConsumerSettings(client_id=name, group="g", name_servers=("names",), **given)
        self.consumers[name] = host.start(lambda host: Consumer(host, what, self.notes[name]))
        return self.consumers[name]

    def lists(self) -> list[Request]:
        return self.broker.seen(LIST)

    def shares(self) -> dict[str, list[int]]:
        return {
            name: sorted(queue.queue_id for queue in each.progress)
            for name, each in self.consumers.items()
            if not each.over
        }


@pytest.fixture
def group() -> Group:
    return Group()


def test_the_first_consumer_takes_everything_and_a_second_one_half_of_it(group: Group) -> None:
    group.join("c1")
    group.world.run(1)
    assert group.shares() == {"c1": [0, 1, 2, 3]}
    group.join("c2")
    group.world.run(5)
    assert group.shares() == {"c1": [0, 1], "c2": [2, 3]}
    # Given up with a commit, and only then taken by the other.
    assert [queue.queue_id for queue, _ in group.notes["c1"].of("given_up")] == [2, 3]


def test_who_leaves_is_replaced_at_once_and_who_dies_as_soon_as_the_broker_knows(group: Group) -> None:
    for name in ("c1", "c2", "c3"):
        group.join(name)
        group.world.run(3)
    assert group.shares() == {"c1": [0, 1], "c2": [2], "c3": [3]}
    group.consumers["c1"].stop()
    group.world.run(3)
    assert group.shares() == {"c2": [0, 1], "c3": [2, 3]}
    assert group.notes["c1"].all[-1][1:] == ("went", (False,))
    group.consumers["c3"].abandon()
    group.world.run(3)
    assert group.shares() == {"c2": [0, 1, 2, 3]}
    assert group.notes["c3"].all[-1][1:] == ("went", (True,))


def test_without_a_word_from_the_broker_the_next_round_finds_the_change(group: Group) -> None:
    group.broker.tells = False
    group.join("c1")
    group.world.run(2)
    group.join("c2")
    group.world.run(5)
    assert group.shares() == {"c1": [0, 1, 2, 3], "c2": [2, 3]}, "both have them until c1 looks again"
    group.world.run(20)
    assert group.shares() == {"c1": [0, 1], "c2": [2, 3]}


def test_who_is_not_listed_gives_up_everything_and_says_that_it_is_there(group: Group) -> None:
    group.join("c1")
    group.world.run(2)
    listed = group.broker.scripts[RequestCode.GET_CONSUMER_LIST_BY_GROUP]
    others = Answer(body=beans.encode(ConsumerList(("somebody",))))
    group.broker.scripts[RequestCode.GET_CONSUMER_LIST_BY_GROUP] = lambda request: others
    beats = len(group.broker.seen(RequestCode.HEART_BEAT))
    group.broker.tell_group("g")
    group.world.run(1)
    assert group.shares() == {"c1": []}
    assert len(group.broker.seen(RequestCode.HEART_BEAT)) == beats + 1
    group.broker.scripts[RequestCode.GET_CONSUMER_LIST_BY_GROUP] = listed
    group.broker.tell_group("g")
    group.world.run(2)
    assert group.shares() == {"c1": [0, 1, 2, 3]}


@pytest.mark.parametrize("answer", [Answer(remoting.SYSTEM_ERROR), Answer(body=b"[]"), SILENCE])
def test_without_a_list_nothing_changes_and_it_is_asked_for_again(group: Group, answer: Any) -> None:
    group.join("c1")
    group.world.run(2)
    listed = group.broker.scripts[RequestCode.GET_CONSUMER_LIST_BY_GROUP]
    group.broker.scripts[RequestCode.GET_CONSUMER_LIST_BY_GROUP] = lambda request: answer
    group.broker.tell_group("g")
    group.world.run(9)
    assert group.shares() == {"c1": [0, 1, 2, 3]}
    tried = len(group.broker.seen(RequestCode.GET_CONSUMER_LIST_BY_GROUP))
    assert tried <= 5
    group.broker.scripts[RequestCode.GET_CONSUMER_LIST_BY_GROUP] = listed
    group.world.run(7)
    assert len(group.broker.seen(RequestCode.GET_CONSUMER_LIST_BY_GROUP)) > tried


def test_a_broker_that_never_stops_telling_causes_one_rebalance_a_second(group: Group) -> None:
    group.join("c1")
    group.world.run(2)
    before = len(group.lists())
    for _ in range(500):
        group.broker.tell_group("g")
        group.world.run(0.01)
    assert 5 <= len(group.lists()) - before <= 6
    group.world.run(1)
    before = len(group.lists())
    group.broker.tell_group("another")
    group.world.run(2)
    assert len(group.lists()) == before, "that is not this consumer's group"


def test_what_is_told_while_a_list_is_on_the_way_is_looked_into_afterwards(group: Group) -> None:
    group.join("c1")
    group.world.run(2)
    listed = group.broker.scripts[LIST]
    group.broker.scripts[LIST] = lambda request: SILENCE
    group.broker.tell_group("g")
    group.world.run(0.5)
    old = group.lists()[-1]
    group.broker.scripts[LIST] = listed
    # 1 s after the last one, while that is still unanswered.
    group.broker.tell_group("g")
    group.world.run(1)
    assert group.lists()[-1] is old
    group.broker.answer(old, Answer(body=beans.encode(ConsumerList(("c1",)))))
    group.world.run(1)
    assert group.lists()[-1] is not old


def test_a_queue_is_taken_again_only_after_its_last_commit_has_ended(group: Group) -> None:
    group.join("c1")
    group.broker.put(0, 3)
    group.world.run(2)
    listed, commits = group.broker.scripts[LIST], group.broker.scripts[RequestCode.UPDATE_CONSUMER_OFFSET]
    group.broker.scripts[RequestCode.UPDATE_CONSUMER_OFFSET] = lambda request: SILENCE
    group.broker.scripts[LIST] = lambda request: Answer(body=beans.encode(ConsumerList(("somebody",))))
    group.broker.tell_group("g")
    group.world.run(1.5)
    assert group.shares() == {"c1": []}
    waiting = group.broker.seen(RequestCode.UPDATE_CONSUMER_OFFSET)[-4:]
    group.broker.scripts[LIST], group.broker.scripts[RequestCode.UPDATE_CONSUMER_OFFSET] = listed, commits
    group.broker.tell_group("g")
    group.world.run(1.5)
    assert group.shares() == {"c1": []}, "its progress could be older than what it has consumed"
    for request in waiting:
        group.broker.answer(request, commits(request))
    group.world.run(1.5)
    assert group.shares() == {"c1": [0, 1, 2, 3]}
    assert len(group.notes["c1"].delivered_bodies()) == 3


def test_the_list_comes_from_the_master_if_there_is_one_else_from_a_slave(group: Group) -> None:
    group.names.brokers = {"a": {2: "s2", 1: "s1", 0: "m"}}
    slaves = [group.world.host(name).start(FakeBroker) for name in ("s1", "s2")]
    group.join("c1")
    group.world.run(1)
    asked = RequestCode.GET_CONSUMER_LIST_BY_GROUP
    assert (len(group.broker.seen(asked)), *(len(each.seen(asked)) for each in slaves)) == (1, 0, 0)
    assert [len(each.seen(RequestCode.HEART_BEAT)) for each in slaves] == [1, 1], "slaves know the group, too"
    group.world.hosts["m"].kill()
    group.names.brokers = {"a": {2: "s2", 1: "s1"}}
    group.world.run(40)
    assert slaves[0].seen(asked) and not slaves[1].seen(asked)
    assert group.shares() == {"c1": [0, 1, 2, 3]}


def test_of_two_broker_names_the_other_one_gives_the_list_when_one_is_dead(group: Group) -> None:
    group.names.brokers = {"a": {0: "dead"}, "b": {0: "m"}}
    group.join("c1")
    group.world.run(30)
    held = {(queue.broker_name, queue.queue_id) for queue in group.consumers["c1"].progress}
    assert held == {("b", n) for n in range(4)}, "queues of the dead one cannot be taken, the others can"


def test_broadcasting_consumers_all_take_everything_and_commit_nothing(group: Group) -> None:
    for name in ("c1", "c2"):
        group.join(name, broadcasting=True)
    group.broker.put(1, 3)
    group.world.run(12)
    assert group.shares() == {"c1": [0, 1, 2, 3], "c2": [0, 1, 2, 3]}
    assert [note.delivered_bodies() for note in group.notes.values()] == [["1/0", "1/1", "1/2"]] * 2
    for code in (
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    ):
        assert group.broker.seen(code) == []
    assert all(request.header["sysFlag"] & 1 == 0 for request in group.broker.seen(RequestCode.PULL_MESSAGE))


def test_a_topic_whose_route_comes_late_is_consumed_from_then_on(group: Group) -> None:
    group.names.topics = set()
    group.join("c1")
    group.world.run(10)
    assert group.shares() == {"c1": []} and group.notes["c1"].of("route_learned")[0] == (TOPIC, None)
    group.names.topics = {TOPIC}
    group.world.run(4)
    assert group.shares() == {"c1": [0, 1, 2, 3]}


def test_one_of_two_topics_comes_late_and_is_consumed_without_waiting_for_the_next_round(group: Group) -> None:
    group.join("c1", topics={TOPIC: "*", "late": "*"})
    group.world.run(5)
    assert {queue.topic for queue in group.consumers["c1"].progress} == {TOPIC}
    group.names.topics = {TOPIC, "late"}
    group.world.run(4.5)
    assert {queue.topic for queue in group.consumers["c1"].progress} == {TOPIC, "late"}


def test_a_broadcasting_consumer_goes_on_where_it_was_when_a_queue_comes_back(group: Group) -> None:
    group.join("c1", broadcasting=True)
    group.broker.put(3, 2)
    group.world.run(2)
    for queues in (1, 4):
        group.names.queues = queues
        group.world.run(60)
        assert group.shares() == {"c1": list(range(queues))}
    group.broker.put(3, 1)
    group.world.run(1)
    assert group.notes["c1"].delivered_bodies() == ["3/0", "3/1", "3/2"]


def test_rebalances_come_every_twenty_seconds_and_heartbeats_every_thirty(group: Group) -> None:
    group.join("c1")
    group.world.run(125)
    asked = [each.time // SECOND for each in group.broker.seen(RequestCode.GET_CONSUMER_LIST_BY_GROUP)]
    beats = [each.time // SECOND for each in group.broker.seen(RequestCode.HEART_BEAT)]
    assert asked == [0, 20, 40, 60, 80, 100, 120] and beats == [0, 30, 60, 90, 120]
