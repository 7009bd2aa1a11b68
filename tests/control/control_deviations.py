"""Which releases of RocketMQ show which known deviations, measured by the deviations' own programs.

    python tests/control/control_deviations.py OUT [--releases V,...] [--ids ID,...]

Plays ``deviations check`` in the process lab for each deviation and release that the table OUT lacks, about 20 s each,
and adds a row: the deviation, the release, and *shown*, *not shown* or *unknown*. It can be ended at any time and begun
again. Needs toxiproxy and the jars. Prints the contradictions, and exits with 1 if there is one: shown by a release
outside the deviation's range.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from pathlib import Path

from pairproof.chaos.rocketmq.install import RELEASES, source
from pairproof.harness.judging import deviations

SAID = {0: "shown", 1: "not shown"}
LIMIT_S = 600


def main() -> int:
    """Play what is missing; exits with 1 if a range contradicts the data."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--releases", default=",".join(RELEASES))
    parser.add_argument(
        "--ids", default=",".join(sorted(each.id for each in deviations.every().values() if each.program))
    )
    wanted = parser.parse_args()
    for release in wanted.releases.split(","):
        source(release).install()
        for name in wanted.ids.split(","):
            if (name, release) not in read(wanted.out):
                said = _played(name, release)
                with wanted.out.open("a", encoding="utf-8") as file:
                    file.write(f"{name}\t{release}\t{said}\n")
                print(name, release, said, flush=True)
    wrong = contradictions(read(wanted.out))
    print(*(f"{name} is shown by {release}, outside its range" for name, release in wrong), sep="\n")
    return 1 if wrong else 0


def _played(name: str, release: str) -> str:
    command = [sys.executable, "-m", "pairproof", "deviations", "check", name]
    command += ["--target", f"rocketmq@{release}", "--lab", "process"]
    done = subprocess.run(command, timeout=LIMIT_S, check=False, capture_output=True)
    return SAID.get(done.returncode, "unknown")


def read(out: Path) -> dict[tuple[str, str], str]:
    """What a deviation's program showed, by deviation and release."""
    if not out.exists():
        return {}
    with out.open(encoding="utf-8", newline="") as file:
        return {(name, release): said for name, release, said in csv.reader(file, delimiter="\t")}


def contradictions(found: dict[tuple[str, str], str]) -> list[tuple[str, str]]:
    """Deviations that a release shows, although their ranges exclude it."""
    return [
        (name, release) for (name, release), said in found.items()
        if said == "shown" and not deviations.find(name).is_of("rocketmq", {"master": release, "slave": release})
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
