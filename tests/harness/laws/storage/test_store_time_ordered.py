"""Tests of ``store-time-ordered``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, judged, pair

from pairproof.harness.rocketmq.laws.storage.store_time_ordered import StoreTimeOrdered


def times(history: H, *values: int, node: str = "master", op: int = 1) -> H:
    for number, value in enumerate(values):
        history.add(
            "record", node=node, op=op, message=f"m{number}", lo=100 * number, hi=100 * number + 100, value=value
        )
    return history


@pytest.mark.parametrize("node", ["master", "slave"])
def test_store_times_may_stand_still_and_not_go_back(node: str) -> None:
    assert_holds(StoreTimeOrdered, times(bare(), 5, 5, 7, node=node))
    assert_broken(StoreTimeOrdered, times(bare(), 5, 7, 6, node=node), "m2 at 200 was stored at 6 ms")
    rolled = bare().append("master", 0, 300, "put").append("slave", 0, 300).crash("master", "machine")
    assert (judged(StoreTimeOrdered, times(rolled.start("master", 100), 5, 7, 6, node=node).events).broken == 1) is (
        node == "master"
    )


def test_each_reading_begins_anew() -> None:
    assert_holds(StoreTimeOrdered, times(times(bare(), 5, 7), 5, 7, op=2))
    assert_holds(StoreTimeOrdered, times(times(bare(), 5, 7, node="slave"), 5, 7, node="master"))


def clocked(node: str, back: int) -> H:
    """m0, then a clock is set, then m1 (which may have read the clock before that), m2 and m3."""
    history = pair().put("m0").add("clock", node=node, value=-5_000)
    return times(history.put("m1").put("m2").put("m3"), 9_000, 8_000, 4_000, back)


def test_a_clock_that_was_set_excuses_the_step_across_it_only() -> None:
    assert_holds(StoreTimeOrdered, clocked("master", 4_001))
    assert_broken(StoreTimeOrdered, clocked("master", 3_999), "m3 at 300")


@pytest.mark.parametrize("slave", ["slave", None])
def test_a_promotion_brings_another_clock_s_times(slave: str | None) -> None:
    history = pair().put("m0").crash("master").add("wipe", node="master", f="image", detail=slave)
    history = times(history.start("master", 100).put("m1"), 9_000, 4_000)
    if slave:
        assert_vacuous(StoreTimeOrdered, history)
    else:
        assert_broken(StoreTimeOrdered, history, "m1 at 100 was stored at 4000 ms")


def test_a_slave_s_clock_excuses_nothing() -> None:
    assert_broken(StoreTimeOrdered, clocked("slave", 4_001), "m1 at 100", times=2)
