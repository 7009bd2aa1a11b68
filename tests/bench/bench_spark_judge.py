"""Events measured and judged per second by Spark on this machine, by every law, from 10⁴ to 10⁶ events. Prints, asserts
nothing.

    python tests/bench/bench_spark_judge.py

Histories are recorded in the simulated lab and repeated under new trial numbers; every law judges. The first row
includes what a job pays once (workers start, laws are imported).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet

from pairproof.harness.judging.judge import Judge, all_laws
from pairproof.harness.runs.reader import histories
from pairproof.harness.runs.schema import TABLES
from pairproof.harness.runs.tables import from_columns, part_bytes
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.reports.engines import on_spark
from pairproof.reports.inputs import RunInput
from pairproof.reports.session import session

SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
FAULTS = (
    Op("fault", {"name": "kill", "node": "slave"}),
    Op("fault", {"name": "stall", "link": "ha", "direction": "up"}),
    Op("fault", {"name": "down", "link": "ha"}),
)
PART_EVENTS = 50_000


def recorded() -> list[list[tuple[object, ...]]]:
    """The events of a few simulated trials."""
    found = []
    for fault in FAULTS:
        ops = (SEND, SEND, fault, SEND, Op("advance", {"ms": 4_000}), SEND, SEND)
        schedule = Schedule({"brokerRole": "SYNC_MASTER"}, "bench", ops)
        found.append(run_trial(resolve.lab("sim"), resolve.target("reference"), schedule, laws=()).events)
    return found


def repeated(trials: list[list[tuple[object, ...]]], events: int, folder: Path) -> tuple[int, RunInput]:
    """Write at least ``events`` history rows as parts of a run folder; how many, and the run."""
    rows: list[tuple[object, ...]] = []
    told: list[tuple[int, int]] = []
    parts: dict[str, list[Path]] = {table: [] for table in TABLES}
    written = number = 0
    while written + len(rows) < events:
        own = trials[number % len(trials)]
        rows += [(number, *event) for event in own]
        told.append((number, len(own)))
        number += 1
        if len(rows) >= PART_EVENTS or written + len(rows) >= events:
            written += len(rows)
            numbers, sizes = zip(*told, strict=True)
            about = ["reference", "sim", [{}] * len(told), "", "", ""]
            of_trials = ["bench", numbers, "bench", "", "{}", sizes, 0, True, "[]", *about]
            made = {
                "history": (len(rows), ["bench", *map(list, zip(*rows, strict=True))]),
                "trials": (len(told), of_trials),
            }
            for table, (amount, columns) in made.items():
                part = folder / table / f"part-{written:09d}.parquet"
                part.parent.mkdir(parents=True, exist_ok=True)
                part.write_bytes(part_bytes(from_columns(table, amount, columns)))
                parts[table].append(part)
            rows, told = [], []
    facts = {"run": "bench", "target": "reference", "lab": "sim", "laws": [law.id for law in all_laws()]}
    return written, RunInput(folder, facts, [], parts)


def in_process(folder: Path) -> float:
    """Events per second of the same judge in this process, events read from the same files."""
    table = pa.concat_tables(pa.parquet.read_table(each) for each in sorted((folder / "history").glob("*.parquet")))
    trials = [events for _, events in histories([table])]
    began = perf_counter()
    for events in trials:
        one = Judge(all_laws())
        one.feed_all(events)
        one.finish()
    return len(table) / (perf_counter() - began)


def main() -> None:
    """Print the table."""
    trials = recorded()
    print(f"{len(all_laws())} laws; histories of {', '.join(str(len(each)) for each in trials)} events, repeated")
    print(f"{'events':>10} {'in process/s':>13} {'Spark s':>8} {'Spark/s':>10}")
    with tempfile.TemporaryDirectory() as root, session(input_rows=1) as spark:
        for events in (10_000, 10_000, 100_000, 1_000_000, 1_000_000):
            folder = Path(root) / f"{events}"
            folder.mkdir(exist_ok=True)
            count, run = repeated(trials, events, folder)
            alone = in_process(folder)
            began = perf_counter()
            (found,) = on_spark(spark, [run], True).tables["histories"].to_pylist()
            assert found["events"] == count
            took = perf_counter() - began
            print(f"{count:>10,} {alone:>13,.0f} {took:>8.2f} {count / took:>10,.0f}", flush=True)


if __name__ == "__main__":
    main()
