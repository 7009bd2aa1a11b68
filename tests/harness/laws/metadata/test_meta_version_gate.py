"""Tests of ``meta-version-gate``."""

import pytest
from histories import Story, assert_broken, assert_holds, assert_vacuous
from histories.tables import named

from pairproof.harness.rocketmq.laws.metadata.meta_version_gate import MetaVersionGate


def agreed() -> Story:
    """One round, after which topics and groups equal the master's."""
    return named().after(3_000).round(topics="applied", groups="applied").after(10_000)


def administered() -> Story:
    """An administrator has tried to change the slave."""
    return agreed().add("invoke", node="slave", process=7, op=700, f="group", message="GA", detail="{}")


def test_an_unchanged_table_is_not_applied_again() -> None:
    assert_holds(MetaVersionGate, agreed().round().after(10_000).round())
    again = agreed().round(topics="applied")
    assert_broken(MetaVersionGate, again, "took over the master's topics, though neither has changed")
    assert_broken(MetaVersionGate, agreed().round(groups="applied"), "took over the master's groups")
    assert_broken(MetaVersionGate, agreed().round().after(10_000).round(groups="applied"), "took over")


def test_a_table_that_master_or_slave_changed_is_applied() -> None:
    assert_holds(MetaVersionGate, agreed().persist("topics", "master").round(topics="applied"))
    assert_holds(MetaVersionGate, administered().persist("groups", "slave").round(groups="applied"))
    assert_broken(
        MetaVersionGate, agreed().persist("groups", "master").round(topics="applied", groups="applied"), "took over"
    )
    # The earlier step's answer may have been in flight during the change.
    during = named().after(3_000)
    during.add("sync", node="slave", f="topics", status="asked")
    during.after(1).persist("topics", "master").after(1).persist("topics").add(
        "sync", node="slave", f="topics", status="applied"
    )
    assert_holds(MetaVersionGate, during.after(9_000).round(topics="applied"))
    assert_holds(MetaVersionGate, agreed().killed("master").round(topics="applied"))
    assert_holds(MetaVersionGate, agreed().killed("slave").round(topics="applied"))


def test_a_slave_s_own_change_during_a_step_is_a_change() -> None:
    local = agreed()
    local.add("sync", node="slave", f="topics", status="asked").after(1)
    local.persist("topics").after(1).persist("topics").add("sync", node="slave", f="topics", status="applied")
    assert_holds(MetaVersionGate, local)


def test_a_fault_may_keep_a_change_from_being_saved() -> None:
    for node in ("master", "slave"):
        full = agreed()
        full.fault("disk_full", node)
        assert_holds(MetaVersionGate, full.round(topics="applied"))


@pytest.mark.parametrize("f", ["topics", "groups"])
def test_a_new_version_of_the_master_is_applied(f: str) -> None:
    def changed() -> Story:
        return agreed().persist(f, "master").after(1)

    assert_holds(MetaVersionGate, changed().round(**{f: "applied"}))
    assert_broken(MetaVersionGate, changed().round(), f"took its {f} for the master's, though those were changed")
    failed = changed().step(f, "failed").after(10_000).step(f)
    assert_broken(MetaVersionGate, failed, f"took its {f} for the master's")
    assert_holds(MetaVersionGate, changed().killed("master").round())
    # A save may be a retry, after a full disk.
    full = agreed()
    full.fault("disk_full", "master").fault("disk_full", "master", "off")
    assert_holds(MetaVersionGate, full.persist(f, "master").round())
    # It may come after the slave has applied the table: as late as progress is saved.
    for ms in (4_000, 6_000):
        full = named()
        full.fault("disk_full", "master").fault("disk_full", "master", "off")
        late = full.after(1).round(topics="applied", groups="applied").after(ms).persist(f, "master").round()
        if ms < 5_000:
            assert_holds(MetaVersionGate, late)
        else:
            assert_broken(MetaVersionGate, late, f"took its {f} for the master's")


def test_an_answer_that_overlaps_a_change_may_be_older() -> None:
    over = agreed()
    over.add("sync", node="slave", f="topics", status="asked").after(1)
    over.persist("topics", "master").after(1).add("sync", node="slave", f="topics", status="same")
    assert_holds(MetaVersionGate, over.after(1).round(topics="applied"))


def test_exactly_the_applied_tables_are_saved() -> None:
    unsaved = named().after(3_000).step("topics", "applied", saves=False).step("offsets")
    assert_broken(MetaVersionGate, unsaved.after(1).mark("end"), "took over the master's topics, and did not save them")
    after = named().after(3_000).step("topics", "applied", saves=False).persist("topics").step("offsets")
    assert_holds(MetaVersionGate, after)
    full = named().after(3_000)
    full.fault("disk_full", "slave")
    assert_holds(MetaVersionGate, full.step("topics", "applied", saves=False).step("offsets"))
    crashed = named().after(3_000).step("topics", "applied", saves=False).crash("slave").after(1)
    assert_holds(MetaVersionGate, crashed.mark("end"))
    before = agreed()
    before.add("sync", node="slave", f="groups", status="asked").after(1)
    before.persist("groups").add("sync", node="slave", f="groups", status="same")
    assert_broken(MetaVersionGate, before, "saved its groups, though they were the master's already")
    for saves, check in ((1, assert_holds), (2, None)):
        late = named()
        late.fault("disk_full", "slave")
        late.step("groups", "applied", saves=False).step("offsets").after(1).killed("master")
        late.fault("disk_full", "slave", "off")
        for _ in range(saves):
            late.after(9_000).add("sync", node="slave", f="groups", status="asked").after(1)
            late.persist("groups").add("sync", node="slave", f="groups", status="same")
        if check is not None:
            check(MetaVersionGate, late)
        else:
            assert_broken(MetaVersionGate, late, "saved its groups, though they were the master's already")
    for saves, says in ((True, None), (False, "took over the master's groups, and did not save them")):
        twice = named()
        twice.fault("disk_full", "slave")
        for _ in range(2):
            twice.step("groups", "applied", saves=False).after(9_000)
            twice.killed("master")
        twice.fault("disk_full", "slave", "off")
        twice.after(2_000).persist("groups").after(9_000).step("groups", "applied", saves=saves).after(1).mark("end")
        if says is None:
            assert_holds(MetaVersionGate, twice)
        else:
            assert_broken(MetaVersionGate, twice, says)
    assert_broken(MetaVersionGate, agreed().step("topics").persist("topics"), "saved its topics")


def test_one_answer_causes_one_save() -> None:
    def saved(times: int, f: str = "topics") -> Story:
        history = named().after(3_000).step("topics", "answered")
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
    used = named().client("pull", "slave", group="G").after(3_000).step("topics", "answered")
    for _ in range(5):
        used.persist("topics")
    assert_holds(MetaVersionGate, used)
    assert_broken(MetaVersionGate, used.persist("topics"), "slave saved its topics 6 times after one answer")


@pytest.mark.parametrize("f", ["topics", "groups"])
def test_a_quiet_slave_saves_nothing_between_two_syncs(f: str) -> None:
    assert_broken(MetaVersionGate, agreed().after(1).persist(f), f"slave saved its {f} between two syncs")
    assert_broken(MetaVersionGate, agreed().step(f).after(1).persist(f), f"slave saved its {f} between two syncs")
    for other in ("offsets", "delays"):
        assert_holds(MetaVersionGate, agreed().after(1).persist(other))
    assert_holds(MetaVersionGate, administered().after(1).persist(f))
    assert_vacuous(MetaVersionGate, named().after(1).persist(f))
    assert_holds(MetaVersionGate, agreed().killed("slave").persist(f).round())
    full = agreed().fault("disk_full", "slave").fault("disk_full", "slave", "off")
    assert_holds(MetaVersionGate, full.after(1).persist(f))
