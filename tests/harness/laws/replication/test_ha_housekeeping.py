"""Tests of ``ha-housekeeping``."""

import pytest
from histories import H, assert_broken, assert_holds, bare, pair

from pairproof.harness.rocketmq.laws.replication.ha_housekeeping import MANY, HaHousekeeping


def quiet(ms: float, side: str = "m") -> H:
    """One end of a new connection receives nothing for so long; the other receives bytes."""
    story = pair()
    for _ in range(int(ms) // 4_000):
        story.after(4_000)
        story.frame(0, 0, "s") if side == "m" else story.report(0, "m")
    return story.after(ms % 4_000)


@pytest.mark.parametrize("side", ["m", "s"])
def test_a_silent_peer_is_dropped_in_time(side: str) -> None:
    assert_holds(HaHousekeeping, quiet(20_000, side).close(side, f="local").close("sm"))


@pytest.mark.parametrize(("side", "node"), [("m", "master"), ("s", "slave")])
@pytest.mark.parametrize("end", ["close", "peer", "heard", "end", "crash"])
def test_a_silent_peer_that_is_kept_is_caught(side: str, node: str, end: str) -> None:
    story = quiet(21_100, side)
    if end == "heard":
        story = story.report(0, "m") if side == "m" else story.frame(0, 0, "s")
    elif end == "end":
        story = story.mark("end")
    elif end == "crash":
        story = story.crash(node)
    else:
        story = story.close(side, f="local" if end == "close" else "peer")
    assert_broken(HaHousekeeping, story, f"{node} kept a peer that was silent for 21100 ms")


@pytest.mark.parametrize(("side", "node"), [("m", "master"), ("s", "slave")])
def test_a_peer_that_is_dropped_too_early_is_caught(side: str, node: str) -> None:
    assert_broken(HaHousekeeping, quiet(19_900, side).close(side, f="local"), f"{node} dropped its peer after 19900 ms")


def test_a_partial_frame_counts_as_received_bytes() -> None:
    assert_holds(HaHousekeeping, quiet(15_000, "s").piece("s", "in", 3).after(15_000).frame(0, 100, "s").close("s"))


def test_a_silent_rogue_peer_must_be_dropped_as_well() -> None:
    silent = bare().connect("rogue_slave").after(21_500)
    assert_broken(HaHousekeeping, silent.close("m"), "kept a peer that was silent for 21500 ms")


def test_a_close_that_answers_bytes_is_none_for_silence() -> None:
    assert_holds(HaHousekeeping, pair().after(5_000).frame(500, 600, "s").close("s", f="local").close("m"))


def test_a_close_for_another_reason_is_none_for_silence() -> None:
    stopped = pair().after(5_000).stop("slave").close("s", f="local")
    assert_holds(HaHousekeeping, stopped.close("m"))
    leaving = pair().after(5_000).close("s", f="local").close("m").after(8_000).stop("slave")
    assert_holds(HaHousekeeping, leaving)
    expired = pair().after(5_000).add("expire", node="master", lo=500).add("diverged", node="master", link="ha:1", hi=0)
    assert_holds(HaHousekeeping, expired.close("m", f="local"))
    refused = bare().connect().report(500).after(5_000).close("m", f="local")
    assert_holds(HaHousekeeping, refused)
    full = pair().piece("s", "out", 0).after(5_000).close("s", f="local")
    assert_holds(HaHousekeeping, full)
    assert_holds(HaHousekeeping, pair().after(5_000).close("sm"))


def test_a_broker_that_ends_much_later_closed_for_no_reason() -> None:
    closed = pair().after(5_000).close("s", f="local").close("m")
    assert_broken(HaHousekeeping, closed.after(30_000).stop("slave"), "slave dropped its peer after 5000 ms")


def test_a_paused_node_may_drop_late_and_without_silence() -> None:
    assert_holds(HaHousekeeping, pair().close("m").pause("slave", 60_000).frame(0, 0, "s").close("s"))
    assert_holds(HaHousekeeping, pair().pause("slave", 15_000).close("s", f="local"))
    # The master received nothing, and was not paused.
    assert_broken(HaHousekeeping, pair().pause("slave", 60_000).report(0), "master kept a peer")


def test_the_interval_is_the_nodes_own() -> None:
    quick = pair(haHousekeepingInterval=3_000)
    assert_holds(HaHousekeeping, quick.after(3_500).close("m", f="local").close("s"))
    assert_broken(HaHousekeeping, pair(haHousekeepingInterval=3_000).after(4_100).close("m"), "4000 ms are enough")


def test_a_master_may_drop_one_of_many_peers_and_none_of_few() -> None:
    def dropped(others: int) -> H:
        story = bare().connect("rogue_slave")
        first = story.link
        for _ in range(others):
            story.connect("rogue_slave")
        return story.after(1_000).close("m", f="local", link=first)

    assert_holds(HaHousekeeping, dropped(MANY))
    assert_broken(HaHousekeeping, dropped(MANY - 1), "dropped its peer after 1000 ms of silence")
