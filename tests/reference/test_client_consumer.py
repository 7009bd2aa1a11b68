"""A consumer against scripted brokers: what it asks, what it makes of each answer, and how often at most."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from client_peers import SILENCE, TOPIC, Answer, FakeBroker, Names, Notes, Request
from client_world import MS, SECOND, World

from pairproof.reference.client.consumer import Consumer, ConsumerSettings
from pairproof.reference.errors import ConfigError
from pairproof.reference.wire import beans, record, remoting
from pairproof.reference.wire.bodies_client import ConsumerList, MessageQueue
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Message

PULL = RequestCode.PULL_MESSAGE
LIST = RequestCode.GET_CONSUMER_LIST_BY_GROUP
COMMIT = RequestCode.UPDATE_CONSUMER_OFFSET
QUEUE = MessageQueue(TOPIC, "a", 0)


class Lone:
    """One consumer of one queue of one broker name, whose brokers are ``m`` (0) and, if asked for, ``s`` (1)."""

    def __init__(self, slave: bool = False, **settings: Any) -> None:
        self.world = World()
        self.names: Names = self.world.host("names").start(lambda host: Names(host, 1, a={0: "m"}))
        self.master: FakeBroker = self.world.host("m").start(FakeBroker)
        self.slave: FakeBroker = self.world.host("s").start(FakeBroker)
        if slave:
            self.names.brokers = {"a": {0: "m", 1: "s"}}
        given: dict[str, Any] = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", "topics": {TOPIC: "*"}, **settings}
        self.settings = ConsumerSettings("c1", "g", name_servers=("names",), **given)
        self.host = self.world.host("c1")
        self.notes = Notes(self.host)
        self.consumer: Consumer = self.host.start(lambda host: Consumer(host, self.settings, self.notes))

    def answers(self, *answers: Any, broker: FakeBroker | None = None) -> None:
        """Pulls are answered by these, one each, then as usual."""
        broker = broker or self.master
        script = iter(answers)

        def pull(request: Request) -> Any:
            answer = next(script, None)
            if answer is None:
                broker.scripts[PULL] = broker.pull
                return broker.pull(request)
            return answer(request) if callable(answer) else answer

        broker.scripts[PULL] = pull

    def code(self, code: int, next_offset: int) -> Any:
        return lambda request: self.master.pulled(request, code, next_offset)

    def pulls(self, broker: FakeBroker | None = None) -> list[Request]:
        return (broker or self.master).seen(PULL)

    def asked(self, broker: FakeBroker | None = None) -> list[int]:
        return [request.header["queueOffset"] for request in self.pulls(broker)]

    def gaps_ms(self) -> list[float]:
        times = self.notes.times("pull_began")
        return [(later - sooner) / MS for sooner, later in itertools.pairwise(times)]


@pytest.fixture
def lone() -> Lone:
    return Lone()


def test_messages_come_in_order_and_progress_follows_them(lone: Lone) -> None:
    lone.master.put(0, 70)
    lone.world.run(1)
    assert lone.notes.delivered_bodies() == [f"0/{n}" for n in range(70)]
    assert lone.asked() == [0, 32, 64, 70] and lone.consumer.progress == {QUEUE: 70}
    lone.master.put(0)
    lone.world.run(1)
    assert lone.notes.delivered_bodies()[-1] == "0/70" and lone.consumer.progress == {QUEUE: 71}


def test_a_pull_says_what_rocketmq_s_say(lone: Lone) -> None:
    lone.master.put(0, 1)
    lone.world.run(1)
    first, second = (request.header for request in lone.pulls())
    expected = {
        "consumerGroup": "g", "topic": TOPIC, "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 6,
        "commitOffset": 0, "suspendTimeoutMillis": 15_000, "subVersion": 1_700_000_000_000, "subscription": "*",
        "expressionType": "TAG",
    }  # fmt: skip
    assert first == expected
    assert second == {**expected, "queueOffset": 1, "sysFlag": 7, "commitOffset": 1}


def test_the_listener_hears_everything_in_order(lone: Lone) -> None:
    lone.master.put(0, 1)
    lone.world.run(6)
    said = [what for _, what, _ in lone.notes.all]
    assert said == [
        "came", "route_learned", "query_began", "query_ended", "assigned",
        "pull_began", "delivered", "pull_ended",
        "commit_began", "pull_began",
        "commit_began", "commit_ended",
    ]  # fmt: skip
    assert lone.notes.of("query_began") == [(0, QUEUE, 0, "m")]
    assert lone.notes.of("query_ended")[0][2] is None and lone.notes.of("query_ended")[0][1].phase == "ok"
    assert lone.notes.of("assigned") == [(QUEUE, 0)]
    assert lone.notes.of("pull_began") == [(1, QUEUE, 0, 0, "m"), (3, QUEUE, 1, 0, "m")]
    op, outcome, header = lone.notes.of("pull_ended")[0]
    assert (op, outcome.phase, header["nextBeginOffset"], header["maxOffset"]) == (1, "ok", 1, 1)
    assert lone.notes.of("commit_began") == [(2, QUEUE, 1, 0, "m", True), (4, QUEUE, 1, 0, "m", False)]
    _, _, found, raw = lone.notes.of("delivered")[0]
    assert raw == lone.master.queues[0][0] and found.queue_offset == 0
    lone.world.run(30)
    assert lone.notes.all[said.index("commit_began") + 4][1] in ("commit_began", "commit_ended", "pull_ended")
    # What a pull carries ends right after it.
    ends = [(what, args[0]) for _, what, args in lone.notes.all if what.endswith("_ended")]
    assert ends[ends.index(("pull_ended", 3)) + 1] == ("commit_ended", 2)


def test_the_known_offset_of_the_group_goes_before_first_and_last() -> None:
    for known, where, expected in (
        (5, "CONSUME_FROM_FIRST_OFFSET", 5),
        (None, "CONSUME_FROM_FIRST_OFFSET", 0),
        (None, "CONSUME_FROM_LAST_OFFSET", 9),
        (0, "CONSUME_FROM_LAST_OFFSET", 0),
    ):
        lone = Lone(consume_from_where=where)
        lone.master.put(0, 9)
        if known is not None:
            lone.master.offsets["g", 0] = known
        lone.world.run(1)
        assert lone.asked()[0] == expected
        asked = [len(lone.master.seen(code)) for code in (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET)]
        assert asked == [int(known is None and "FIRST" in where), int(known is None and "LAST" in where)]


def test_an_offset_that_cannot_be_had_is_asked_for_again_after_three_seconds(lone: Lone) -> None:
    query = lone.master.scripts[RequestCode.QUERY_CONSUMER_OFFSET]
    lone.master.scripts[RequestCode.QUERY_CONSUMER_OFFSET] = lambda request: Answer(remoting.SYSTEM_ERROR)
    lone.world.run(10)
    assert lone.consumer.progress == {} and len(lone.notes.of("query_began")) == 4
    lone.master.scripts[RequestCode.QUERY_CONSUMER_OFFSET] = query
    lone.world.run(4)
    assert lone.consumer.progress == {QUEUE: 0}


# What a pull's answer leads to.


def test_19_is_followed_by_the_next_pull_at_once(lone: Lone) -> None:
    lone.world.run(40)
    # The broker held each of them for 15 s.
    assert lone.gaps_ms() == [15_002, 15_002]


def test_19_and_20_that_come_at_once_make_no_more_than_fifty_pulls_a_second(lone: Lone) -> None:
    lone.answers(*[lone.code(remoting.PULL_NOT_FOUND, 0), lone.code(remoting.PULL_RETRY_IMMEDIATELY, 0)] * 100)
    lone.world.run(2)
    assert 90 <= len(lone.gaps_ms()) <= 101 and min(lone.gaps_ms()) >= 20


def test_20_that_moves_on_is_followed_at_once_and_is_progress(lone: Lone) -> None:
    lone.answers(*[lone.code(remoting.PULL_RETRY_IMMEDIATELY, n) for n in (3, 8)])
    lone.world.run(0.1)
    assert lone.asked() == [0, 3, 8] and max(lone.gaps_ms()) < 20
    assert lone.consumer.progress == {QUEUE: 8}


def test_20_that_goes_back_is_followed_but_progress_stays(lone: Lone) -> None:
    lone.master.put(0, 5)
    lone.master.offsets["g", 0] = 5
    lone.answers(lone.code(remoting.PULL_RETRY_IMMEDIATELY, 2))
    lone.world.run(1)
    assert lone.asked()[:3] == [5, 2, 5] and lone.consumer.progress == {QUEUE: 5}
    assert lone.notes.delivered_bodies() == ["0/2", "0/3", "0/4"], "what the broker goes back over comes again"
    carried = [request.header["commitOffset"] for request in lone.pulls()]
    assert carried[:3] == [5, 5, 5]


@pytest.mark.parametrize("proposed", [0, 3, 12])
def test_21_freezes_the_queue_for_ten_seconds_and_takes_it_anew(lone: Lone, proposed: int) -> None:
    lone.master.put(0, 3)
    lone.master.offsets["g", 0] = 7
    lone.answers(lone.code(remoting.PULL_OFFSET_MOVED, proposed))
    lone.world.run(9)
    assert lone.asked() == [7] and lone.notes.of("given_up") == []
    lone.world.run(3)
    assert lone.notes.of("given_up") == [(QUEUE, proposed)]
    assert lone.notes.of("assigned") == [(QUEUE, 7), (QUEUE, proposed)]
    assert lone.asked()[1] == proposed and lone.master.offsets["g", 0] == max(proposed, 3)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(remoting.SYSTEM_ERROR),
        Answer(remoting.SUBSCRIPTION_GROUP_NOT_EXIST),
        Answer(remoting.SLAVE_NOT_AVAILABLE),
        Answer(remoting.SUCCESS, {}),
        lambda request: Answer(remoting.SUCCESS, {**GOOD, "nextBeginOffset": 1}, b"no record"),
    ],
)
def test_anything_else_makes_the_queue_rest_for_three_seconds(lone: Lone, answer: Any) -> None:
    lone.answers(answer, answer)
    lone.master.put(0, 1)
    lone.world.run(7)
    assert [round(gap, -1) for gap in lone.gaps_ms()[:2]] == [3_000, 3_000]
    assert lone.notes.delivered_bodies() == ["0/0"] and lone.asked()[:3] == [0, 0, 0]
    for _, outcome, header in lone.notes.of("pull_ended")[:2]:
        assert outcome.phase != "ok" and header is None


GOOD = {"suggestWhichBrokerId": 0, "nextBeginOffset": 0, "minOffset": 0, "maxOffset": 0}


def test_a_pull_that_is_never_answered_ends_after_thirty_seconds(lone: Lone) -> None:
    lone.answers(SILENCE)
    lone.world.run(40)
    assert 33_000 <= lone.gaps_ms()[0] <= 33_010
    assert lone.notes.of("pull_ended")[0][1][:2] == ("info", "timeout")


def alone(lone: Lone, *members: str) -> None:
    """Let the group have these members, and say so."""
    lone.master.scripts[LIST] = lambda request: Answer(body=beans.encode(ConsumerList(members)))
    lone.master.tell_group("g")
    lone.world.run(1.2)


def test_a_queue_that_came_back_while_it_rested_is_pulled_once_at_a_time(lone: Lone) -> None:
    lone.world.run(2)
    lone.answers(Answer(remoting.SYSTEM_ERROR))
    lone.master.put(0, 1)
    lone.answers(Answer(remoting.SYSTEM_ERROR))
    lone.world.run(0.1)
    assert lone.notes.of("pull_ended")[-1][1].phase == "fail"
    alone(lone, "somebody")
    alone(lone, "c1")
    assert len(lone.notes.of("assigned")) == 2
    lone.world.run(10)
    assert len({call for call in lone.notes.open_calls() if call[0] == "pull"}) == 1


def test_a_queue_that_came_back_while_it_was_frozen_is_left_alone(lone: Lone) -> None:
    lone.master.put(0, 3)
    lone.master.offsets["g", 0] = 7
    lone.answers(lone.code(remoting.PULL_OFFSET_MOVED, 3))
    lone.world.run(2)
    alone(lone, "somebody")
    alone(lone, "c1")
    assert [args[1] for args in lone.notes.of("assigned")] == [7, 3]
    lone.world.run(12)
    assert len(lone.notes.of("given_up")) == 1


def test_progress_never_passes_what_the_broker_said_is_next(lone: Lone) -> None:
    far = record.encode(Message(TOPIC, 0, b"far"), 1_000, 0, 0)
    lone.answers(lambda request: lone.master.pulled(request, remoting.SUCCESS, 1, far))
    lone.world.run(1)
    assert lone.notes.delivered_bodies() == ["far"] and lone.consumer.progress == {QUEUE: 1}


# Which broker.


def test_the_suggested_broker_is_asked_and_a_slave_is_not_told_the_progress() -> None:
    lone = Lone(slave=True)
    lone.master.put(0, 1)
    lone.slave.queues = lone.master.queues
    lone.master.suggests = 1
    lone.world.run(1)
    assert lone.asked() == [0] and lone.asked(lone.slave) == [1]
    assert [request.header["sysFlag"] for request in (*lone.pulls(), *lone.pulls(lone.slave))] == [6, 6]
    assert lone.pulls(lone.slave)[0].header["commitOffset"] == 1
    # Its own suggestion leads back.
    lone.slave.put(0, 1)
    lone.world.run(1)
    assert lone.asked() == [0, 2] and lone.pulls()[-1].header["sysFlag"] == 7


def test_a_suggested_broker_that_is_not_there_is_replaced_by_the_next_or_any() -> None:
    lone = Lone(slave=True)
    lone.names.brokers = {"a": {0: "m", 2: "s"}}
    lone.master.put(0, 1)
    lone.master.suggests = 1
    lone.world.run(1)
    assert [(args[2], args[3]) for args in lone.notes.of("pull_began")] == [(0, 0), (1, 2)]
    lone = Lone()
    lone.master.put(0, 1)
    lone.master.suggests = 1
    lone.world.run(1)
    assert [(args[2], args[3]) for args in lone.notes.of("pull_began")] == [(0, 0), (1, 0)]


CHOSEN = {"connect_broker_by_user": True, "default_broker_id": 1}


def test_the_user_s_choice_goes_before_what_brokers_suggest() -> None:
    lone = Lone(slave=True, **CHOSEN)
    lone.slave.put(0, 1)
    lone.master.queues = lone.slave.queues
    lone.world.run(1)
    lone.slave.put(0, 1)
    lone.world.run(1)
    assert (lone.master.suggests, lone.slave.suggests) == (0, 0)
    assert lone.asked() == [] and lone.asked(lone.slave) == [0, 1, 2]
    assert lone.notes.delivered_bodies() == ["0/0", "0/1"]
    without = Lone(slave=True)
    without.master.put(0, 1)
    without.master.suggests = 1
    without.world.run(1)
    assert without.asked() == [0] and without.asked(without.slave) == [1], "who did not choose is led"
    chose_master = Lone(slave=True, connect_broker_by_user=True)
    chose_master.master.put(0, 1)
    chose_master.master.suggests = 1
    chose_master.world.run(1)
    assert chose_master.asked() == [0, 1] and chose_master.asked(chose_master.slave) == []


def test_the_user_s_choice_is_about_pulls_only() -> None:
    lone = Lone(slave=True, **CHOSEN)
    lone.slave.put(0, 1)
    lone.world.run(6)
    assert {request.header["sysFlag"] for request in lone.pulls(lone.slave)} == {6}, "no progress rides to a slave"
    assert lone.master.offsets == {("g", 0): 1} and lone.slave.offsets == {}
    assert not lone.slave.seen(RequestCode.QUERY_CONSUMER_OFFSET) and not lone.slave.seen(LIST)


def test_a_broker_of_the_user_s_choice_that_is_not_there_is_replaced_until_it_is() -> None:
    lone = Lone(slave=True, **CHOSEN)
    lone.names.brokers = {"a": {0: "m"}}
    lone.master.put(0, 1)
    lone.slave.queues = lone.master.queues
    lone.world.run(1)
    assert lone.asked() == [0, 1] and lone.asked(lone.slave) == []
    lone.names.brokers = {"a": {0: "m", 1: "s"}}
    # Routes are asked for every 30 s, and a pull is held for 15 s.
    lone.world.run(46)
    before = len(lone.pulls())
    assert set(lone.asked(lone.slave)) == {1}
    lone.slave.put(0, 1)
    lone.world.run(1)
    assert lone.asked(lone.slave)[-1] == 2 and len(lone.pulls()) == before


def test_when_the_master_dies_the_slave_serves_and_commits_go_to_it_until_it_is_back() -> None:
    lone = Lone(slave=True)
    lone.master.put(0, 3)
    lone.slave.queues = lone.master.queues
    lone.world.run(7)
    assert lone.master.offsets == {("g", 0): 3} and lone.slave.offsets == {}
    lone.world.hosts["m"].kill()
    lone.names.brokers = {"a": {1: "s"}}
    lone.world.run(10)
    lone.slave.put(0, 2)
    lone.world.run(7)
    assert lone.notes.delivered_bodies() == [f"0/{n}" for n in range(5)]
    assert lone.slave.offsets == {("g", 0): 5}
    assert all(request.header["sysFlag"] & 1 == 0 for request in lone.pulls(lone.slave))
    # It comes back with the offsets that it had.
    lone.master = lone.world.hosts["m"].start(FakeBroker)
    lone.master.queues, lone.master.offsets["g", 0] = lone.slave.queues, 3
    lone.names.brokers = {"a": {0: "m", 1: "s"}}
    lone.world.run(40)
    assert lone.master.offsets == {("g", 0): 5}
    assert lone.master.seen(RequestCode.HEART_BEAT) and lone.asked()[-1] == 5
    assert len(lone.notes.delivered_bodies()) == 5, "nothing comes twice"
    assert [args[1] for args in lone.notes.of("given_up")] == []


def test_without_any_broker_the_route_is_asked_for_once_per_try_and_tries_are_three_seconds_apart() -> None:
    lone = Lone()
    lone.master.put(0, 1)
    lone.world.run(1)
    lone.world.hosts["m"].kill()
    lone.names.brokers = {"b": {0: "elsewhere"}}
    lone.world.run(6)
    before, pulls = len(lone.names.requests), len(lone.notes.of("pull_began"))
    lone.world.run(12)
    # The queue's own tries every 3 s, the commits' every 5 s.
    assert 4 <= len(lone.names.requests) - before <= 9
    assert len(lone.notes.of("pull_began")) == pulls


def test_a_dead_broker_is_called_every_three_seconds_while_the_route_still_names_it(lone: Lone) -> None:
    lone.master.put(0, 1)
    lone.world.run(1)
    lone.world.hosts["m"].kill()
    before = len(lone.host.connects)
    lone.world.run(29)
    attempts = len(lone.host.connects) - before
    # Pulls every 3 s and commits every 5 s, a rebalance or heartbeat in between.
    assert 10 <= attempts <= 35
    asked = [request.time for request in lone.names.requests]
    assert all(later - sooner >= 3 * SECOND for sooner, later in itertools.pairwise(asked[1:]))


def test_a_silent_broker_loses_its_connection_when_a_commit_is_not_answered(lone: Lone) -> None:
    lone.master.put(0, 1)
    lone.world.run(3)
    lone.world.hosts["m"].silent = True
    lone.world.run(8)
    ended = lone.notes.of("commit_ended")[-1][1]
    assert (ended.phase, ended.status) in {("info", "timeout"), ("info", "disconnected")}
    assert lone.notes.of("pull_ended")[-1][1][:2] == ("info", "disconnected"), "long before its own 30 s"


# Commits.


def test_every_queue_is_committed_every_five_seconds_even_if_nothing_changed(lone: Lone) -> None:
    lone.master.offsets["g", 0] = 0
    lone.world.run(21)
    assert [request.time // SECOND for request in lone.master.seen(COMMIT)] == [5, 10, 15, 20]
    lone.master.offsets.clear()
    lone.world.run(5)
    assert lone.master.offsets == {("g", 0): 0}


def test_a_commit_that_hangs_is_not_followed_by_others_before_it_ends(lone: Lone) -> None:
    lone.master.scripts[COMMIT] = lambda request: SILENCE
    lone.world.run(31)
    times = lone.notes.times("commit_began")
    assert len(times) <= 6 and all(later - sooner >= 5 * SECOND for sooner, later in itertools.pairwise(times))
    assert {args[1].status for args in lone.notes.of("commit_ended")} <= {"timeout", "disconnected"}


def test_a_commit_that_finds_no_master_asks_for_the_route_before_it_takes_a_slave() -> None:
    lone = Lone(slave=True)
    lone.master.put(0, 1)
    lone.slave.queues = lone.master.queues
    lone.world.run(1)
    lone.world.hosts["m"].kill()
    lone.names.brokers = {"a": {1: "s"}}
    lone.world.until(lambda: lone.slave.offsets != {}, 10)
    lone.master = lone.world.hosts["m"].start(FakeBroker)
    lone.names.brokers = {"a": {0: "m", 1: "s"}}
    before = len(lone.notes.of("commit_began"))
    lone.world.until(lambda: len(lone.notes.of("commit_began")) > before, 6)
    assert lone.notes.of("commit_began")[before][3:5] == (0, "m")


def test_commits_that_wait_for_a_route_do_not_pile_up() -> None:
    lone = Lone(slave=True)
    lone.master.put(0, 1)
    lone.world.run(1)
    lone.world.hosts["m"].kill()
    lone.names.brokers = {"a": {1: "s"}}
    lone.world.run(8)
    # The name server falls silent: refreshes last 3 s each, and nobody else can be asked.
    lone.consumer.routes.name_servers = ("names",) * 4
    lone.names.scripts[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda request: SILENCE
    before = len(lone.notes.times("commit_began"))
    lone.world.run(40)
    times = lone.notes.times("commit_began")[before:]
    assert times and len(set(times)) == len(times)


# Filters.


def test_real_tags_decide_not_their_hashes() -> None:
    lone = Lone(topics={TOPIC: "Aa || x"})
    for tag in ("Aa", "BB", None, "x"):
        lone.master.put(0, 1, tag)  # "Aa" and "BB" have one hash in Java
    lone.world.run(1)
    assert lone.notes.delivered_bodies() == ["0/0", "0/3"] and lone.consumer.progress == {QUEUE: 4}
    header = lone.pulls()[0].header
    assert header["subscription"] == "Aa || x"
    heartbeat = lone.master.seen(RequestCode.HEART_BEAT)[0].body.decode()
    assert '"tagsSet":["Aa","x"]' in heartbeat and '"codeSet":[2112,120]' in heartbeat


# Ends.


def test_stopping_commits_gives_up_unregisters_and_closes(lone: Lone) -> None:
    lone.master.put(0, 4)
    lone.world.run(1)
    lone.consumer.stop()
    lone.consumer.stop()
    lone.world.run(1)
    assert lone.master.offsets == {("g", 0): 4} and lone.consumer.over
    tail = [what for _, what, _ in lone.notes.all][-6:]
    assert tail == ["commit_began", "given_up", "commit_ended", "pull_ended", "commit_ended", "went"]
    assert lone.notes.open_calls() == set() and lone.master.members == {}
    assert lone.master.seen(RequestCode.UNREGISTER_CLIENT)[0].header == {"clientID": "c1", "consumerGroup": "g"}
    said = len(lone.notes.all)
    lone.master.put(0, 1)
    lone.world.run(60)
    assert len(lone.notes.all) == said and lone.host.timers == {} and lone.host.ends == []


@pytest.mark.parametrize("mute", [COMMIT, RequestCode.UNREGISTER_CLIENT])
def test_stopping_ends_even_if_a_broker_is_silent(lone: Lone, mute: int) -> None:
    lone.master.put(0, 4)
    lone.world.run(1)
    lone.master.scripts[mute] = lambda request: SILENCE
    lone.consumer.stop()
    took = lone.world.until(lambda: lone.consumer.over, 12)
    assert 2.9 <= took <= 8.5 and lone.notes.open_calls() == set()


def test_who_says_goodbye_sends_no_heartbeat_afterwards(lone: Lone) -> None:
    lone.world.run(29)
    lone.master.scripts[RequestCode.UNREGISTER_CLIENT] = lambda request: SILENCE
    lone.consumer.stop()
    beats = len(lone.master.seen(RequestCode.HEART_BEAT))
    lone.world.run(2.5)
    assert not lone.consumer.over and len(lone.master.seen(RequestCode.HEART_BEAT)) == beats


@pytest.mark.parametrize("orderly", [False, True])
def test_after_a_sudden_stop_nothing_is_asked_any_more(orderly: bool) -> None:
    lone = Lone(orderly=orderly)
    lone.master.put(0, 4)
    lone.world.run(1)
    lone.consumer.on_stop()
    connects = len(lone.host.connects)
    lone.world.run(60)
    assert lone.host.timers == {} and lone.host.ends == [] and len(lone.host.connects) == connects


def test_a_node_that_must_stop_at_once_writes_its_commits_and_ends_all_calls(lone: Lone) -> None:
    lone.master.put(0, 4)
    lone.world.run(1)
    lone.master.offsets.clear()
    lone.host.stop()
    assert lone.notes.all[-1][1:] == ("went", (False,)) and lone.notes.open_calls() == set()
    lone.world.run(1)
    assert lone.master.offsets == {("g", 0): 4}


@pytest.mark.parametrize("after_ms", [*range(16), 500, 5_001, 5_002])
def test_abandoning_at_any_moment_commits_nothing_and_ends_all_calls(lone: Lone, after_ms: int) -> None:
    lone.master.put(0, 4)
    lone.world.run(after_ms / 1_000)
    commits = len(lone.notes.of("commit_began"))
    lone.consumer.abandon()
    assert lone.notes.all[-1][1:] == ("went", (True,)) and lone.notes.open_calls() == set()
    assert len(lone.notes.of("commit_began")) == commits and lone.notes.of("given_up") == []
    said = len(lone.notes.all)
    lone.world.run(60)
    assert len(lone.notes.all) == said and lone.host.timers == {} and lone.host.ends == []


@pytest.mark.parametrize("after_ms", [*range(16), 500, 5_001, 5_002])
def test_stopping_at_any_moment_ends_in_an_orderly_way(lone: Lone, after_ms: int) -> None:
    lone.master.put(0, 4)
    lone.world.run(after_ms / 1_000)
    held = dict(lone.consumer.progress)
    lone.consumer.stop()
    taken = len(lone.notes.of("assigned"))
    lone.world.until(lambda: lone.consumer.over, 12)
    assert len(lone.notes.of("assigned")) == taken
    assert lone.notes.all[-1][1:] == ("went", (False,)) and lone.notes.open_calls() == set()
    assert {args[0]: args[1] for args in lone.notes.of("given_up")} == held
    assert all(lone.master.offsets["g", 0] == offset for offset in held.values())


def test_a_listener_that_ends_the_consumer_in_the_middle_of_an_answer_gets_no_more_of_it(lone: Lone) -> None:
    lone.master.put(0, 4)
    keep = lone.notes

    class Impatient(Notes):
        def delivered(self, *args: Any) -> None:
            keep.all.append((self.host.now(), "delivered", args))
            lone.consumer.abandon()

    lone.consumer.shared.listener = Impatient(lone.host)
    lone.world.run(1)
    assert keep.delivered_bodies() == ["0/0"] and lone.consumer.over


# Locks.


def test_an_orderly_consumer_locks_before_it_asks_where_to_begin_and_unlocks_after_its_last_commit() -> None:
    lone = Lone(orderly=True)
    lone.master.put(0, 2)
    lone.world.run(1)
    codes = [request.code for request in lone.master.requests]
    lock, query = codes.index(RequestCode.LOCK_BATCH_MQ), codes.index(RequestCode.QUERY_CONSUMER_OFFSET)
    assert lock < query < codes.index(PULL) and lone.notes.delivered_bodies() == ["0/0", "0/1"]
    lone.consumer.stop()
    lone.world.run(1)
    codes = [request.code for request in lone.master.requests]
    assert codes.index(COMMIT) < codes.index(RequestCode.UNLOCK_BATCH_MQ) < codes.index(RequestCode.UNREGISTER_CLIENT)
    assert lone.master.locks == {}


def test_a_queue_that_another_has_locked_is_not_taken_until_it_is_free() -> None:
    lone = Lone(orderly=True)
    lone.master.locks[0] = "another"
    lone.world.run(8)
    assert lone.consumer.progress == {} and len(lone.master.seen(RequestCode.LOCK_BATCH_MQ)) == 3
    lone.master.locks.clear()
    lone.world.run(4)
    assert lone.consumer.progress == {QUEUE: 0}


def test_locks_are_renewed_and_a_lost_one_stops_consuming_and_committing() -> None:
    lone = Lone(orderly=True)
    lone.world.run(41)
    renewals = [request.time // SECOND for request in lone.master.seen(RequestCode.LOCK_BATCH_MQ)]
    assert renewals == [0, 20, 40]
    lone.master.locks[0] = "another"
    lone.world.run(20)
    # The renewal at 60 s was refused.
    commits = len(lone.master.seen(COMMIT))
    lone.master.put(0, 1)
    lone.world.run(15)
    assert lone.notes.delivered_bodies() == [] and len(lone.master.seen(COMMIT)) == commits
    lone.master.locks.clear()
    lone.world.run(20)
    assert lone.notes.delivered_bodies() == ["0/0"]


def test_a_queue_whose_lock_was_lost_is_given_up_without_a_commit() -> None:
    lone = Lone(orderly=True)
    lone.master.put(0, 2)
    lone.world.run(18)
    lone.master.locks[0] = "another"
    lone.world.run(3)
    lone.master.offsets["g", 0] = 7
    commits = len(lone.master.seen(COMMIT))
    alone(lone, "another")
    assert lone.notes.of("given_up") == [(QUEUE, 2)] and len(lone.master.seen(COMMIT)) == commits
    assert lone.master.offsets["g", 0] == 7 and lone.master.locks == {0: "another"}


def test_without_its_master_an_orderly_consumer_goes_on_for_thirty_seconds_only() -> None:
    lone = Lone(slave=True, orderly=True)
    lone.world.run(21)
    lone.slave.queues = lone.master.queues
    lone.world.hosts["m"].kill()
    lone.names.brokers = {"a": {1: "s"}}
    lone.world.run(10)
    lone.slave.put(0, 1)
    lone.world.run(5)
    assert lone.notes.delivered_bodies() == ["0/0"]
    lone.world.run(20)
    lone.slave.put(0, 1)
    lone.world.run(30)
    assert lone.notes.delivered_bodies() == ["0/0"]


# Settings.


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"client_id": ""}, "client_id"),
        ({"name_servers": ()}, "name server"),
        ({"topics": {}}, "topic"),
        ({"consume_from_where": "HERE"}, "CONSUME_FROM_FIRST_OFFSET"),
        ({"orderly": True, "broadcasting": True}, "orderly"),
        ({"pull_batch_size": 0}, "pull_batch_size"),
        ({"connect_broker_by_user": True, "default_broker_id": -1}, "default_broker_id is -1: use 0"),
        ({"connect_broker_by_user": True, "default_broker_id": 1 << 63}, "default_broker_id is 9223372036854775808"),
        ({"default_broker_id": 1}, "has no effect while connect_broker_by_user is False"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_line(wrong: dict[str, Any], says: str) -> None:
    good: dict[str, Any] = {"client_id": "c", "group": "g", "topics": {"T": "*"}, "name_servers": ("n",)}
    host = World().host("c")
    Consumer(host, ConsumerSettings(**good))
    with pytest.raises(ConfigError, match=says) as caught:
        Consumer(host, ConsumerSettings(**{**good, **wrong}))
    assert "\n" not in str(caught.value)
