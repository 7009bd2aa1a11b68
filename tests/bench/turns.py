"""What benchmarks share in which brokers of a kind, ours or RocketMQ 4.9.7, take turns on this machine."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

sys.path.extend(str(Path(__file__).parents[1] / each) for each in ("java", "reference/shell", "bench"))

import jars
import processes
from bench_java import SEND_TO, SETTINGS
from processes import JAVA, REFERENCE, Kind

KINDS = {"ours": REFERENCE, "java": JAVA}

Rows = Callable[[Kind, Path, ExitStack], Iterator[Sequence[object]]]
"""Starts the brokers of a kind, which the stack ends, and yields the rows that are measured with them."""


def arguments(about: str) -> argparse.ArgumentParser:
    """Options of every such benchmark."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a turn")
    parser.add_argument("--turns", type=int, default=5, help="number of turns of each master")
    parser.add_argument("--only", default=",".join(KINDS), help="ours, java, or both with a comma between")
    return parser


def told(values: Iterable[float]) -> str:
    """The median, with the lowest and highest value in brackets."""
    known = sorted(values)
    return f"{median(known):.2f} ({known[0]:.2f} to {known[-1]:.2f})"


def conditions(given: argparse.Namespace) -> str:
    """What the figures hold for."""
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    memory = " ".join(each for each in processes.JVM if each.startswith("-Xm"))
    return (
        f"{os.cpu_count()} cores, load {load}; loopback; {SETTINGS['flushDiskType']}; sends to {len(SEND_TO)} queues "
        f"over one connection; {given.turns} turns of {given.seconds:g} s each; RocketMQ 4.9.7 with the JVM's default "
        f"compilers, {memory}"
    )


def print_table(given: argparse.Namespace, columns: Sequence[str], rows: Rows) -> None:
    """A Markdown table of every kind that was asked for and that this machine can run, after its conditions."""
    began = time.perf_counter()
    os.environ.pop("NAMESRV_ADDR", None)
    processes.JVM = tuple(each for each in processes.JVM if not each.startswith("-XX:TieredStopAtLevel"))
    kinds = _measured(given.only.split(","))
    print(f"{conditions(given)}\n\n| kind | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name in kinds:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            for row in rows(KINDS[name], Path(folder), stack):
                print(f"| {name} | {' | '.join(map(str, row))} |", flush=True)
    print(f"\n({time.perf_counter() - began:.0f} s)", file=sys.stderr)


def _measured(kinds: list[str]) -> list[str]:
    try:
        if "java" in kinds:
            jars.program("java")
            jars.classpath()
    except jars.NoJava as why:
        print(f"Java is not measured: {why}")
        return [each for each in kinds if each != "java"]
    return kinds
