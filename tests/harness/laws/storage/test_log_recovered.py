"""Tests of ``log-recovered``."""

from histories import H, assert_broken, assert_holds, assert_vacuous, pair
from histories.starts import back, found, left, refused

from pairproof.harness.event_types.node import UNKNOWN
from pairproof.harness.rocketmq.laws.storage.log_recovered import LogRecovered


def test_after_a_crash_a_log_ends_where_its_whole_records_ended() -> None:
    assert_holds(LogRecovered, back(found()))
    assert_holds(LogRecovered, back(found(used=900)))
    assert_broken(LogRecovered, back(found(used=900), 200), "log at 200, but whole records reached to 300")
    assert_broken(LogRecovered, back(found(used=900), 900), "log at 900, but whole records reached to 300")
    assert_vacuous(LogRecovered, back(found(), 200, incarnation=3))
    assert_vacuous(LogRecovered, back(pair().sent("m0").crash("master"), 200))


def test_a_record_that_may_be_torn_may_go() -> None:
    for end in (100, 200, 300):
        assert_holds(LogRecovered, back(found(ends=(100, 200)), end))
    for end in (0, 150, 400):
        assert_broken(LogRecovered, back(found(ends=(100, 200)), end), f"log at {end}, but")


def test_after_an_orderly_stop_nothing_of_the_chain_is_cut() -> None:
    assert_holds(LogRecovered, back(found("orderly"), f="normal"))
    # A log that begins in the middle of a file: its later files are read alone.
    assert_holds(LogRecovered, back(found("orderly"), 700, f="normal"))
    assert_broken(LogRecovered, back(found("orderly"), 200, f="normal"), "log at 200, but")


def test_a_start_does_the_recovery_of_its_last_end() -> None:
    assert_broken(
        LogRecovered, back(found("orderly")), "recovery called abnormal, but its last incarnation ended in an orderly"
    )
    assert_broken(
        LogRecovered, back(found(), f="normal"), "recovery called normal, but its last incarnation ended in a crash"
    )


def test_a_black_box_is_judged_by_the_audit_that_follows() -> None:
    def audited(whole_to: int, f: str = UNKNOWN, incarnation: int = 2, records: int = 280) -> H:
        history = back(found(used=900, records=records), 300, f=f)
        return history.add(
            "audit", node="master", incarnation=incarnation, f="recovery", op=1, lo=0, hi=900, value=whole_to
        )

    # A final filler may be dropped, and records behind the truncation may be read again.
    for whole_to in (280, 300, 900):
        assert_holds(LogRecovered, audited(whole_to))
    assert_broken(LogRecovered, audited(200), "whole records up to 200 only, but whole records reached to 300")
    assert_vacuous(LogRecovered, audited(200, incarnation=3))
    assert_vacuous(LogRecovered, back(found(), 200, f=UNKNOWN))
    # A node that reports its log end is judged by that.
    assert_holds(LogRecovered, audited(200, "abnormal"))


def test_the_kept_log_is_unchanged_and_durable_and_only_zeros_follow() -> None:
    assert_holds(LogRecovered, left(back(found(used=900))))
    assert_holds(LogRecovered, left(back(found()), "lacks", differs="index/1 is gone"))
    assert_broken(LogRecovered, left(back(found()), status="other", differs=120), "changed its log at 120")
    assert_broken(LogRecovered, left(back(found(used=900)), used=900), "leaves bytes after it up to 900")
    assert_broken(LogRecovered, left(back(found()), dirty=7), "7 bytes of its log that are not durable")


def test_after_an_orderly_stop_nothing_changes() -> None:
    def stopped() -> H:
        return back(found("orderly", used=330), f="normal")

    def lacking(history: H) -> H:
        return left(back(history, f="normal"), "lacks", differs="index/1 is gone")

    # A slave stops in the middle of a record.
    assert_holds(LogRecovered, left(stopped(), used=330))
    assert_broken(LogRecovered, left(stopped(), status="other", differs=301, used=300), "changed its log at 301")
    assert_broken(LogRecovered, lacking(found("orderly")), "after its start index/1 is gone")
    assert_holds(LogRecovered, lacking(found("orderly", lied=True)))


def test_a_broken_log_is_refused_if_the_start_would_lose_records() -> None:
    def started(queued: int | None, sure: int) -> H:
        return left(back(found("orderly", used=900, queued=queued), f="normal"), used=900, behind=(sure, sure))

    # A partial record, and another master's log, whose records this node's queues do not have.
    assert_holds(LogRecovered, started(300, 0))
    assert_holds(LogRecovered, started(300, 2))
    assert_broken(LogRecovered, started(700, 0), "queues have messages up to 700, but master starts on a log that ends")
    assert_broken(LogRecovered, started(200, 2), "log that ends at 300, though 2 whole records follow")
    assert_broken(LogRecovered, started(None, 2), "though 2 whole records follow")
    # An offset that the log never had is a damaged entry.
    assert_holds(LogRecovered, started(1_000, 2))


def test_a_store_that_is_refused_stays_as_it_is() -> None:
    assert_holds(LogRecovered, left(refused(found("orderly", used=900)), used=900))
    changed = left(refused(found("orderly", used=900)), "lacks", differs="commitlog/0")
    assert_broken(LogRecovered, changed, "refused its store, but changed commitlog/0")
