"""Orderly and broadcasting consumers in the simulation: what they ask, who consumes, what is recorded of locks."""

from __future__ import annotations

import json

from pairproof.chaos.rocketmq.calls_listener import LOCK, UNLOCK, locked
from pairproof.chaos.rocketmq.provision import QUEUES
from pairproof.harness.history import MS, Event
from pairproof.harness.rocketmq.operations.join import BROADCASTING, ORDERLY
from pairproof.harness.rocketmq.template import advance, fault, heal, join, leave, send
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.reference.core.calls import Outcome
from pairproof.reference.wire.remoting import Command

COMES = (join(ORDERLY, 0), advance(1_000), send(0), advance(6_000))
LIVES_NS = 60_000 * MS


def events(*ops: Op) -> list[Event]:
    schedule = Schedule({"lab.nameServer": 1}, "orderly", ops)
    return list(run_trial(resolve.lab("sim"), resolve.target("reference"), schedule, laws=()).events)


def locks(found: list[Event], f: str, status: str, client: str = "c0") -> list[tuple[int, list[str]]]:
    return [
        (each.t, json.loads(each.detail or ""))
        for each in found
        if each.kind == "lock" and (each.f, each.status, each.message) == (f, status, client)
    ]


def test_an_orderly_consumer_asks_for_every_queue_and_renews_its_locks() -> None:
    found = events(*COMES, advance(40_000))
    (came,) = [each for each in found if each.kind == "consumer"]
    assert (came.f, came.group) == ("orderly", f"g{ORDERLY}")
    asked = locks(found, "lock", "asked")
    assert sorted(queues[0] for _, queues in asked[:QUEUES]) == [f"pairproof/{number}" for number in range(QUEUES)]
    renewed = [t for t, queues in asked if len(queues) == QUEUES]
    assert len(renewed) >= 2 and renewed[1] - renewed[0] == 20_000 * MS
    assert [queues for _, queues in locks(found, "lock", "answered")] == [queues for _, queues in asked]


def test_a_member_that_leaves_gives_its_locks_back_and_the_other_gets_them() -> None:
    found = events(*COMES, join(ORDERLY, 1), advance(6_000), leave(ORDERLY, 0), send(0), advance(6_000))
    back = locks(found, "unlock", "answered")
    assert len({queue for _, queues in back for queue in queues}) == QUEUES
    holds = {queue for _, queues in locks(found, "lock", "answered", "c1") for queue in queues}
    assert holds == {f"pairproof/{number}" for number in range(QUEUES)}


def test_a_member_that_dies_keeps_its_locks_for_a_minute() -> None:
    found = events(*COMES, leave(ORDERLY, 0, lost=True), join(ORDERLY, 1), advance(70_000))
    last = max(t for t, _ in locks(found, "lock", "answered"))
    given = [t for t, queues in locks(found, "lock", "answered", "c1") if queues]
    assert given and last + LIVES_NS <= min(given) < last + LIVES_NS + 5_000 * MS


def test_nothing_is_consumed_after_the_lock_has_ended_until_the_master_is_back() -> None:
    found = events(*COMES, fault("kill", node="master"), advance(60_000), heal("kill"), send(0), advance(40_000))
    down = next(each.t for each in found if each.kind == "crash")
    up = next(each.t for each in found if each.kind == "start" and each.t > down)
    unheard = {each.status for each in found if each.kind == "lock" and down < each.t < up}
    assert unheard <= {"asked", "failed", "unknown"}
    delivered = [each.t for each in found if each.kind == "deliver"]
    assert not [t for t in delivered if down + 31_000 * MS < t < up] and [t for t in delivered if t > up]


def test_a_broadcasting_member_commits_nothing() -> None:
    found = events(join(BROADCASTING, 0), join(BROADCASTING, 1), advance(1_000), send(0), advance(12_000))
    calls = {each.f for each in found if each.kind == "invoke" and each.group == f"g{BROADCASTING}"}
    assert calls == {"pull"}
    assert not [each for each in found if each.kind == "lock"]


def test_an_answer_that_cannot_be_read_leaves_the_locks_unknown() -> None:
    asked, same = ["t/0"], json.dumps(["t/0"])
    read = {
        b'{"lockOKMQSet":[{"topic":"t","queueId":0}]}': ("answered", same),
        b'{"lockOKMQSet":[]}': ("answered", "[]"),
        b"[]": ("unknown", same),
        b"": ("unknown", same),
    }
    for body, told in read.items():
        assert locked(LOCK, Outcome("ok", "PUT_OK", Command(0, 1, 1, {}, body)), asked) == told
    assert locked(UNLOCK, Outcome("ok", "PUT_OK", Command(0, 1, 1, {}, b"")), asked) == ("answered", same)
    assert locked(LOCK, Outcome("fail", "refused", None), asked) == ("failed", same)
    assert locked(LOCK, Outcome("fail", "SYSTEM_ERROR", Command(1, 1, 1, {})), asked) == ("unknown", same)
    assert locked(LOCK, Outcome("info", "timeout", None), asked) == ("unknown", same)
