"""Measures the docker lab: how long it takes to stand, to play a trial, to end; what memory it needs; what stays.

``python tests/bench/bench_docker_lab.py [rounds]``: so many labs are opened and closed (10 by default).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from operator import methodcaller
from pathlib import Path

from pairproof.chaos.labs.docker.bench import DockerBench
from pairproof.chaos.labs.docker.connection import Connection
from pairproof.chaos.labs.docker.engine import LABEL
from pairproof.chaos.labs.docker.lab import DockerLab
from pairproof.chaos.labs.docker.nodes import NodeContainer
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.errors import LabError
from pairproof.harness.interpreter import run_trial
from pairproof.harness.schedule import Op, Schedule

SETTINGS = {"haSendHeartbeatInterval": 200, "lab.names": 1}
SEND = Op("send", {"producer": 1, "size": 100, "wait": True, "queue": 0})
TRIALS = 5


def main(rounds: int) -> None:
    """Print what was measured."""
    before = left()
    trials()
    up, down = [], []
    for number in range(rounds):
        lab = DockerLab()
        began = time.perf_counter()
        session = lab.open(TARGET, TARGET.settings(SETTINGS), str(number))
        up.append(time.perf_counter() - began)
        session.send(0, 100, True, 0)
        began = time.perf_counter()
        lab.close()
        down.append(time.perf_counter() - began)
    print(f"{rounds} rounds: up {statistics.median(up):.2f} s, at most {max(up):.2f}; "
          f"down {statistics.median(down):.2f} s, at most {max(down):.2f}")  # fmt: skip
    after = left()
    print(f"left before and after: {', '.join(f'{what} {before[what]} and {after[what]}' for what in before)}")


def trials() -> None:
    """One after another on one bench, then a look at what they need."""
    lab = DockerLab()
    took = []
    for number in range(TRIALS):
        began = time.perf_counter()
        run_trial(lab, TARGET, Schedule(SETTINGS, str(number), (SEND,)))
        took.append(time.perf_counter() - began)
    session = lab.open(TARGET, TARGET.settings(SETTINGS), "memory")
    session.warm_up()
    assert isinstance(session.bench, DockerBench)
    found = dict(session.bench._helpers)
    nodes = [each for each in session.nodes.values() if isinstance(each, NodeContainer)]
    found |= {each.name: each.container for each in nodes if each.container is not None}
    memory = ", ".join(f"{name} {each.memory() / 1e6:.1f}" for name, each in found.items())
    began = time.perf_counter()
    lab.close()
    print(f"first trial {took[0]:.2f} s, later ones {statistics.median(took[1:]):.2f} s (median of {TRIALS - 1}), "
          f"end {time.perf_counter() - began:.2f} s; memory, MB: {memory}")  # fmt: skip


def left() -> dict[str, int]:
    """What labs could leave on this machine."""
    engine = Connection()
    only = {"label": LABEL}
    # What the engine runs for a container that it has forgotten shows here, too.
    own = [each for each in Path("/proc").glob("[0-9]*/cmdline") if _is_of_a_lab(each)]
    found = {
        "containers": len(engine.ask("list", methodcaller("containers", all=True, filters=only))),
        "networks": len(engine.ask("list", methodcaller("networks", filters=only))),
        "volumes": len(engine.ask("list", methodcaller("volumes", filters=only))["Volumes"] or []),
        "processes": len(own),
        "mounts": sum("pairproof-" in line for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        "loop devices": sum(1 for each in Path("/sys/block").glob("loop*/loop/backing_file") if _is_ours(each)),
        "folders": sum(1 for each in Path(tempfile.gettempdir()).glob("pairproof-*/lab-*")),
    }
    engine.close()
    return found


def _is_of_a_lab(path: Path) -> bool:
    try:
        said = path.read_bytes()
    except OSError:
        return False
    return b"pairproof.chaos.labs" in said or b"/toxiproxy" in said


def _is_ours(path: Path) -> bool:
    try:
        return "pairproof-" in path.read_text()
    except OSError:
        return False


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    except LabError as why:
        print(f"not measured: {why}")
