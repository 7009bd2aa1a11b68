"""``query-`` laws: what a broker may answer when it is asked about its log."""

from __future__ import annotations

import json

import pytest

from pairproof.harness.rocketmq.laws.questions.invalid_refused import InvalidRefused
from pairproof.harness.rocketmq.laws.questions.query_by_id import QueryById
from pairproof.harness.rocketmq.laws.questions.query_by_key import QueryByKey
from pairproof.harness.rocketmq.laws.questions.query_config import QueryConfig
from pairproof.harness.rocketmq.laws.questions.query_members import QueryMembers
from pairproof.harness.rocketmq.laws.questions.query_offsets import QueryOffsets
from pairproof.harness.rocketmq.laws.questions.query_statistics import QueryStatistics
from pairproof.harness.rocketmq.testing import SIZE, H, bare
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous

TIMES = (1_000, 1_010, 1_010, 1_040)
"""When the messages m0, m1, ... of queue t/1 were stored, ms; their digests are 50, 51, ..."""
END = len(TIMES) * SIZE


def read(history: H, node: str = "master", derived: int = len(TIMES), whole: bool = True) -> H:
    """An audit lists the four messages, of which the queue has the first ``derived``."""
    for number, time in enumerate(TIMES):
        history.add(
            "record", node=node, op=7, message=f"m{number}", queue="t/1", queue_offset=number, lo=number * SIZE,
            hi=(number + 1) * SIZE, digest=50 + number, value=time,
        )  # fmt: skip
    history.add("audit", node=node, op=7, f="final", lo=0, hi=END, value=END, status="whole" if whole else "broken")
    return history.add("entries", node=node, op=7, queue="t/1", lo=0, hi=derived, queue_offset=0, digest=1)


def answer(history: H, f: str, status: str = "PUT_OK", node: str = "master", **columns: object) -> H:
    """``detail`` as JSON stands."""
    if "detail" in columns and not isinstance(columns["detail"], str):
        columns["detail"] = json.dumps(columns["detail"])
    return history.add("answer", node=node, op=7, f=f, status=status, **columns)


def by_key(history: H, *found: tuple[int, int], key: str | None = "m1", status: str = "PUT_OK", topic: str = "t") -> H:
    return answer(history, "key", status, message=key, queue=topic, detail=list(found))


def test_a_query_by_key_finds_the_message_that_has_it() -> None:
    assert_holds(QueryByKey, by_key(read(bare()), (SIZE, 51)))
    assert_holds(QueryByKey, by_key(read(bare()), (SIZE, 51), (SIZE, 51)))
    assert_holds(QueryByKey, by_key(read(bare()), key=None, status="QUERY_NOT_FOUND"))
    assert_holds(QueryByKey, by_key(read(bare()), topic="u", status="QUERY_NOT_FOUND"))


@pytest.mark.parametrize(("f", "owes"), [("normal", False), ("abnormal", True)])
def test_an_index_of_which_a_lying_disk_lost_a_part_owes_nothing_until_it_is_made_anew(f: str, owes: bool) -> None:
    history = bare().add("stop", node="master").add("crash", node="master", f="machine", status="lied")
    history = by_key(read(history.add("start", node="master", f=f, lo=0, hi=END)), status="QUERY_NOT_FOUND")
    if owes:
        assert_broken(QueryByKey, history, "without the message at 100")
    else:
        assert_vacuous(QueryByKey, history)


def test_a_broker_without_an_index_finds_nothing_by_key() -> None:
    def without() -> H:
        return read(bare(messageIndexEnable=False))

    assert_holds(QueryByKey, by_key(without(), status="QUERY_NOT_FOUND"))
    assert_broken(QueryByKey, by_key(without(), (SIZE, 51)), "with a record at 100")


@pytest.mark.parametrize(
    ("history", "saying"),
    [
        (by_key(read(bare()), status="QUERY_NOT_FOUND"), "without the message at 100"),
        (by_key(read(bare()), (SIZE, 99)), "without the message at 100, or with other bytes"),
        (by_key(read(bare()), (SIZE, 51), (0, 50)), "with a record at 0, which has another key"),
        (by_key(read(bare()), (0, 50), key=None), "asked for a key that nobody sent of t, answers with a record at 0"),
        (by_key(read(bare()), status="SYSTEM_ERROR"), "answers SYSTEM_ERROR"),
    ],
)
def test_a_query_by_key_that_finds_something_else_is_noticed(history: H, saying: str) -> None:
    assert_broken(QueryByKey, history, saying)


def test_a_query_by_key_is_not_judged_where_the_queue_lacks_the_message() -> None:
    assert_vacuous(QueryByKey, by_key(read(bare(), derived=1), status="QUERY_NOT_FOUND"))
    assert_vacuous(QueryByKey, by_key(bare(), status="QUERY_NOT_FOUND"))


@pytest.mark.parametrize("happens", ["append", "expire", "cut", "start", "crash", "wipe"])
def test_an_answer_is_not_compared_with_a_log_that_has_changed_since(happens: str) -> None:
    history = read(bare()).add(happens, node="master", lo=END, hi=END + SIZE)
    assert_vacuous(QueryByKey, by_key(history, status="QUERY_NOT_FOUND"))


def test_a_question_that_nobody_answers_says_nothing() -> None:
    assert_vacuous(QueryByKey, by_key(read(bare()), status="timeout"))


def by_id(history: H, asked: int, status: str = "PUT_OK", lo: int | None = None, digest: int | None = None) -> H:
    return answer(history, "id", status, value=asked, lo=lo, digest=digest)


def test_an_id_leads_to_its_message_and_any_other_offset_to_none() -> None:
    assert_holds(QueryById, by_id(read(bare()), SIZE, lo=SIZE, digest=51))
    assert_holds(QueryById, by_id(read(bare()), SIZE + 1, "SYSTEM_ERROR"))
    assert_holds(QueryById, by_id(read(bare()), END + 1, "SYSTEM_ERROR"))


@pytest.mark.parametrize(
    ("history", "saying"),
    [
        (by_id(read(bare()), SIZE, "SYSTEM_ERROR"), "SYSTEM_ERROR; m1 lies there"),
        (by_id(read(bare()), SIZE, lo=0, digest=50), "with a record of 0; m1 lies there"),
        (by_id(read(bare()), SIZE, lo=SIZE, digest=99), "with a record of 100; m1 lies there"),
        (by_id(read(bare()), SIZE + 1, lo=SIZE, digest=51), "no record begins there"),
        (by_id(read(bare()), SIZE + 1, "unreadable answer"), "no record begins there"),
    ],
)
def test_an_id_that_leads_elsewhere_is_noticed(history: H, saying: str) -> None:
    assert_broken(QueryById, history, saying)


def test_an_id_behind_the_whole_part_of_a_log_is_not_judged() -> None:
    history = bare().add("record", node="master", op=7, message="m0", queue="t/1", lo=0, hi=SIZE, digest=50)
    history.add("audit", node="master", op=7, f="final", lo=0, hi=3 * SIZE, value=SIZE, status="broken")
    assert_vacuous(QueryById, by_id(history, SIZE, lo=SIZE, digest=51))


@pytest.mark.parametrize(
    ("f", "asked", "right", "wrong"),
    [
        ("max", None, 4, 3),
        ("min", None, 0, 1),
        ("time", 999, 0, 1),
        ("time", 1_000, 0, 1),
        ("time", 1_004, 0, 1),
        ("time", 1_006, 1, 0),
        ("time", 1_010, 2, 3),
        ("time", 1_025, 2, 0),
        ("time", 1_025, 3, 0),
        ("time", 2_000, 3, 4),
    ],
)
def test_offsets_of_a_queue_are_those_of_its_records(f: str, asked: int | None, right: int, wrong: int) -> None:
    def asking(offset: int) -> H:
        return answer(read(bare()), f, queue="t/1", value=asked, queue_offset=offset)

    assert_holds(QueryOffsets, asking(right))
    assert_broken(QueryOffsets, asking(wrong), "by its log it is")


def test_the_earliest_time_of_a_queue_is_its_first_record_s() -> None:
    assert_holds(QueryOffsets, answer(read(bare()), "earliest", queue="t/1", lo=1_000))
    assert_broken(QueryOffsets, answer(read(bare()), "earliest", queue="t/1", lo=-1), "answers -1; by its log it is")
    assert_broken(QueryOffsets, answer(read(bare()), "max", "SYSTEM_ERROR", queue="t/1"), "answers SYSTEM_ERROR")


def test_a_queue_that_is_not_complete_is_not_asked_about() -> None:
    assert_vacuous(QueryOffsets, answer(read(bare(), derived=2), "max", queue="t/1", queue_offset=2))
    assert_vacuous(QueryOffsets, answer(read(bare()), "max", queue="t/3", queue_offset=9))


def test_a_group_without_progress_begins_where_all_of_a_queue_is_in_memory() -> None:
    def asking(status: str, offset: int | None = None, first: int = 0, **memory: object) -> H:
        history = H().config("master", **memory).start("master")
        history.add("record", node="master", op=7, message="m0", queue="t/1", lo=0, hi=SIZE, queue_offset=first)
        history.add("entries", node="master", op=7, queue="t/1", lo=first, hi=first + 1)
        history.add("audit", node="master", op=7, f="final", lo=0, hi=SIZE, value=SIZE, status="whole")
        return answer(history, "newcomer", status, queue="t/1", queue_offset=offset)

    fits, lacks = ({"totalMemory": total, "accessMessageInMemoryMaxRatio": 50} for total in (2 * SIZE, 2 * SIZE - 2))
    assert_holds(QueryOffsets, asking("PUT_OK", 0, **fits))
    assert_broken(QueryOffsets, asking("QUERY_NOT_FOUND", **fits), "by its log and memory it is 0")
    assert_broken(QueryOffsets, asking("PUT_OK", 1, **fits), "answers PUT_OK, 1; by its log")
    for first, known in ((0, lacks), (1, fits)):
        assert_holds(QueryOffsets, asking("QUERY_NOT_FOUND", None, first, **known))
        assert_broken(QueryOffsets, asking("PUT_OK", 0, first, **known), "by its log and memory it is nowhere")
    assert_vacuous(QueryOffsets, asking("PUT_OK", 0))


def test_a_time_is_not_judged_where_a_clock_went_back() -> None:
    history = read(bare())
    history.events[-4] = history.events[-4]._replace(value=5)
    assert_vacuous(QueryOffsets, answer(history, "time", queue="t/1", value=1_000, queue_offset=3))


FIGURES = {
    "commitLogMinOffset": 0, "commitLogMaxOffset": END, "dispatchBehindBytes": 0, "earliestMessageTimeStamp": 1_000,
}  # fmt: skip


def test_figures_follow_from_the_log() -> None:
    assert assert_holds(QueryStatistics, answer(read(bare()), "runtime", detail=FIGURES)).judged == 4
    for name in FIGURES:
        broken = answer(read(bare()), "runtime", detail={**FIGURES, name: 7})
        assert_broken(QueryStatistics, broken, f"master says {name}: 7; by its log and tables it is")
    behind = {**FIGURES, "dispatchBehindBytes": SIZE}
    assert_holds(QueryStatistics, answer(read(bare(), derived=3), "runtime", detail=behind))
    assert_vacuous(QueryStatistics, answer(read(bare(), whole=False), "runtime", detail={**FIGURES, "x": 1}))


def test_a_topic_s_statistics_follow_from_the_log() -> None:
    assert_holds(QueryStatistics, answer(read(bare()), "topic", queue="t", detail={"1": [0, 4, 1_040]}))
    for found in ([1, 4, 1_040], [0, 3, 1_040], [0, 4, 1_010]):
        assert_broken(QueryStatistics, answer(read(bare()), "topic", queue="t", detail={"1": found}), "of t/1: ")
    without = answer(read(bare()), "topic", queue="t", detail={"0": [0, 0, 0]})
    assert_broken(QueryStatistics, without, "answers without t/1, which has messages")
    assert_vacuous(QueryStatistics, answer(read(bare()), "topic", "TOPIC_NOT_EXIST", queue="t"))


def progress(history: H, found: list[int]) -> H:
    return answer(history, "group", queue="t", group="g0", detail={"1": found})


def with_table(history: H, offset: int) -> H:
    detail = json.dumps({"t@g0": {"1": offset}})
    return history.add("table", node="master", op=7, f="offsets", detail=detail).after(5_000)


def test_a_group_s_statistics_follow_from_log_and_table() -> None:
    assert_holds(QueryStatistics, progress(with_table(read(bare()), 2), [4, 2, 1_010]))
    assert_broken(QueryStatistics, progress(read(bare()), [3, 2, 1_010]), "next of t/1: 3; by its log")
    assert_broken(QueryStatistics, progress(read(bare()), [4, 1, 1_010]), "time of t/1 at 1: 1010; by its log and tab")
    assert_broken(QueryStatistics, progress(with_table(read(bare()), 2), [4, 3, 1_010]), "progress of g0 in t/1: 3")


def test_a_slave_that_has_no_topic_tells_no_group_of_it() -> None:
    def told(topics: str) -> H:
        history = read(bare()).add("table", node="master", op=7, f="topics", detail=topics)
        return answer(history, "group", queue="t", group="g0", detail={})

    assert_vacuous(QueryStatistics, told("{}"))
    assert_broken(QueryStatistics, told('{"t": {}}'), "answers without t/1, which has messages")


def test_progress_is_not_compared_while_consumers_commit_or_slaves_sync() -> None:
    began = with_table(read(bare()), 2).add("invoke", node="master", process=1, op=9, f="commit", group="g0")
    assert_holds(QueryStatistics, progress(began, [4, 3, 1_010]))
    assert_holds(
        QueryStatistics,
        progress(with_table(read(bare()), 2).add("sync", node="master", f="offsets", status="applied"), [4, 3, 1_010]),
    )


def consuming(*processes: int, ms: float = 60_000) -> H:
    """Consumers of g0 come, learn that there are a master and a slave, and time passes."""
    history = bare()
    for process in processes:
        history.add("consumer", process=process, group="g0", status="on", f="clustering")
        history.add("route", process=process, group="g0", status="found", detail='{"0": "master", "1": "slave"}')
    return history.after(ms)


def named(history: H, *ids: str, node: str = "slave") -> H:
    status = "PUT_OK" if ids else "SYSTEM_ERROR"
    return answer(history, "members", status, node=node, group="g0", detail=list(ids))


def test_a_broker_names_the_consumers_that_live() -> None:
    assert_holds(QueryMembers, named(consuming(1, 2), "c0", "c1"))
    assert_broken(QueryMembers, named(consuming(1, 2), "c0"), "slave names 1 consumers of g0; 2 should be known there")
    assert_broken(QueryMembers, named(consuming(1, 2)), "slave names 0 consumers of g0")
    assert_broken(QueryMembers, named(consuming(1), "c0", "c1"), "slave names 2 consumers of g0; 1 should")
    assert_holds(QueryMembers, named(consuming(1), "c0", "c0"))
    assert_vacuous(QueryMembers, consuming(1))


def test_a_broker_that_had_no_time_to_hear_of_a_consumer_need_not_name_it() -> None:
    assert_holds(QueryMembers, named(consuming(1, ms=20_000)))
    assert_holds(QueryMembers, named(consuming(1).fault("latency", "master").after(20_000)))
    assert_holds(QueryMembers, named(consuming(1), node="slave2"))


@pytest.mark.parametrize(("how", "ms"), [("machine", 75_000), ("process", 45_000)])
def test_a_heartbeat_may_be_lost_in_a_connection_that_died_with_its_machine(how: str, ms: int) -> None:
    def back(after_ms: int) -> H:
        return named(consuming(1).add("crash", node="slave", f=how).after(after_ms))

    assert_holds(QueryMembers, back(ms - 1))
    assert_broken(QueryMembers, back(ms), "slave names 0 consumers of g0; 1 should")


def test_a_consumer_that_went_is_forgotten_within_two_minutes() -> None:
    gone = consuming(1, 2).add("consumer", process=2, group="g0", status="lost", f="clustering")
    assert_holds(QueryMembers, named(gone.after(100_000), "c0", "c1"))
    assert_broken(QueryMembers, named(gone.after(100_000), "c0", "c1"), "slave names 2 consumers of g0; 1 should")


def invalid(history: H, f: str, status: str, remark: str = "because") -> H:
    return history.add("invalid", node="slave", f=f, status=status, detail=remark)


def test_a_request_that_makes_no_sense_is_refused() -> None:
    assert_holds(InvalidRefused, invalid(bare(), "an unknown code", "REQUEST_CODE_NOT_SUPPORTED"))
    assert_holds(InvalidRefused, invalid(bare(), "a new topic with a space", "INVALID_PARAMETER"))


@pytest.mark.parametrize("status", ["PUT_OK", "SYSTEM_ERROR", "FLUSH_DISK_TIMEOUT", "SYSTEM_BUSY"])
def test_another_answer_breaks_it(status: str) -> None:
    broken = "slave, sent an unknown code, answered"
    assert_broken(InvalidRefused, invalid(bare(), "an unknown code", status), broken)


def test_an_answer_that_says_nothing_about_the_request_is_not_judged() -> None:
    assert_vacuous(InvalidRefused, invalid(bare(), "an unknown code", "SYSTEM_BUSY", "[REJECTREQUEST]system busy"))
    assert_vacuous(InvalidRefused, invalid(bare(), "an unknown code", "timeout"))
    assert_vacuous(InvalidRefused, invalid(bare(), "something newer than this law", "PUT_OK"))
    assert_vacuous(InvalidRefused, bare())


@pytest.mark.parametrize(("java", "judged"), [("4.4.0", False), ("4.9.7", True), ("", True)])
def test_a_rocketmq_before_4_9_takes_some_of_them(java: str, judged: bool) -> None:
    history = H().config("slave", rocketmqVersion=java or "4.4.0")
    history.add("start", node="slave", lo=0, hi=0, f="unknown" if java else "empty")
    taken = invalid(history, "a new topic with a space", "PUT_OK")
    if judged:
        assert_broken(InvalidRefused, taken, "slave, sent a new topic with a space, answered PUT_OK")
    else:
        assert_vacuous(InvalidRefused, taken)


# Settings.


def set_as(told: dict[str, str], **given: object) -> H:
    return answer(bare().config("slave", brokerId=1, **given), "config", node="slave", detail=told)


def test_a_broker_tells_the_settings_that_it_was_given() -> None:
    given = {"slaveTimeout": 800, "slaveReadEnable": True, "brokerRole": "SLAVE"}
    assert_holds(
        QueryConfig, set_as({"slaveTimeout": "800", "slaveReadEnable": "true", "brokerRole": "SLAVE"}, **given)
    )
    for name, other in (("slaveTimeout", "3000"), ("slaveReadEnable", "false"), ("brokerRole", "ASYNC_MASTER")):
        assert_broken(QueryConfig, set_as({name: other}, **given), f"slave has {name}={other}; it was given ")


def test_settings_that_are_not_told_or_left_to_the_broker_are_not_judged() -> None:
    assert_holds(QueryConfig, set_as({"rackName": "r", "inSyncReplicas": "1"}, inSyncReplicas=0, haPushes="written"))
    assert_holds(QueryConfig, set_as({"brokerIP2": "127.0.0.1"}, brokerIP2=""))
    assert_broken(QueryConfig, set_as({"brokerIP2": "127.0.0.1"}, brokerIP2="127.0.0.2"), "brokerIP2")


def test_a_broker_says_how_it_is_set() -> None:
    assert_broken(QueryConfig, answer(bare(), "config", "SYSTEM_ERROR", detail="no"), "answers SYSTEM_ERROR: no")
    assert_vacuous(QueryConfig, answer(bare(), "config", "SYSTEM_BUSY"))
    assert_vacuous(QueryConfig, answer(bare(), "members", detail=[]))


def test_a_slave_of_rocketmq_takes_ten_from_its_ratio() -> None:
    told, given = {"accessMessageInMemoryMaxRatio": "30"}, {"accessMessageInMemoryMaxRatio": 40}
    assert_broken(QueryConfig, set_as(told, **given), "accessMessageInMemoryMaxRatio=30")
    java = bare().config("slave", brokerId=1, **given).add("start", node="slave", f="unknown")
    assert_holds(QueryConfig, answer(java, "config", node="slave", detail=told))
