"""Tests of ``query-statistics``."""

import json

from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous, bare
from histories.questions import END, answer, read

from pairproof.harness.rocketmq.laws.questions.query_statistics import QueryStatistics

FIGURES = {
    "commitLogMinOffset": 0, "commitLogMaxOffset": END, "dispatchBehindBytes": 0, "earliestMessageTimeStamp": 1_000,
}  # fmt: skip


def test_figures_follow_from_the_log() -> None:
    assert assert_holds(QueryStatistics, answer(read(bare()), "runtime", detail=FIGURES)).judged == 4
    for name in FIGURES:
        broken = answer(read(bare()), "runtime", detail={**FIGURES, name: 7})
        assert_broken(QueryStatistics, broken, f"master reports {name}: 7; by its log and tables it is")
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
    def without(topics: str) -> H:
        history = read(bare()).add("table", node="master", op=7, f="topics", detail=topics)
        return answer(history, "group", queue="t", group="g0", detail={})

    assert_vacuous(QueryStatistics, without("{}"))
    assert_broken(QueryStatistics, without('{"t": {}}'), "answers without t/1, which has messages")


def test_progress_is_not_compared_while_consumers_commit_or_slaves_sync() -> None:
    began = with_table(read(bare()), 2).add("invoke", node="master", process=1, op=9, f="commit", group="g0")
    assert_holds(QueryStatistics, progress(began, [4, 3, 1_010]))
    assert_holds(
        QueryStatistics,
        progress(with_table(read(bare()), 2).add("sync", node="master", f="offsets", status="applied"), [4, 3, 1_010]),
    )
