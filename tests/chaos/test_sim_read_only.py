"""A disk that turns read-only: what the broker can go on with, when it ends, and what a reboot leaves."""

from __future__ import annotations

import pytest

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.disk import ReadOnly, SimDisk
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

LAB = resolve.lab("sim")
SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
HEAL = Op("heal", {"name": "read_only"})


def execute(*ops: Op, laws: bool = False, **settings: str | int) -> Trial:
    # Each look at the log flushes whatever there is, or a broker finds out no sooner than after ten seconds.
    settings = {"flushCommitLogLeastPages": 0, **settings}
    return run_trial(LAB, TARGET, Schedule(settings, "read-only", ops), laws=judge.all_laws() if laws else ())


def read_only(node: str) -> Op:
    return Op("fault", {"name": "read_only", "node": node})


def advance(ms: int) -> Op:
    return Op("advance", {"ms": ms})


def of(trial: Trial, node: str, *kinds: str) -> list[Event]:
    return [event for event in trial.events if event.node == node and event.kind in kinds]


def full_of(disk: SimDisk) -> SimDisk:
    disk.open("commitlog/a", 8).write(0, b"12345678")
    disk.sync("commitlog/a")
    disk.read_only.append(ActiveFault())
    return disk


def test_nothing_can_be_created_removed_renamed_or_made_durable() -> None:
    disk = full_of(SimDisk())
    for attempt in (
        lambda: disk.open("commitlog/b", 8),
        lambda: disk.write_whole("config/topics.json", b"{}"),
        lambda: disk.delete("commitlog/a"),
        lambda: disk.rename("commitlog/a", "commitlog/b"),
        lambda: disk.sync("commitlog/a"),
    ):
        with pytest.raises(ReadOnly, match="read-only file system"):
            attempt()
    assert disk.read_only[0].effect == {"writes_refused": 5}


def test_what_is_there_can_be_read_and_written_in_the_page_cache_only() -> None:
    disk = full_of(SimDisk())
    disk.open("commitlog/a", 8).write(0, b"abc")
    assert disk.read_whole("commitlog/a") == b"abc45678"
    disk.delete("commitlog/none")
    disk.lose_power("none")
    assert disk.read_whole("commitlog/a") == b"12345678"


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_broker_takes_bytes_until_it_must_flush_and_then_ends_as_a_crash_does(node: str) -> None:
    trial = execute(read_only(node), SEND, advance(2_000))
    begun = next(event for event in trial.events if event.kind == "fault")
    taken = [event for event in of(trial, node, "append") if event.seq > begun.seq]
    ended = of(trial, node, "crash")[0]
    assert taken and taken[0].seq < ended.seq and ended.f == "process" and ended.t - taken[0].t <= 500_000_000
    assert not [each for each in of(trial, node, "flush") if begun.seq < each.seq < of(trial, node, "start")[1].seq]


def test_without_anything_to_write_it_does_not_find_out_before_the_reboot() -> None:
    trial = execute(advance(600), read_only("slave"), advance(200))
    assert [event.f for event in of(trial, "slave", "crash")] == ["machine"]
    assert trial.faults[0].effect == {"bytes_lost": 0, "machines_crashed": 1}


def test_it_cannot_start_until_the_reboot_which_takes_what_was_not_durable() -> None:
    kill = Op("fault", {"name": "kill", "node": "master"})
    back = Op("heal", {"name": "kill"})
    trial = execute(advance(600), read_only("master"), SEND, advance(2_000), kill, back, advance(100), HEAL)
    went = [(event.kind, event.f) for event in of(trial, "master", "crash", "start")[1:]]
    assert went == [("crash", "process"), ("crash", "machine"), ("start", "abnormal")]
    effect = trial.faults[-1].effect
    # A flush, and then a start.
    assert effect["writes_refused"] == 2 and effect["bytes_lost"] > 300


def test_of_two_such_troubles_only_the_end_of_the_last_one_brings_it_back() -> None:
    trial = execute(read_only("slave"), read_only("slave"), SEND, advance(2_000), HEAL, advance(1_000), HEAL)
    crash, _, start = of(trial, "slave", "crash", "start")[1:]
    assert crash.f == "process" and start.kind == "start"
    assert start.t - crash.t >= 1_000_000_000 and "machines_crashed" not in trial.faults[0].effect


def test_an_orderly_stop_is_none_where_nothing_can_be_saved() -> None:
    restart = Op("fault", {"name": "restart", "node": "slave"})
    trial = execute(read_only("slave"), restart)
    assert of(trial, "slave", "stop") == [] and of(trial, "slave", "crash")[0].f == "process"
    assert of(execute(restart), "slave", "stop")


@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
@pytest.mark.parametrize("node", ["master", "slave"])
def test_no_law_is_violated_by_the_reference(node: str, flush: str) -> None:
    trial = execute(SEND, read_only(node), SEND, advance(3_000), SEND, advance(3_000), laws=True, flushDiskType=flush)
    assert [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED] == []
    assert [each for each in trial.faults if each.bit]


@pytest.mark.parametrize(("target", "verdict"), [("", Verdict.HOLDS), ("+answers_before_flush", Verdict.VIOLATED)])
def test_who_answered_before_the_disk_refused_is_found_out(target: str, verdict: Verdict) -> None:
    settings = {"flushDiskType": "SYNC_FLUSH", "brokerRole": "ASYNC_MASTER"}
    schedule = Schedule(settings, "s", (advance(600), read_only("master"), SEND, advance(50), HEAL))
    trial = run_trial(LAB, resolve.target(f"reference{target}"), schedule, laws=judge.laws(["contract"]))
    assert [each.verdict for each in trial.judgements] == [verdict]
