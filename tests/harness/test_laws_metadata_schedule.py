"""When a slave syncs, in which order, and what it does with what it gets."""

from __future__ import annotations

import pytest
from metadata_histories import M, named, unknown

from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.kinds.node import UNKNOWN
from pairproof.harness.rocketmq.laws.metadata.meta_atomic_view import MetaAtomicView
from pairproof.harness.rocketmq.laws.metadata.meta_converges import MetaConverges
from pairproof.harness.rocketmq.laws.metadata.meta_durable import MetaDurable
from pairproof.harness.rocketmq.laws.metadata.meta_one_way import MetaOneWay
from pairproof.harness.rocketmq.laws.metadata.meta_schedule import MetaSchedule
from pairproof.harness.rocketmq.laws.metadata.meta_version_gate import MetaVersionGate
from pairproof.harness.rocketmq.testing import pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

LAWS = [MetaSchedule, MetaVersionGate, MetaOneWay, MetaAtomicView, MetaDurable, MetaConverges]


@pytest.mark.parametrize("law", LAWS)
def test_a_slave_without_a_name_server_never_syncs_and_no_law_applies(law: type[Law]) -> None:
    assert judged(law, pair().sent("m0").events).verdict is Verdict.NOT_APPLICABLE
    assert_vacuous(law, named().marked("end"))


# meta-schedule


def rounds(*pauses_ms: float, version: str = "4.9.7") -> M:
    history = named(version)
    for pause in pauses_ms:
        history.wait(pause - 4 if history.t else pause).round()
    return history


@pytest.mark.parametrize(
    ("version", "first", "period"),
    [("4.4.0", 10_000, 60_000), ("4.9.2", 3_000, 10_000), ("4.9.7", 3_000, 10_000), ("5.5.0", 61_000, 60_000)],
)
def test_each_version_has_its_own_schedule(version: str, first: float, period: float) -> None:
    assert_holds(MetaSchedule, rounds(first, period, period, version=version).wait(period))
    early = rounds(first - 2_001, version=version)
    assert_broken(MetaSchedule, early, f"began a round {first - 2_001:.0f} ms after its start")
    assert_broken(MetaSchedule, rounds(first, period - 4_001, version=version), "after the one before")
    assert_broken(MetaSchedule, rounds(first, period + 7_010, version=version), "synced nothing for")
    assert_broken(MetaSchedule, rounds(first, version=version).wait(period + 7_010).marked("end"), "synced nothing for")


ANSWERED = dict.fromkeys(("topics", "offsets", "delays", "groups"), "answered")


def started(f: str) -> M:
    """A slave that began its first round a second after its start was seen."""
    history = named().down("slave")
    history.add("start", node="slave", f=f)
    return history.register().wait(1_000).round(**ANSWERED)


def test_nobody_knows_since_when_a_broker_has_run_that_does_not_say_so() -> None:
    assert_broken(MetaSchedule, started("normal"), "began a round 1000 ms after its start")
    assert_holds(MetaSchedule, started(UNKNOWN))
    # But how long its rounds are apart.
    assert_broken(MetaSchedule, started(UNKNOWN).wait(5_000).round(**ANSWERED), "after the one before")
    assert_broken(MetaSchedule, started(UNKNOWN).wait(20_000).marked("end"), "synced nothing for")


def test_the_first_look_of_a_broker_that_does_not_say_when_it_started_may_come_before_it_knows_its_master() -> None:
    def told_late(f: str, after: float) -> M:
        history = named("5.5.0").down("slave")
        history.add("start", node="slave", f=f)
        return history.wait(after).register().wait(60_850).round(**ANSWERED)

    assert_holds(MetaSchedule, told_late(UNKNOWN, 59_990))
    assert_broken(MetaSchedule, told_late(UNKNOWN, 29_990), "synced nothing for")
    assert_broken(MetaSchedule, told_late("normal", 59_990), "synced nothing for")


def test_a_table_that_could_not_be_asked_for_is_a_step_as_well() -> None:
    def without_topics() -> M:
        history = named().wait(3_000)
        history.add("sync", node="slave", f="topics", status="failed")
        return history

    left = ("offsets", "delays", "groups")
    assert_holds(
        MetaSchedule, without_topics().step(left[0], "answered").step(left[1], "failed").step(left[2], "answered")
    )
    assert_broken(MetaSchedule, without_topics().step("groups", "answered"), "goes on with groups")


def test_a_first_round_that_never_comes_is_noticed() -> None:
    assert_vacuous(MetaSchedule, named().wait(7_000).marked("end"))
    assert_broken(MetaSchedule, named().wait(7_001).marked("end"), "synced nothing for 7001 ms, and knew its master")
    assert_broken(MetaSchedule, named().wait(7_001).down("slave"), "synced nothing")


def test_a_slave_that_learns_of_its_master_later_has_a_period_from_then() -> None:
    assert_vacuous(MetaSchedule, unknown().wait(90_000).marked("end"))
    assert_vacuous(MetaSchedule, unknown().wait(90_000).register().wait(14_000).marked("end"))
    assert_broken(MetaSchedule, unknown().wait(90_000).register().wait(14_001).marked("end"), "synced nothing")
    assert_vacuous(MetaSchedule, unknown().register(master=None).wait(90_000).marked("end"))
    # What it learns at the very moment of its first look may have come too late for that.
    assert_vacuous(MetaSchedule, unknown().wait(3_000).register().wait(14_000).marked("end"))
    assert_broken(MetaSchedule, unknown().wait(2_999).register().wait(4_002).marked("end"), "synced nothing for 4002")
    # A registration that failed is no answer.
    assert_broken(MetaSchedule, named().register(status="failed").wait(7_001).marked("end"), "synced nothing")
    assert_vacuous(MetaSchedule, named().register(master=None).wait(90_000).marked("end"))


def test_a_failed_step_keeps_no_other_from_running() -> None:
    failed = named().wait(3_000).step("topics", "failed")
    assert_holds(MetaSchedule, failed.step("offsets").step("delays").step("groups"))
    stopped = named().wait(3_000).step("topics", "failed").wait(9_999).step("topics")
    assert_broken(MetaSchedule, stopped, "goes on with topics where offsets come next")
    assert_broken(
        MetaSchedule, named().wait(3_000).step("topics", "failed").wait(4_001).marked("end"), "with offsets; 3000 ms"
    )


def refused() -> M:
    """The connection could not be made: nothing was asked."""
    history = named().wait(3_000)
    for f in ("topics", "offsets", "delays", "groups"):
        history.wait(3_000).add("sync", node="slave", f=f, status="failed")
    return history


def test_a_step_may_fail_before_it_was_asked() -> None:
    assert_holds(MetaSchedule, refused())
    late = named().wait(3_000).step("topics").wait(4_001)
    late.add("sync", node="slave", f="offsets", status="failed")
    assert_broken(MetaSchedule, late, "let 4001 ms pass before it went on with offsets")


def test_an_answer_is_awaited_for_three_seconds() -> None:
    assert_holds(MetaSchedule, named().wait(3_000).step("topics", "failed", ms=4_000))
    assert_broken(MetaSchedule, named().wait(3_000).step("topics", "failed", ms=4_001), "4001 ms pass with topics")
    open_step = named().wait(3_000)
    open_step.add("sync", node="slave", f="topics", status="asked")
    assert_broken(MetaSchedule, open_step.wait(4_001).marked("end"), "4001 ms pass with topics")


def test_steps_come_in_order_and_one_at_a_time() -> None:
    wrong = named().wait(3_000).step("topics").step("groups")
    assert_broken(MetaSchedule, wrong, "goes on with groups where offsets come next")
    first = named().wait(3_000).step("groups")
    assert_broken(MetaSchedule, first, "goes on with groups where topics come next")
    both = named().wait(3_000)
    for f in ("topics", "offsets"):
        both.add("sync", node="slave", f=f, status="asked")
    assert_broken(MetaSchedule, both, "asks for offsets while topics are still under way")
    other = named().wait(3_000)
    other.add("sync", node="slave", f="topics", status="asked").add("sync", node="slave", f="groups", status="same")
    assert_broken(MetaSchedule, other, "ends groups, and topics are under way")


def test_without_its_master_a_slave_ends_a_round_where_it_is() -> None:
    lost = named().wait(3_000).step("topics").register(master=None).wait(30_000)
    assert_holds(MetaSchedule, lost.register().wait(5_000).round())


def test_a_long_round_or_a_pause_shifts_the_next() -> None:
    long = named().wait(3_000)
    for f in ("topics", "offsets", "delays", "groups"):
        long.step(f, "failed", ms=3_000)
    assert_holds(MetaSchedule, long.round())
    paused = named().wait(1_000)
    paused.pause("slave", 60_000)
    assert_holds(MetaSchedule, paused.wait(2_000).round().wait(1_000).round())
    assert_broken(MetaSchedule, named().wait(3_000).round().wait(5_000).round(), "a period has 10000 ms")


def test_each_process_counts_for_itself_and_masters_sync_nothing() -> None:
    assert_holds(MetaSchedule, rounds(3_000).again("slave").register().wait(3_000).round())
    assert_holds(MetaSchedule, rounds(3_000).again("slave").wait(90_000).marked("end"))
    assert_broken(MetaSchedule, named().wait(3_000).step("topics", node="master"), "is not a slave", times=2)


def test_a_slave_of_5_may_sync_at_once_when_it_is_told_of_a_master_anew() -> None:
    told = rounds(61_000, version="5.5.0").wait(5_000).register(master=None).register()
    assert_holds(MetaSchedule, told.wait(1).round())


# meta-version-gate


def agreed() -> M:
    """One round, by which topics and groups are the master's."""
    return named().wait(3_000).round(topics="applied", groups="applied").wait(10_000)


def test_what_has_not_changed_is_not_taken_over_again() -> None:
    assert_holds(MetaVersionGate, agreed().round().wait(10_000).round())
    again = agreed().round(topics="applied")
    assert_broken(MetaVersionGate, again, "took over the master's topics, though neither has changed")
    assert_broken(MetaVersionGate, agreed().round(groups="applied"), "took over the master's groups")
    assert_broken(MetaVersionGate, agreed().round().wait(10_000).round(groups="applied"), "took over")


def test_what_the_master_or_the_slave_changed_is_taken_over() -> None:
    assert_holds(MetaVersionGate, agreed().persist("topics", "master").round(topics="applied"))
    assert_holds(MetaVersionGate, agreed().persist("groups", "slave").round(groups="applied"))
    assert_broken(
        MetaVersionGate, agreed().persist("groups", "master").round(topics="applied", groups="applied"), "took over"
    )
    # While the step before was under way its answer may have been on its way already.
    during = named().wait(3_000)
    during.add("sync", node="slave", f="topics", status="asked")
    during.wait(1).persist("topics", "master").wait(1).persist("topics").add(
        "sync", node="slave", f="topics", status="applied"
    )
    assert_holds(MetaVersionGate, during.wait(9_000).round(topics="applied"))
    assert_holds(MetaVersionGate, agreed().again("master").round(topics="applied"))
    assert_holds(MetaVersionGate, agreed().again("slave").round(topics="applied"))


def test_a_change_of_the_slave_s_own_while_a_step_is_under_way_is_a_change() -> None:
    local = agreed()
    local.add("sync", node="slave", f="topics", status="asked").after(1)
    local.persist("topics").wait(1).persist("topics").add("sync", node="slave", f="topics", status="applied")
    assert_holds(MetaVersionGate, local)


def test_a_fault_may_keep_a_change_from_being_saved() -> None:
    for node in ("master", "slave"):
        full = agreed()
        full.fault("disk_full", node)
        assert_holds(MetaVersionGate, full.round(topics="applied"))


@pytest.mark.parametrize("f", ["topics", "groups"])
def test_a_new_version_of_the_master_s_is_taken_over(f: str) -> None:
    def changed() -> M:
        return agreed().persist(f, "master").wait(1)

    assert_holds(MetaVersionGate, changed().round(**{f: "applied"}))
    assert_broken(MetaVersionGate, changed().round(), f"took its {f} for the master's, though those were changed")
    failed = changed().step(f, "failed").wait(10_000).step(f)
    assert_broken(MetaVersionGate, failed, f"took its {f} for the master's")
    assert_holds(MetaVersionGate, changed().again("master").round())
    # A save may be a second try, after a full disk.
    full = agreed()
    full.fault("disk_full", "master").fault("disk_full", "master", "off")
    assert_holds(MetaVersionGate, full.persist(f, "master").round())
    # It may come after the slave has taken the table over: as late as progress is saved.
    for ms in (4_000, 6_000):
        full = named()
        full.fault("disk_full", "master").fault("disk_full", "master", "off")
        late = full.wait(1).round(topics="applied", groups="applied").wait(ms).persist(f, "master").round()
        if ms < 5_000:
            assert_holds(MetaVersionGate, late)
        else:
            assert_broken(MetaVersionGate, late, f"took its {f} for the master's")


def test_an_answer_that_overlaps_a_change_may_be_older() -> None:
    over = agreed()
    over.add("sync", node="slave", f="topics", status="asked").after(1)
    over.persist("topics", "master").wait(1).add("sync", node="slave", f="topics", status="same")
    assert_holds(MetaVersionGate, over.wait(1).round(topics="applied"))


def test_what_is_taken_over_is_saved_and_what_is_not_is_not() -> None:
    unsaved = named().wait(3_000).step("topics", "applied", saves=False).step("offsets")
    assert_broken(
        MetaVersionGate, unsaved.wait(1).marked("end"), "took over the master's topics, and did not save them"
    )
    after = named().wait(3_000).step("topics", "applied", saves=False).persist("topics").step("offsets")
    assert_holds(MetaVersionGate, after)
    full = named().wait(3_000)
    full.fault("disk_full", "slave")
    assert_holds(MetaVersionGate, full.step("topics", "applied", saves=False).step("offsets"))
    crashed = named().wait(3_000).step("topics", "applied", saves=False).down("slave").wait(1)
    assert_holds(MetaVersionGate, crashed.marked("end"))
    before = agreed()
    before.add("sync", node="slave", f="groups", status="asked").after(1)
    before.persist("groups").add("sync", node="slave", f="groups", status="same")
    assert_broken(MetaVersionGate, before, "saved its groups, though they were the master's already")
    for saves, check in ((1, assert_holds), (2, None)):
        late = named()
        late.fault("disk_full", "slave")
        late.step("groups", "applied", saves=False).step("offsets").wait(1).again("master")
        late.fault("disk_full", "slave", "off")
        for _ in range(saves):
            late.wait(9_000).add("sync", node="slave", f="groups", status="asked").after(1)
            late.persist("groups").add("sync", node="slave", f="groups", status="same")
        if check is not None:
            check(MetaVersionGate, late)
        else:
            assert_broken(MetaVersionGate, late, "saved its groups, though they were the master's already")
    for saves, says in ((True, None), (False, "took over the master's groups, and did not save them")):
        twice = named()
        twice.fault("disk_full", "slave")
        for _ in range(2):
            twice.step("groups", "applied", saves=False).wait(9_000)
            twice.again("master")
        twice.fault("disk_full", "slave", "off")
        twice.wait(2_000).persist("groups").wait(9_000).step("groups", "applied", saves=saves).wait(1).marked("end")
        if says is None:
            assert_holds(MetaVersionGate, twice)
        else:
            assert_broken(MetaVersionGate, twice, says)
    assert_broken(MetaVersionGate, agreed().step("topics").persist("topics"), "saved its topics")
    assert_holds(MetaVersionGate, agreed().step("topics").wait(1).persist("topics"))


def test_one_answer_causes_one_save() -> None:
    def saved(times: int, f: str = "topics") -> M:
        history = named().wait(3_000).step("topics", "answered")
        for _ in range(times):
            history.persist(f)
        return history

    assert_holds(MetaVersionGate, saved(0))
    assert_holds(MetaVersionGate, saved(1))
    assert_broken(MetaVersionGate, saved(2), "slave saved its topics 2 times after one answer")
    assert_broken(MetaVersionGate, saved(9), "slave saved its topics 2 times after one answer")
    assert_holds(MetaVersionGate, saved(1).step("offsets", "answered").persist("topics"))
    assert_holds(MetaVersionGate, saved(5, "delays"))
    # Clients may have made the slave create their topics and groups.
    used = named().call("pull", "slave", group="G").wait(3_000).step("topics", "answered")
    for _ in range(5):
        used.persist("topics")
    assert_holds(MetaVersionGate, used)
    assert_broken(MetaVersionGate, used.persist("topics"), "slave saved its topics 6 times after one answer")


# meta-one-way


def test_progress_that_only_a_slave_was_told_stays_there() -> None:
    def read(master: int, *commits: tuple[int, str]) -> M:
        history = named()
        for offset, node in commits:
            history.commit(offset, node)
        return history.table("offsets", {"T@G": {"0": master}}, "master")

    assert_holds(MetaOneWay, read(3, (3, "master"), (5, "slave")))
    assert_broken(MetaOneWay, read(5, (3, "master"), (5, "slave")), "has G at 5 of T/0, committed at slave only")
    assert_holds(MetaOneWay, read(5, (5, "slave"), (5, "master"), (6, "slave")))
    assert_vacuous(MetaOneWay, read(5, (5, "master"), (5, "slave")))
    assert_holds(MetaOneWay, named().commit(5, "slave").table("offsets", {}, "master"))
    # What a kill takes may come back from a slave only.
    for saves, how in ((False, "process"), (True, "process"), (False, "machine")):
        killed = named().commit(5)
        killed.persist("offsets", "master") if saves else killed
        killed.commit(5, "slave").again("master", how).table("offsets", {"T@G": {"0": 5}}, "master")
        assert bool(judged(MetaOneWay, killed.events).broken) is not saves
    stopped = named().commit(5).commit(5, "slave")
    stopped.stop("master").start("master")
    assert_vacuous(MetaOneWay, stopped.table("offsets", {"T@G": {"0": 5}}, "master"))
    # What never left its client is not told; what was lost on the way may have been.
    for phase, status, tells in (("fail", "refused", False), ("fail", "SYSTEM_ERROR", True), ("info", "timeout", True)):
        tried = named().call("commit", "master", phase, status, offset=5, group="G").commit(5, "slave")
        found = judged(MetaOneWay, tried.table("offsets", {"T@G": {"0": 5}}, "master").events)
        assert bool(found.broken) is not tells, (phase, status)
    assert_vacuous(MetaOneWay, named().commit(5, "slave").table("offsets", {"T@G": {"0": 5}}, "slave"))


def test_a_commit_that_waits_for_a_connection_may_reach_the_next_incarnation_of_the_master() -> None:
    def answered(node: str, restarts: bool) -> M:
        history = named()
        call = {"node": node, "process": 1, "op": 50, "f": "commit", "queue": "T/0", "group": "G", "queue_offset": 5}
        history.commit(5, "slave")
        history.add("invoke", **call)
        if restarts:
            history.crash("master").start("master")
        history.after(5).add("ok", **call, status="PUT_OK")
        return history.table("offsets", {"T@G": {"0": 5}}, "master")

    def lost(saves: bool, real_ms: int = 0) -> M:
        history = named()
        history.real(real_ms) if real_ms else history
        call = {
            "node": "master",
            "process": 1,
            "op": 50,
            "f": "commit",
            "queue": "T/0",
            "group": "G",
            "queue_offset": 5,
        }
        history.add("invoke", **call)
        history.persist("offsets", "master") if saves else history
        history.crash("master").add("info", **call, status="disconnected")
        history.commit(5, "slave").start("master")
        return history.table("offsets", {"T@G": {"0": 5}}, "master")

    assert_broken(MetaOneWay, lost(saves=False), "has G at 5 of T/0, committed at slave only")
    assert_vacuous(MetaOneWay, lost(saves=True))
    # In real time a save may be recorded after the kill.
    assert_vacuous(MetaOneWay, lost(saves=False, real_ms=5))
    assert_vacuous(MetaOneWay, answered("master", restarts=False))
    assert_vacuous(MetaOneWay, answered("master", restarts=True))
    assert_broken(MetaOneWay, answered("slave", restarts=True), "has G at 5 of T/0, committed at slave only")


@pytest.mark.parametrize("f", ["topic", "group"])
def test_names_that_only_a_slave_was_told_stay_there(f: str) -> None:
    def refused() -> M:
        return named().create(f, "X", "slave", "fail", "SYSTEM_ERROR")

    assert_holds(MetaOneWay, refused().table(f"{f}s", {"Y": {}}, "master"))
    assert_broken(MetaOneWay, refused().table(f"{f}s", {"X": {}}, "master"), "has X among its")
    wrapped: dict[str, object] = {"topicConfigTable": {"X": {}}, "subscriptionGroupTable": {"X": {}}}
    assert_broken(
        MetaOneWay,
        refused().table(f"{f}s", wrapped, "master"),
        "has X among its",
    )
    assert_vacuous(MetaOneWay, refused().create(f, "X").table(f"{f}s", {"X": {}}, "master"))
    used = refused().call("pull", queue="X/0", group="X")
    assert_vacuous(MetaOneWay, used.table(f"{f}s", {"X": {}}, "master"))


def test_a_consumer_creates_its_group_everywhere() -> None:
    history = named().create("group", "X", "slave", "fail", "SYSTEM_ERROR")
    history.add("consumer", process=3, status="on", group="X", f="clustering")
    assert_vacuous(MetaOneWay, history.table("groups", {"X": {}}, "master"))
