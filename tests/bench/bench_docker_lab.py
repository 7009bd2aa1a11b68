"""Measures the docker lab: how long it takes to stand, to play a trial, to end; what memory it needs; what stays.

``python tests/bench/bench_docker_lab.py [rounds]``: so many labs are opened and closed (10 by default).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from pairproof.chaos.labs.docker.engine import LABEL, Engine
from pairproof.chaos.labs.docker.environment import DockerEnvironment
from pairproof.chaos.labs.docker.lab import DockerLab
from pairproof.chaos.labs.docker.nodes import NodeContainer
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.errors import LabError
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

SETTINGS = {"haSendHeartbeatInterval": 200}
SEND = Op("send", {"producer": 1, "size": 100, "wait": True, "queue": 0})
TRIALS = 5


def main(rounds: int) -> None:
    """Print what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        # What others' labs have meanwhile does not count.
        tempfile.tempdir = folder
        trials()
        print(f"while a lab stands there are {_told(stands(rounds, folder))}")
        print(f"left: {_told(left(folder))}")


def stands(rounds: int, folder: str) -> dict[str, int]:
    """Open and close labs; what there is while the last one stands."""
    up, down = [], []
    for number in range(rounds):
        lab = DockerLab()
        began = time.perf_counter()
        session = lab.open(TARGET, TARGET.settings(SETTINGS), str(number))
        up.append(time.perf_counter() - began)
        session.driver.clients.send(0, 100, True, 0)
        there = left(folder)
        began = time.perf_counter()
        lab.close()
        down.append(time.perf_counter() - began)
    print(f"{rounds} rounds: up {statistics.median(up):.2f} s, at most {max(up):.2f}; "
          f"down {statistics.median(down):.2f} s, at most {max(down):.2f}")  # fmt: skip
    return there


def trials() -> None:
    """One after another on one bench, then a look at what they need."""
    lab = DockerLab()
    took = []
    for number in range(TRIALS):
        began = time.perf_counter()
        run_trial(lab, TARGET, Schedule(SETTINGS, str(number), (SEND,)))
        took.append(time.perf_counter() - began)
    session = lab.open(TARGET, TARGET.settings({**SETTINGS, "lab.nameServer": 1}), "memory")
    session.warm_up()
    assert isinstance(session.bench, DockerEnvironment)
    found = dict(session.bench._helpers)
    nodes = [each for each in session.nodes.values() if isinstance(each, NodeContainer)]
    found |= {each.name: each.container for each in nodes if each.container is not None}
    memory = ", ".join(f"{name} {each.memory() / 1e6:.1f}" for name, each in found.items())
    began = time.perf_counter()
    lab.close()
    print(f"first trial {took[0]:.2f} s, later ones {statistics.median(took[1:]):.2f} s (median of {TRIALS - 1}), "
          f"end {time.perf_counter() - began:.2f} s; memory, MB: {memory}")  # fmt: skip


def left(folder: str) -> dict[str, int]:
    """What there is of labs below a folder."""
    engine = Engine()
    made = [each.kind for each in engine._made(LABEL) if each.lab.is_relative_to(folder)]
    engine.close()
    return {
        **{f"{kind}s": made.count(kind) for kind in ("container", "network", "volume")},
        "processes": sum(folder in _read(each) for each in Path("/proc").glob("[0-9]*/cmdline")),
        "mounts": sum(folder in line for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        "loop devices": sum(folder in _read(each) for each in Path("/sys/block").glob("loop*/loop/backing_file")),
        "folders": sum(1 for _ in Path(folder).glob("pairproof-*/lab-*")),
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _told(found: dict[str, int]) -> str:
    return ", ".join(f"{amount} {what}" for what, amount in found.items())


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    except LabError as why:
        print(f"not measured: {why}")
