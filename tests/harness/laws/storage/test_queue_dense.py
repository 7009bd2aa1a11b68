"""Tests of ``queue-dense``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare
from histories.queues import THREE, answered, begin, finish, listed

from pairproof.harness.rocketmq.laws.storage.queue_dense import QueueDense


def test_dense_offsets_hold_on_either_node() -> None:
    assert_holds(QueueDense, listed(listed(bare(), "master", *THREE), "slave", *THREE))


@pytest.mark.parametrize("node", ["master", "slave"])
@pytest.mark.parametrize(
    ("offsets", "saying"),
    [
        ((0, 0), "m1 has offset 0 in t/0; 1 was next"),
        ((0, 2), "m1 has offset 2 in t/0; 1 was next"),
        ((1, 2), "m0 has offset 1 in t/0; 0 was next"),
    ],
)
def test_a_hole_a_repeat_and_a_late_beginning_break_it(node: str, offsets: tuple[int, int], saying: str) -> None:
    records = [(f"m{number}", "t/0", offset) for number, offset in enumerate(offsets)]
    assert_broken(QueueDense, listed(bare(), node, *records), f"{node}: {saying}")


def test_a_log_that_begins_later_may_begin_with_any_offset() -> None:
    assert_holds(QueueDense, listed(bare(), "slave", ("m7", "t/0", 7), ("m8", "t/0", 8), lo=1_000))
    expired = bare().add("expire", node="master", lo=1_000)
    assert_holds(QueueDense, listed(expired, "slave", ("m7", "t/0", 7)))


def test_a_diverged_slave_s_log_is_not_judged() -> None:
    rolled = (
        bare().append("master", 0, 300, "put").append("slave", 0, 300).crash("master", "machine").start("master", 100)
    )
    assert_vacuous(QueueDense, listed(rolled, "slave", ("m0", "t/0", 0), ("m9", "t/0", 5)))


def test_an_audit_without_records_is_not_judged() -> None:
    assert_vacuous(QueueDense, listed(bare(), "master"))


def test_an_answer_reports_the_offset_of_its_message() -> None:
    assert_holds(QueueDense, listed(answered(bare(), "m0", 0, 0), "master", *THREE))
    told = "m0 has offset 0 in t/0; the answer reported 7"
    assert_broken(QueueDense, listed(answered(bare(), "m0", 0, 7), "master", *THREE), told)
    # The answer of a lost message does not count for its successor.
    assert_holds(QueueDense, listed(answered(bare(), "lost", 0, 7), "master", *THREE))
    assert_holds(QueueDense, listed(answered(bare(), "m0", 0, 7, detail='{"level": 3}'), "master", *THREE))
    refused = finish(begin(bare(), "m0"), "m0", 0, 7, phase="fail")
    assert_holds(QueueDense, listed(refused, "master", *THREE))


def test_no_two_answers_report_the_same_offset() -> None:
    twice = answered(answered(bare(), "m0", 0, 0), "m1", 100, 0)
    assert_broken(QueueDense, twice, "offset 0 of t/0 went to m1; m0 has it, and was not lost")
    late = finish(begin(bare(), "m0").crash("master", "machine").start("master"), "m0", 0, 0)
    assert_vacuous(QueueDense, answered(late, "m1", 0, 0))
    expired = answered(bare(), "m0", 0, 0).add("expire", node="master", lo=1_000)
    assert_broken(QueueDense, answered(expired, "m9", 1_000, 0), "offset 0 of t/0 went to m9; m0 has it")


def test_an_offset_goes_to_another_message_only_when_the_first_was_lost() -> None:
    before = listed(bare(), "master", *THREE)
    moved = listed(before, "master", ("m0", "t/0", 0), ("m3", "t/0", 1))
    assert_broken(QueueDense, moved, "offset 1 of t/0 went to m3; m2 has it, and was not lost")
    lost = listed(bare(), "master", *THREE).crash("master", "machine").start("master", 100)
    assert_holds(QueueDense, listed(lost, "master", ("m0", "t/0", 0), ("m3", "t/0", 1)))
    kept = listed(bare(), "master", *THREE).crash("master").start("master", 300)
    assert_broken(QueueDense, listed(kept, "master", ("m0", "t/0", 0), ("m3", "t/0", 1)), "went to m3")


@pytest.mark.parametrize(("f", "owes"), [("normal", False), ("abnormal", True)])
def test_offsets_that_a_lying_disk_has_lost_are_given_again(f: str, owes: bool) -> None:
    history = listed(bare(), "master", *THREE).add("stop", node="master")
    history.add("crash", node="master", f="machine", value=300, status="lied")
    history.add("start", node="master", f=f, lo=0, hi=300)
    again = answered(history, "m9", 300, 0)
    if owes:
        assert_broken(QueueDense, again, "offset 0 of t/0 went to m9; m0 has it, and was not lost")
    else:
        assert_holds(QueueDense, again)
        # The log, and each copy of it, has the offset twice from now on.
        for node in ("master", "slave"):
            assert_holds(QueueDense, listed(again, node, *THREE, ("m9", "t/0", 0)))


def test_another_store_has_its_own_offsets() -> None:
    wiped = listed(bare(), "master", *THREE).crash("master").add("wipe", node="master", f="image").start("master", 300)
    assert_holds(QueueDense, listed(wiped, "master", ("m0", "t/0", 0), ("m3", "t/0", 1)))


def test_an_expired_message_keeps_its_offset_unless_the_machine_crashed() -> None:
    def anew(how: str) -> H:
        history = listed(bare(), "master", *THREE).add("expire", node="master", lo=1_000)
        history.crash("master", how).start("master", 2_000, lo=1_000)
        return listed(history, "master", ("m9", "t/0", 0), lo=1_900)

    assert_broken(QueueDense, anew("process"), "offset 0 of t/0 went to m9; m0 has it, and was not lost")
    assert_holds(QueueDense, anew("machine"))
