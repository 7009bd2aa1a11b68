"""Measures the process lab: how long it takes to stand, a trial beyond what its schedule waits, its end; what stays.

``python tests/bench/bench_process_lab.py [rounds]``: so many labs are opened and closed (50 by default).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

SETTINGS = {"haSendHeartbeatInterval": 200}
SEND = Op("send", {"producer": 1, "size": 100, "wait": True, "queue": 0})
TRIALS = 10
TCP = Path("/proc/net/tcp")
LISTENS = "0A"


def main(rounds: int) -> None:
    """Print what was measured."""
    lab = ProcessLab()
    took = []
    for number in range(TRIALS):
        began = time.perf_counter()
        run_trial(lab, TARGET, Schedule(SETTINGS, str(number), (SEND,)))
        took.append(time.perf_counter() - began)
    began = time.perf_counter()
    lab.close()
    print(f"first trial {took[0]:.2f} s, later ones {statistics.median(took[1:]):.2f} s (median of {TRIALS - 1}), "
          f"end {time.perf_counter() - began:.2f} s")  # fmt: skip
    before = left()
    up, down = [], []
    for number in range(rounds):
        lab = ProcessLab()
        began = time.perf_counter()
        session = lab.open(TARGET, TARGET.settings(SETTINGS), str(number))
        up.append(time.perf_counter() - began)
        session.driver.clients.send(0, 100, True, 0)
        began = time.perf_counter()
        lab.close()
        down.append(time.perf_counter() - began)
    after = left()
    print(f"{rounds} rounds: up {statistics.median(up):.2f} s, at most {max(up):.2f}; "
          f"down {statistics.median(down):.2f} s, at most {max(down):.2f}")  # fmt: skip
    print(f"left before and after: {', '.join(f'{what} {before[what]} and {after[what]}' for what in before)}")


def left() -> dict[str, int]:
    """What labs could leave on this machine."""
    own = list(Path("/proc").glob("[0-9]*/cmdline"))
    lines = TCP.read_text().splitlines()[1:]
    return {
        "processes": sum(1 for each in own if _is_of_a_lab(each)),
        "mounts": sum("pairproof-" in line for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        "loop devices": sum(1 for each in Path("/sys/block").glob("loop*/loop/backing_file") if _is_ours(each)),
        "folders": sum(1 for each in Path(tempfile.gettempdir()).glob("pairproof-*/lab-*")),
        "listening ports": sum(1 for line in lines if line.split()[3] == LISTENS),
    }


def _is_of_a_lab(path: Path) -> bool:
    try:
        said = path.read_bytes()
    except OSError:
        return False
    return b"labs.real.supervisor" in said or b"toxiproxy-server" in said


def _is_ours(path: Path) -> bool:
    try:
        return "pairproof-" in path.read_text()
    except OSError:
        return False


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
