"""Laws about a black box: neither its appends nor its recovery are recorded."""

import pytest
from histories import H, Verdict, assert_broken, bare, blind, pair
from histories.consumers import grouped

from pairproof.harness.rocketmq.laws.progress.progress_kept import ProgressKept
from pairproof.harness.rocketmq.laws.storage.log_records_whole import LogRecordsWhole
from pairproof.harness.rocketmq.laws.storage.loss_is_suffix import LossIsSuffix
from pairproof.harness.rocketmq.laws.storage.queue_dense import QueueDense
from pairproof.harness.rocketmq.laws.storage.queue_derived_equal import QueueDerivedEqual

UNTOLD = ("append", "flush", "dispatch", "cut")


def again(history: H, how: str) -> H:
    """The master restarts; its recovery is not recorded."""
    return history.crash("master", how).add("start", node="master", f="unknown")


@pytest.mark.parametrize(("frame", "found"), [((0, 0), Verdict.VIOLATED), ((0, 50), Verdict.VACUOUS)])
def test_a_slave_that_received_bytes_may_end_in_the_middle_of_a_record(frame: tuple[int, int], found: Verdict) -> None:
    torn = pair().frame(*frame).audit("compare", nodes="slave", broken="slave", whole_to=0)
    assert blind(LogRecordsWhole, torn, *UNTOLD) is found
    anew = pair().frame(0, 50).crash("slave").add("start", node="slave", f="unknown")
    assert blind(LogRecordsWhole, anew.audit("recovery", nodes="slave", broken="slave"), *UNTOLD) is Verdict.VIOLATED


@pytest.mark.parametrize(("how", "found"), [("process", Verdict.VIOLATED), ("machine", Verdict.VACUOUS)])
def test_without_a_power_loss_a_restart_loses_nothing(how: str, found: Verdict) -> None:
    lacks = again(pair().sent("m0").sent("m1"), how).audit(records={"slave": ["m1"]}, compare="master")
    assert blind(LossIsSuffix, lacks, *UNTOLD) is found
    answer = {"node": "master", "f": "send", "queue": "t/0", "queue_offset": 0, "status": "PUT_OK"}

    def answered(history: H, message: str, lo: int) -> H:
        history.invoke(message)
        return history.add("ok", op=history.began[message][0], message=message, lo=lo, hi=lo + 100, **answer)

    twice = answered(again(answered(bare(), "m0", 0), how), "m1", 100)
    assert blind(QueueDense, twice, *UNTOLD) is found


@pytest.mark.parametrize(("rest_ms", "found"), [(900, Verdict.VACUOUS), (1_100, Verdict.VIOLATED)])
@pytest.mark.parametrize("grows", ["slave", "master"])
def test_bytes_from_a_moment_ago_may_not_be_indexed_yet(grows: str, rest_ms: int, found: Verdict) -> None:
    history = pair().after(5_000)
    grown = history.frame(0, 100) if grows == "slave" else history.put("k0").ok("k0")
    grown.after(rest_ms).audits += 1
    for node, digest in (("master", 7), ("slave", 8)):
        grown.add("keys", node=node, op=grown.audits, message="k0", digest=digest)
    assert blind(QueueDerivedEqual, grown, *UNTOLD) is found


@pytest.mark.parametrize(("node", "found"), [("slave", Verdict.HOLDS), ("master", Verdict.VIOLATED)])
def test_a_slave_without_recorded_syncs_may_answer_as_its_master_did(node: str, found: Verdict) -> None:
    history = grouped("m0", "m1", "m2").commit(1, node).query(2, node)
    assert_broken(ProgressKept, history, "")
    assert blind(ProgressKept, history, *UNTOLD, "sync") is found
