"""Runs processes for mutants and for the control: limits their time and memory, and reads their answers.

Left out: a mutant's effects on files and other processes. The simulation gives its nodes access to neither.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from ...harness.errors import PairproofError
from .child import FAILED, TRIED
from .score import CRASH, KILLED, SURVIVED, Result

BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from pairproof.chaos.generic.child import main; main()"
CRASH_LAW = "node-lives"
"""Reports a crashed or hung node: no other law had to notice anything."""


OUT_OF_TIME = "ran out of CPU time"


class Limits(NamedTuple):
    cpu_s: int = 600
    """About ten times the time of a thousand trials without findings: a longer process is endless."""
    trial_s: int = 10
    """CPU seconds of one trial: a hundred times an expensive one's, and more than the simulation's limit of a step."""
    memory_bytes: int = 1 << 30
    wall_s: float = 3_600.0
    """Against endless waits: a busy machine may take long for the CPU seconds."""


CONTROL = Limits(cpu_s=3_600, trial_s=3_600, memory_bytes=0, wall_s=7_200.0)


class Answer(NamedTuple):
    lines: list[dict[str, Any]]
    ended: str

    @property
    def cpu_s(self) -> float:
        """As far as it reported."""
        return max((float(each["cpu_s"]) for each in self.lines if "cpu_s" in each), default=0.0)


Given = TypeVar("Given")
Done = TypeVar("Done")


class Children:
    """The running processes; :meth:`kill` ends them all."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = Lock()
        self._closed = False

    def ask(self, task: dict[str, Any], limits: Limits) -> Answer:
        """Start a process, pass it its task, and wait for its end. PairproofError for failures that no mutant
        causes.
        """
        told = {**task, **limits._asdict(), "crash_law": CRASH_LAW}
        with self._lock:
            if self._closed:
                return Answer([], "interrupted")
            process = subprocess.Popen(
                [sys.executable, "-c", BOOT, json.dumps(sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONHASHSEED": "0"},
                # An interrupt that a mutant receives would look like its own crash.
                start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
        try:
            try:
                said, _ = process.communicate(json.dumps(told), timeout=limits.wall_s)
                ended = _how(process.returncode, limits)
            except subprocess.TimeoutExpired:
                process.kill()
                said, _ = process.communicate()
                ended = f"did not end within {limits.wall_s:.0f} s"
        finally:
            self._running.discard(process)
        lines = list(_lines(said))
        if (failed := next((each for each in lines if FAILED in each), None)) is not None:
            why = PairproofError(failed[FAILED])
            why.exit_code = failed["code"]
            raise why
        return Answer(lines, "" if lines and lines[-1].get("done") else ended or "ended without output")

    def kill(self) -> None:
        with self._lock:
            self._closed = True
            for process in list(self._running):
                with suppress(OSError):
                    process.kill()


def _how(code: int, limits: Limits) -> str:
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"{OUT_OF_TIME}: more than {limits.trial_s} s in one trial, or {limits.cpu_s} s in all"
    return f"ended with exit code {code}" if code else ""


def _lines(said: str) -> Iterator[dict[str, Any]]:
    for line in said.splitlines():
        # The last one may be incomplete.
        with suppress(ValueError):
            yield json.loads(line)


def in_parallel(children: Children, tasks: Iterable[Given], do: Callable[[Given], Done], jobs: int) -> Iterator[Done]:
    """The results of ``do`` for each task, as they end. An interrupt ends the processes."""
    drawn = iter(tasks)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            busy: set[Future[Done]] = {pool.submit(do, each) for each in islice(drawn, jobs)}
            while busy:
                done, busy = wait(busy, return_when=FIRST_COMPLETED)
                for each in done:
                    busy |= {pool.submit(do, task) for task in islice(drawn, 1)}
                    yield each.result()
        except BaseException:
            children.kill()
            raise


class Control(NamedTuple):
    trials: int
    cpu_s: float
    alarms: dict[str, int]
    """By law: the trials that violate it."""


class Trials(NamedTuple):
    file: Path
    """Its schedules, one a line."""
    origins: list[str]
    reaching: dict[int, int]
    """By site: the number of trials that reach it."""
    chosen: dict[int, list[int]]
    """By site: the trials that its mutant plays."""
    deeper: dict[int, list[int]]
    """By site of the second stage: the further trials of a survivor."""
    control: Control


class Task(NamedTuple):
    """One mutant, the number of trials that reach it, and the numbers of those to play."""

    module: str
    number: int
    reaching: int
    numbers: list[int]


def mutated(children: Children, about: dict[str, str], asked: Task, trials: Trials, limits: Limits) -> Result:
    """The result of one mutant that some trial reaches. ``about``: lab and target."""
    module, number, reaching, numbers = asked
    task = {**about, "do": "mutant", "module": module, "number": number, "file": str(trials.file), "numbers": numbers}
    answer = children.ask(task, limits)
    tried = [each for each in answer.lines if TRIED in each]
    differing = sum(each["differs"] for each in tried)
    found = Result(
        f"{module}:{number}", SURVIVED, trials=len(tried), differing=differing, reaching=reaching, cpu_s=answer.cpu_s
    )
    for each in tried:
        law = next((law for law in each["laws"] if law != CRASH_LAW), None)
        if law is not None:
            also = tuple(sorted(set(each["laws"]) - {law}))
            origin = trials.origins[each[TRIED]]
            return found._replace(verdict=KILLED, law=law, also=also, origin=origin, text=each["laws"][law])
    crashed = next((each for each in tried if each["laws"] or each["crash"]), None)
    if crashed is not None:
        text = crashed["laws"].get(CRASH_LAW) or crashed["crash"]
        at = crashed[TRIED]
        law = CRASH_LAW if crashed["laws"] else ""
        return found._replace(
            verdict=CRASH, law=law, text=text, origin="import" if at is None else trials.origins[at],
            trials=tried.index(crashed) + 1,
        )  # fmt: skip
    if answer.ended:
        cpu_s = answer.cpu_s + (limits.trial_s if answer.ended.startswith(OUT_OF_TIME) else 0)
        return found._replace(verdict=CRASH, text=answer.ended, trials=len(tried) + 1, cpu_s=cpu_s)
    if len(tried) < len(numbers):
        raise PairproofError(f"mutant {found.key} played {len(tried)} of {len(numbers)} trials; run it again")
    return found
