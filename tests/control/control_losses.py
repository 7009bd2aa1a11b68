"""How much a master's power loss takes under ASYNC_FLUSH: the reference in two labs beside real RocketMQ, by size.

    PAIRPROOF_TOOLS=... .venv/bin/python tests/control/control_losses.py [--only sim,process,rocketmq-4.9.7] [--runs N]

The same scenario everywhere: SYNC_MASTER, ASYNC_FLUSH with RocketMQ's settings, 40 sends in 2 s, then the master's
machine loses power and keeps nothing that was not flushed. Prints a line as each run ends, then a Markdown table: what
the master lost of what was answered with PUT_OK, as `pairproof chaos run` tells it. Needs root, loop devices and the
jars (`pairproof labs install rocketmq-4.9.7`) for the last column.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SIZES = (200, 900, 2_048, 4_096)
PLACES = {
    "sim": ("sim", "reference"),
    "process": ("process", "reference"),
    "rocketmq-4.9.7": ("process", "rocketmq-4.9.7"),
}
"""Columns: the lab and the target."""
SENDS = 40
SCENARIO = """\
name: losses-{size}
about: 40 sends of {size} bytes in 2 s, then the master's machine loses power.
promises: [what the contract says]
settings: {{brokerRole: SYNC_MASTER, flushDiskType: ASYNC_FLUSH, mappedFileSizeCommitLog: 1048576,
  haSendHeartbeatInterval: 500}}
workload:
  - send: {{every: 50ms, from: 2250ms, for: 2s, size: {size}}}
timeline:
  - {{at: 4250ms, fault: power_loss, with: {{node: master, keep: none}}, for: 500ms, id: dark}}
lasts: 7s
expect: {{judged: [contract]}}
"""
PAIRPROOF = Path(sys.executable).with_name("pairproof")


def played(size: int, lab: str, target: str, folder: Path) -> dict[str, Any]:
    """What one run lost, as chaos run's JSON says it."""
    scenario = folder / f"losses-{size}.yaml"
    scenario.write_text(SCENARIO.format(size=size), "utf-8")
    command = [PAIRPROOF, "chaos", "run", scenario, "--lab", lab, "--target", target, "--runs", folder, "--json"]
    # Exit status 1 is what 4.9.7 deserves: it does not name the slave that is ahead of it.
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        (found,) = json.loads(done.stdout)["scenarios"]
    except (ValueError, KeyError):
        raise SystemExit(f"{lab}, {target}: {done.stderr.strip() or done.stdout}") from None
    return dict(found["losses"])


def kind(losses: dict[str, Any]) -> tuple[str, str]:
    """None, some or all of the 40; and the figures. The trial's first and last send are the lab's own."""
    lost = losses["lost"] + losses["slave_only"]
    what = "none" if not lost else "all" if lost >= SENDS else "some"
    return what, f"{what}: {lost} of {losses['acknowledged']}"


def main() -> None:
    """Play them all."""
    parser = argparse.ArgumentParser(description="Losses by size, in the reference and in RocketMQ.")
    parser.add_argument("--only", default=",".join(PLACES), help="columns, with commas between")
    parser.add_argument("--runs", type=int, default=1, help="how often each")
    given = parser.parse_args()
    columns = given.only.split(",")
    rows: dict[int, list[str]] = {size: [] for size in SIZES}
    with tempfile.TemporaryDirectory() as folder:
        for place in columns:
            for size in SIZES:
                found = [kind(played(size, *PLACES[place], Path(folder)))[1] for _ in range(given.runs)]
                rows[size].append("<br>".join(found))
                print(f"{place}, {size} bytes: {'; '.join(found)}", file=sys.stderr, flush=True)
    print(f"| size | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for size, cells in rows.items():
        print(f"| {size:,} B | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
