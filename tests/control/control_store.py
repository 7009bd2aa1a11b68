"""A store of many runs, judged again by today's laws: which would have been red? Seconds and memory as it grows.

    .venv/bin/python tests/control/control_store.py FOLDER [--events 1000000,10000000]

Records a run of 1,000 trials with every history, and copies it, under a name of its own each, until the store in FOLDER
holds so many events; the last copy holds one violation that was recorded as nothing to judge. Then Spark makes the
report of the whole store, and a line says: runs, events, seconds, events a second, and the largest memory (MB) of the
driver, of its JVM and of a worker. Fails unless the report names that run, and that one only. What is there is used
again. 10^8 events take some 700 MB and half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pairproof.harness.runs.schema import TABLES
from pairproof.harness.runs.tables import part_bytes

TRIALS = 1_000
POLL_S = 0.5
BLIND = "blind"
"""The run that did not see its violation."""


def pairproof(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pairproof", *arguments]


def recorded(folder: Path, target: str, *more: str) -> Path:
    runs = folder / f"recorded-{target}"
    if not runs.exists():
        asked = ["check", "--target", target, "--seed", "store", "--runs", str(runs.resolve()), *more]
        (folder / "pairproof.toml").write_text('[check]\nkeep = "all"\n')
        subprocess.run(pairproof(*asked), cwd=folder, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return next(runs.iterdir())


def copied(source: Path, store: Path, name: str) -> Path:
    """The run under another name, which its rows have, too."""
    if (store / name).exists():
        return store / name
    hidden = store / f".{name}"
    shutil.rmtree(hidden, ignore_errors=True)
    for table in TABLES:
        (hidden / table).mkdir(parents=True)
        for part in (source / table).glob("part-*.parquet"):
            rows = pq.read_table(part, partitioning=None)
            own = rows.set_column(0, "run", pa.repeat(name, len(rows)))
            (hidden / table / part.name).write_bytes(part_bytes(own))
    shutil.copytree(source / "findings", hidden / "findings")
    facts = json.loads((source / "run.json").read_text())
    (hidden / "run.json").write_text(json.dumps({**facts, "run": name}))
    return hidden.rename(store / name)


def blinded(run: Path) -> None:
    """Have it say that no law had anything to judge where one is violated; its findings go, too."""
    for part in (run / "verdicts").glob("part-*.parquet"):
        rows = pq.read_table(part, partitioning=None)
        was = pc.equal(rows["verdict"], "violated")
        for name, value in (("verdict", "vacuous"), ("judged", 0), ("broken", 0), ("seq", None), ("text", None)):
            kind = rows.schema.field(name).type
            told = pc.if_else(was, pa.scalar(value, kind), rows[name])
            rows = rows.set_column(rows.schema.get_field_index(name), name, told)
        part.write_bytes(part_bytes(rows))
    for each in (run / "findings").iterdir():
        each.unlink()
    facts = json.loads((run / "run.json").read_text())
    facts["contents"]["files"]["findings"] = []
    (run / "run.json").write_text(json.dumps(facts))


def below(root: int) -> Iterator[int]:
    """The process and all that it started."""
    parents: dict[int, int] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    yield from found


def reported(store: Path, out: Path) -> tuple[float, dict[str, int], dict[str, Any]]:
    """Seconds, the largest memory by kind of process (MB), and what the report says."""
    began, largest = monotonic(), {"driver": 0, "jvm": 0, "worker": 0}
    with subprocess.Popen(pairproof("report", str(store), "--out", str(out)), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            for pid in below(process.pid):
                try:
                    told = Path(f"/proc/{pid}/status").read_text()
                    name = Path(f"/proc/{pid}/comm").read_text().strip()
                except OSError:
                    continue
                peak = next((int(line.split()[1]) for line in told.splitlines() if line.startswith("VmHWM")), 0)
                kind = "driver" if pid == process.pid else "jvm" if name == "java" else "worker"
                largest[kind] = max(largest[kind], peak >> 10)
            sleep(POLL_S)
    return monotonic() - began, largest, json.loads((out / "report.json").read_text())


def main() -> int:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--events", default="1000000,10000000,100000000")
    options = asked.parse_args()
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    green = recorded(options.folder, "reference", "--trials", str(TRIALS))
    red = recorded(options.folder, "reference+answers_before_flush", "--trials", "50", "--law", "ack-flushed")
    each = json.loads((green / "run.json").read_text())["events"]
    store = options.folder / "store"
    store.mkdir(exist_ok=True)
    if not (store / BLIND).exists():
        blinded(copied(red, store, BLIND))
    print(
        f"{'runs':>6} {'events':>12} {'seconds':>8} {'events/s':>9} {'driver':>7} {'jvm':>6} {'worker':>7}", flush=True
    )
    code = 0
    for wanted in map(int, options.events.split(",")):
        for number in range(max(1, wanted // each)):
            copied(green, store, f"copy-{number:05d}")
        took, largest, told = reported(store, options.folder / "report")
        events = sum(row["events"] for row in told["histories"])
        print(
            f"{len(told['runs']):>6} {events:>12,} {took:>8.1f} {events / took:>9,.0f} {largest['driver']:>7} "
            f"{largest['jvm']:>6} {largest['worker']:>7}",
            flush=True,
        )
        named = {row["run"] for row in told["histories"] if row["worse"]}
        if named != {BLIND} or told["corrupt"] or told["verdict"] != "violated":
            print(f"wrong: {sorted(named)} would have been red, left out: {told['corrupt']}", flush=True)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
