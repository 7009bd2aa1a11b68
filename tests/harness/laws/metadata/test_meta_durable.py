"""Tests of ``meta-durable``."""

from histories import Story, assert_broken, assert_holds, assert_unbroken, assert_vacuous, judged
from histories.tables import FULL, OFFSETS, VERSION, named, pulled, used

from pairproof.harness.rocketmq.laws.metadata.meta_durable import MetaDurable


def committed() -> Story:
    """As used(); the slave has also synced the group's progress."""
    return used().client_commit(5).after(9_000).round().after(2_000)


def test_synced_names_survive_a_restart() -> None:
    for how in ("process", "machine"):
        back = committed().killed("slave", how)
        assert_holds(MetaDurable, pulled(back, "PUT_OK"))
        assert_holds(MetaDurable, committed().killed("slave", how).table("topics", {"T": {}}))
        for status, name in (("TOPIC_NOT_EXIST", "T"), ("SUBSCRIPTION_GROUP_NOT_EXIST", "G")):
            lost = pulled(committed().killed("slave", how), status)
            assert_broken(MetaDurable, lost, f"answered {status} after its restart, and had synced {name}")
        assert_broken(
            MetaDurable, committed().killed("slave", how).table("topics", {}), "topics lack T after its restart"
        )
        assert_broken(MetaDurable, committed().killed("slave", how).table("groups", {}), "groups lack G")
    stopped = committed()
    stopped.stop("slave").start("slave")
    assert_broken(MetaDurable, stopped.table("topics", {}), "topics lack T")


def test_a_name_that_an_administrator_may_have_deleted_need_not_survive() -> None:
    def deleted(*more: str) -> Story:
        history = committed().persist("topics", "master")
        for f in more:
            history.persist(f, "master")
        return history.after(1_000).round(topics="applied").after(2_000).killed("slave")

    assert_holds(MetaDurable, deleted().table("topics", {}))
    assert_holds(MetaDurable, deleted().table("offsets", {}))
    assert_broken(MetaDurable, deleted().table("groups", {}), "groups lack G")
    # It was there all the time, or was created again.
    assert_broken(MetaDurable, deleted().table("topics", {}).client("send"), "topics lack T after its restart")
    assert_holds(MetaDurable, deleted("topics").table("topics", {}).client("send"))


def test_progress_survives_a_restart() -> None:
    assert_holds(MetaDurable, committed().killed("slave").table("offsets", {"T@G": {"0": 4}}))
    assert_broken(MetaDurable, committed().killed("slave").table("offsets", {"T@G": {"1": 5}}), "offsets lack T@G/0")
    assert_broken(MetaDurable, committed().killed("slave").table("offsets", {}), "offsets lack T@G/0")
    asked = committed().killed("slave")
    assert_holds(MetaDurable, asked.client("query", "slave", status="SUCCESS", offset=5, group="G"))
    none = committed().killed("slave").client("query", "slave", status="QUERY_NOT_FOUND", group="G")
    assert_broken(MetaDurable, none, "answered QUERY_NOT_FOUND after its restart, and had synced T@G/0")


def test_a_one_way_commit_may_arrive_late() -> None:
    soon = used().client_commit(5).after(900).round().killed("slave")
    assert_vacuous(MetaDurable, soon.table("offsets", {}))
    slow = used()
    slow.fault("latency", "client-master")
    slow.client_commit(5).after(9_000).round().killed("slave")
    assert_vacuous(MetaDurable, slow.table("offsets", {}))


def test_an_interrupted_step_loses_no_earlier_entry() -> None:
    cut = committed()
    cut.add("sync", node="slave", f="topics", status="asked")
    assert_broken(MetaDurable, cut.killed("slave").table("topics", {}), "topics lack T after its restart")


def test_a_power_loss_may_lose_unflushed_saves() -> None:
    assert_vacuous(MetaDurable, used().after(900).killed("slave", "machine").table("topics", {}))
    assert_broken(MetaDurable, used().after(1_100).killed("slave", "machine").table("topics", {}), "lack T")
    # The backup file helps if the last save is torn, but two saves may damage both.
    torn = used().after(1_100).persist("topics").after(1)
    assert_broken(MetaDurable, torn.killed("slave", "machine").table("topics", {}), "lack T")
    twice = used().after(1_100).persist("topics").persist("topics").after(1)
    assert_vacuous(MetaDurable, twice.killed("slave", "machine").table("topics", {}))
    stalled = used()
    stalled.fault("disk_stall", "slave")
    assert_vacuous(MetaDurable, stalled.after(5_000).killed("slave", "machine").table("topics", {}))


def test_a_disk_that_lied_or_was_full_and_a_new_store_excuse_the_loss() -> None:
    lied = committed()
    lied.add("crash", node="slave", f="machine", status="lied", value=1).start("slave")
    assert_vacuous(MetaDurable, lied.table("topics", {}))
    wiped = committed()
    wiped.wipe("slave").start("slave")
    assert_vacuous(MetaDurable, wiped.table("topics", {}))
    full = named().client("send", status="PUT_OK").after(3_000)
    full.fault("disk_full", "slave")
    full.round(topics="applied").fault("disk_full", "slave", "off")
    assert_vacuous(MetaDurable, full.killed("slave").table("topics", {}))


def test_a_slave_keeps_it_while_its_master_is_down_and_may_sync_a_loss_later() -> None:
    alone = committed().crash("master").killed("slave")
    assert_broken(MetaDurable, alone.table("topics", {}), "topics lack T")
    assert_vacuous(MetaDurable, committed().killed("master").killed("slave").table("topics", {}))


def test_after_the_next_sync_another_law_judges() -> None:
    assert_unbroken(MetaDurable, committed().killed("slave").round().table("topics", {}))
    failed = committed().killed("slave").step("topics", "failed")
    assert_broken(MetaDurable, failed.table("topics", {}), "topics lack T")
    # An entry that survived one restart survives another.
    assert_broken(MetaDurable, committed().killed("slave").round().killed("slave").table("topics", {}), "topics lack T")


def test_tables_that_equalled_the_master_s_still_do_at_the_next_sync() -> None:
    def synced(how: str = "process", **statuses: str) -> Story:
        return committed().killed("slave", how).after(3_000).round(**statuses)

    for how in ("process", "machine"):
        assert_holds(MetaDurable, synced(how))
        assert_broken(MetaDurable, synced(how, topics="applied"), "slave has other topics after its restart")
        assert_broken(MetaDurable, synced(how, groups="applied"), "slave has other groups after its restart")
    stopped = committed()
    stopped.stop("slave").start("slave")
    assert_broken(MetaDurable, stopped.round(topics="applied"), "slave has other topics")
    # Only the first sync of an incarnation is judged.
    assert_holds(MetaDurable, synced().after(10_000).round(topics="applied"))
    cut = committed()
    cut.add("sync", node="slave", f="topics", status="asked")
    assert_broken(MetaDurable, cut.killed("slave").round(topics="applied"), "slave has other topics")


def test_a_table_that_either_side_may_have_changed_proves_nothing() -> None:
    def broken(history: Story) -> int:
        return judged(MetaDurable, history.round(topics="applied").events).broken

    assert broken(committed().killed("slave")) == 1
    assert broken(committed().persist("topics", "master").killed("slave")) == 0
    assert broken(committed().killed("slave").persist("topics", "master")) == 0
    assert broken(committed().persist("topics").killed("slave")) == 0
    assert broken(committed().killed("slave").persist("topics")) == 0
    assert broken(committed().killed("master").killed("slave")) == 0
    assert broken(committed().killed("slave").killed("master")) == 0
    for node in ("master", "slave"):
        full = committed()
        full.fault("disk_full", node)
        assert broken(full.killed("slave")) == 0
    saving = committed()
    saving.add("sync", node="slave", f="topics", status="asked")
    assert broken(saving.persist("topics").killed("slave")) == 0
    assert broken(named().after(3_000).round().persist("topics").after(500).killed("slave", "machine")) == 0
    lied = committed()
    lied.add("crash", node="slave", f="machine", status="lied", value=1).start("slave")
    assert broken(lied) == 0
    wiped = committed()
    wiped.wipe("slave").start("slave")
    assert broken(wiped) == 0


def read(f: str = "topics") -> Story:
    """The slave's table was read after a sync."""
    content, version = (OFFSETS, None) if f == "offsets" else (FULL, VERSION)
    return committed().table(f, content, version=version)


def test_a_restart_does_not_change_a_table() -> None:
    assert_holds(MetaDurable, read().killed("slave").table("topics", {**FULL, "SYSTEM": {}}, version=VERSION))
    assert_broken(MetaDurable, read().killed("slave").table("topics", FULL, version=(1, 50)), "are of version (1, 50)")
    changed: dict[str, object] = {"T": {"q": 4}}
    assert_broken(MetaDurable, read().killed("slave").table("topics", changed, version=VERSION), "lost or changed T")
    assert_holds(MetaDurable, read("offsets").killed("slave").table("offsets", OFFSETS))
    other: dict[str, object] = {"T@G": {"0": 4}}
    assert_broken(MetaDurable, read("offsets").killed("slave").table("offsets", other), "lost or changed T@G")
    delays = committed().table("delays", {"3": 7})
    assert_broken(MetaDurable, delays.killed("slave").table("delays", {}), "lost or changed 3")


def test_a_table_that_changed_in_between_is_not_compared() -> None:
    changed: dict[str, object] = {"T": {"q": 4}}
    assert_vacuous_about(read().round(topics="applied").killed("slave"), changed)
    assert_vacuous_about(read().round(topics="answered").killed("slave"), changed)
    assert_vacuous_about(read().persist("topics").killed("slave"), changed)
    assert_vacuous_about(read().killed("slave").persist("topics"), changed)
    assert_vacuous_about(read().persist("topics", "master").killed("slave").step("topics", "applied"), changed)
    cut = read()
    cut.add("sync", node="slave", f="topics", status="asked")
    assert_vacuous_about(cut.killed("slave"), changed)
    assert_vacuous_about(read().killed("slave", "machine"), changed)
    # A save without a change is no change, and a slave saves a commit at some time.
    other: dict[str, object] = {"T@G": {"0": 4}}
    assert_broken(
        MetaDurable, read("offsets").persist("offsets").killed("slave").table("offsets", other), "changed T@G"
    )
    for history in (
        committed().client_commit(4, "slave").table("offsets", OFFSETS).killed("slave"),
        read("offsets").client_commit(4, "slave").killed("slave"),
        read("offsets").killed("slave").client_commit(4, "slave"),
    ):
        assert_unbroken(MetaDurable, history.table("offsets", other))


def assert_vacuous_about(history: Story, content: dict[str, object]) -> None:
    """This reading is judged only for the presence of T."""
    assert_unbroken(MetaDurable, history.table("topics", content, version=(9, 9)))
