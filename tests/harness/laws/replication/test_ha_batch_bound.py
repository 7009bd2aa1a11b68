"""Tests of ``ha-batch-bound``."""

from histories import FILE, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.replication.ha_batch_bound import HaBatchBound


def test_a_full_batch_and_a_file_s_last_bytes_are_within_bounds() -> None:
    assert_holds(HaBatchBound, pair().frame(0, 300).frame(FILE - 10, FILE))


def test_a_body_above_the_batch_is_caught() -> None:
    assert_broken(HaBatchBound, pair().frame(0, 301), "301 bytes, the batch is 300")


def test_a_body_across_a_file_boundary_is_caught() -> None:
    assert_broken(HaBatchBound, pair().frame(FILE - 10, FILE + 1), "crosses a boundary")


def test_heartbeats_alone_have_no_body_to_judge() -> None:
    assert_vacuous(HaBatchBound, pair().frame(FILE, FILE))
