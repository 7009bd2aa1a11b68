"""Tests of ``query-offsets``."""

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous, bare
from histories.questions import answer, read

from pairproof.harness.rocketmq.laws.questions.query_offsets import QueryOffsets


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
