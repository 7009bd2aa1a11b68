"""A lab that is registered as a third party's is, so that processes of their own find it by name, too.

Where time is said to be real, the simulation runs. What is in the folder that ``HELD`` names decides what goes wrong:
the first trial that finds ``fail`` ends with its lab, the first that finds ``burn`` once it has begun, the first that
finds ``die`` with its process, the first that finds ``cannot`` is refused, all that find ``wait`` last until they are
interrupted. ``opened-PID`` and ``closed-PID`` say which processes had a lab.
"""

from __future__ import annotations

import os
import signal
import time
import weakref
from contextlib import suppress
from pathlib import Path

import pytest

from pairproof.chaos.labs.sim.session import SimSession
from pairproof.harness import registry
from pairproof.harness.errors import LabError, UsageError
from pairproof.harness.ports import Lab, Target
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Args

HELD = "HELD"


class HeldLab:
    name = "held"
    deterministic = False

    def parts(self, target: Target | None) -> tuple[type, ...]:
        return resolve.lab("sim").parts(target)  # type: ignore[attr-defined,no-any-return]

    def observes(self, target: Target) -> frozenset[str]:
        return resolve.lab("sim").observes(target)

    def open(self, target: Target, settings: Args, seed: str) -> SimSession:
        folder = Path(os.environ[HELD])
        (folder / f"opened-{os.getpid()}").touch()
        if first(folder / "fail"):
            raise LabError("the lab burns")
        if first(folder / "die"):
            os.kill(os.getpid(), signal.SIGKILL)
        if first(folder / "cannot"):
            raise UsageError("that cannot be done here")
        while (folder / "wait").exists():
            time.sleep(0.01)
        session = resolve.lab("sim").open(target, settings, seed)
        if first(folder / "burn"):
            session.settle = burn  # type: ignore[method-assign]
        return session

    def close(self) -> None:
        (Path(os.environ[HELD]) / f"closed-{os.getpid()}").touch()


def burn() -> None:
    raise LabError("the lab burns down")


LAB = HeldLab()


def first(path: Path) -> bool:
    with suppress(FileNotFoundError):
        path.unlink()
        return True
    return False


def pids(folder: Path, what: str) -> set[int]:
    return {int(each.name.partition("-")[2]) for each in folder.glob(f"{what}-*")}


def register(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it known in this process and in those that it starts."""
    made = folder / "held-1.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: held\nVersion: 1\n")
    (made / "entry_points.txt").write_text("[pairproof.labs]\nheld = held_lab:LAB\n")
    monkeypatch.setenv(HELD, str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{Path(__file__).parent}")
    monkeypatch.syspath_prepend(str(folder))
    forget()


def forget() -> None:
    registry._group.cache_clear()
    registry.find.cache_clear()


def double(lab: Lab, target: Target, task: int) -> tuple[int, int]:
    lab.open(target, target.settings({}), "s").close()
    return 2 * task, os.getpid()


def own_up(lab: Lab, target: Target, task: int) -> str:
    try:
        lab.open(target, {}, "s")
    except KeyboardInterrupt:
        return f"{task} was interrupted"
    return "it was not"


class Thing:
    pass


def own_up_in_a_finalizer(lab: Lab, target: Target, task: int) -> str:
    """The interrupt comes while something is thrown away: there nobody hears it."""

    def throw_away() -> None:
        lab.open(target, {}, "s")

    thing = Thing()
    try:
        weakref.finalize(thing, throw_away)
        del thing
        time.sleep(60)
    except KeyboardInterrupt:
        return f"{task} was interrupted"
    return "it was not"
