"""Tests of ``live-no-spin``."""

import json

from histories import H, assert_broken, assert_holds, pair

from pairproof.harness.rocketmq.laws.liveness.live_no_spin import LiveNoSpin


def connects(*gaps_ms: float) -> H:
    history = pair()
    for gap in gaps_ms:
        history.close().after(gap).connect()
    return history


def test_three_connects_in_a_second_are_enough() -> None:
    assert_holds(LiveNoSpin, connects(1, 1, 998))
    assert_holds(LiveNoSpin, connects(300, 300, 400, 300))
    assert_broken(LiveNoSpin, connects(1, 1, 997), "slave made 4 HA connects in 0.999 s")
    assert_broken(LiveNoSpin, connects(*[0.0] * 7), "4 HA connects", times=2)


def test_each_slave_and_each_process_counts_for_itself() -> None:
    two = pair()
    for _ in range(2):
        two.connect("slave2").connect("slave")
    assert_holds(LiveNoSpin, two)
    assert_holds(LiveNoSpin, pair().connect().connect().crash("slave").start("slave").connect())
    assert_holds(
        LiveNoSpin, pair().connect("rogue_slave").connect("rogue_slave").connect("rogue_slave").connect("rogue_slave")
    )


def refused(times: int, link: str = "ha") -> H:
    off = json.dumps({"connections_refused": times})
    return pair().fault("down", link).after(1_999).fault("down", link, "off", off)


def test_refused_attempts_are_counted_by_the_fault_that_refuses_them() -> None:
    assert_holds(LiveNoSpin, refused(6))
    assert_broken(LiveNoSpin, refused(7), "ha: 7 HA connects were refused in 2 s")
    assert_holds(LiveNoSpin, refused(70, "client-master"))
