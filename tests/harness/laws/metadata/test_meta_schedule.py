"""Tests of ``meta-schedule``."""

import pytest
from histories import Story, assert_broken, assert_holds, assert_vacuous
from histories.tables import named, refused, unknown

from pairproof.harness.event_types.node import UNKNOWN
from pairproof.harness.rocketmq.laws.metadata.meta_schedule import MetaSchedule


def rounds(*pauses_ms: float, version: str = "4.9.7") -> Story:
    history = named(version)
    for pause in pauses_ms:
        history.after(pause - 4 if history.t else pause).round()
    return history


@pytest.mark.parametrize(
    ("version", "first", "period"),
    [("4.4.0", 10_000, 60_000), ("4.9.2", 3_000, 10_000), ("4.9.7", 3_000, 10_000), ("5.5.0", 61_000, 60_000)],
)
def test_each_version_has_its_own_schedule(version: str, first: float, period: float) -> None:
    assert_holds(MetaSchedule, rounds(first, period, period, version=version).after(period))
    early = rounds(first - 2_001, version=version)
    assert_broken(MetaSchedule, early, f"began a round {first - 2_001:.0f} ms after its start")
    assert_broken(MetaSchedule, rounds(first, period - 4_001, version=version), "after the one before")
    assert_broken(MetaSchedule, rounds(first, period + 7_010, version=version), "synced nothing for")
    assert_broken(MetaSchedule, rounds(first, version=version).after(period + 7_010).mark("end"), "synced nothing for")


ANSWERED = dict.fromkeys(("topics", "offsets", "delays", "groups"), "answered")


def started(f: str) -> Story:
    """A slave that began its first round a second after its recorded start."""
    history = named().crash("slave")
    history.add("start", node="slave", f=f)
    return history.register().after(1_000).round(**ANSWERED)


def test_a_broker_without_a_recorded_start_may_have_run_longer() -> None:
    assert_broken(MetaSchedule, started("normal"), "began a round 1000 ms after its start")
    assert_holds(MetaSchedule, started(UNKNOWN))
    # But the time between its rounds is judged.
    assert_broken(MetaSchedule, started(UNKNOWN).after(5_000).round(**ANSWERED), "after the one before")
    assert_broken(MetaSchedule, started(UNKNOWN).after(20_000).mark("end"), "synced nothing for")


def test_without_a_recorded_start_the_first_check_may_precede_the_master() -> None:
    def learned_late(f: str, after: float) -> Story:
        history = named("5.5.0").crash("slave")
        history.add("start", node="slave", f=f)
        return history.after(after).register().after(60_850).round(**ANSWERED)

    assert_holds(MetaSchedule, learned_late(UNKNOWN, 59_990))
    assert_broken(MetaSchedule, learned_late(UNKNOWN, 29_990), "synced nothing for")
    assert_broken(MetaSchedule, learned_late("normal", 59_990), "synced nothing for")


def test_a_failed_request_is_a_step() -> None:
    def without_topics() -> Story:
        history = named().after(3_000)
        history.add("sync", node="slave", f="topics", status="failed")
        return history

    left = ("offsets", "delays", "groups")
    assert_holds(
        MetaSchedule, without_topics().step(left[0], "answered").step(left[1], "failed").step(left[2], "answered")
    )
    assert_broken(MetaSchedule, without_topics().step("groups", "answered"), "goes on with groups")


def test_a_first_round_that_never_comes_is_noticed() -> None:
    assert_vacuous(MetaSchedule, named().after(7_000).mark("end"))
    assert_broken(MetaSchedule, named().after(7_001).mark("end"), "synced nothing for 7001 ms, and knew its master")
    assert_broken(MetaSchedule, named().after(7_001).crash("slave"), "synced nothing")


def test_a_slave_that_learns_its_master_later_has_a_period_from_then() -> None:
    assert_vacuous(MetaSchedule, unknown().after(90_000).mark("end"))
    assert_vacuous(MetaSchedule, unknown().after(90_000).register().after(14_000).mark("end"))
    assert_broken(MetaSchedule, unknown().after(90_000).register().after(14_001).mark("end"), "synced nothing")
    assert_vacuous(MetaSchedule, unknown().register(master=None).after(90_000).mark("end"))
    # An address learned at the moment of the first check may be too late for it.
    assert_vacuous(MetaSchedule, unknown().after(3_000).register().after(14_000).mark("end"))
    assert_broken(MetaSchedule, unknown().after(2_999).register().after(4_002).mark("end"), "synced nothing for 4002")
    # A failed registration is no answer.
    assert_broken(MetaSchedule, named().register(status="failed").after(7_001).mark("end"), "synced nothing")
    assert_vacuous(MetaSchedule, named().register(master=None).after(90_000).mark("end"))


def test_a_failed_step_does_not_stop_the_others() -> None:
    failed = named().after(3_000).step("topics", "failed")
    assert_holds(MetaSchedule, failed.step("offsets").step("delays").step("groups"))
    stopped = named().after(3_000).step("topics", "failed").after(9_999).step("topics")
    assert_broken(MetaSchedule, stopped, "goes on with topics where offsets come next")
    assert_broken(
        MetaSchedule, named().after(3_000).step("topics", "failed").after(4_001).mark("end"), "with offsets; 3000 ms"
    )


def test_a_step_may_fail_before_its_request() -> None:
    assert_holds(MetaSchedule, refused())
    late = named().after(3_000).step("topics").after(4_001)
    late.add("sync", node="slave", f="offsets", status="failed")
    assert_broken(MetaSchedule, late, "let 4001 ms pass before it went on with offsets")


def test_a_slave_waits_three_seconds_for_an_answer() -> None:
    assert_holds(MetaSchedule, named().after(3_000).step("topics", "failed", ms=4_000))
    assert_broken(MetaSchedule, named().after(3_000).step("topics", "failed", ms=4_001), "4001 ms pass with topics")
    open_step = named().after(3_000)
    open_step.add("sync", node="slave", f="topics", status="asked")
    assert_broken(MetaSchedule, open_step.after(4_001).mark("end"), "4001 ms pass with topics")


def test_steps_come_in_order_and_one_at_a_time() -> None:
    wrong = named().after(3_000).step("topics").step("groups")
    assert_broken(MetaSchedule, wrong, "goes on with groups where offsets come next")
    first = named().after(3_000).step("groups")
    assert_broken(MetaSchedule, first, "goes on with groups where topics come next")
    both = named().after(3_000)
    for f in ("topics", "offsets"):
        both.add("sync", node="slave", f=f, status="asked")
    assert_broken(MetaSchedule, both, "asks for offsets while topics are still under way")
    other = named().after(3_000)
    other.add("sync", node="slave", f="topics", status="asked").add("sync", node="slave", f="groups", status="same")
    assert_broken(MetaSchedule, other, "ends groups, and topics are under way")


def test_without_its_master_a_slave_ends_its_round() -> None:
    lost = named().after(3_000).step("topics").register(master=None).after(30_000)
    assert_holds(MetaSchedule, lost.register().after(5_000).round())


def test_a_long_round_or_a_pause_shifts_the_next() -> None:
    long = named().after(3_000)
    for f in ("topics", "offsets", "delays", "groups"):
        long.step(f, "failed", ms=3_000)
    assert_holds(MetaSchedule, long.round())
    paused = named().after(1_000)
    paused.pause("slave", 60_000)
    assert_holds(MetaSchedule, paused.after(2_000).round().after(1_000).round())
    assert_broken(MetaSchedule, named().after(3_000).round().after(5_000).round(), "a period has 10000 ms")


def test_each_process_counts_for_itself_and_masters_sync_nothing() -> None:
    assert_holds(MetaSchedule, rounds(3_000).killed("slave").register().after(3_000).round())
    assert_holds(MetaSchedule, rounds(3_000).killed("slave").after(90_000).mark("end"))
    assert_broken(MetaSchedule, named().after(3_000).step("topics", node="master"), "is not a slave", times=2)


def test_a_5_x_slave_may_sync_at_once_when_it_learns_its_master_again() -> None:
    history = rounds(61_000, version="5.5.0").after(5_000).register(master=None).register()
    assert_holds(MetaSchedule, history.after(1).round())
