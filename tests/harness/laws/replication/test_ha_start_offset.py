"""Tests of ``ha-start-offset``."""

import pytest
from histories import FILE, H, assert_broken, assert_holds, bare, pair

from pairproof.harness.rocketmq.laws.replication.ha_start_offset import HaStartOffset


def grown(end: int) -> H:
    """A pair whose master holds ``end`` bytes."""
    history = bare()
    for lo in range(0, end, 100):
        history.append("master", lo, lo + 100, "put", f"m{lo}")
    return history


@pytest.mark.parametrize(
    ("end", "report", "start"), [(2_500, 0, 2_000), (2_000, 0, 2_000), (500, 0, 0), (500, 300, 300)]
)
def test_a_copy_starts_at_the_first_report(end: int, report: int, start: int) -> None:
    assert_holds(HaStartOffset, grown(end).connect().report(report).frame(start, start + 100))


@pytest.mark.parametrize(("end", "report", "start"), [(2_500, 0, 0), (2_500, 0, 1_000), (500, 300, 0), (500, 300, 400)])
def test_a_copy_that_starts_elsewhere_is_caught(end: int, report: int, start: int) -> None:
    assert_broken(HaStartOffset, grown(end).connect().report(report).frame(start, start + 100), f"starts at {start}")


def test_a_first_heartbeat_carries_the_start_offset_too() -> None:
    assert_broken(HaStartOffset, grown(500).connect().report(300).frame(200, 200), "starts at 200")


def test_a_master_may_enter_its_next_file_between_report_and_first_frame() -> None:
    slow = grown(900).connect().report(0).append("master", 900, 1_000, "filler").append("master", 1_000, 1_100, "put")
    assert_holds(HaStartOffset, slow.frame(1_000, 1_100))


@pytest.mark.parametrize("report", [501, 10**9, -1])
def test_a_report_outside_the_log_is_not_served(report: int) -> None:
    asked = grown(500).connect("rogue_slave").report(report, peer="rogue_slave")
    assert_holds(HaStartOffset, asked)
    assert_broken(HaStartOffset, asked.frame(500, 500, "m"), "outside the log")


def test_a_report_before_the_log_start_is_not_served() -> None:
    late = H().config("master").config("slave").start("master", hi=2_500, lo=2_000).start("slave")
    assert_broken(HaStartOffset, late.connect().report(1_500).frame(1_500, 1_600), "outside the log")


def test_a_report_from_before_the_expired_files_gets_nothing() -> None:
    def asks(at: int, lo: int) -> H:
        two = pair().put("m0").put("m1").add("expire", node="master", lo=100).close().connect().report(at)
        return two.frame(lo, lo + 10)

    assert_holds(HaStartOffset, asks(100, 100))
    assert_broken(HaStartOffset, asks(50, 50), "outside the log")


def test_a_copy_of_flushed_bytes_starts_at_the_last_flushed_file() -> None:
    def joins(pushes: str, lo: int) -> H:
        history = H().config("master", haPushes=pushes).config("slave").start("master").start("slave")
        for at in range(0, FILE + 500, 100):
            history.append("master", at, at + 100, "put", f"m{at}")
        return history.flush("master", 500).connect().report(0).frame(lo, lo + 100)

    assert_holds(HaStartOffset, joins("flushed", 0))
    assert_holds(HaStartOffset, joins("written", FILE))
    assert_broken(HaStartOffset, joins("written", 0), "starts at 0")


def test_the_pool_is_not_in_the_log_yet() -> None:
    def asked(committed: int, report: int) -> H:
        story = bare(transientStorePoolEnable=True).append("master", 0, 500, "put").commit("master", committed)
        return story.connect().report(report).frame(report, report + 1)

    assert_holds(HaStartOffset, asked(500, 500))
    assert_broken(HaStartOffset, asked(499, 500), "outside the log")
