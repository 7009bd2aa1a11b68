"""Tests of ``meta-converges``."""

import pytest
from histories import Story, Verdict, assert_broken, assert_holds, assert_unbroken, assert_vacuous, blind, judged
from histories.tables import FULL, OFFSETS, VERSION, named, unknown

from pairproof.harness.history import kinds
from pairproof.harness.judging.judge import Judge
from pairproof.harness.rocketmq.laws.metadata.meta_converges import MetaConverges


def tables(history: Story, **slave: dict[str, object]) -> Story:
    """All tables of both are read; the slave's equal the master's, except for ``slave``."""
    master: dict[str, dict[str, object]] = {"topics": FULL, "groups": {"G": {}}, "offsets": OFFSETS, "delays": {"3": 7}}
    for f, content in master.items():
        version = VERSION if f in ("topics", "groups") else None
        history.table(f, content, "master", version)
        history.table(f, slave.get(f, content), "slave", version)
    return history.mark("end")


def quiet(ms: float = 0) -> Story:
    """Healed, synced since, and some time passed."""
    return named().after(1_000).mark("heal").after(2_000).round(topics="applied").after(ms)


def test_a_slave_s_tables_equal_its_master_s() -> None:
    assert assert_holds(MetaConverges, tables(quiet())).judged == 4
    assert_broken(MetaConverges, tables(quiet(), topics={"T": {"q": 4}}), "slave's topics are not the master's: they")
    assert_broken(MetaConverges, tables(quiet(), groups={}), "they differ in G")
    assert_broken(MetaConverges, tables(quiet(), groups={"G": {}, "H": {}}), "they differ in H")
    assert_broken(MetaConverges, tables(quiet(), offsets={"T@G": {"0": 4}}), "they differ in T@G")
    assert_broken(MetaConverges, tables(quiet(), offsets={"T@G": {"0": 5, "1": 6}}), "they differ in T@G")
    assert_broken(MetaConverges, tables(quiet(), delays={}), "they differ in 3")
    assert_holds(MetaConverges, tables(quiet(), offsets={**OFFSETS, "T@OLD": {"0": 1}}))


def test_delays_may_pass_over_what_was_deleted() -> None:
    def read(begins: int) -> Story:
        history = quiet()
        history.audit(start=begins)
        return tables(history, delays={})

    assert_broken(MetaConverges, read(0), "they differ in 3")
    assert assert_holds(MetaConverges, read(1_024)).judged == 3


def test_brokers_agree_in_the_fields_that_both_have() -> None:
    def read(**slave: dict[str, object]) -> Story:
        history = named("5.5.0").after(1_000).mark("heal").after(2_000).round(topics="applied")
        table: dict[str, object] = {name: {"q": 4, "attributes": {}} for name in ("T", "U")}
        history.table("topics", table, "master", VERSION).table("topics", {**slave}, "slave", VERSION)
        return history.mark("end")

    assert_holds(MetaConverges, read(T={"q": 4}, U={"q": 4}))
    assert_broken(MetaConverges, read(T={"q": 4}, U={"q": 8}), "they differ in U")
    assert_broken(MetaConverges, read(T={"q": 4}), "they differ in U")
    assert_broken(MetaConverges, read(T={"q": 4, "attributes": {}}, U={"q": 4}), "they differ in U")


@pytest.mark.parametrize("version", [(3, 50), (2, 51)])
def test_so_do_their_data_versions(version: tuple[int, int]) -> None:
    history = quiet().table("topics", FULL, "master", VERSION).table("topics", FULL, "slave", version)
    assert_broken(MetaConverges, history, f"version {version}, the master's {VERSION}")


WRONG: dict[str, dict[str, object]] = {"topics": {}, "groups": {}, "offsets": {}, "delays": {}}


def test_a_slave_that_has_not_synced_has_a_period_and_four_calls() -> None:
    for statuses in ({}, {"topics": "failed", "groups": "failed", "offsets": "failed", "delays": "failed"}):

        def late(ms: float, statuses: dict[str, str] = statuses) -> Story:
            history = named().after(1_000).mark("heal")
            if statuses:
                history.round(**statuses).after(-4)
            return tables(history.after(ms), **WRONG)

        # For offsets the change counts a second later.
        assert_vacuous(MetaConverges, late(22_000))
        assert_broken(MetaConverges, late(23_001), "are not the master's", times=4)


def test_an_unrecorded_result_counts_at_the_next_request_or_a_second_later() -> None:
    def answered(*tables: str) -> Story:
        history = named().after(1_000).mark("heal").after(2_000)
        for table in tables:
            history.step(table, "answered")
        return history

    def read(history: Story, f: str = "topics", **content: object) -> Story:
        history.table(f, FULL if f == "topics" else OFFSETS, "master", VERSION)
        return history.table(f, content, "slave", VERSION)

    assert_holds(MetaConverges, read(answered("topics", "offsets"), **FULL))
    assert_broken(MetaConverges, read(answered("topics", "offsets")), "are not the master's")
    assert_vacuous(MetaConverges, read(answered("topics")))
    assert_vacuous(MetaConverges, read(answered("topics", "offsets"), "offsets"))
    assert_broken(MetaConverges, read(answered("topics").after(1_000)), "are not the master's")
    # Applying an answer is not the slave's own change.
    rewritten = answered("topics").persist("topics").persist("topics").after(1_000)
    assert_broken(MetaConverges, read(rewritten), "are not the master's")
    assert_vacuous(MetaConverges, read(answered("topics", "offsets").persist("topics").after(1_000)))
    # The next incarnation does not have this one's answer.
    assert_vacuous(MetaConverges, read(answered("topics").killed("slave").register().after(1_001)))


def test_a_slave_that_could_not_read_the_answer_must_have_the_table_at_once() -> None:
    unread = named().after(1_000).mark("heal").after(2_000).round(**dict.fromkeys(WRONG, "unread"))
    assert_broken(MetaConverges, tables(unread, **WRONG), "are not the master's", times=4)


def test_topics_that_no_client_or_master_had_are_the_slave_s_own() -> None:
    def read(used: bool) -> Story:
        history = named().after(1_000).mark("heal").after(2_000)
        history.client("send", queue="OWN/0") if used else history
        history.after(1_000).round(**dict.fromkeys(("topics", "groups"), "applied"))
        history.table("topics", FULL, "master", VERSION)
        return history.table("topics", {**FULL, "OWN": {}}, "slave", VERSION)

    assert_holds(MetaConverges, read(used=False))
    assert_broken(MetaConverges, read(used=True), "they differ in OWN")


def test_brokers_whose_settings_create_different_topics_may_differ_in_those() -> None:
    def read(lacks: str, **settings: object) -> Story:
        history = named().config("slave", **settings).after(1_000).mark("heal").after(2_000)
        history.client("send", queue="T/0").after(1_000).round(**dict.fromkeys(("topics", "groups"), "applied"))
        both = {**FULL, "TBW102": {}}
        history.table("topics", both, "master", VERSION)
        return history.table("topics", {name: both[name] for name in both if name != lacks}, "slave", VERSION)

    assert_broken(MetaConverges, read("TBW102"), "they differ in TBW102")
    for settings in ({"autoCreateTopicEnable": "false"}, {"defaultTopicQueueNums": 16}):
        assert_holds(MetaConverges, read("TBW102", **settings))
        assert_broken(MetaConverges, read("T", **settings), "they differ in T")


def test_one_failure_may_only_have_shown_that_a_connection_was_dead() -> None:
    def failing(*times_ms: float) -> Story:
        history = named().mark("heal")
        for ms in times_ms:
            history.after(ms).step("topics", "failed")
        return history

    def read(history: Story) -> Story:
        return history.table("topics", FULL, "master", VERSION).table("topics", {}, version=VERSION)

    assert_vacuous(MetaConverges, read(failing(10_000).after(22_000)))
    assert_broken(MetaConverges, read(failing(10_000).after(22_001)), "are not the master's")
    assert_broken(MetaConverges, read(failing(10_000, 10_000).after(12_001)), "are not the master's")


def test_a_slave_that_does_not_know_its_master_has_three_registration_periods_too() -> None:
    def late(ms: float, **settings: object) -> Story:
        return tables(unknown(**settings).mark("heal").after(ms), **WRONG)

    assert_vacuous(MetaConverges, late(112_000))
    assert_broken(MetaConverges, late(113_001), "are not the master's", times=4)
    assert_vacuous(MetaConverges, late(202_000, registerNameServerPeriod=90_000))
    assert_vacuous(MetaConverges, late(52_000, registerNameServerPeriod=1_000))
    learned = unknown().mark("heal").after(60_000).register().after(22_000)
    assert_vacuous(MetaConverges, tables(learned, **WRONG))
    lost = unknown().register().mark("heal").register(master=None).after(112_000)
    assert_vacuous(MetaConverges, tables(lost, **WRONG))


@pytest.mark.parametrize(
    "kind", ["fault", "restart", "pause", "commit", "topic", "consumer", "use", "persist", "local", "stored", "heal"]
)
def test_a_change_after_a_sync_is_not_due_yet(kind: str) -> None:
    history = quiet(1_000)
    late = {
        "fault": lambda: history.fault("stall", "meta").fault("stall", "meta", "off"),
        "restart": lambda: history.killed("slave").register(),
        "pause": lambda: history.pause("master", 100),
        "commit": lambda: history.client_commit(9),
        "topic": lambda: history.create("topic", "X").create("group", "X"),
        "consumer": lambda: history.add("consumer", process=1, status="on", group="G"),
        "use": lambda: history.client("pull", group="G2"),
        "persist": lambda: history.persist("topics", "master").persist("groups", "master"),
        "local": lambda: history.persist("topics").persist("groups"),
        "stored": lambda: history.put("m0"),
        "heal": lambda: history.mark("heal"),
    }
    late[kind]()
    touched = {
        "commit": ["offsets"], "topic": ["topics", "groups"], "consumer": ["topics", "groups"],
        "use": ["topics", "groups"], "persist": ["topics", "groups"], "local": ["topics", "groups"],
        "stored": ["delays"],
    }.get(kind, list(WRONG))  # fmt: skip
    wrong = {f: WRONG[f] for f in touched}
    assert_unbroken(MetaConverges, tables(history, **wrong))
    # The next sync brings it.
    again = tables(history.after(9_000).round(topics="applied"), **wrong)
    found = judged(MetaConverges, again.events)
    assert found.broken == len(touched), found.violations


def test_the_same_commit_again_changes_nothing_and_saving_is_part_of_a_sync() -> None:
    history = quiet().client_commit(9).after(9_000).round(topics="applied").client_commit(9)
    assert_broken(MetaConverges, tables(history, offsets={}), "they differ in T@G")
    after = quiet().after(9_000).step("topics", "applied", saves=False).persist("topics")
    assert_broken(MetaConverges, tables(after, topics={}), "they differ in T")


def test_each_commit_at_a_slave_replaces_the_synced_value() -> None:
    """A consumer without a route to the master repeats its commit there, after a sync."""
    history = (
        quiet()
        .client_commit(5)
        .client_commit(9, "slave")
        .after(9_000)
        .round(topics="applied")
        .client_commit(9, "slave")
    )
    assert_unbroken(MetaConverges, tables(history, offsets={"T@G": {"0": 9}}))
    same = (
        quiet()
        .client_commit(5)
        .client_commit(5, "slave")
        .after(9_000)
        .round(topics="applied")
        .client_commit(5, "slave")
    )
    assert_broken(MetaConverges, tables(same, offsets={"T@G": {"0": 9}}), "they differ in T@G")


def test_readings_before_healing_or_of_one_node_alone_prove_nothing() -> None:
    early = named().after(3_000).round().table("topics", FULL, "master", VERSION).table("topics", {}, version=VERSION)
    assert_vacuous(MetaConverges, early.after(60_000).mark("heal").after(60_000).mark("end"))
    assert_vacuous(MetaConverges, quiet().table("topics", FULL, "master", VERSION).mark("end"))


def test_without_recorded_saves_a_heartbeat_may_come_later() -> None:
    judge = Judge((MetaConverges,), frozenset(kinds()) - {"persist", "sync", "register"})
    judge.feed_all(tables(quiet(20_000), topics={}).events)
    assert judge.finish()[0].verdict is Verdict.HOLDS
    late = tables(quiet(31_000).round(), topics={})
    assert blind(MetaConverges, late, "persist") is Verdict.VIOLATED
