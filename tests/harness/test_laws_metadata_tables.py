"""What a slave's tables hold: while it syncs, after its restart, and once nothing changes any more."""

from __future__ import annotations

import pytest
from metadata_histories import M, named, pulled, unknown, used

from pairproof.harness.history import kinds
from pairproof.harness.judging.judge import Judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.metadata.meta_atomic_view import MetaAtomicView
from pairproof.harness.rocketmq.laws.metadata.meta_converges import MetaConverges
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

VERSION = (2, 50)
FULL: dict[str, object] = {"T": {"q": 8}}
OFFSETS: dict[str, object] = {"T@G": {"0": 5}}


# meta-atomic-view


def test_a_slave_answers_with_what_it_has_synced() -> None:
    assert_holds(MetaAtomicView, pulled(used(), "PUT_OK"))
    assert_holds(MetaAtomicView, pulled(used(), "NO_PERMISSION"))
    assert_broken(MetaAtomicView, pulled(used(), "TOPIC_NOT_EXIST"), "answered TOPIC_NOT_EXIST, and had synced T")
    assert_broken(MetaAtomicView, pulled(used(), "SUBSCRIPTION_GROUP_NOT_EXIST"), "and had synced G")
    assert_broken(MetaAtomicView, pulled(used().wait(10_000), "TOPIC_NOT_EXIST"), "had synced T")
    during = used()
    during.add("sync", node="slave", f="topics", status="asked")
    assert_broken(MetaAtomicView, pulled(during, "TOPIC_NOT_EXIST"), "had synced T")


@pytest.mark.parametrize(("f", "status"), [("topic", "TOPIC_NOT_EXIST"), ("group", "SUBSCRIPTION_GROUP_NOT_EXIST")])
def test_what_an_administrator_created_is_there_too(f: str, status: str) -> None:
    def created() -> M:
        return named().wait(1_000).create(f, "X")

    synced = created().wait(2_000).round(**{f"{f}s": "applied"})
    assert_broken(MetaAtomicView, pulled(synced, status, group="X", queue="X/0"), "had synced X")
    assert_vacuous(MetaAtomicView, pulled(created(), status, group="X", queue="X/0"))


def test_what_was_not_synced_may_be_missing() -> None:
    for queue, group in (("T2/0", "G2"), ("T2/0", None)):
        assert_vacuous(MetaAtomicView, pulled(used(), "TOPIC_NOT_EXIST", group, queue))
    assert_vacuous(MetaAtomicView, pulled(named().call("send").wait(3_000), "TOPIC_NOT_EXIST"))
    failed = named().call("send").wait(3_000).step("topics", "failed")
    assert_vacuous(MetaAtomicView, pulled(failed, "TOPIC_NOT_EXIST"))
    # The slave had asked before the master was known to have it.
    older = named().wait(3_000)
    older.add("sync", node="slave", f="topics", status="asked")
    older.call("send").add("sync", node="slave", f="topics", status="applied")
    assert_vacuous(MetaAtomicView, pulled(older, "TOPIC_NOT_EXIST"))


def test_a_master_that_went_down_may_have_lost_it() -> None:
    assert_holds(MetaAtomicView, pulled(used().down("master"), "PUT_OK"))
    assert_broken(MetaAtomicView, pulled(used().down("master"), "TOPIC_NOT_EXIST"), "had synced T")
    assert_vacuous(MetaAtomicView, pulled(used().again("master").round(topics="applied"), "TOPIC_NOT_EXIST"))
    known = used().again("master").call("send").round()
    assert_broken(MetaAtomicView, pulled(known, "TOPIC_NOT_EXIST"), "had synced T")


def test_an_answer_that_was_under_way_when_the_master_died_says_nothing_of_its_next_life() -> None:
    def created(dies: bool) -> M:
        history = named().wait(1_000)
        call = {"node": "master", "process": 7, "op": 99, "f": "topic", "message": "X"}
        history.add("invoke", **call)
        if dies:
            history.again("master", "machine")
        history.add("ok", **call, status="SUCCESS")
        return history.wait(2_000).round()

    assert_vacuous(MetaAtomicView, pulled(created(True), "TOPIC_NOT_EXIST", queue="X/0"))
    assert_broken(MetaAtomicView, pulled(created(False), "TOPIC_NOT_EXIST", queue="X/0"), "had synced X")


def test_after_its_own_restart_another_law_judges() -> None:
    assert_vacuous(MetaAtomicView, pulled(used().again("slave"), "TOPIC_NOT_EXIST"))
    assert_broken(MetaAtomicView, pulled(used().again("slave").round(), "TOPIC_NOT_EXIST"), "had synced T")


def test_its_tables_show_what_it_has_synced() -> None:
    assert_holds(MetaAtomicView, used().table("topics", {"T": {}, "U": {}}).table("groups", {"G": {}}))
    assert_broken(MetaAtomicView, used().table("topics", {"U": {}}), "slave's topics lack T, which it had synced")
    assert_broken(MetaAtomicView, used().table("groups", {}), "slave's groups lack G")
    assert_vacuous(MetaAtomicView, used().table("topics", {}, "master"))


def test_nobody_knows_how_a_lost_call_was_answered() -> None:
    assert_vacuous(MetaAtomicView, used().call("pull", "slave", "info", "timeout", group="G"))


# meta-converges


def tables(history: M, **slave: dict[str, object]) -> M:
    """All tables of both are read; the slave's are the master's but for what is told."""
    master: dict[str, dict[str, object]] = {"topics": FULL, "groups": {"G": {}}, "offsets": OFFSETS, "delays": {"3": 7}}
    for f, content in master.items():
        version = VERSION if f in ("topics", "groups") else None
        history.table(f, content, "master", version)
        history.table(f, slave.get(f, content), "slave", version)
    return history.marked("end")


def quiet(ms: float = 0) -> M:
    """Healed, all synced since, and some time passed."""
    return named().wait(1_000).marked("heal").wait(2_000).round(topics="applied").wait(ms)


def test_a_slave_s_tables_become_its_master_s() -> None:
    assert assert_holds(MetaConverges, tables(quiet())).judged == 4
    assert_broken(MetaConverges, tables(quiet(), topics={"T": {"q": 4}}), "slave's topics are not the master's: they")
    assert_broken(MetaConverges, tables(quiet(), groups={}), "they differ in G")
    assert_broken(MetaConverges, tables(quiet(), groups={"G": {}, "H": {}}), "they differ in H")
    assert_broken(MetaConverges, tables(quiet(), offsets={"T@G": {"0": 4}}), "they differ in T@G")
    assert_broken(MetaConverges, tables(quiet(), offsets={"T@G": {"0": 5, "1": 6}}), "they differ in T@G")
    assert_broken(MetaConverges, tables(quiet(), delays={}), "they differ in 3")
    assert_holds(MetaConverges, tables(quiet(), offsets={**OFFSETS, "T@OLD": {"0": 1}}))


def test_delays_may_pass_over_what_was_deleted() -> None:
    def read(begins: int) -> M:
        history = quiet()
        history.audit(start=begins)
        return tables(history, delays={})

    assert_broken(MetaConverges, read(0), "they differ in 3")
    assert assert_holds(MetaConverges, read(1_024)).judged == 3


def test_brokers_agree_in_the_fields_that_both_have() -> None:
    def read(**slave: dict[str, object]) -> M:
        history = named("5.5.0").wait(1_000).marked("heal").wait(2_000).round(topics="applied")
        table: dict[str, object] = {name: {"q": 4, "attributes": {}} for name in ("T", "U")}
        history.table("topics", table, "master", VERSION).table("topics", {**slave}, "slave", VERSION)
        return history.marked("end")

    assert_holds(MetaConverges, read(T={"q": 4}, U={"q": 4}))
    assert_broken(MetaConverges, read(T={"q": 4}, U={"q": 8}), "they differ in U")
    assert_broken(MetaConverges, read(T={"q": 4}), "they differ in U")
    assert_broken(MetaConverges, read(T={"q": 4, "attributes": {}}, U={"q": 4}), "they differ in U")


@pytest.mark.parametrize("version", [(3, 50), (2, 51)])
def test_so_do_their_data_versions(version: tuple[int, int]) -> None:
    history = quiet().table("topics", FULL, "master", VERSION).table("topics", FULL, "slave", version)
    assert_broken(MetaConverges, history, f"version {version}, the master's {VERSION}")


WRONG: dict[str, dict[str, object]] = {"topics": {}, "groups": {}, "offsets": {}, "delays": {}}


def test_who_has_not_synced_has_a_period_and_four_calls() -> None:
    for statuses in ({}, {"topics": "failed", "groups": "failed", "offsets": "failed", "delays": "failed"}):

        def late(ms: float, statuses: dict[str, str] = statuses) -> M:
            history = named().wait(1_000).marked("heal")
            if statuses:
                history.round(**statuses).wait(-4)
            return tables(history.wait(ms), **WRONG)

        # For offsets the change counts a second later.
        assert_vacuous(MetaConverges, late(22_000))
        assert_broken(MetaConverges, late(23_001), "are not the master's", times=4)


def test_who_was_answered_and_does_not_say_what_it_took_over_owes_it_when_it_goes_on_or_a_second_later() -> None:
    def answered(*tables: str) -> M:
        history = named().wait(1_000).marked("heal").wait(2_000)
        for table in tables:
            history.step(table, "answered")
        return history

    def read(history: M, f: str = "topics", **content: object) -> M:
        history.table(f, FULL if f == "topics" else OFFSETS, "master", VERSION)
        return history.table(f, content, "slave", VERSION)

    assert_holds(MetaConverges, read(answered("topics", "offsets"), **FULL))
    assert_broken(MetaConverges, read(answered("topics", "offsets")), "are not the master's")
    assert_vacuous(MetaConverges, read(answered("topics")))
    assert_vacuous(MetaConverges, read(answered("topics", "offsets"), "offsets"))
    assert_broken(MetaConverges, read(answered("topics").wait(1_000)), "are not the master's")
    # What a slave makes of an answer is no change of its own.
    rewritten = answered("topics").persist("topics").persist("topics").wait(1_000)
    assert_broken(MetaConverges, read(rewritten), "are not the master's")
    assert_vacuous(MetaConverges, read(answered("topics", "offsets").persist("topics").wait(1_000)))
    # Its next life knows nothing of this one's answer.
    assert_vacuous(MetaConverges, read(answered("topics").again("slave").register().wait(1_001)))


def test_who_could_not_read_its_masters_answer_owes_the_table_at_once() -> None:
    unread = named().wait(1_000).marked("heal").wait(2_000).round(**dict.fromkeys(WRONG, "unread"))
    assert_broken(MetaConverges, tables(unread, **WRONG), "are not the master's", times=4)


def test_topics_that_nobody_ever_had_are_the_slave_s_own() -> None:
    def read(used: bool) -> M:
        history = named().wait(1_000).marked("heal").wait(2_000)
        history.call("send", queue="OWN/0") if used else history
        history.wait(1_000).round(**dict.fromkeys(("topics", "groups"), "applied"))
        history.table("topics", FULL, "master", VERSION)
        return history.table("topics", {**FULL, "OWN": {}}, "slave", VERSION)

    assert_holds(MetaConverges, read(used=False))
    assert_broken(MetaConverges, read(used=True), "they differ in OWN")


def test_one_failure_may_only_have_shown_that_a_connection_was_dead() -> None:
    def failing(*times_ms: float) -> M:
        history = named().marked("heal")
        for ms in times_ms:
            history.wait(ms).step("topics", "failed")
        return history

    def read(history: M) -> M:
        return history.table("topics", FULL, "master", VERSION).table("topics", {}, version=VERSION)

    assert_vacuous(MetaConverges, read(failing(10_000).wait(22_000)))
    assert_broken(MetaConverges, read(failing(10_000).wait(22_001)), "are not the master's")
    assert_broken(MetaConverges, read(failing(10_000, 10_000).wait(12_001)), "are not the master's")


def test_who_does_not_know_its_master_has_three_registration_periods_too() -> None:
    def late(ms: float, **settings: object) -> M:
        return tables(unknown(**settings).marked("heal").wait(ms), **WRONG)

    assert_vacuous(MetaConverges, late(112_000))
    assert_broken(MetaConverges, late(113_001), "are not the master's", times=4)
    assert_vacuous(MetaConverges, late(202_000, registerNameServerPeriod=90_000))
    assert_vacuous(MetaConverges, late(52_000, registerNameServerPeriod=1_000))
    told = unknown().marked("heal").wait(60_000).register().wait(22_000)
    assert_vacuous(MetaConverges, tables(told, **WRONG))
    lost = unknown().register().marked("heal").register(master=None).wait(112_000)
    assert_vacuous(MetaConverges, tables(lost, **WRONG))


@pytest.mark.parametrize(
    "kind", ["fault", "restart", "pause", "commit", "topic", "consumer", "use", "persist", "local", "stored", "heal"]
)
def test_what_changes_after_a_sync_is_not_owed_yet(kind: str) -> None:
    history = quiet(1_000)
    late = {
        "fault": lambda: history.fault("stall", "meta").fault("stall", "meta", "off"),
        "restart": lambda: history.again("slave").register(),
        "pause": lambda: history.pause("master", 100),
        "commit": lambda: history.commit(9),
        "topic": lambda: history.create("topic", "X").create("group", "X"),
        "consumer": lambda: history.add("consumer", process=1, status="on", group="G"),
        "use": lambda: history.call("pull", group="G2"),
        "persist": lambda: history.persist("topics", "master").persist("groups", "master"),
        "local": lambda: history.persist("topics").persist("groups"),
        "stored": lambda: history.put("m0"),
        "heal": lambda: history.marked("heal"),
    }
    late[kind]()
    touched = {
        "commit": ["offsets"], "topic": ["topics", "groups"], "consumer": ["topics", "groups"],
        "use": ["topics", "groups"], "persist": ["topics", "groups"], "local": ["topics", "groups"],
        "stored": ["delays"],
    }.get(kind, list(WRONG))  # fmt: skip
    wrong = {f: WRONG[f] for f in touched}
    assert judged(MetaConverges, tables(history, **wrong).events).broken == 0
    # The next sync brings it.
    again = tables(history.wait(9_000).round(topics="applied"), **wrong)
    found = judged(MetaConverges, again.events)
    assert found.broken == len(touched), found.violations


def test_the_same_commit_again_changes_nothing_and_saving_is_part_of_a_sync() -> None:
    history = quiet().commit(9).wait(9_000).round(topics="applied").commit(9)
    assert_broken(MetaConverges, tables(history, offsets={}), "they differ in T@G")
    after = quiet().wait(9_000).step("topics", "applied", saves=False).persist("topics")
    assert_broken(MetaConverges, tables(after, topics={}), "they differ in T")


def test_a_commit_at_a_slave_replaces_what_it_has_of_its_master_each_time() -> None:
    """A consumer that has lost the master's route commits there what it committed there before; a sync is between."""
    history = quiet().commit(5).commit(9, "slave").wait(9_000).round(topics="applied").commit(9, "slave")
    assert judged(MetaConverges, tables(history, offsets={"T@G": {"0": 9}}).events).broken == 0
    same = quiet().commit(5).commit(5, "slave").wait(9_000).round(topics="applied").commit(5, "slave")
    assert_broken(MetaConverges, tables(same, offsets={"T@G": {"0": 9}}), "they differ in T@G")


def test_readings_before_healing_and_of_one_node_alone_say_nothing() -> None:
    early = named().wait(3_000).round().table("topics", FULL, "master", VERSION).table("topics", {}, version=VERSION)
    assert_vacuous(MetaConverges, early.wait(60_000).marked("heal").wait(60_000).marked("end"))
    assert_vacuous(MetaConverges, quiet().table("topics", FULL, "master", VERSION).marked("end"))


def test_where_nobody_sees_what_a_master_saves_a_heartbeat_may_come_later() -> None:
    judge = Judge((MetaConverges,), frozenset(kinds()) - {"persist", "sync", "register"})
    judge.feed_all(tables(quiet(20_000), topics={}).events)
    assert judge.finish()[0].verdict is Verdict.HOLDS
    late = Judge((MetaConverges,), frozenset(kinds()) - {"persist"})
    late.feed_all(tables(quiet(31_000).round(), topics={}).events)
    assert late.finish()[0].verdict is Verdict.VIOLATED


# Deletions, by an administrator whom nobody watches: the master's saves are all that is seen of them.


def deleted(history: M, *, saves: int = 1) -> M:
    """The master saves its topics so often; then the slave syncs them."""
    history.wait(1_000)
    for _ in range(saves):
        history.persist("topics", "master")
    return history.wait(1_000).round(topics="applied")


def test_what_an_administrator_may_have_deleted_may_be_missing() -> None:
    assert_holds(MetaAtomicView, pulled(deleted(used()), "TOPIC_NOT_EXIST"))
    assert_holds(MetaAtomicView, deleted(used()).table("topics", {}))
    # What is not in the table that was saved cannot have gone.
    assert_broken(MetaAtomicView, pulled(deleted(used()), "SUBSCRIPTION_GROUP_NOT_EXIST"), "had synced G")


def test_a_master_that_still_has_it_after_one_save_never_deleted_it() -> None:
    lacking = pulled(deleted(used()), "TOPIC_NOT_EXIST")
    assert_broken(MetaAtomicView, lacking.call("send"), "answered TOPIC_NOT_EXIST, and had synced T")
    read = pulled(deleted(used()), "TOPIC_NOT_EXIST").table("topics", {"T": {}}, "master")
    assert_broken(MetaAtomicView, read, "answered TOPIC_NOT_EXIST, and had synced T")
    gone = pulled(deleted(used()), "TOPIC_NOT_EXIST").table("topics", {}, "master")
    assert_holds(MetaAtomicView, gone)


def test_what_was_deleted_and_created_anew_counts_from_then_on() -> None:
    lacking = pulled(deleted(used()), "TOPIC_NOT_EXIST").persist("topics", "master").call("send")
    assert_holds(MetaAtomicView, lacking)
    # Not synced yet.
    again = deleted(used()).persist("topics", "master").call("send")
    assert_holds(MetaAtomicView, pulled(again, "TOPIC_NOT_EXIST"))
    synced = deleted(used()).persist("topics", "master").call("send").wait(1_000).round(topics="applied")
    assert_broken(MetaAtomicView, pulled(synced, "TOPIC_NOT_EXIST"), "had synced T")


def test_a_call_under_way_at_a_deletion_says_nothing_of_what_follows() -> None:
    history = used()
    call = {"node": "master", "process": 7, "op": 99, "f": "send", "queue": "T/0"}
    history.add("invoke", **call).add("persist", node="master", f="topics").add("ok", **call, status="PUT_OK")
    assert_holds(MetaAtomicView, pulled(history.wait(1_000).round(topics="applied"), "TOPIC_NOT_EXIST"))


def test_a_full_disk_hides_deletions() -> None:
    history = used()
    history.fault("disk_full", "master")
    assert_holds(MetaAtomicView, pulled(history.wait(1_000).round(topics="applied"), "TOPIC_NOT_EXIST"))
