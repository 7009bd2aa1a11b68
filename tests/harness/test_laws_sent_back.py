"""What is owed to a message that a consumer sent back: a copy in the log, as it is to be, and its return in time."""

from __future__ import annotations

import json

from consuming import C, G, Q

from pairproof.harness.history import digest
from pairproof.harness.rocketmq.laws.delivery.deliver_sent_back import DeliverSentBack
from pairproof.harness.rocketmq.laws.storage.stored_sent_back import StoredSentBack
from pairproof.harness.rocketmq.testing import SIZE
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous
from pairproof.harness.texts.content import content

RETRY, DEAD = f"%RETRY%{G}/0", f"%DLQ%{G}/0"
LEVEL_3, LEVEL_4 = "SCHEDULE_TOPIC_XXXX/2", "SCHEDULE_TOPIC_XXXX/3"


class B(C):
    """A history with messages that are sent back; ``copies`` are what the master's log has of them."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: list[dict[str, object]] = []

    def back(
        self, times: int = 0, at: int = 0, most: int = 2, level: int = 0, phase: str = "ok", message: str = "m0"
    ) -> B:
        """The consumer sends a message back."""
        told = json.dumps({"at": at, "times": times, "level": level, "most": most})
        op, self.ops = self.ops, self.ops + 1
        for f, detail in (("asked", told), (phase, None)):
            self.after(1)
            self.add(
                "back", process=1, op=op, f=f, node="master", group=G, message=message, queue=Q, queue_offset=0,
                status="PUT_OK", detail=detail,
            )  # fmt: skip
        return self

    def copy(
        self, queue: str, times: int = 1, ms: int = 0, origin: int = 0, topic: str = "T", message: str = "m0"
    ) -> B:
        """The master's log has a copy, stored at ``ms``."""
        lo = self.end["master"]
        self.end["master"] = lo + SIZE
        where = {} if queue == DEAD else {"real": RETRY}
        told = content(b"", "", 0, **where, times=times, origin=f"7F00000100002A9F{origin:016X}", **{"from": topic})
        self.copies.append({"lo": lo, "hi": lo + SIZE, "queue": queue, "value": ms, "detail": told, "message": message})
        return self

    def listed(self, ms: float = 60_000) -> B:
        """Time passes, and the master's log is read."""
        self.after(ms)
        self.audits += 1
        own = {"lo": 0, "hi": SIZE, "queue": Q, "value": 0, "detail": content(b"", "", 0), "message": "m0"}
        for record in (own, *self.copies):
            self.add("record", node="master", op=self.audits, **record)
        self.add("audit", node="master", op=self.audits, f="final", lo=0, hi=self.end["master"], status="whole")
        return self

    def again(self, times: int = 1) -> B:
        """It comes from the retry topic."""
        self.add(
            "deliver", node="master", process=1, op=self.ops, f="pull", message="m0", queue=RETRY, queue_offset=times,
            lo=0, hi=SIZE, digest=digest(b""), group=G, value=times or None,
        )  # fmt: skip
        return self


def world() -> B:
    history = B()
    history.config("master").config("slave").start("master").start("slave").after(200_000)
    history.store("m0").come().take(None).pull(0, "m0")
    return history


def went(history: B, ms: float) -> B:
    history.after(ms)
    return history


# stored-sent-back


def test_what_was_taken_back_is_stored_and_comes_again() -> None:
    assert_holds(StoredSentBack, world().back().copy(LEVEL_3, ms=5).copy(RETRY, ms=10_005).listed())
    assert_broken(StoredSentBack, world().back().listed(), "was taken 1 times and is stored 0 times")
    assert_vacuous(StoredSentBack, world().listed())
    nobody_knows = world().back(phase="info")
    assert_holds(StoredSentBack, nobody_knows.back().copy(LEVEL_3, ms=5).copy(RETRY, ms=10_005).listed())


def test_nothing_is_stored_more_often_than_it_was_sent_back() -> None:
    twice = world().back().copy(LEVEL_3).copy(LEVEL_3).copy(RETRY, ms=10_000).copy(RETRY, ms=10_000)
    assert_broken(StoredSentBack, twice.listed(), "is stored 2 times; it was asked for 1 times")
    came_twice = world().back().copy(LEVEL_3).copy(RETRY, ms=10_000).copy(RETRY, ms=10_001)
    assert_broken(StoredSentBack, came_twice.listed(), "came back 2 times; it waited 1 times")
    # It may deliver again what it had not noted.
    died = world().back().copy(LEVEL_3).copy(RETRY, ms=10_000)
    died.crash("master").start("master", died.end["master"])
    assert_holds(StoredSentBack, died.copy(RETRY, ms=10_001).listed())


def test_a_copy_counts_one_retry_more() -> None:
    uncounted = world().back().back(times=0, at=SIZE).copy(LEVEL_3, times=1).copy(RETRY, times=1, ms=10_000)
    assert_broken(StoredSentBack, uncounted.listed(), "sent back for time 2, was taken 1 times and is stored 0 times")


def test_a_copy_waits_as_long_as_its_retries_say() -> None:
    asked = world().back(level=4).copy(LEVEL_4).copy(RETRY, ms=30_000)
    assert_holds(StoredSentBack, asked.listed())
    wrong = world().back().copy(LEVEL_4).copy(RETRY, ms=30_000)
    assert_broken(StoredSentBack, wrong.listed(), "is in SCHEDULE_TOPIC_XXXX/3; it belongs into SCHEDULE_TOPIC_XXXX/2")
    early = world().back().copy(LEVEL_3).copy(RETRY, ms=9_999)
    assert_broken(StoredSentBack, early.listed(), "came back after 9999 ms; its delay is 10000 ms")
    assert_broken(StoredSentBack, world().back().copy(LEVEL_3).listed(), "is not back, though it is due since")
    assert_holds(StoredSentBack, world().back().copy(LEVEL_3).listed(12_000))


def test_after_its_last_retry_a_message_is_a_dead_letter() -> None:
    assert_holds(StoredSentBack, world().back(most=0).copy(DEAD).listed())
    too_early = world().back(most=1).copy(DEAD)
    assert_broken(StoredSentBack, too_early.listed(), "is in %DLQ%G; it belongs into SCHEDULE_TOPIC_XXXX/2")
    too_late = world().back(most=0).copy(LEVEL_3).copy(RETRY, ms=10_000)
    assert_broken(StoredSentBack, too_late.listed(), "it belongs into %DLQ%G")


def test_a_copy_names_the_first_message_and_its_topic() -> None:
    stranger = world().back().copy(LEVEL_3, origin=7).copy(RETRY, ms=10_000)
    assert_broken(StoredSentBack, stranger.listed(), "says that it is 7F00000100002A9F0000000000000007 from T")
    other = world().back().copy(LEVEL_3, topic="U").copy(RETRY, ms=10_000)
    assert_broken(StoredSentBack, other.listed(), "from U")


def test_a_log_that_lost_a_part_says_nothing_of_what_was_sent_back() -> None:
    lost = world().back()
    lost.crash("master", "machine").start("master", lost.end["master"])
    assert_vacuous(StoredSentBack, lost.listed())
    cut = world().back()
    cut.crash("master").restart("master", 0)
    assert_vacuous(StoredSentBack, cut.listed())


# deliver-sent-back


def test_what_was_sent_back_comes_again_when_its_delay_has_passed() -> None:
    assert_holds(DeliverSentBack, went(world().back(), 10_000).again())
    assert_broken(DeliverSentBack, went(world().back(), 9_000).again(), "999 ms before its delay has passed")
    # A broker counts whole milliseconds, and the way to it may take less than one.
    assert_holds(DeliverSentBack, went(world().back(), 9_998).again())
    assert_broken(DeliverSentBack, went(world().back(), 9_997).again(), "2 ms before its delay has passed")
    assert_vacuous(DeliverSentBack, world().back().mark("end"))


def test_nothing_comes_from_a_retry_topic_that_nobody_sent_back_so_often() -> None:
    assert_broken(DeliverSentBack, world().again(), "nobody sent it back so often")
    assert_broken(
        DeliverSentBack, went(world().back(), 10_000).again(times=0), "sent back 0 times; nobody sent it back"
    )
    assert_broken(DeliverSentBack, went(world().back(most=0), 99_000).again(), "nobody sent it back so often")


def test_what_the_master_took_comes_while_a_member_lives() -> None:
    never = "m0 never came to G for time 1; the master took it back"
    assert_broken(DeliverSentBack, went(world().back(), 71_000).mark("end"), never)
    assert_vacuous(DeliverSentBack, went(world().back(phase="info"), 71_000).mark("end"))
    assert_vacuous(DeliverSentBack, went(world().back(most=0), 71_000).mark("end"))
    for node, excused in (("slave", True), ("master", False)):
        moved = went(world().back(), 10_000)
        moved.add(
            "ok",
            node=node,
            process=1,
            group=G,
            f="pull",
            queue=RETRY,
            status="PULL_OFFSET_MOVED",
            value=0,
            queue_offset=9,
        )
        moved = went(moved, 61_000).mark("end")
        assert_vacuous(DeliverSentBack, moved) if excused else assert_broken(DeliverSentBack, moved, never)
    gone = world().back()
    gone.go()
    assert_vacuous(DeliverSentBack, went(gone, 71_000).mark("end"))
    disturbed = world().back()
    disturbed.fault("stall", "client-master").fault("stall", "client-master", "off")
    assert_vacuous(DeliverSentBack, went(disturbed, 149_000).mark("end"))
