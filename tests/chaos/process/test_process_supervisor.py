"""The supervisor: its children do as they are told, and whoever dies, nothing of a lab stays."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lab_nodes import LabNode
from real_brokers import DEADLINE_S
from real_labs import gone, left, until

from pairproof.chaos.labs.real import folders
from pairproof.chaos.labs.real import supervisor as keeping
from pairproof.chaos.labs.real.supervisor import MAX_CHILDREN, MAX_REQUEST, Supervisor
from pairproof.chaos.plan import Status
from pairproof.harness.errors import LabError

MakeNode = Callable[..., LabNode]
HARNESS = """
import os, signal, sys, tempfile, time
from pairproof.chaos.labs.real.supervisor import Supervisor
tempfile.tempdir = sys.argv[1]
supervisor = Supervisor()
child = supervisor.exec(["sleep", "100"], supervisor.folder / "out")
os.symlink("/", supervisor.folder / "root")
if len(sys.argv) > 2 and not os.fork():
    # Another child of the harness: it has the supervisor's socket, too.
    time.sleep(int(sys.argv[2]))
    os._exit(0)
print(supervisor.pid, child, supervisor.folder, flush=True)
signal.pause()
"""


def sleeper(lab: Supervisor, program: str = "import time; time.sleep(100)") -> int:
    return lab.exec([sys.executable, "-c", program], lab.folder / "out")


def harness(labs: Path, *more: str) -> tuple[subprocess.Popen[str], int, int, Path]:
    """A harness in a process of its own: it, its supervisor, a child of that and the lab's folder."""
    process = subprocess.Popen([sys.executable, "-c", HARNESS, str(labs), *more], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    kept, child, folder = process.stdout.readline().split()
    process.stdout.close()
    return process, int(kept), int(child), Path(folder)


# What children do.


def test_a_program_runs_in_a_session_of_its_own_with_nothing_of_the_supervisor_s(supervisor: Supervisor) -> None:
    program = """
import os, signal
print(os.getsid(0) == os.getpid(), sorted(os.listdir("/proc/self/fd"))[:-1], os.environ["WORD"], os.getcwd())
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
"""
    argv = [sys.executable, "-c", program]
    pid = supervisor.exec(argv, supervisor.folder / "out", {**os.environ, "WORD": "w"})
    assert supervisor.wait(pid, DEADLINE_S) == ("exited", 0)
    said = (supervisor.folder / "out").read_text()
    assert said == f"True ['0', '1', '2'] w {supervisor.folder}\nset() True\n"


def test_statuses_are_what_the_kernel_says(supervisor: Supervisor) -> None:
    ends, killed, stopped, runs = (sleeper(supervisor, "raise SystemExit(7)"), *(sleeper(supervisor) for _ in range(3)))
    assert supervisor.wait(ends, DEADLINE_S) == ("exited", 7)
    assert supervisor.signal(killed, signal.SIGKILL)
    assert supervisor.wait(killed, DEADLINE_S) == ("killed", signal.SIGKILL)
    assert supervisor.stop_and_wait(stopped) == ("stopped", signal.SIGSTOP)
    assert supervisor.statuses() == {
        ends: ("exited", 7), killed: ("killed", 9), stopped: ("stopped", signal.SIGSTOP), runs: ("running", None),
    }  # fmt: skip
    supervisor.signal(stopped, signal.SIGCONT)
    until(lambda: supervisor.status(stopped) == ("running", None))
    assert supervisor.wait(runs, 0.01).state == "running", "it is asked for no longer than the limit"


def test_a_stopped_process_does_nothing_until_it_goes_on(supervisor: Supervisor) -> None:
    out = supervisor.folder / "ticks"
    pid = supervisor.exec(["sh", "-c", "while :; do echo tick; done"], out)
    until(lambda: out.exists() and out.stat().st_size > 0)
    supervisor.stop_and_wait(pid)
    size = out.stat().st_size
    time.sleep(0.05)
    assert out.stat().st_size == size
    supervisor.signal(pid, signal.SIGCONT)
    until(lambda: out.stat().st_size > size)
    assert supervisor.signal(pid, signal.SIGKILL)


def test_what_has_ended_is_not_signalled(supervisor: Supervisor) -> None:
    pid = sleeper(supervisor, "")
    supervisor.wait(pid, DEADLINE_S)
    assert not supervisor.signal(pid, signal.SIGKILL)
    assert supervisor.stop_and_wait(pid) == ("exited", 0)


def test_only_a_lab_s_own_processes_are_touched(supervisor: Supervisor) -> None:
    stranger = subprocess.Popen(["sleep", "100"])
    try:
        for touch in (lambda: supervisor.signal(stranger.pid, 9), lambda: supervisor.stop_and_wait(stranger.pid)):
            with pytest.raises(LabError, match=f"process {stranger.pid} does not belong to this lab"):
                touch()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_what_cannot_be_started_says_so_in_one_line(supervisor: Supervisor) -> None:
    for argv, why in ((["no-such-program"], "No such file.*no-such-program"), ([str(supervisor.folder)], "ermission")):
        with pytest.raises(LabError, match=why):
            supervisor.exec(argv, supervisor.folder / "out")
    with pytest.raises(LabError, match="No such file"):
        supervisor.exec(["true"], supervisor.folder / "no" / "out")
    assert supervisor.statuses() == {}, "the supervisor has no child that failed to begin"
    assert supervisor.wait(supervisor.exec(["true"], supervisor.folder / "out"), DEADLINE_S) == ("exited", 0)


def test_a_request_that_is_too_large_is_not_sent(supervisor: Supervisor) -> None:
    with pytest.raises(LabError, match="is more than"):
        supervisor.exec(["true"], supervisor.folder / "out", {"WORD": "w" * MAX_REQUEST})
    large = {**os.environ, "WORD": "w" * 100_000}
    assert supervisor.wait(supervisor.exec(["true"], supervisor.folder / "out", large), DEADLINE_S) == ("exited", 0)


def test_a_lab_has_no_more_processes_than_its_limit(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = [supervisor.exec(["sleep", "100"], supervisor.folder / "out") for _ in range(MAX_CHILDREN)]
    with pytest.raises(LabError, match="at most"):
        supervisor.exec(["sleep", "100"], supervisor.folder / "out")
    for pid in pids:
        supervisor.signal(pid, signal.SIGKILL)
        supervisor.wait(pid, DEADLINE_S)
    for _ in range(3):
        supervisor.wait(supervisor.exec(["true"], supervisor.folder / "out"), DEADLINE_S)
    assert len(supervisor.statuses()) <= MAX_CHILDREN + 1, "those that have ended are forgotten at last"


def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next(supervisor: Supervisor) -> None:
    pid = sleeper(supervisor)
    supervisor._turn += 1
    supervisor._link.send_bytes(b'{"do":"status","turn":%d,"pid":null}' % supervisor._turn)
    assert supervisor.signal(pid, signal.SIGKILL) is True


# How labs end.


def test_a_supervisor_that_stops_inside_an_answer_is_given_up(
    labs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, ends = socket.socketpair, []

    def kept() -> tuple[socket.socket, socket.socket]:
        near, far = pair()
        ends.append(far.dup())
        return near, far

    monkeypatch.setattr(socket, "socketpair", kept)
    monkeypatch.setattr(keeping, "ANSWER_S", 1)
    supervisor = Supervisor()
    try:
        os.kill(supervisor.pid, signal.SIGSTOP)
        ends[0].sendall(struct.pack("!i", 100) + b"{")
        with pytest.raises(LabError):
            supervisor.statuses()
    finally:
        os.kill(supervisor.pid, signal.SIGCONT)
        ends[0].close()
        supervisor.close()


def test_closing_a_lab_ends_all_and_leaves_nothing(node: MakeNode, supervisor: Supervisor, labs_folder: Path) -> None:
    broker = node().start()
    stopped = sleeper(supervisor)
    supervisor.stop_and_wait(stopped)
    assert supervisor.folder.exists() and not gone(broker.pid)
    supervisor.close()
    assert gone(broker.pid) and gone(stopped) and gone(supervisor.pid)
    assert list(folders.base().iterdir()) == []
    with pytest.raises(LabError, match="has ended"):
        supervisor.status(broker.pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_harness_that_dies_leaves_nothing(labs_folder: Path, number: signal.Signals) -> None:
    process, kept, child, folder = harness(labs_folder)
    assert folder.exists() and not gone(child) and not gone(kept)
    process.send_signal(number)
    process.wait(DEADLINE_S)
    until(lambda: gone(kept) and gone(child) and not folder.exists())


def test_a_harness_that_dies_is_noticed_also_where_somebody_else_has_its_socket(labs_folder: Path) -> None:
    process, kept, child, folder = harness(labs_folder, str(2 * DEADLINE_S))
    process.kill()
    process.wait(DEADLINE_S)
    until(lambda: gone(kept) and gone(child) and not folder.exists())


def test_a_terminal_s_ctrl_c_does_not_end_the_supervisor(supervisor: Supervisor) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(supervisor.pid, number)
    assert supervisor.statuses() == {}
    assert os.getsid(supervisor.pid) != os.getsid(0)


def test_a_supervisor_that_is_killed_takes_its_children_along_and_the_next_cleans_up(
    node: MakeNode, supervisor: Supervisor
) -> None:
    broker = node().start()
    living = Supervisor()
    os.kill(supervisor.pid, signal.SIGKILL)
    until(lambda: gone(broker.pid))
    with pytest.raises(LabError, match="supervisor has ended"):
        supervisor.status(broker.pid)
    assert supervisor.folder.exists()
    assert folders.clean() == [f"removed the remains of an earlier lab: {supervisor.folder}"]
    assert not supervisor.folder.exists() and living.folder.exists(), "a lab that lives is left alone"
    assert folders.clean() == []
    living.close()


def test_the_next_lab_removes_what_a_killed_harness_and_its_killed_supervisor_have_left(
    labs_folder: Path, supervisor: Supervisor
) -> None:
    process, kept, child, folder = harness(labs_folder)
    os.kill(kept, signal.SIGKILL)
    until(lambda: gone(kept) and gone(child))
    # Its harness may still read there.
    Supervisor().close()
    assert folder.exists()
    process.kill()
    process.wait(DEADLINE_S)
    disk = folder / "disk"
    disk.mkdir()
    mounted = os.geteuid() == 0 and folders.command("mount", "-t", "tmpfs", "none", str(disk), fails=False)
    assert folder.exists() and str(folder) in left(labs_folder)
    Supervisor().close()
    assert not folder.exists(), f"mounted: {mounted}"
    assert left(labs_folder) == [str(supervisor.folder)], "a lab that lives is left alone"


def test_a_lab_s_folder_that_is_gone_already_is_no_trouble(supervisor: Supervisor) -> None:
    shutil.rmtree(supervisor.folder)
    supervisor.close()


def test_labs_come_and_go_without_a_trace(labs_folder: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir())
    for _ in range(5):
        lab = Supervisor()
        pid = lab.exec(["sleep", "100"], lab.folder / "out")
        lab.close()
        assert gone(pid) and gone(lab.pid)
    assert list(folders.base().iterdir()) == []
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_a_supervisor_that_cannot_start_says_why_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(LabError, match="supervisor has ended"):
        Supervisor()
    assert list(folders.base().iterdir()) == []
    monkeypatch.setattr(keeping, "START_S", 0.1)
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 100\n")
    silent.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(silent))
    with pytest.raises(LabError, match="not answered"):
        Supervisor()
    assert list(folders.base().iterdir()) == []


# Folders.


def test_a_folder_of_labs_that_is_not_this_user_s_is_refused(labs_folder: Path) -> None:
    link = labs_folder / f"pairproof-{os.getuid()}"
    link.symlink_to("/tmp")
    with pytest.raises(LabError, match="is not a folder of this user"):
        folders.base()
    link.unlink()


def test_what_cannot_be_cleaned_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    locks = [folders.new_folder()[1] for _ in range(2)]
    assert folders.clean() == [], "somebody holds them"
    for lock in locks:
        os.close(lock)
    monkeypatch.setattr(shutil, "rmtree", refuse)
    said = folders.clean()
    assert len(said) == 2 and all("cannot delete" in line and "Operation not permitted" in line for line in said)
    monkeypatch.undo()


def refuse(path: Path) -> None:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(LabError, match="exit 3: second"):
        folders.command("sh", "-c", "echo first; echo second >&2; echo third >&2; exit 3")
    with pytest.raises(LabError, match="sleep 5: not within"):
        folders.command("sleep", "5", limit_s=0.05)
    with pytest.raises(LabError, match="No such file"):
        folders.command("no-such-program")
    assert not folders.command("false", fails=False) and folders.command("true")


def test_a_status_knows_whether_it_is_the_last() -> None:
    assert Status("exited", 0).over and Status("killed", 9).over
    assert not Status("running").over and not Status("stopped", 19).over
