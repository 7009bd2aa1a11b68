"""What goes wrong under a trial is the lab's failure, said in one line, and never judged; nothing of the lab stays."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from real_labs import SIGNALS, ended, events, goes_on, gone, left, opened, started, until
from toxiproxies import binary

from pairproof.chaos.labs.process.environment import STANDS_S, Environment
from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.labs.real.session import RealSession
from pairproof.chaos.labs.real.stores import Stores
from pairproof.chaos.labs.real.supervisor import Supervisor
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.errors import LabError
from pairproof.harness.runs.reader import RunReader

pytestmark = pytest.mark.slow

LIMIT_S = 180


def toxiproxy_dies(session: RealSession) -> None:
    os.kill(session.environment.toxiproxy, signal.SIGKILL)


def toxiproxy_stands_still(session: RealSession) -> None:
    # It is given time to go on, but not for ever.
    session.environment._runs_at -= STANDS_S
    os.kill(session.environment.toxiproxy, signal.SIGSTOP)


def supervisor_dies(session: RealSession) -> None:
    os.kill(session.environment.supervisor.pid, signal.SIGKILL)


def broker_dies(session: RealSession) -> None:
    pid = session.nodes["master"].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def tap_fails(session: RealSession) -> None:
    session.evidence.listener._events.frames = lambda *_: 1 // 0  # type: ignore[union-attr]


FAILURES: dict[str, Callable[[RealSession], None]] = {
    "toxiproxy-server no longer runs .killed 9": toxiproxy_dies,
    "toxiproxy-server no longer runs .stopped": toxiproxy_stands_still,
    "supervisor has ended": supervisor_dies,
    "master exited by itself .killed 9": broker_dies,
    "the lab itself has failed: ZeroDivisionError": tap_fails,
}


@pytest.mark.parametrize("said", FAILURES)
def test_a_failure_of_the_lab_ends_the_trial_and_keeps_what_was_recorded(lab: ProcessLab, said: str) -> None:
    session = opened(lab)
    FAILURES[said](session)
    with pytest.raises(LabError, match=said):
        goes_on(session)
    session.close()
    assert events(session, "append", "slave"), "what the nodes traced is part of it"
    times = [each.t for each in session.recorder.events]
    assert times == sorted(times)
    again = opened(lab)
    goes_on(again)
    assert events(again, "mark")[-1].f == "end"


def test_a_kill_by_the_trial_itself_is_no_failure(lab: ProcessLab) -> None:
    session = opened(lab)
    session.on_nodes.kill("master")
    goes_on(session)
    assert len(events(session, "crash", "master")) == 1


def test_a_broker_that_ends_for_want_of_its_disk_is_no_failure_and_crashes_after_its_last_word(lab: ProcessLab) -> None:
    session = opened(lab)
    store = session.nodes["master"].store
    assert store is not None
    (store.path / "commitlog").rename(store.path / "aside")
    (store.path / "commitlog").write_text("no folder")
    session.driver.clients.send(1, 200, True, 0)
    until_down(session, "master")
    (store.path / "commitlog").unlink()
    (store.path / "aside").rename(store.path / "commitlog")
    goes_on(session)
    (crash,) = events(session, "crash", "master")
    starts = events(session, "start", "master")
    assert [each.incarnation for each in starts] == [1, 2]
    first = [each.t for each in session.recorder.events if each.node == "master" and each.incarnation == 1]
    assert max(first) == crash.t
    assert not [each for each in events(session, "frame", "master") if crash.t < each.t < starts[1].t]


def until_down(session: RealSession, node: str) -> None:
    ends = time.monotonic() + LIMIT_S
    while session.nodes[node].is_up:
        assert time.monotonic() < ends
        # A file that is already open does as long as it has room.
        session.driver.clients.send(1, 4_000, True, 0)
        session.advance(20)


def test_a_machine_crashes_before_its_connections_end(lab: ProcessLab) -> None:
    session = opened(lab)
    session.on_nodes.crash_machine("master", "none")
    session.close()
    (crash,) = events(session, "crash", "master")
    closes = [each.t for each in events(session, "close") if each.side == "m"]
    assert closes and crash.t < min(closes)


def test_a_port_that_somebody_has_is_said_and_not_judged(lab: ProcessLab) -> None:
    session = opened(lab)
    session.on_nodes.kill("master")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(session.world.links.address("master"))
        other.listen()
        with pytest.raises(LabError, match=r"master exited by itself .*cannot listen on 127\.0\.0\.1"):
            goes_on(session)


def test_a_broker_that_does_not_come_up_is_said_at_once(lab: ProcessLab, monkeypatch: pytest.MonkeyPatch) -> None:
    provide = RealSession._set_up

    def fails(session: RealSession) -> None:
        for node in session.nodes.values():
            (node.path / "config").write_text("no folder")
            node.plan = node.plan._replace(fresh={})
        provide(session)

    monkeypatch.setattr(RealSession, "_set_up", fails)
    with pytest.raises(LabError, match="master does not come up; its last output: pairproof broker: "):
        lab.open(TARGET, TARGET.settings({}), "seed")


def test_a_trial_that_was_broken_off_does_not_leave_its_bench_to_the_next_one(lab: ProcessLab) -> None:
    def bench_of(session: RealSession) -> Environment:
        session.close()
        return session.environment

    whole = opened(lab)
    whole.settle()
    first = bench_of(whole)
    assert bench_of(opened(lab)) is first
    assert bench_of(opened(lab)) is not first


def test_a_keeper_that_cannot_be_started_leaves_nothing(labs_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(LabError, match="cannot start the lab's supervisor: No such file or directory"):
        Supervisor()
    assert left(labs_folder) == []


def test_a_disk_without_room_is_said_before_it_looks_like_a_brokers_fault(tmp_path: Path, labs_folder: Path) -> None:
    with pytest.raises(LabError, match=r"MB left of .*make room, or set TMPDIR"):
        Stores(tmp_path, size_mb=1 << 30, devices=False).create("master")
    assert Stores(labs_folder, devices=False).create("master").kind == "folder"


@pytest.mark.parametrize("how", SIGNALS)
def test_a_command_that_is_ended_leaves_a_readable_run_and_nothing_else(
    how: str, labs_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRPROOF_TOXIPROXY", str(binary()))
    ended(started(labs_folder, tmp_path / "runs", "process"), SIGNALS[how])
    until(lambda: left(labs_folder) == [])
    (run,) = (tmp_path / "runs").iterdir()
    RunReader(run).check()


def test_the_commands_processes_are_gone_with_it(labs_folder: Path, tmp_path: Path, lab: ProcessLab) -> None:
    session = opened(lab)
    pids = [*session.environment.supervisor.statuses(), session.environment.supervisor.pid]
    assert len(pids) >= 4 and not any(gone(pid) for pid in pids)
    lab.close()
    assert all(gone(pid) for pid in pids)
