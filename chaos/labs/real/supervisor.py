"""The keeper: a small process beside the harness that starts a lab's processes and leaves nothing of them behind.

It imports once what nodes run and forks them from itself, in a few milliseconds where a fresh interpreter takes half a
second. It serves one harness over a socket pair, one JSON line for each request and answer, and nothing else: a single
thread, no event loop, no request that waits for long. When the socket ends, or its parent is another one, whatever the
reason, it kills its children, removes the lab's folder with all mounts and loop devices below it, and ends. A keeper
that is killed itself takes its children along (see :mod:`pairproof.chaos.labs.real.child`); what it leaves on disk
:func:`pairproof.chaos.labs.real.folders.clean` finds.

Started as ``python -m pairproof.chaos.labs.real.supervisor SOCKET FOLDER``; :class:`Supervisor` does that.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ....harness.errors import LabError, PairproofError
from ...plan import Command, Fork, Status, load
from . import child, folders

START_S = 30.0
"""A fresh interpreter and all imports, on a busy machine."""
ANSWER_S = 10.0
CLOSE_S = 90.0
LEAVE_S = 60.0
STOP_S = 8.0
"""How long the kernel may take to stop a process: one that waits for its disk stops after that, on a busy machine."""
POLL_S = 0.002
WATCH_S = 1.0
MAX_LINE = 1 << 20
"""Bytes of a request: an environment is the most of it."""
MAX_CHILDREN = 64
"""Running at a time. Of those that have ended as many are remembered."""
LOG = "keeper.log"


class SupervisorServer:
    """The keeper's own side: its children, and what it is asked to do with them."""

    def __init__(self, sock: socket.socket, folder: Path, leave: Sequence[str]) -> None:
        self.sock = sock
        self.folder = folder
        self.leave = list(leave)
        self.parent = os.getppid()
        self.children: dict[int, Status] = {}
        self.functions: dict[str, Callable[[dict[str, Any]], int]] = {}
        """What children have been forked for."""
        self._heard = b""
        self._turn = 0

    def serve(self) -> None:
        """Answer requests until the harness is gone."""
        self._answer({"pid": os.getpid()})
        while (line := self._hear()) is not None:
            try:
                request = json.loads(line)
                self._turn = request.pop("turn")
                answer = getattr(self, f"do_{request.pop('do')}")(**request)
            except PairproofError as why:
                answer = {"why": str(why)}
            except Exception as why:
                # A child's exceptions do not come here.
                answer = {"why": f"the lab's keeper: {why or type(why).__name__}"}
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
        """Nothing is left that the program to leave with would do."""
        self.leave.clear()
        return {}

    def do_fork(self, run: str, spec: dict[str, Any], output: str) -> dict[str, Any]:
        function = self._loaded(run)
        return self._started(child.fork(Path(self._room(output)), lambda: int(function(spec))))

    def _loaded(self, name: str) -> Callable[[dict[str, Any]], int]:
        # Imported here, once: children share it, and start in milliseconds.
        if name not in self.functions:
            self.functions[name] = load(name)
            _freeze()
        return self.functions[name]

    def do_exec(self, argv: list[str], output: str, environment: dict[str, str]) -> dict[str, Any]:
        return self._started(child.execute(Path(self._room(output)), argv, environment))

    def do_signal(self, pid: int, number: int) -> dict[str, Any]:
        """Signal a child; whether it was there to be signalled."""
        alive = not self._look(pid).over
        if alive:
            os.kill(pid, number)
        return {"alive": alive}

    def do_stop(self, pid: int) -> dict[str, Any]:
        """Stop a child; its status once all of its threads stand still."""
        self.do_signal(pid, signal.SIGSTOP)
        ends = time.monotonic() + STOP_S
        while (found := self._look(pid)).state == "running":
            if time.monotonic() > ends:
                raise LabError(f"process {pid} did not stop within {STOP_S:g} s")
            time.sleep(POLL_S / 10)
        return {"status": found}

    def do_status(self, pid: int | None) -> dict[str, Any]:
        """What one child does, or all."""
        return {"status": {each: self._look(each) for each in (list(self.children) if pid is None else [pid])}}

    def _room(self, output: str) -> str:
        if len(self._alive()) >= MAX_CHILDREN:
            raise LabError(f"a lab has at most {MAX_CHILDREN} processes")
        ended = [pid for pid, status in self.children.items() if status.over]
        for pid in ended[:-MAX_CHILDREN]:
            del self.children[pid]
        return output

    def _started(self, pid: int) -> dict[str, Any]:
        # Anew at the end, where an earlier child had the number.
        self.children.pop(pid, None)
        self.children[pid] = Status("running")
        return {"pid": pid}

    def _alive(self) -> list[int]:
        return [pid for pid in self.children if not self._look(pid).over]

    def _look(self, pid: int) -> Status:
        """The child's status now; LabError for a process that is no child."""
        known = self.children.get(pid)
        if known is None:
            raise LabError(f"process {pid} does not belong to this lab")
        while not known.over:
            found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if not found:
                break
            known = self.children[pid] = _status(status)
        return known

    def _hear(self) -> bytes | None:
        """The next request; None once there is no harness any more."""
        while b"\n" not in self._heard:
            if not select.select([self.sock], [], [], WATCH_S)[0]:
                if os.getppid() != self.parent:
                    return None
                continue
            try:
                data = self.sock.recv(MAX_LINE)
            except OSError:
                return None
            if not data or len(self._heard) > MAX_LINE:
                return None
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        return line

    def _answer(self, answer: dict[str, Any]) -> None:
        # Nobody there to hear it is noticed at the next request.
        with contextlib.suppress(OSError):
            self.sock.sendall(json.dumps({"to": self._turn, **answer}).encode() + b"\n")


def _status(status: int) -> Status:
    if os.WIFSTOPPED(status):
        return Status("stopped", os.WSTOPSIG(status))
    if os.WIFSIGNALED(status):
        return Status("killed", os.WTERMSIG(status))
    if os.WIFEXITED(status):
        return Status("exited", os.WEXITSTATUS(status))
    return Status("running")


class Supervisor:
    """The harness's side: one keeper and the lab's folder. Its calls wait for no more than a few milliseconds.

    ``leave``: a program that the keeper runs at its end with the lab's folder as its last argument, unless it is
    dismissed. LabError for whatever goes wrong, and for all calls once the keeper is gone.
    """

    def __init__(self, leave: Sequence[str] = ()) -> None:
        self.folder, lock = folders.new_folder()
        try:
            self._sock, far = socket.socketpair()
            with far, (self.folder / LOG).open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(far.fileno()), str(self.folder), *leave],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(far.fileno(), lock),
                    start_new_session=True,
                )  # fmt: skip
        except OSError as why:
            folders.remove(self.folder)
            raise LabError(f"cannot start the lab's keeper: {why.strerror}: {why.filename or sys.executable}") from why
        finally:
            # From here on the keeper holds it.
            os.close(lock)
        self._heard = b""
        self._gone = ""
        self._turn = 0
        # A trial asks in threads, too.
        self._alone = threading.Lock()
        try:
            self.pid = int(self._hear(START_S)["pid"])
        except BaseException:
            self._process.kill()
            self._process.wait()
            folders.remove(self.folder)
            raise

    def start(self, what: Command | Fork, output: Path) -> int:
        """Start a node's program; its pid. What comes of it its output says."""
        if isinstance(what, Command):
            return self.exec(what.argv, output, what.environment)
        return int(self._ask("fork", run=what.run, spec=dict(what.spec), output=str(output))["pid"])

    def exec(self, argv: Sequence[str], output: Path, environment: Mapping[str, str] | None = None) -> int:
        """Start another program, found on PATH, in the lab's folder; its pid. LabError if it cannot be started."""
        found = dict(os.environ if environment is None else environment)
        return int(self._ask("exec", argv=list(argv), output=str(output), environment=found)["pid"])

    def signal(self, pid: int, number: int) -> bool:
        """Signal a process of this lab; False if it had ended already."""
        return bool(self._ask("signal", pid=pid, number=int(number))["alive"])

    def stop_and_wait(self, pid: int) -> Status:
        """SIGSTOP; once this returns the process stands still, or had ended."""
        return Status(*self._ask("stop", pid=pid)["status"])

    def status(self, pid: int) -> Status:
        """What a process of this lab does."""
        return Status(*self._ask("status", pid=pid)["status"][str(pid)])

    def statuses(self) -> dict[int, Status]:
        """What all of them do, and how the last of those that ended have ended, oldest first."""
        return {int(pid): Status(*found) for pid, found in self._ask("status", pid=None)["status"].items()}

    def wait(self, pid: int, limit_s: float) -> Status:
        """Its status once it has ended, or when the time is over."""
        ends = time.monotonic() + limit_s
        while not (found := self.status(pid)).over and time.monotonic() < ends:
            time.sleep(POLL_S)
        return found

    def dismiss(self) -> None:
        """What it would leave with is done."""
        self._ask("dismiss")

    def close(self) -> None:
        """End the keeper, and with it all its processes; LabError if anything of the lab's folder stays."""
        self._sock.close()
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
            return self._answered(what, fields)

    def _answered(self, what: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        if self._gone:
            raise LabError(self._gone)
        self._turn += 1
        line = json.dumps({"do": what, "turn": self._turn, **fields}).encode() + b"\n"
        if len(line) > MAX_LINE:
            raise LabError(f"a request of {len(line)} bytes is more than the lab's keeper takes: {MAX_LINE}")
        try:
            self._sock.settimeout(ANSWER_S)
            self._sock.sendall(line)
        except OSError:
            self._lost(self._last_words())
        answer = self._hear(ANSWER_S)
        if "why" in answer:
            raise LabError(str(answer["why"]))
        return answer

    def _hear(self, limit_s: float) -> dict[str, Any]:
        """The answer to the last request. An earlier one's comes first where Ctrl-C has ended the wait for it."""
        ends = time.monotonic() + limit_s
        while True:
            line, end, self._heard = self._heard.partition(b"\n")
            if end:
                answer = dict(json.loads(line))
                if answer.pop("to") == self._turn:
                    return answer
                continue
            self._heard = line + self._read(limit_s, ends)

    def _read(self, limit_s: float, ends: float) -> bytes:
        self._sock.settimeout(max(POLL_S, ends - time.monotonic()))
        try:
            data = self._sock.recv(MAX_LINE)
        except TimeoutError:
            self._lost(f"the lab's keeper has not answered for {limit_s:g} s: is the machine overloaded?")
        except OSError:
            data = b""
        if not data:
            self._lost(self._last_words())
        return data

    def _lost(self, why: str) -> NoReturn:
        self._gone = why
        raise LabError(why)

    def _last_words(self) -> str:
        try:
            said = (self.folder / LOG).read_text(errors="replace").strip().splitlines()
        except OSError:
            said = []
        return f"the lab's keeper has ended: {said[-1] if said else 'it was killed, or closed'}"


def _freeze() -> None:
    # What is imported stays shared with the children: their collections leave it alone.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Be the keeper."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder = Path(sys.argv[2])
    os.chdir(folder)
    _freeze()
    keeping = SupervisorServer(socket.socket(fileno=int(sys.argv[1])), folder, sys.argv[3:])
    try:
        keeping.serve()
    finally:
        os.chdir("/")
        keeping.end()


if __name__ == "__main__":
    main()
