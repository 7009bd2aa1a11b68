"""What tests of labs with real processes share: trials to play, what came of them, and what a lab has left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.labs.real import folders
from pairproof.chaos.labs.real.lab import RealLab
from pairproof.chaos.labs.real.session import RealSession
from pairproof.chaos.targets.reference import TARGET, ReferenceTarget
from pairproof.harness.history import Event
from pairproof.harness.judging.disturbances import STALLED
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.retry import until_decided, was_stalled
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.trial import Trial

SETTINGS = {"haSendHeartbeatInterval": 300, "slaveTimeout": 700, "haHousekeepingInterval": 3_000}
CLI = "import sys; from pairproof.harness.commands.main import main; sys.exit(main())"
TRACE = "trial-0/slave-1.jsonl"
LONG = "unsteady-ha-link"
DEADLINE_S = 120
ENDS_S = 180
SIGNALS = {"ctrl-c": (signal.SIGINT,), "ctrl-c twice": (signal.SIGINT, signal.SIGINT), "kill": (signal.SIGKILL,),
           "term": (signal.SIGTERM,)}  # fmt: skip


# Trials.


def sends(count: int, size: int = 200) -> list[Op]:
    return [Op("send", {"producer": 1, "size": size, "wait": True, "queue": number % 4}) for number in range(count)]


def under(fault: str, **args: int | str) -> list[Op]:
    """Sends before, under and after a fault."""
    ops = [*sends(5), Op("advance", {"ms": 150}), Op("fault", {"name": fault, **args})]
    for _ in range(6):
        ops += [*sends(2), Op("advance", {"ms": 150})]
    return [*ops, Op("heal", {"name": fault}), Op("advance", {"ms": 200}), *sends(2)]


def within(outer: tuple[str, Args], inner: tuple[str, Args], first_ends: str = "inner") -> list[Op]:
    """Sends before, between and after two faults at once."""
    (one, one_args), (two, two_args) = outer, inner
    ends = (two, one) if first_ends == "inner" else (one, two)
    wait = Op("advance", {"ms": 150})
    began = [*sends(2), Op("fault", {"name": one, **one_args}), *sends(1), wait, Op("fault", {"name": two, **two_args})]
    return [*began, *sends(1), wait, *(op for name in ends for op in (Op("heal", {"name": name}), *sends(1), wait))]


def play(lab: RealLab, ops: Iterable[Op], target: ReferenceTarget = TARGET, **settings: int | str) -> Trial:
    schedule = Schedule({**SETTINGS, **settings}, "seed", tuple(ops))
    trial, again = until_decided(lambda: run_trial(lab, target, schedule), was_stalled)
    if was_stalled(trial):
        pytest.skip(f"NOT JUDGED: the machine stalled in {again + 1} plays: {violated(trial)}")
    return trial


def holding(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Scenarios that hold; the others are only those that the machine left undecided, less than half, and are told."""
    undecided = {name: each["reasons"] for name, each in found.items() if each["verdict"] != "holds"}
    assert all(STALLED in line for reasons in undecided.values() for line in reasons), undecided
    assert not undecided or 2 * len(undecided) < len(found), undecided
    if undecided:
        warnings.warn(f"NOT JUDGED, since the machine stalled whenever they were played: {undecided}", stacklevel=2)
    return [name for name in found if name not in undecided]


def violated(trial: Trial) -> dict[str, str]:
    return {
        each.law: each.violations[0].text if each.violations else str(each.doubt)
        for each in trial.judgements
        if each.verdict in (Verdict.VIOLATED, Verdict.UNKNOWN)
    }


def sent(trial: Trial) -> Counter[str | None]:
    return Counter(each.status for each in trial.events if each.f == "send" and each.kind in ("ok", "fail", "info"))


# Trials by hand.


def opened(lab: RealLab, **settings: int | str) -> RealSession:
    session = lab.open(TARGET, TARGET.settings({**SETTINGS, **settings}), "seed")
    session.warm_up()
    return session


def goes_on(session: RealSession) -> None:
    """What a trial does until its end."""
    for number in range(20):
        session.driver.clients.send(1, 200, True, number % 4)
        session.advance(50)
    session.settle()


def events(session: RealSession, kind: str, node: str | None = None) -> list[Event]:
    return [each for each in session.recorder.events if each.kind == kind and node in (None, each.node)]


# What is left.


def until(holds: Callable[[], bool], limit_s: float = DEADLINE_S) -> None:
    """Wait until this holds."""
    ends = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.005)


def gone(pid: int) -> bool:
    """Whether there is no such process; one that nobody has waited for yet is none any more."""
    try:
        return state(pid) == "Z"
    except OSError:
        return True


def state(pid: int) -> str:
    """A process's state, as /proc/PID/stat has it; OSError if there is no such process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def left(labs: Path) -> list[str]:
    """What labs have left below a folder: files, mounts, loop devices."""
    found = [str(each) for each in labs.glob("*/lab-*")]
    return [*found, *map(str, folders.mounts_below(labs)), *map(str, folders._loop_devices_below(labs))]


# Commands.


def started(labs: Path, runs: Path, lab: str) -> subprocess.Popen[str]:
    """``pairproof chaos run`` in a process of its own, in its first trial."""
    command = subprocess.Popen(
        [sys.executable, "-c", CLI, "chaos", "run", LONG, "--lab", lab, "--runs", str(runs)],
        env={**os.environ, "TMPDIR": str(labs)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    known = set(labs.glob(f"*/lab-*/{TRACE}"))
    until(lambda: command.poll() is not None or bool(set(labs.glob(f"*/lab-*/{TRACE}")) - known))
    assert command.poll() is None, command.stdout and command.stdout.read()
    return command


def ended(command: subprocess.Popen[str], numbers: Iterable[int]) -> str:
    """End it by signals, as a terminal does, or somebody who ends only the command; what it said. Its code is right."""
    for number in numbers:
        (os.killpg if number == signal.SIGINT else os.kill)(command.pid, number)
        time.sleep(0.1)
    said, _ = command.communicate(timeout=ENDS_S)
    # A second Ctrl-C may come when Python is about to exit.
    wanted = (-signal.SIGKILL,) if signal.SIGKILL in numbers else (130, -signal.SIGINT)
    assert command.returncode in wanted and "Traceback" not in said, said
    return said
