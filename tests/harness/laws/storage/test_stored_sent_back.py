"""Tests of ``stored-sent-back``."""

from histories import SIZE, assert_broken, assert_holds, assert_vacuous
from histories.builder import DEAD, RETRY
from histories.consumers import sent_back

from pairproof.harness.rocketmq.laws.storage.stored_sent_back import StoredSentBack

LEVEL_3, LEVEL_4 = "SCHEDULE_TOPIC_XXXX/2", "SCHEDULE_TOPIC_XXXX/3"


def test_a_message_sent_back_is_stored_and_returns() -> None:
    assert_holds(StoredSentBack, sent_back().back().copy(LEVEL_3, ms=5).copy(RETRY, ms=10_005).listed(60_000))
    assert_broken(StoredSentBack, sent_back().back().listed(60_000), "was acknowledged 1 times and is stored 0 times")
    assert_vacuous(StoredSentBack, sent_back().listed(60_000))
    nobody_knows = sent_back().back(phase="info")
    assert_holds(StoredSentBack, nobody_knows.back().copy(LEVEL_3, ms=5).copy(RETRY, ms=10_005).listed(60_000))


def test_nothing_is_stored_more_often_than_it_was_sent_back() -> None:
    twice = sent_back().back().copy(LEVEL_3).copy(LEVEL_3).copy(RETRY, ms=10_000).copy(RETRY, ms=10_000)
    assert_broken(StoredSentBack, twice.listed(60_000), "is stored 2 times; it was requested 1 times")
    came_twice = sent_back().back().copy(LEVEL_3).copy(RETRY, ms=10_000).copy(RETRY, ms=10_001)
    assert_broken(StoredSentBack, came_twice.listed(60_000), "came back 2 times; it waited 1 times")
    # It may deliver again messages whose delivery it had not recorded.
    died = sent_back().back().copy(LEVEL_3).copy(RETRY, ms=10_000)
    died.crash("master").start("master", died.end["master"])
    assert_holds(StoredSentBack, died.copy(RETRY, ms=10_001).listed(60_000))


def test_a_copy_counts_one_retry_more() -> None:
    uncounted = sent_back().back().back(times=0, at=SIZE).copy(LEVEL_3, times=1).copy(RETRY, times=1, ms=10_000)
    assert_broken(
        StoredSentBack, uncounted.listed(60_000), "sent back for time 2, was acknowledged 1 times and is stored 0 times"
    )


def test_a_copy_waits_as_long_as_its_retries_say() -> None:
    asked = sent_back().back(level=4).copy(LEVEL_4).copy(RETRY, ms=30_000)
    assert_holds(StoredSentBack, asked.listed(60_000))
    wrong = sent_back().back().copy(LEVEL_4).copy(RETRY, ms=30_000)
    assert_broken(
        StoredSentBack, wrong.listed(60_000), "is in SCHEDULE_TOPIC_XXXX/3; it belongs in SCHEDULE_TOPIC_XXXX/2"
    )
    early = sent_back().back().copy(LEVEL_3).copy(RETRY, ms=9_999)
    assert_broken(StoredSentBack, early.listed(60_000), "came back after 9999 ms; its delay is 10000 ms")
    assert_broken(StoredSentBack, sent_back().back().copy(LEVEL_3).listed(60_000), "is not back; it is")
    assert_holds(StoredSentBack, sent_back().back().copy(LEVEL_3).listed(12_000))


def test_after_its_last_retry_a_message_is_a_dead_letter() -> None:
    assert_holds(StoredSentBack, sent_back().back(most=0).copy(DEAD).listed(60_000))
    too_early = sent_back().back(most=1).copy(DEAD)
    assert_broken(StoredSentBack, too_early.listed(60_000), "is in %DLQ%G; it belongs in SCHEDULE_TOPIC_XXXX/2")
    too_late = sent_back().back(most=0).copy(LEVEL_3).copy(RETRY, ms=10_000)
    assert_broken(StoredSentBack, too_late.listed(60_000), "it belongs in %DLQ%G")


def test_a_copy_names_the_first_message_and_its_topic() -> None:
    stranger = sent_back().back().copy(LEVEL_3, origin=7).copy(RETRY, ms=10_000)
    assert_broken(
        StoredSentBack, stranger.listed(60_000), "names 7F00000100002A9F0000000000000007 from T as its origin"
    )
    other = sent_back().back().copy(LEVEL_3, topic="U").copy(RETRY, ms=10_000)
    assert_broken(StoredSentBack, other.listed(60_000), "from U")


def test_a_log_that_lost_a_part_is_not_judged() -> None:
    lost = sent_back().back()
    lost.crash("master", "machine").start("master", lost.end["master"])
    assert_vacuous(StoredSentBack, lost.listed(60_000))
    cut = sent_back().back()
    cut.crash("master").restart("master", 0)
    assert_vacuous(StoredSentBack, cut.listed(60_000))
