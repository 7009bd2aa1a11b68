"""The supervisor: a small process beside the harness that starts a lab's processes and removes everything of them.

It imports the nodes' code once and forks them from itself, in a few milliseconds instead of the half second of a fresh
interpreter. It serves one harness over a socket pair, one JSON message for each request and answer: a single thread, no
event loop, no long request. When the socket closes or the parent dies, it kills its children, removes the lab's folder
with all mounts and loop devices below it, and ends. A killed supervisor takes its children along (see
:mod:`pairproof.chaos.labs.real.child`); :func:`pairproof.chaos.labs.real.folders.clean` removes its folder.

Started as ``python -m pairproof.chaos.labs.real.supervisor SOCKET FOLDER`` by :class:`Supervisor`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ....harness.errors import LabError, PairproofError
from ...plan import Command, Fork, Status, load
from . import child, folders

START_S = 30.0
"""For a fresh interpreter and all imports, on a busy machine."""
ANSWER_S = 10.0
CLOSE_S = 90.0
LEAVE_S = 60.0
STOP_S = 8.0
"""For the kernel to stop a process, on a busy machine: one in a disk wait stops only after it."""
POLL_S = 0.002
WATCH_S = 1.0
MAX_REQUEST = 1 << 20
"""Longest request in bytes: mostly an environment."""
MAX_CHILDREN = 64
"""Running children, and also the number of ended ones that are remembered."""
LOG = "keeper.log"


class SupervisorServer:
    def __init__(self, link: Connection, folder: Path, leave: Sequence[str]) -> None:
        self.link = link
        self.folder = folder
        self.leave = list(leave)
        self.parent = os.getppid()
        self.children: dict[int, Status] = {}
        self.functions: dict[str, Callable[[dict[str, Any]], int]] = {}
        self._turn = 0

    def serve(self) -> None:
        self._answer({"pid": os.getpid()})
        while (message := self._receive()) is not None:
            try:
                request = json.loads(message)
                self._turn = request.pop("turn")
                answer = getattr(self, f"do_{request.pop('do')}")(**request)
            except PairproofError as why:
                answer = {"why": str(why)}
            except Exception as why:
                # A child's exceptions do not come here.
                answer = {"why": f"the lab's supervisor: {why or type(why).__name__}"}
            self._answer(answer)

    def end(self) -> None:
        """Kill all children and remove the lab's folder."""
        for pid in self._alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        ends = time.monotonic() + ANSWER_S
        while self._alive() and time.monotonic() < ends:
            time.sleep(POLL_S)
        try:
            if self.leave:
                folders.command(*self.leave, str(self.folder), limit_s=LEAVE_S)
        finally:
            folders.remove(self.folder)

    def do_dismiss(self) -> dict[str, Any]:
        """The program to run at the end is unnecessary: its work is done."""
        self.leave.clear()
        return {}

    def do_fork(self, run: str, spec: dict[str, Any], output: str) -> dict[str, Any]:
        function = self._loaded(run)
        return self._started(child.fork(Path(self._room(output)), lambda: int(function(spec))))

    def _loaded(self, name: str) -> Callable[[dict[str, Any]], int]:
        # Imported here once: children share it, and start in milliseconds.
        if name not in self.functions:
            self.functions[name] = load(name)
            _freeze()
        return self.functions[name]

    def do_exec(self, argv: list[str], output: str, environment: dict[str, str]) -> dict[str, Any]:
        return self._started(child.execute(Path(self._room(output)), argv, environment))

    def do_signal(self, pid: int, number: int) -> dict[str, Any]:
        """Signal a child; returns whether it was still there."""
        alive = not self._poll(pid).over
        if alive:
            os.kill(pid, number)
        return {"alive": alive}

    def do_stop(self, pid: int) -> dict[str, Any]:
        self.do_signal(pid, signal.SIGSTOP)
        ends = time.monotonic() + STOP_S
        while (found := self._poll(pid)).state == "running":
            if time.monotonic() > ends:
                raise LabError(f"process {pid} did not stop within {STOP_S:g} s")
            time.sleep(POLL_S / 10)
        return {"status": found}

    def do_status(self, pid: int | None) -> dict[str, Any]:
        return {"status": {each: self._poll(each) for each in (list(self.children) if pid is None else [pid])}}

    def _room(self, output: str) -> str:
        if len(self._alive()) >= MAX_CHILDREN:
            raise LabError(f"a lab has at most {MAX_CHILDREN} processes")
        ended = [pid for pid, status in self.children.items() if status.over]
        for pid in ended[:-MAX_CHILDREN]:
            del self.children[pid]
        return output

    def _started(self, pid: int) -> dict[str, Any]:
        # Re-inserted at the end, since an earlier child had the same pid.
        self.children.pop(pid, None)
        self.children[pid] = Status("running")
        return {"pid": pid}

    def _alive(self) -> list[int]:
        return [pid for pid in self.children if not self._poll(pid).over]

    def _poll(self, pid: int) -> Status:
        """The child's status now; LabError for a process that is not a child."""
        known = self.children.get(pid)
        if known is None:
            raise LabError(f"process {pid} does not belong to this lab")
        while not known.over:
            found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if not found:
                break
            known = self.children[pid] = _status(status)
        return known

    def _receive(self) -> bytes | None:
        """The next request; None after the harness has ended."""
        while not self.link.poll(WATCH_S):
            if os.getppid() != self.parent:
                return None
        try:
            return self.link.recv_bytes(MAX_REQUEST)
        except (EOFError, OSError):
            return None

    def _answer(self, answer: dict[str, Any]) -> None:
        # A closed socket is noticed at the next request.
        with contextlib.suppress(OSError):
            self.link.send_bytes(json.dumps({"to": self._turn, **answer}).encode())


def _status(status: int) -> Status:
    if os.WIFSTOPPED(status):
        return Status("stopped", os.WSTOPSIG(status))
    if os.WIFSIGNALED(status):
        return Status("killed", os.WTERMSIG(status))
    if os.WIFEXITED(status):
        return Status("exited", os.WEXITSTATUS(status))
    return Status("running")


class Supervisor:
    """The harness's side: one supervisor and the lab's folder. Its calls wait for a few milliseconds at most.

    ``leave``: a program that the supervisor runs at its end with the lab's folder as its last argument, unless it is
    dismissed. LabError for any failure, and for all calls after the supervisor has ended.
    """

    def __init__(self, leave: Sequence[str] = ()) -> None:
        self.folder, lock = folders.new_folder()
        try:
            near, far = socket.socketpair()
            # A supervisor that stands still inside a message must not block this process.
            for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                near.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(ANSWER_S), 0))
            self._link = Connection(near.detach())
            with far, (self.folder / LOG).open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(far.fileno()), str(self.folder), *leave],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(far.fileno(), lock),
                    start_new_session=True,
                )  # fmt: skip
        except OSError as why:
            folders.remove(self.folder)
            raise LabError(
                f"cannot start the lab's supervisor: {why.strerror}: {why.filename or sys.executable}"
            ) from why
        finally:
            # From here on the supervisor holds the lock.
            os.close(lock)
        self._gone = ""
        self._turn = 0
        # A trial calls from several threads.
        self._alone = threading.Lock()
        try:
            self.pid = int(self._receive(START_S)["pid"])
        except BaseException:
            self._process.kill()
            self._process.wait()
            folders.remove(self.folder)
            raise

    def start(self, what: Command | Fork, output: Path) -> int:
        """Start a node's program; returns its pid. Failures appear in its output."""
        if isinstance(what, Command):
            return self.exec(what.argv, output, what.environment)
        return int(self._ask("fork", run=what.run, spec=dict(what.spec), output=str(output))["pid"])

    def exec(self, argv: Sequence[str], output: Path, environment: Mapping[str, str] | None = None) -> int:
        """Start another program, found on PATH, in the lab's folder; returns its pid. LabError if it cannot start."""
        found = dict(os.environ if environment is None else environment)
        return int(self._ask("exec", argv=list(argv), output=str(output), environment=found)["pid"])

    def signal(self, pid: int, number: int) -> bool:
        return bool(self._ask("signal", pid=pid, number=int(number))["alive"])

    def stop_and_wait(self, pid: int) -> Status:
        """SIGSTOP; after it returns, the process is stopped or had ended."""
        return Status(*self._ask("stop", pid=pid)["status"])

    def status(self, pid: int) -> Status:
        return Status(*self._ask("status", pid=pid)["status"][str(pid)])

    def statuses(self) -> dict[int, Status]:
        """The status of all processes, including the last ended ones, oldest first."""
        return {int(pid): Status(*found) for pid, found in self._ask("status", pid=None)["status"].items()}

    def wait(self, pid: int, limit_s: float) -> Status:
        ends = time.monotonic() + limit_s
        while not (found := self.status(pid)).over and time.monotonic() < ends:
            time.sleep(POLL_S)
        return found

    def dismiss(self) -> None:
        """Skip the ``leave`` program: its work is done."""
        self._ask("dismiss")

    def close(self) -> None:
        """End the supervisor with all its processes; LabError if a part of the lab's folder stays."""
        self._link.close()
        try:
            code = self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise LabError(f"{self.folder} could not be removed within {CLOSE_S:g} s; delete it") from None
        if code < 0:
            # It was killed, and its children with it.
            folders.remove(self.folder)
        elif code and self.folder.exists():
            raise LabError(self._last_words())

    def _ask(self, what: str, **fields: Any) -> dict[str, Any]:
        with self._alone:
            if self._gone:
                raise LabError(self._gone)
            self._turn += 1
            request = json.dumps({"do": what, "turn": self._turn, **fields}).encode()
            if len(request) > MAX_REQUEST:
                raise LabError(
                    f"a request of {len(request)} bytes is more than the lab's supervisor takes: {MAX_REQUEST}"
                )
            try:
                self._link.send_bytes(request)
            except OSError:
                raise self._lost(self._last_words()) from None
            answer = self._receive(ANSWER_S)
        if "why" in answer:
            raise LabError(str(answer["why"]))
        return answer

    def _receive(self, limit_s: float) -> dict[str, Any]:
        """The answer to the last request. If Ctrl-C interrupted an earlier wait, that answer comes first."""
        ends = time.monotonic() + limit_s
        try:
            while self._link.poll(max(POLL_S, ends - time.monotonic())):
                answer: dict[str, Any] = json.loads(self._link.recv_bytes())
                if answer.pop("to") == self._turn:
                    return answer
        except (EOFError, OSError):
            raise self._lost(self._last_words()) from None
        raise self._lost(f"the lab's supervisor has not answered for {limit_s:g} s: is the machine overloaded?")

    def _lost(self, why: str) -> LabError:
        self._gone = why
        return LabError(why)

    def _last_words(self) -> str:
        try:
            output = (self.folder / LOG).read_text(errors="replace").strip().splitlines()
        except OSError:
            output = []
        return f"the lab's supervisor has ended: {output[-1] if output else 'it was killed, or closed'}"


def _freeze() -> None:
    # Imported objects stay shared with the children: their garbage collection skips them.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Run as the supervisor."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder = Path(sys.argv[2])
    os.chdir(folder)
    _freeze()
    keeping = SupervisorServer(Connection(int(sys.argv[1])), folder, sys.argv[3:])
    try:
        keeping.serve()
    finally:
        os.chdir("/")
        keeping.end()


if __name__ == "__main__":
    main()
