"""Tests of ``query-by-key``."""

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous, bare
from histories.questions import END, answer, read

from pairproof.harness.rocketmq.laws.questions.query_by_key import QueryByKey


def by_key(
    history: H,
    *found: tuple[int, int],
    key: str | None = "m1",
    status: str = "PUT_OK",
    topic: str = "t",
    stored: tuple[int, int] | None = None,
    most: int | None = None,
) -> H:
    lo, hi = stored or (None, None)
    return answer(history, "key", status, message=key, queue=topic, detail=list(found), lo=lo, hi=hi, value=most)


def test_a_query_by_key_finds_the_message_that_has_it() -> None:
    assert_holds(QueryByKey, by_key(read(bare()), (SIZE, 51)))
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
        (by_key(read(bare()), (SIZE, 51), (SIZE, 51)), "with the record at 100 more than once"),
        (by_key(read(bare()), (0, 50), key=None), "asked for an unused key of t, answers with a record at 0"),
        (by_key(read(bare()), status="SYSTEM_ERROR"), "answers SYSTEM_ERROR"),
    ],
)
def test_a_query_by_key_that_finds_something_else_is_noticed(history: H, saying: str) -> None:
    assert_broken(QueryByKey, history, saying)


LATE_MS = 5_000


def shared(history: H | None = None) -> H:
    """Four messages have the key k: stored at 1,000, 1,010, 1,010 and 5,000 ms."""
    history = read(history or bare())
    for number, event in enumerate(history.events):
        if event.kind == "record":
            value = LATE_MS if event.message == "m3" else event.value
            history.events[number] = event._replace(message=f"{event.message} k", value=value)
    return history


FOUND = [(number * SIZE, 50 + number) for number in range(4)]


@pytest.mark.parametrize(
    ("stored", "right", "wrong", "saying"),
    [
        ((0, LATE_MS), FOUND, FOUND[:3], "without the message at 300"),
        # The index may have taken the last message's time for up to 999 ms less, and no more.
        ((0, LATE_MS - 999), FOUND[:3], FOUND[:2], "without the message at 200"),
        ((0, LATE_MS - 999), FOUND, FOUND[1:], "without the message at 0"),
        ((0, LATE_MS - 1_000), FOUND[:3], FOUND, "with a record at 300, which has another key, topic or time"),
        ((11, LATE_MS), FOUND[1:], FOUND[2:], "without the message at 100"),
        ((12, LATE_MS), FOUND[3:], [], "without the message at 300"),
        ((1_001, LATE_MS), FOUND[1:], FOUND, "with a record at 0, which has another key, topic or time"),
        ((1_011, LATE_MS - 999), [], FOUND[2:], "with a record at 200, which has another key, topic or time"),
    ],
)
def test_a_query_finds_what_was_stored_in_its_time_window(
    stored: tuple[int, int], right: list[tuple[int, int]], wrong: list[tuple[int, int]], saying: str
) -> None:
    assert_holds(QueryByKey, by_key(shared(), *right, key="k", stored=stored, most=64))
    assert_broken(QueryByKey, by_key(shared(), *wrong, key="k", stored=stored, most=64), saying)


def test_a_query_with_a_maximum_finds_the_newest_messages() -> None:
    def asking(*found: tuple[int, int], most: int = 2) -> H:
        return by_key(shared(), *found, key="k", stored=(0, LATE_MS), most=most)

    assert_holds(QueryByKey, asking(*FOUND[2:]))
    assert_broken(QueryByKey, asking(*FOUND[1:3]), "without the message at 300")
    assert_broken(QueryByKey, asking(*FOUND[1:]), "answers with 3 records")
    assert_broken(QueryByKey, asking(FOUND[3]), "without the message at 0", 1)
    assert_broken(QueryByKey, asking(FOUND[3], FOUND[3]), "the record at 300 more than once")


def test_a_window_is_not_judged_where_the_index_cannot_know_the_times() -> None:
    def asking(history: H) -> H:
        return by_key(history, key="k", status="QUERY_NOT_FOUND", stored=(0, LATE_MS), most=64)

    back = shared()
    records = [number for number, event in enumerate(back.events) if event.kind == "record"]
    back.events[records[1]] = back.events[records[1]]._replace(value=999)
    assert_vacuous(QueryByKey, asking(back))

    def java(entries: int) -> H:
        history = H().config("master", maxIndexNum=entries)
        return shared(history.add("start", node="master", f="unknown", lo=0, hi=0))

    assert_vacuous(QueryByKey, asking(java(8)))
    assert_broken(QueryByKey, asking(java(9)), "without the message at 0")
    assert_broken(QueryByKey, asking(shared(bare(maxIndexNum=8))), "without the message at 0")


def test_a_query_by_key_is_not_judged_where_the_queue_lacks_the_message() -> None:
    assert_vacuous(QueryByKey, by_key(read(bare(), derived=1), status="QUERY_NOT_FOUND"))
    assert_vacuous(QueryByKey, by_key(bare(), status="QUERY_NOT_FOUND"))


@pytest.mark.parametrize("happens", ["append", "expire", "cut", "start", "crash", "wipe"])
def test_an_answer_is_not_compared_with_a_log_that_has_changed_since(happens: str) -> None:
    history = read(bare()).add(happens, node="master", lo=END, hi=END + SIZE)
    assert_vacuous(QueryByKey, by_key(history, status="QUERY_NOT_FOUND"))


def test_a_query_without_an_answer_is_not_judged() -> None:
    assert_vacuous(QueryByKey, by_key(read(bare()), status="timeout"))


@pytest.mark.parametrize("f", ["empty", "unknown"])
def test_rocketmq_leaves_it_to_its_client_to_compare_keys_with_the_same_hash(f: str) -> None:
    history = bare()
    start = next(at for at, each in enumerate(history.events) if each.kind == "start")
    history.events[start] = history.events[start]._replace(f=f)
    read(history)
    for at, each in enumerate(history.events):
        if each.kind == "record" and each.message in ("m1", "m2"):
            history.events[at] = each._replace(message={"m1": "Aa", "m2": "BB"}[each.message])
    found = by_key(history, (SIZE, 51), (2 * SIZE, 52), key="Aa")
    if f == "empty":
        assert_broken(QueryByKey, found, "with a record at 200, which has another key")
    else:
        assert_holds(QueryByKey, found)
