"""Faults of nodes, their clocks, disks and stores in the simulated lab: each does what it says, and ends."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pairproof.chaos.labs.sim.node_faults import Ongoing
from pairproof.chaos.labs.sim.session import SimSession
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.schedule_json import from_json
from pairproof.harness.trials.trial import Trial

LAB = resolve.lab("sim")
SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
BRIEFLY = Op("advance", {"ms": 2})
REFUSED = "SERVICE_NOT_AVAILABLE"


def execute(*ops: Op, **settings: str | int) -> Trial:
    return run_trial(LAB, TARGET, Schedule(settings, "trial", ops), laws=())


def fault(name: str, **args: str | int) -> Op:
    return Op("fault", {"name": name, **args})


def heal(name: str) -> Op:
    return Op("heal", {"name": name})


def advance(ms: int) -> Op:
    return Op("advance", {"ms": ms})


def warm(**settings: str | int) -> SimSession:
    session = SimSession(TARGET, TARGET.settings(settings), "trial")
    session.warm_up()
    return session


def kinds(trial: Trial | SimSession, kind: str, **wanted: object) -> list[Event]:
    events = trial.events if isinstance(trial, Trial) else trial.recorder.events
    return [e for e in events if e.kind == kind and all(getattr(e, name) == value for name, value in wanted.items())]


def statuses(trial: Trial) -> list[str | None]:
    """Of the sends between warm-up and the first probe."""
    probe = kinds(trial, "mark", f="probe")[0].seq
    return [e.status for e in trial.events[:probe] if e.f == "send" and e.kind in ("ok", "fail", "info")][1:]


def converges(trial: Trial) -> bool:
    ends = {event.hi for event in kinds(trial, "audit", f="final")}
    return bool(kinds(trial, "mark", f="converged")) and len(ends) == 1


# Pause.


def test_paused_node_does_nothing_at_all_until_it_is_resumed() -> None:
    trial = execute(fault("pause", node="slave"), SEND, advance(8_000), heal("pause"), advance(100))
    began, ended = kinds(trial, "pause")[0], kinds(trial, "resume")[0]
    during = [e for e in trial.events[began.seq : ended.seq] if e.node == "slave" and e.side != "m"]
    assert [e.kind for e in during] == ["pause"] and ended.t - began.t == 8_000_000_000
    assert statuses(trial) == ["FLUSH_SLAVE_TIMEOUT"]
    after = [e.kind for e in trial.events[ended.seq :] if e.node == "slave"]
    assert after.index("frame") < after.index("append") < after.index("report")
    assert trial.faults[0].effect["events_held"] >= 2 and converges(trial)


def test_what_waits_for_a_paused_node_fills_the_senders_socket_and_comes_in_order() -> None:
    session = warm(**{"lab.bufferBytes": 600})
    handle = session.on_nodes.pause("slave")
    before = session.world.network.links["ha"].ends[0]
    pushing = next(end for end in (before, before.peer) if end.host.name == "master")
    for _ in range(4):
        session.driver.clients.send(0, 300, True, 0)
    session.advance(1_000)
    assert pushing.in_flight == 600 and pushing.wants_room
    appended = len(kinds(session, "append", node="slave"))
    session.on_nodes.resume(handle)
    session.advance(1_000)
    assert pushing.in_flight == 0 and not pushing.wants_room
    pieces = [(e.lo, e.hi) for e in kinds(session, "append", node="slave")][appended:]
    assert pieces and all(a[1] == b[0] for a, b in pairwise(pieces))
    assert {session.world.hosts[name].node.log.end for name in session.world.plan.replicas} == {pieces[-1][1]}  # type: ignore[union-attr]


def test_kernel_accepts_for_a_paused_listener_and_the_process_hears_of_it_later() -> None:
    session = warm(haSendHeartbeatInterval=500)
    handle = session.on_nodes.pause("master")
    session.on_links.reset_link("ha")
    session.advance(7_000)
    connects = kinds(session, "connect", side="m")
    paused = kinds(session, "pause")[0]
    assert connects[-1].seq > paused.seq and not session.driver.clients.in_flight
    assert not [e for e in kinds(session, "report", side="m") if e.seq > paused.seq]
    session.on_nodes.resume(handle)
    resumed = kinds(session, "resume")[0]
    session.advance(7_000)
    assert [e for e in kinds(session, "report", side="m") if e.seq > resumed.seq and e.link == connects[-1].link]


def test_paused_process_hears_of_a_reset_when_it_goes_on() -> None:
    session = warm()
    handle = session.on_nodes.pause("slave")
    session.on_links.reset_link("ha")
    session.advance(50)
    assert [e.node for e in kinds(session, "close")] == ["master"]
    session.on_nodes.resume(handle)
    assert [e.node for e in kinds(session, "close")] == ["master", "slave"]


def test_disk_of_a_paused_node_works_on() -> None:
    session = warm(flushDiskType="SYNC_FLUSH")
    flushes = len(kinds(session, "flush", node="master"))
    session.driver.clients.send(0, 300, True, 0)
    while not session.world.hosts["master"].disk.files["commitlog/00000000000000000000"].dirty:
        session.step(1)
    handle = session.on_nodes.pause("master")
    session.advance(1_000)
    assert not session.world.hosts["master"].disk.files["commitlog/00000000000000000000"].dirty
    assert len(kinds(session, "flush", node="master")) == flushes
    session.on_nodes.resume(handle)
    assert len(kinds(session, "flush", node="master")) == flushes + 1


@pytest.mark.parametrize("end", ["kill", "power_loss"])
def test_paused_process_can_be_killed_and_the_next_one_is_not_paused(end: str) -> None:
    trial = execute(fault("pause", node="slave"), SEND, BRIEFLY, fault(end, node="slave"), heal(end), advance(20_000))
    assert len(kinds(trial, "crash", node="slave")) == 1 and not kinds(trial, "resume")
    assert [e for e in kinds(trial, "append", node="slave") if e.incarnation == 2]
    assert converges(trial)


def test_sigterm_waits_for_a_paused_process() -> None:
    trial = execute(fault("pause", node="slave"), fault("restart", node="slave"), SEND, BRIEFLY)
    assert not kinds(trial, "stop") and trial.faults[1].bit == 0


def test_two_pauses_of_one_node_end_with_the_second() -> None:
    pause = fault("pause", node="slave")
    trial = execute(pause, pause, SEND, BRIEFLY, heal("pause"), BRIEFLY, SEND, BRIEFLY, heal("pause"), BRIEFLY)
    assert len(kinds(trial, "pause")) == len(kinds(trial, "resume")) == 1
    assert kinds(trial, "resume")[0].seq > kinds(trial, "invoke", f="send")[2].seq


@pytest.mark.parametrize("point", ["append", "send", "recv"])
def test_pause_at_a_trigger_begins_when_the_node_has_ended_what_it_is_doing(point: str) -> None:
    arm = Op("arm", {"node": "slave", "point": point, "nth": 1, "name": "pause"})
    trial = execute(arm, SEND, advance(20), heal("pause"), advance(20))
    began, ended = kinds(trial, "pause")[0], kinds(trial, "resume")[0]
    assert began.node == "slave" and began.seq > kinds(trial, "fault", status="on")[0].seq
    assert not [e for e in trial.events[began.seq + 1 : ended.seq] if e.node == "slave" and e.side != "m"]


@pytest.mark.parametrize("ends", [True, False])
def test_pause_that_ends_before_it_could_begin_never_happens(ends: bool) -> None:
    session = warm()
    handles: list[Ongoing] = []
    session.arm("slave", "recv", 1, lambda: handles.append(session.on_nodes.pause("slave")))
    session.driver.clients.send(0, 300, True, 0)
    while not handles:
        session.step(1)
    if ends:
        session.on_nodes.resume(handles[0])
    session.advance(100)
    assert bool(kinds(session, "pause")) != ends


def test_pause_without_anything_to_hold_never_bit() -> None:
    assert execute(fault("pause", node="slave"), BRIEFLY, heal("pause"), BRIEFLY).faults[0].bit == 0


# Clocks.


@pytest.mark.parametrize("ms", [3_600_000, -3_600_000])
def test_skewed_clock_moves_timestamps_and_nothing_else(ms: int) -> None:
    send = (SEND, advance(20))
    trial = execute(*send, fault("clock_skew", node="master", ms=ms), *send, heal("clock_skew"), *send)
    straight = execute(*send, *send, *send)
    assert [e.value for e in kinds(trial, "clock", node="master")] == [ms, 0]
    stamps, true = ([e.value or 0 for e in kinds(each, "record", node="master")][1:4] for each in (trial, straight))
    assert [a - b for a, b in zip(stamps, true, strict=True)] == [0, ms, 0]
    assert [e.t for e in kinds(trial, "ok")] == [e.t for e in kinds(straight, "ok")]
    assert trial.faults[0].effect == {"readings_skewed": 1}


# Disks.


@pytest.mark.parametrize(("liar", "status", "survives"), [(True, "lied", False), (False, None, True)])
def test_power_loss_after_a_lying_flush_takes_what_was_called_durable(
    liar: bool, status: str | None, survives: bool
) -> None:
    lie = [fault("lying_flush", node="master")] if liar else []
    crash = fault("power_loss", node="master", keep="none")
    trial = execute(*lie, SEND, advance(20), crash, advance(20), flushDiskType="SYNC_FLUSH")
    assert statuses(trial) == ["PUT_OK"]
    assert kinds(trial, "crash")[0].status == status
    assert ("m1" in {e.message for e in kinds(trial, "record", node="master")}) == survives


def test_honest_flush_makes_up_for_an_earlier_lie() -> None:
    lie = (fault("lying_flush", node="master"), SEND, advance(20), heal("lying_flush"), SEND, advance(20))
    trial = execute(*lie, fault("power_loss", node="master", keep="none"), advance(20), flushDiskType="SYNC_FLUSH")
    assert trial.faults[0].effect["bytes_feigned"] > 300
    assert kinds(trial, "crash")[0].status is None and not kinds(trial, "cut")


@pytest.mark.parametrize("ms", [20, 1_500])
def test_slow_disk_delays_each_flush_by_as_much(ms: int) -> None:
    trial = execute(fault("slow_disk", node="master", ms=ms), SEND, advance(2_000), flushDiskType="SYNC_FLUSH")
    straight = execute(SEND, advance(2_000), flushDiskType="SYNC_FLUSH")
    done, usual = (kinds(each, "flush", node="master")[1].t for each in (trial, straight))
    assert done - usual == ms * 1_000_000
    # The log's: the queues wait for two pages.
    assert trial.faults[0].effect == {"flushes_slowed": 1}


def test_master_without_room_refuses_and_stores_nothing_until_there_is_room() -> None:
    sends = [SEND, BRIEFLY] * 7
    trial = execute(fault("disk_full", node="master"), *sends, heal("disk_full"), SEND, advance(20))
    found = statuses(trial)
    assert found == ["PUT_OK"] * 4 + [REFUSED] * 3 + ["PUT_OK"]
    refused = {e.message for e in kinds(trial, "fail", status=REFUSED)}
    assert refused and not refused & {e.message for e in kinds(trial, "record")}
    assert trial.faults[0].effect == {"files_refused": 3} and converges(trial)


def test_slave_without_room_ends_the_connection_and_catches_up_when_there_is_room() -> None:
    sends = [SEND, BRIEFLY] * 7
    trial = execute(fault("disk_full", node="slave"), *sends, advance(7_000), heal("disk_full"), advance(7_000))
    assert trial.faults[0].effect["files_refused"] >= 1
    assert kinds(trial, "close", node="slave", side="s", f="local") and converges(trial)


def test_slave_whose_first_file_could_not_be_created_begins_when_there_is_room() -> None:
    full = (fault("wipe", node="slave"), fault("disk_full", node="slave"), heal("wipe"), SEND, advance(21_000))
    trial = execute(SEND, BRIEFLY, *full, heal("disk_full"), SEND, advance(21_000))
    assert trial.faults[1].name == "disk_full" and trial.faults[1].effect["files_refused"] >= 2
    assert converges(trial)


# Stores.


def order(trial: Trial, node: str) -> list[str]:
    return [e.kind for e in trial.events if e.node == node and e.kind in ("crash", "wipe", "cut", "start")]


@pytest.mark.parametrize("node", ["slave", "master"])
def test_wiped_node_starts_with_nothing_and_that_is_no_cut(node: str) -> None:
    trial = execute(*[SEND, BRIEFLY] * 6, fault("wipe", node=node), advance(20), heal("wipe"), advance(20))
    assert order(trial, node) == ["start", "crash", "wipe", "start"]
    assert [(e.f, e.hi) for e in kinds(trial, "wipe")] == [("empty", 0)]
    assert (kinds(trial, "start", node=node)[1].f, kinds(trial, "start", node=node)[1].hi) == ("empty", 0)
    assert trial.faults[0].effect["log_bytes_gone"] > 2_048


def test_slave_that_was_replaced_joins_where_the_masters_last_file_begins() -> None:
    trial = execute(*[SEND, BRIEFLY] * 6, fault("wipe", node="slave"), advance(20), heal("wipe"), advance(12_000))
    assert [e.lo for e in kinds(trial, "audit", node="slave", f="final")] == [2_048] and converges(trial)


def test_older_image_brings_back_what_the_cache_held_then_and_it_is_durable() -> None:
    then = (SEND, BRIEFLY, fault("older_image", node="slave"), SEND, BRIEFLY)
    trial = execute(*then, heal("older_image"), fault("power_loss", node="slave", keep="none"), advance(12_000))
    assert order(trial, "slave") == ["start", "crash", "wipe", "start", "crash", "start"]
    ends = [e.hi for e in kinds(trial, "append", node="slave") if e.incarnation == 1]
    assert [(e.f, e.hi) for e in kinds(trial, "wipe")] == [("image", ends[-2])]
    assert [e.hi for e in kinds(trial, "start", node="slave")][1:] == [ends[-2], ends[-2]]
    assert trial.faults[0].effect["log_bytes_gone"] == ends[-1] - ends[-2] and converges(trial)


def test_older_image_of_the_master_makes_it_forget_and_the_slave_is_refused_aloud() -> None:
    then = (SEND, BRIEFLY, fault("older_image", node="master"), *[SEND, BRIEFLY] * 4)
    trial = execute(*then, heal("older_image"), advance(12_000))
    assert kinds(trial, "diverged")[0].hi == kinds(trial, "append", node="slave")[-1].hi


def test_retention_deletes_the_oldest_files_and_says_where_the_log_begins() -> None:
    trial = execute(*[SEND, BRIEFLY] * 10, fault("retention", node="master"), SEND, advance(100))
    assert trial.faults[0].effect == {"files_deleted": 2, "bytes_deleted": 4_096}
    assert [(e.node, e.lo) for e in kinds(trial, "expire")] == [("master", 4_096)]
    assert [e.lo for e in kinds(trial, "audit", node="master", f="final")] == [4_096] and converges(trial)


def test_retention_in_the_middle_of_an_append_waits_for_its_end() -> None:
    arm = Op("arm", {"node": "master", "point": "send", "nth": 3, "name": "retention"})
    trial = execute(*[SEND, BRIEFLY] * 5, arm, *[SEND, BRIEFLY] * 3)
    assert trial.faults[0].effect["files_deleted"] == 1 and converges(trial)


def test_trouble_of_a_node_that_is_down_or_has_nothing_to_lose_never_bit() -> None:
    down = (fault("kill", node="slave"), fault("pause", node="slave"), fault("retention", node="slave"))
    trial = execute(*down, BRIEFLY)
    assert [outcome.bit for outcome in trial.faults[1:]] == [0, 0]
    assert execute(fault("retention", node="master"), BRIEFLY).faults[0].bit == 0


def test_negative_argument_of_a_listed_value_is_taken_and_survives_a_schedules_json() -> None:
    skew = fault("clock_skew", node="master", ms=-3_600_000)
    again = from_json(Schedule({}, "trial", (skew,)).to_json())
    assert kinds(execute(*again.ops), "clock")[0].value == -3_600_000
    with pytest.raises(UsageError, match="ms cannot be -1"):
        execute(fault("clock_skew", node="master", ms=-1))
