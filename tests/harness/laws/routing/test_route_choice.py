"""Tests of ``route-choice``."""

from __future__ import annotations

import pytest
from histories import G, H, Q, Story, assert_broken, assert_holds, assert_not_applicable, assert_vacuous

from pairproof.harness.rocketmq.laws.routing.route_choice import RouteChoice
from pairproof.harness.rocketmq.laws.routing.route_expiry import RouteExpiry

PAIR = {0: "master", 1: "slave", 2: "slave2"}


class Chooses(Story):
    """Process 1 is a consumer of T/0."""

    def told(self, broker: int, queue: str = Q, node: str = "master") -> Chooses:
        self.add("ok", process=1, f="pull", status="PUT_OK", node=node, queue=queue, group=G, broker=broker)
        return self

    def asks(self, broker: int | None, node: str | None = None, f: str = "pull", queue: str = Q) -> Chooses:
        node = PAIR.get(-1 if broker is None else broker, "master") if node is None else node
        self.add("invoke", process=1, f=f, node=node, queue=queue, group=G, broker=broker, message="m")
        return self


def consumer(route: dict[int, str] | None = None, **settings: object) -> Chooses:
    history = Chooses()
    for node in ("master", "slave", "slave2"):
        history.config(node, namesrvAddr="names:9876", **settings).start(node)
    return history.come().learn(PAIR if route is None else route)


def test_an_empty_route_leaves_the_choice_to_another_topic_s() -> None:
    gone = consumer({1: "slave"}).learn({}).asks(0)
    assert_vacuous(RouteChoice, gone)
    assert_broken(RouteChoice, gone.learn(PAIR).told(1).asks(0), "chose broker 0; 1 was suggested")


def test_the_first_pull_goes_to_the_master_and_the_next_to_the_suggested_broker() -> None:
    assert_holds(RouteChoice, consumer().asks(0).told(1).asks(1).told(2).asks(2).told(0).asks(0))
    assert_broken(
        RouteChoice, consumer().asks(1), "a pull of T/0 chose broker 1; 0 was suggested, the route has 0: master"
    )
    assert_broken(RouteChoice, consumer().told(1).asks(0), "chose broker 0; 1 was suggested")
    assert_broken(RouteChoice, consumer().told(1).asks(2), "chose broker 2; 1 was suggested")


def test_each_queue_has_a_suggestion_of_its_own() -> None:
    assert_holds(RouteChoice, consumer().told(1, "t/1").asks(0).asks(1, queue="t/1"))
    assert_broken(RouteChoice, consumer().told(1, "t/1").asks(1), "0 was suggested")


def test_for_a_missing_broker_the_next_one_stands_in_and_then_any() -> None:
    assert_holds(RouteChoice, consumer({0: "master", 2: "slave2"}).told(1).asks(2))
    assert_broken(RouteChoice, consumer({0: "master", 2: "slave2"}).told(1).asks(0), "chose broker 0; 1 was suggested")
    for broker in (1, 2):
        assert_holds(RouteChoice, consumer({1: "slave", 2: "slave2"}).asks(broker))
    assert_holds(RouteChoice, consumer({0: "master", 1: "slave"}).told(2).asks(0))
    assert_holds(RouteChoice, consumer({0: "master", 2: "slave2"}, rocketmqVersion="4.7.1").told(1).asks(0))


def test_the_route_learned_last_counts() -> None:
    assert_holds(RouteChoice, consumer().learn({1: "slave"}).asks(1).learn(PAIR).asks(0))
    assert_holds(RouteChoice, consumer({1: "slave"}).learn({}, status="none").asks(1))


def test_the_node_is_the_one_of_the_route() -> None:
    assert_broken(RouteChoice, consumer().asks(0, "slave"), "chose broker 0 and asked slave; the route has 0: master")
    assert_broken(RouteChoice, consumer({0: "master"}).told(1).asks(1), "chose broker 1 and asked slave; the route has")


def test_a_queue_just_taken_may_start_anew() -> None:
    assert_holds(RouteChoice, consumer().told(1).assign(0, status="off").assign(0).asks(0))
    assert_holds(RouteChoice, consumer().told(1).assign(0, status="off").assign(0).asks(1))
    assert_broken(RouteChoice, consumer().told(1).assign(0).asks(2), "chose broker 2; 1 was suggested")
    assert_broken(RouteChoice, consumer().assign(0).told(1).asks(0), "chose broker 0; 1 was suggested")


def fixing(broker: int, route: dict[int, str] | None = None) -> Chooses:
    """The consumer's user has fixed a broker."""
    return consumer(route).come(fixed=broker)


def test_a_fixed_broker_overrides_suggestions() -> None:
    assert_holds(RouteChoice, fixing(1).asks(1).told(0).asks(1).told(2).asks(1))
    assert_holds(RouteChoice, fixing(0).asks(0).told(1).asks(0))
    ignored = "a pull of T/0 chose broker 0; 1 is fixed by its user, the route has 0: master"
    assert_broken(RouteChoice, fixing(1).asks(0), ignored)
    assert_broken(RouteChoice, fixing(1).asks(1).told(0).asks(0), ignored)
    assert_broken(RouteChoice, fixing(0).told(1).asks(1), "chose broker 1; 0 is fixed by its user")
    # To follow the suggestion is right for others only.
    assert_holds(RouteChoice, consumer().asks(0).told(1).asks(1))
    assert_broken(RouteChoice, consumer().asks(0).told(1).asks(0), "1 was suggested")


def test_a_fixed_broker_that_is_missing_is_replaced_as_a_suggested_one_is() -> None:
    assert_holds(RouteChoice, fixing(1, {0: "master", 2: "slave2"}).asks(2))
    assert_broken(RouteChoice, fixing(1, {0: "master", 2: "slave2"}).asks(0), "1 is fixed by its user")
    assert_holds(RouteChoice, fixing(1, {0: "master"}).asks(0).learn(PAIR).asks(1))
    assert_broken(RouteChoice, fixing(1, {0: "master"}).asks(0).learn(PAIR).asks(0), "1 is fixed by its user")


def test_a_fixed_broker_counts_for_a_newly_taken_queue() -> None:
    assert_broken(
        RouteChoice, fixing(1).asks(1).told(0).assign(0, status="off").assign(0).asks(0), "1 is fixed by its user"
    )
    assert_holds(RouteChoice, fixing(1).asks(1).told(0).assign(0, status="off").assign(0).asks(1))


def test_a_user_s_choice_ends_with_its_consumer() -> None:
    assert_holds(RouteChoice, fixing(1).asks(1).go().come().asks(0))


def test_only_suggestions_to_pulls_count() -> None:
    commit = consumer().told(1).add("ok", process=1, f="commit", node="master", queue=Q, group=G, broker=0)
    assert_holds(RouteChoice, commit.asks(1))
    silent = consumer().told(1).add("ok", process=1, f="pull", node="slave", queue=Q, group=G)
    assert_holds(RouteChoice, silent.asks(1))
    assert_broken(RouteChoice, consumer().told(1).assign(0, status="off").asks(0), "chose broker 0; 1 was suggested")


def test_sends_go_to_the_master() -> None:
    assert_holds(RouteChoice, consumer().asks(0, f="send"))
    assert_broken(RouteChoice, consumer().asks(1, f="send"), "a send of m chose broker 1; only 0 accepts messages")


def test_calls_without_a_choice_are_not_judged() -> None:
    assert_vacuous(RouteChoice, consumer().asks(None))
    assert_vacuous(RouteChoice, consumer().asks(1, f="commit"))
    assert_vacuous(RouteChoice, consumer().asks(0, "other"))
    assert_vacuous(RouteChoice, consumer().go(status="lost").asks(1))
    blind = Chooses().config("master", namesrvAddr="names").start("master").add("consumer", process=1, status="on")
    assert_vacuous(RouteChoice, blind.asks(1))


@pytest.mark.parametrize("law", [RouteChoice, RouteExpiry])
def test_without_a_name_server_there_are_no_routes(law: type[RouteChoice] | type[RouteExpiry]) -> None:
    assert_not_applicable(law, H().config("master").start("master"))
