"""Tests of ``query-by-id``."""

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous, bare
from histories.questions import END, answer, read

from pairproof.harness.rocketmq.laws.questions.query_by_id import QueryById


def by_id(history: H, asked: int, status: str = "PUT_OK", lo: int | None = None, digest: int | None = None) -> H:
    return answer(history, "id", status, value=asked, lo=lo, digest=digest)


def test_an_id_leads_to_its_message_and_any_other_offset_to_none() -> None:
    assert_holds(QueryById, by_id(read(bare()), SIZE, lo=SIZE, digest=51))
    assert_holds(QueryById, by_id(read(bare()), SIZE + 1, "SYSTEM_ERROR"))
    assert_holds(QueryById, by_id(read(bare()), END + 1, "SYSTEM_ERROR"))


@pytest.mark.parametrize(
    ("history", "saying"),
    [
        (by_id(read(bare()), SIZE, "SYSTEM_ERROR"), "SYSTEM_ERROR; m1 is there"),
        (by_id(read(bare()), SIZE, lo=0, digest=50), "with a record of 0; m1 is there"),
        (by_id(read(bare()), SIZE, lo=SIZE, digest=99), "with a record of 100; m1 is there"),
        (by_id(read(bare()), SIZE + 1, lo=SIZE, digest=51), "but none begins there"),
        (by_id(read(bare()), SIZE + 1, "unreadable answer"), "but none begins there"),
    ],
)
def test_an_id_that_leads_elsewhere_is_noticed(history: H, saying: str) -> None:
    assert_broken(QueryById, history, saying)


def test_an_id_behind_the_whole_part_of_a_log_is_not_judged() -> None:
    history = bare().add("record", node="master", op=7, message="m0", queue="t/1", lo=0, hi=SIZE, digest=50)
    history.add("audit", node="master", op=7, f="final", lo=0, hi=3 * SIZE, value=SIZE, status="broken")
    assert_vacuous(QueryById, by_id(history, SIZE, lo=SIZE, digest=51))
