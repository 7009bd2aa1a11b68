"""What SYNC_MASTER costs against ASYNC_MASTER, as ratios: of ours and of RocketMQ 4.9.7. Claimed: about a tenth.

    .venv/bin/python tests/bench/bench_sync_cost.py [--seconds 1.5] [--turns 5] [--flush ASYNC_FLUSH] [--only java,ours]

A pair of each role and kind is up, each master with one slave, all on this machine over loopback, warmed up. For each
size and number in flight the two roles of a kind take turns, the first of them in turn, and each turn ends when the
slave has everything. A row's figures are medians of the turns' ratios, with the lowest and highest in brackets:

throughput  messages a second of SYNC_MASTER over those of ASYNC_MASTER; 0.90 is the tenth that is claimed
p50, p99    response times of single sends, SYNC_MASTER's over ASYNC_MASTER's

The conditions are printed first: without them a ratio says nothing. Loopback has no latency worth the name, so a real
network costs a SYNC_MASTER more at few sends in flight. Master, slave and client share this machine's cores: where they
are all busy, the slave's work costs an ASYNC_MASTER as much as a SYNC_MASTER, and the ratio is better than with
machines of their own. Asserts nothing; Java needs what tests/java needs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from statistics import median

sys.path.extend(str(Path(__file__).parents[1] / each) for each in ("java", "reference/shell", "bench"))

import bench_java
import jars
import processes
from bench_java import ASYNC, SYNC, Pair, sending
from load_client import Turn
from processes import JAVA, REFERENCE, Kind

KINDS = {"ours": REFERENCE, "java": JAVA}
IN_FLIGHT = (1, 16, 64)
BODIES = (100, 1_024, 4_096)
FIGURES = ("throughput", "p50", "p99")


def ratios(sync: Turn, other: Turn) -> tuple[float, ...]:
    """SYNC_MASTER's over ASYNC_MASTER's, in the order of FIGURES."""
    rates = [each.messages / each.elapsed_s for each in (sync, other)]
    return rates[0] / rates[1], sync.p50_s / other.p50_s, sync.p99_s / other.p99_s


def compared(pairs: dict[str, Pair], body: int, in_flight: int, seconds: float, turns: int) -> list[tuple[float, ...]]:
    """The ratios of each turn."""
    found = []
    for number in range(turns):
        order = (SYNC, ASYNC) if number % 2 else (ASYNC, SYNC)
        done = {role: pairs[role].measure(lambda pair: sending(body, in_flight, seconds, pair)).turn for role in order}
        found.append(ratios(done[SYNC], done[ASYNC]))
    return found


def told(values: Iterable[float]) -> str:
    """The median, and between which values it lies."""
    known = sorted(values)
    return f"{median(known):.2f} ({known[0]:.2f} to {known[-1]:.2f})"


def started(folder: Path, name: str, stack: ExitStack, seconds: float) -> dict[str, Pair]:
    """Both roles' pairs of a kind, by role, joined and warm."""
    kind: Kind = KINDS[name]
    pairs = {role: Pair(folder / f"{name}-{role}", kind, role, stack) for role in (SYNC, ASYNC)}
    for pair in pairs.values():
        pair.join()
        for body in BODIES:
            sending(body, IN_FLIGHT[-1], seconds, pair)
        pair.catch_up()
    return pairs


def conditions(given: argparse.Namespace) -> str:
    """What the figures hold for."""
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"{os.cpu_count()} cores, load {load}; loopback, 1 slave; {given.flush}; sends to {len(bench_java.SEND_TO)} "
        f"queues over one connection; {given.turns} turns of {given.seconds:g} s each; RocketMQ 4.9.7 with the JVM's "
        f"default compilers, {' '.join(each for each in processes.JVM if each.startswith('-Xm'))}"
    )


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description="The cost of SYNC_MASTER against ASYNC_MASTER.")
    parser.add_argument("--seconds", type=float, default=1.5, help="of a turn")
    parser.add_argument("--turns", type=int, default=5, help="of each role")
    parser.add_argument("--flush", default="ASYNC_FLUSH", choices=("ASYNC_FLUSH", "SYNC_FLUSH"))
    parser.add_argument("--only", default=",".join(KINDS), help="ours, java, or both with a comma between")
    given = parser.parse_args()
    os.environ.pop("NAMESRV_ADDR", None)
    bench_java.SETTINGS["flushDiskType"] = given.flush
    processes.JVM = tuple(each for each in processes.JVM if not each.startswith("-XX:TieredStopAtLevel"))
    kinds = given.only.split(",")
    try:
        if "java" in kinds:
            jars.program("java")
            jars.classpath()
    except jars.NoJava as why:
        print(f"Java is not measured: {why}")
        kinds.remove("java")
    began = time.perf_counter()
    columns = ("kind", "bytes", "in flight", *FIGURES)
    print(f"{conditions(given)}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name in kinds:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            pairs = started(Path(folder), name, stack, given.seconds)
            for body, in_flight in product(BODIES, IN_FLIGHT):
                turns = compared(pairs, body, in_flight, given.seconds, given.turns)
                cells = [told(values) for values in zip(*turns, strict=True)]
                print(f"| {name} | {body:,} | {in_flight} | {' | '.join(cells)} |", flush=True)
    print(f"\n({time.perf_counter() - began:.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    main()
