"""What is owed to transactions: what is pending or rolled back stays hidden, a commit is stored, each end is noted."""

from __future__ import annotations

import json

from consuming import C, G, Q

from pairproof.harness.history import digest
from pairproof.harness.rocketmq.laws.delivery.deliver_no_loss import DeliverNoLoss
from pairproof.harness.rocketmq.laws.delivery.transact_committed import TransactCommitted
from pairproof.harness.rocketmq.laws.delivery.transact_hidden import TransactHidden
from pairproof.harness.rocketmq.laws.delivery.transact_noted import TransactNoted
from pairproof.harness.rocketmq.testing import SIZE
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous
from pairproof.harness.texts.content import content

HALF, NOTES = "RMQ_SYS_TRANS_HALF_TOPIC/0", "RMQ_SYS_TRANS_OP_HALF_TOPIC/0"


class T(C):
    """A history with the half message m0, which is at 0 of its topic; ``found`` are records of the master's log."""

    def __init__(self, **config: object) -> None:
        super().__init__()
        self.config("master", **config).config("slave").start("master").start("slave").after(200_000)
        self.store("m0", detail=content(b"", "", 0, half=True))
        self.found: list[dict[str, object]] = []
        self.record(HALF, content(b"", "", 0, real=Q), lo=0)

    def decide(self, says: str = "commit", phase: str = "ok", at: int = 0) -> T:
        op, self.ops = self.ops, self.ops + 1
        call = {"process": 0, "op": op, "node": "master", "message": "m0", "queue": Q, "queue_offset": 0}
        self.after(1).add("decide", **call, f="asked", detail=json.dumps({"says": says, "at": at}))
        self.after(1).add("decide", **call, f=phase, status="SUCCESS")
        return self

    def record(self, queue: str, detail: str, lo: int | None = None, message: str | None = "m0", offset: int = 0) -> T:
        if lo is None:
            lo, self.end["master"] = self.end["master"], self.end["master"] + SIZE
        self.found.append(
            {"lo": lo, "hi": lo + SIZE, "queue": queue, "queue_offset": offset, "detail": detail, "message": message}
        )
        return self

    def committed(self, queue: str = Q, kind: str = "commit", prepared: int = 0, offset: int = 0) -> T:
        return self.record(queue, content(b"", "", 0, real=Q, type=kind, prepared=prepared), offset=offset)

    def noted(self, offset: int = 0, tags: str = "d") -> T:
        return self.record(NOTES, content(str(offset).encode(), tags, 0), message=None)

    def listed(self, node: str = "master") -> T:
        """Its log is read."""
        self.audits += 1
        for record in self.found:
            self.add("record", node=node, op=self.audits, value=0, **record)
        self.add("audit", node=node, op=self.audits, f="final", lo=0, hi=self.end["master"], status="whole")
        return self

    def came(self, group: str | None = None) -> T:
        self.add(
            "deliver", node="master", process=1, op=self.ops, f="pull", message="m0", queue=Q, queue_offset=0,
            lo=SIZE, hi=2 * SIZE, digest=digest(b""), group=group,
        )  # fmt: skip
        return self

    def lost(self) -> T:
        self.crash("master", "machine").start("master", self.end["master"])
        return self


# transact-hidden


def test_what_waits_or_was_rolled_back_is_in_no_queue_and_comes_to_nobody() -> None:
    assert_holds(TransactHidden, T().listed())
    assert_holds(TransactHidden, T().decide().committed().came().listed().listed("slave"))
    assert_broken(TransactHidden, T().came(), "delivered m0 from T/0, whose transaction nobody has ended")
    assert_broken(TransactHidden, T().committed().listed("slave"), "slave holds m0 in T/0, whose transaction nobody")
    assert_broken(TransactHidden, T().decide("rollback").came(group=G), "which was only rolled back")
    assert_vacuous(TransactHidden, C().config("master").config("slave").start("master").store("m0"))


def test_a_commit_without_an_answer_may_have_been_taken() -> None:
    assert_holds(TransactHidden, T().decide(phase="info").came())
    assert_holds(TransactHidden, T().decide("rollback").decide(phase="fail").committed().listed())


def test_after_a_loss_another_commit_may_have_meant_it() -> None:
    assert_vacuous(TransactHidden, T().lost().came().committed().listed())


# transact-committed


def test_a_half_message_is_stored_as_often_as_it_was_committed() -> None:
    assert_holds(TransactCommitted, T().decide().committed().listed())
    assert_holds(TransactCommitted, T().decide().decide().committed().committed(offset=1).listed())
    assert_broken(TransactCommitted, T().decide().listed(), "m0 was committed 1 times and is stored 0 times")
    twice = T().decide().committed().committed(offset=1)
    assert_broken(TransactCommitted, twice.listed(), "m0 is stored 2 times; 1 commits asked for that")
    for phase in ("info", "fail"):
        assert_holds(TransactCommitted, T().decide(phase=phase).listed())
        assert_holds(TransactCommitted, T().decide(phase=phase).committed().listed())
    assert_vacuous(TransactCommitted, T().decide("rollback").listed())


def test_a_committed_message_is_in_its_queue_marked_as_such_and_says_where_its_half_is() -> None:
    assert_broken(TransactCommitted, T().decide().committed("T/1").listed(), "is in T/1; its half was sent to T/0")
    unmarked = T().decide().record(Q, content(b"", "", 0, real=Q))
    assert_broken(TransactCommitted, unmarked.listed(), "is marked as of no transaction")
    assert_broken(TransactCommitted, T().decide().committed(kind="rollback").listed(), "is marked as rollback")
    elsewhere = T().decide().committed(prepared=SIZE).listed()
    assert_broken(TransactCommitted, elsewhere, f"says that its half is at {SIZE}; it is at 0")


def test_copies_that_consumers_send_back_are_no_commits() -> None:
    back = content(b"", "", 0, real="%RETRY%G/0", times=1, type="commit", prepared=0)
    assert_holds(TransactCommitted, T().decide().committed().record("SCHEDULE_TOPIC_XXXX/2", back).listed())


def test_a_log_that_lost_a_part_says_nothing_of_commits_nor_of_notes() -> None:
    for law in (TransactCommitted, TransactNoted):
        assert_vacuous(law, T().decide().lost().listed())
    # It was under way when the master went down.
    assert_holds(TransactCommitted, _killed(T()).listed())


def _killed(history: T) -> T:
    op = history.ops
    call = {"process": 0, "op": op, "node": "master", "message": "m0", "queue": Q, "queue_offset": 0}
    history.add("decide", **call, f="asked", detail=json.dumps({"says": "commit", "at": 0}))
    history.crash("master").start("master", history.end["master"])
    history.add("decide", **call, f="ok", status="SUCCESS")
    return history


# transact-noted


def test_each_end_that_was_taken_is_noted_once() -> None:
    for says in ("commit", "rollback"):
        assert_holds(TransactNoted, T().decide(says).noted().listed())
        never = "half message 0 is noted 0 times as ended; 1 of 1 ends were taken"
        assert_broken(TransactNoted, T().decide(says).listed(), never)
    assert_holds(TransactNoted, T().decide().decide().noted().noted().listed())
    assert_broken(TransactNoted, T().decide().noted().noted().listed(), "is noted 2 times as ended")
    assert_holds(TransactNoted, T().decide(phase="info").noted().listed())
    assert_holds(TransactNoted, T().decide(phase="info").listed())
    assert_vacuous(TransactNoted, T().listed())


def test_a_note_is_of_the_half_message_that_was_ended() -> None:
    assert_broken(TransactNoted, T().decide().noted(7).listed(), "is of no half message that was ended", times=2)
    assert_broken(TransactNoted, T().noted().listed(), "is of no half message that was ended")
    assert_broken(TransactNoted, T().decide().noted(tags="x").listed(), "that was ended, tagged x", times=2)


def test_a_full_disk_takes_notes_and_5_x_gathers_them() -> None:
    full = T()
    full.fault("disk_full", "", "on")
    assert_holds(TransactNoted, full.decide().listed())
    assert_vacuous(TransactNoted, T(rocketmqVersion="5.5.0").decide().listed())


# deliver-no-loss


def test_a_half_message_is_owed_to_groups_once_it_was_committed() -> None:
    def ended(history: T, *offsets: int) -> T:
        history.come().take(None)
        for offset in offsets:
            history.pull(offset, "m0" if offset == 0 else f"m{offset}")
        history.mark("heal")
        history.after(300_000)
        history.listed().mark("end")
        return history

    never = "m0 (PUT_OK), T/0 at 0, never came to G"
    assert_broken(DeliverNoLoss, ended(T().decide().committed()), never)
    assert_holds(DeliverNoLoss, ended(T().decide().committed(), 0))
    assert_vacuous(DeliverNoLoss, ended(T()))
    assert_vacuous(DeliverNoLoss, ended(T().decide("rollback")))
