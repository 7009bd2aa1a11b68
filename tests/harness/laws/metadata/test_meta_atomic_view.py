"""Tests of ``meta-atomic-view``."""

import pytest
from histories import Story, assert_broken, assert_holds, assert_vacuous
from histories.tables import named, pulled, used

from pairproof.harness.rocketmq.laws.metadata.meta_atomic_view import MetaAtomicView


def test_a_slave_answers_with_what_it_has_synced() -> None:
    assert_holds(MetaAtomicView, pulled(used(), "PUT_OK"))
    assert_holds(MetaAtomicView, pulled(used(), "NO_PERMISSION"))
    assert_broken(MetaAtomicView, pulled(used(), "TOPIC_NOT_EXIST"), "answered TOPIC_NOT_EXIST, and had synced T")
    assert_broken(MetaAtomicView, pulled(used(), "SUBSCRIPTION_GROUP_NOT_EXIST"), "and had synced G")
    assert_broken(MetaAtomicView, pulled(used().after(10_000), "TOPIC_NOT_EXIST"), "had synced T")
    during = used()
    during.add("sync", node="slave", f="topics", status="asked")
    assert_broken(MetaAtomicView, pulled(during, "TOPIC_NOT_EXIST"), "had synced T")


@pytest.mark.parametrize(("f", "status"), [("topic", "TOPIC_NOT_EXIST"), ("group", "SUBSCRIPTION_GROUP_NOT_EXIST")])
def test_what_an_administrator_created_is_there_too(f: str, status: str) -> None:
    def created() -> Story:
        return named().after(1_000).create(f, "X")

    synced = created().after(2_000).round(**{f"{f}s": "applied"})
    assert_broken(MetaAtomicView, pulled(synced, status, group="X", queue="X/0"), "had synced X")
    assert_vacuous(MetaAtomicView, pulled(created(), status, group="X", queue="X/0"))


def test_what_was_not_synced_may_be_missing() -> None:
    for queue, group in (("T2/0", "G2"), ("T2/0", None)):
        assert_vacuous(MetaAtomicView, pulled(used(), "TOPIC_NOT_EXIST", group, queue))
    assert_vacuous(MetaAtomicView, pulled(named().client("send").after(3_000), "TOPIC_NOT_EXIST"))
    failed = named().client("send").after(3_000).step("topics", "failed")
    assert_vacuous(MetaAtomicView, pulled(failed, "TOPIC_NOT_EXIST"))
    # The slave had asked before the master was known to have it.
    older = named().after(3_000)
    older.add("sync", node="slave", f="topics", status="asked")
    older.client("send").add("sync", node="slave", f="topics", status="applied")
    assert_vacuous(MetaAtomicView, pulled(older, "TOPIC_NOT_EXIST"))


def test_a_master_that_went_down_may_have_lost_it() -> None:
    assert_holds(MetaAtomicView, pulled(used().crash("master"), "PUT_OK"))
    assert_broken(MetaAtomicView, pulled(used().crash("master"), "TOPIC_NOT_EXIST"), "had synced T")
    assert_vacuous(MetaAtomicView, pulled(used().killed("master").round(topics="applied"), "TOPIC_NOT_EXIST"))
    known = used().killed("master").client("send").round()
    assert_broken(MetaAtomicView, pulled(known, "TOPIC_NOT_EXIST"), "had synced T")


def test_an_answer_in_flight_when_the_master_died_proves_nothing_about_its_next_incarnation() -> None:
    def created(dies: bool) -> Story:
        history = named().after(1_000)
        call = {"node": "master", "process": 7, "op": 99, "f": "topic", "message": "X"}
        history.add("invoke", **call)
        if dies:
            history.killed("master", "machine")
        history.add("ok", **call, status="SUCCESS")
        return history.after(2_000).round()

    assert_vacuous(MetaAtomicView, pulled(created(True), "TOPIC_NOT_EXIST", queue="X/0"))
    assert_broken(MetaAtomicView, pulled(created(False), "TOPIC_NOT_EXIST", queue="X/0"), "had synced X")


def test_after_its_own_restart_another_law_judges() -> None:
    assert_vacuous(MetaAtomicView, pulled(used().killed("slave"), "TOPIC_NOT_EXIST"))
    assert_broken(MetaAtomicView, pulled(used().killed("slave").round(), "TOPIC_NOT_EXIST"), "had synced T")


def test_its_tables_show_what_it_has_synced() -> None:
    assert_holds(MetaAtomicView, used().table("topics", {"T": {}, "U": {}}).table("groups", {"G": {}}))
    assert_broken(MetaAtomicView, used().table("topics", {"U": {}}), "slave's topics lack T, which it had synced")
    assert_broken(MetaAtomicView, used().table("groups", {}), "slave's groups lack G")
    assert_vacuous(MetaAtomicView, used().table("topics", {}, "master"))


def test_a_lost_call_has_an_unknown_answer() -> None:
    assert_vacuous(MetaAtomicView, used().client("pull", "slave", "info", "timeout", group="G"))


def deleted(history: Story, *, saves: int = 1) -> Story:
    """The master saves its topics this often; then the slave syncs them."""
    history.after(1_000)
    for _ in range(saves):
        history.persist("topics", "master")
    return history.after(1_000).round(topics="applied")


def test_a_name_that_an_administrator_may_have_deleted_may_be_missing() -> None:
    assert_holds(MetaAtomicView, pulled(deleted(used()), "TOPIC_NOT_EXIST"))
    assert_holds(MetaAtomicView, deleted(used()).table("topics", {}))
    # A name that the saved table lacked cannot be lost.
    assert_broken(MetaAtomicView, pulled(deleted(used()), "SUBSCRIPTION_GROUP_NOT_EXIST"), "had synced G")


def test_a_master_that_still_has_it_after_one_save_never_deleted_it() -> None:
    lacking = pulled(deleted(used()), "TOPIC_NOT_EXIST")
    assert_broken(MetaAtomicView, lacking.client("send"), "answered TOPIC_NOT_EXIST, and had synced T")
    read = pulled(deleted(used()), "TOPIC_NOT_EXIST").table("topics", {"T": {}}, "master")
    assert_broken(MetaAtomicView, read, "answered TOPIC_NOT_EXIST, and had synced T")
    gone = pulled(deleted(used()), "TOPIC_NOT_EXIST").table("topics", {}, "master")
    assert_holds(MetaAtomicView, gone)


def test_a_name_that_was_created_again_counts_since_then() -> None:
    lacking = pulled(deleted(used()), "TOPIC_NOT_EXIST").persist("topics", "master").client("send")
    assert_holds(MetaAtomicView, lacking)
    # Not synced yet.
    again = deleted(used()).persist("topics", "master").client("send")
    assert_holds(MetaAtomicView, pulled(again, "TOPIC_NOT_EXIST"))
    synced = deleted(used()).persist("topics", "master").client("send").after(1_000).round(topics="applied")
    assert_broken(MetaAtomicView, pulled(synced, "TOPIC_NOT_EXIST"), "had synced T")


def test_a_call_in_flight_at_a_deletion_proves_nothing_after_it() -> None:
    history = used()
    call = {"node": "master", "process": 7, "op": 99, "f": "send", "queue": "T/0"}
    history.add("invoke", **call).add("persist", node="master", f="topics").add("ok", **call, status="PUT_OK")
    assert_holds(MetaAtomicView, pulled(history.after(1_000).round(topics="applied"), "TOPIC_NOT_EXIST"))
    waits = used().add("invoke", **call).persist("topics", "master").after(1_000).round(topics="applied")
    assert_holds(MetaAtomicView, pulled(waits, "TOPIC_NOT_EXIST").add("ok", **call, status="PUT_OK"))


def test_a_full_disk_hides_deletions() -> None:
    history = used()
    history.fault("disk_full", "master")
    assert_holds(MetaAtomicView, pulled(history.after(1_000).round(topics="applied"), "TOPIC_NOT_EXIST"))
