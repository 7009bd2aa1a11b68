"""The control of labs with real time: on a machine that is late the reference, which is correct, is never accused.

    python tests/control/control_punctual.py quiet  OUT [minutes]    nothing beside it
    python tests/control/control_punctual.py loaded OUT [minutes]    nice -n 5 beside eight busy loops, JVMs, a disk
    python tests/control/control_punctual.py stopped OUT [stops]     SIGSTOP of a random process, 0.2 to 5 s each

Each is played in parts of a few minutes and can be ended and begun again at any time: parts that are complete in OUT
are only counted. What a part does is decided by its number. Defaults: 20 minutes, 200 stops. Needs toxiproxy.

Printed are trials, failures of the lab, violations and doubts by law, and how many windows were judged and how many met
a stall and were not. Exits with 1 if anybody was accused. A quiet machine must show no doubt either.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from pairproof.harness.runs import atomic
from pairproof.harness.runs.reader import RunReader

PART_S = 180
JOBS = 2
BUSY = 8
SPIN = "while True: pass"
WRITE = """
import os, sys
while True:
    with open(sys.argv[1], "wb") as file:
        for _ in range(64):
            file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
"""
JVM = ["sh", "-c", "while :; do java -version >/dev/null 2>&1 || sleep 1; done"]
APART_S = (0.5, 4.0)
STOP_S = (0.2, 5.0)
CHECK = [sys.executable, "-c", "import sys; from pairproof.harness.commands.main import main; sys.exit(main())"]


def main(mode: str, out: Path, amount: int) -> int:
    """Play the parts that are missing, then count all."""
    folder = out / mode
    folder.mkdir(parents=True, exist_ok=True)
    done = 0
    for number in range(1_000):
        # A part counts what it has done of the amount: seconds, or stops.
        if done >= (amount if mode == "stopped" else amount * 60):
            break
        found = once(folder / f"part-{number}.json", partial(part, mode, folder, number), "did", "exit")
        did = found["did"]
        done += did["stops"] if mode == "stopped" else did["seconds"]
    return told([json.loads(each.read_text()) for each in sorted(folder.glob("part-*.json"))])


def once(kept: Path, play: Callable[[], dict[str, object]], *said: str) -> dict[str, Any]:
    """What a part found: played if that is not kept yet, which is then said of it by these names."""
    if not kept.exists():
        found = play()
        atomic.put_json(kept.parent, kept.name, found)
        print(f"{kept.parent.name} {kept.stem}: {', '.join(f'{each} {found[each]}' for each in said)}", flush=True)
    told: dict[str, Any] = json.loads(kept.read_text())
    return told


def part(mode: str, folder: Path, number: int) -> dict[str, object]:
    """Explore for a few minutes; what was done to it, and where the run is."""
    runs = folder / f"runs-{number}"
    command = [*CHECK, "check", "--lab", "process", "--jobs", str(JOBS), "--time", f"{PART_S}s"]
    command += ["--seed", f"{mode}-{number}", "--runs", str(runs)]
    with ExitStack() as beside:
        if mode == "loaded":
            beside.enter_context(burdened(folder))
            command = ["nice", "-n", "5", *command]
        began = time.monotonic()
        with (folder / f"check-{number}.log").open("wb") as log:
            check = subprocess.Popen(command, stdout=log, stderr=log)
            stops = Stopping(check.pid, f"{mode}-{number}") if mode == "stopped" else None
            code = check.wait()
            if stops is not None:
                stops.end()
    (run,) = [each for each in runs.iterdir() if each.is_dir()]
    did = {"seconds": round(time.monotonic() - began), "stops": stops.count if stops is not None else 0}
    return {"did": did, "exit": code, "run": str(run.relative_to(folder.parent)), **counted(run)}


def counted(run: Path) -> dict[str, object]:
    """What came of a run, by law."""
    by: dict[str, Counter[str]] = {each: Counter() for each in ("violated", "unknown", "judged", "stalled")}
    texts = []
    trials = set()
    for row in RunReader(run).verdicts():
        trials.add(row["trial"])
        by["judged"][row["law"]] += row["judged"]
        by["stalled"][row["law"]] += json.loads(row["notes"] or "{}").get("stalled", 0)
        if row["verdict"] in ("violated", "unknown"):
            by[row["verdict"]][row["law"]] += 1
            texts.append(f"trial {row['trial']}: {row['law']} {row['verdict']}: {row['text']}")
    failed = len(list((run / "failures").glob("*.json"))) if (run / "failures").is_dir() else 0
    return {"trials": len(trials), "failed": failed, "texts": texts, **{name: dict(each) for name, each in by.items()}}


def told(parts: list[dict[str, object]]) -> int:
    """Print the counts of all parts; the exit code."""
    total: dict[str, Counter[str]] = {each: Counter() for each in ("violated", "unknown", "judged", "stalled")}
    for each in parts:
        for name, counts in total.items():
            counts.update(each[name])  # type: ignore[arg-type]
    trials, failed = (sum(each[name] for each in parts) for name in ("trials", "failed"))  # type: ignore[misc]
    seconds, stops = (sum(each["did"][name] for each in parts) for name in ("seconds", "stops"))  # type: ignore[index]
    ended = Counter(each["exit"] for each in parts)
    print(f"{len(parts)} parts, {seconds} s, {stops} stops: {trials} trials, {failed} failures of the lab, "
          f"exit codes {dict(ended)}")  # fmt: skip
    for each in parts:
        for text in each["texts"]:  # type: ignore[attr-defined]
            print(f"  {each['run']} {text}")
    for law in sorted(total["stalled"]):
        if total["stalled"][law]:
            print(f"  {law}: {total['judged'][law]} judged, {total['stalled'][law]} met a stall")
    print(f"judged {total['judged'].total()}, met a stall {total['stalled'].total()}, "
          f"violated {total['violated'].total()}, unknown {total['unknown'].total()}")  # fmt: skip
    return 1 if total["violated"] else 0


@contextmanager
def burdened(folder: Path) -> Iterator[None]:
    """Busy loops, JVMs that start, and a disk that is written to, while this lasts."""
    commands = [[sys.executable, "-c", SPIN]] * BUSY
    commands += [[sys.executable, "-c", WRITE, str(folder / "burden")], JVM]
    beside = [subprocess.Popen(each, start_new_session=True) for each in commands]
    try:
        yield
    finally:
        for each in beside:
            os.killpg(each.pid, signal.SIGKILL)
            each.wait()
        (folder / "burden").unlink(missing_ok=True)


class Stopping:
    """Stops processes of a check at random moments, until it has ended. No process is left stopped."""

    def __init__(self, pid: int, seed: str) -> None:
        self.pid = pid
        self.count = 0
        self._random = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Stop nobody more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._random.uniform(*APART_S)):
            whose = self._random.choice(family(self.pid))
            with suppress(ProcessLookupError):
                pidfd = os.pidfd_open(whose)
                try:
                    signal.pidfd_send_signal(pidfd, signal.SIGSTOP)
                    self.count += 1
                    # Whatever happens, it goes on.
                    self._over.wait(self._random.uniform(*STOP_S))
                    signal.pidfd_send_signal(pidfd, signal.SIGCONT)
                finally:
                    os.close(pidfd)


def family(pid: int) -> list[int]:
    """A process and all that descend from it: harnesses, keepers, toxiproxies, nodes."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            fields = each.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(each.parent.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("quiet", "loaded", "stopped"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else
                  200 if sys.argv[1] == "stopped" else 20))  # fmt: skip
