"""Tests of ``query-by-key``."""

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous, bare
from histories.questions import END, answer, read

from pairproof.harness.rocketmq.laws.questions.query_by_key import QueryByKey


def by_key(history: H, *found: tuple[int, int], key: str | None = "m1", status: str = "PUT_OK", topic: str = "t") -> H:
    return answer(history, "key", status, message=key, queue=topic, detail=list(found))


def test_a_query_by_key_finds_the_message_that_has_it() -> None:
    assert_holds(QueryByKey, by_key(read(bare()), (SIZE, 51)))
    assert_holds(QueryByKey, by_key(read(bare()), (SIZE, 51), (SIZE, 51)))
    assert_holds(QueryByKey, by_key(read(bare()), key=None, status="QUERY_NOT_FOUND"))
    assert_holds(QueryByKey, by_key(read(bare()), topic="u", status="QUERY_NOT_FOUND"))


@pytest.mark.parametrize(("f", "owes"), [("normal", False), ("abnormal", True)])
def test_an_index_damaged_by_a_lying_disk_is_not_judged_until_it_is_rebuilt(f: str, owes: bool) -> None:
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
        (by_key(read(bare()), (0, 50), key=None), "asked for an unused key of t, answers with a record at 0"),
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


def test_a_query_without_an_answer_is_not_judged() -> None:
    assert_vacuous(QueryByKey, by_key(read(bare()), status="timeout"))
