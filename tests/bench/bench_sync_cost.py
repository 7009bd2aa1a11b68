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

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import turns
from bench_java import ASYNC, SETTINGS, SYNC, Pair, sending
from load_client import Turn
from processes import Kind

IN_FLIGHT = (1, 16, 64)
BODIES = (100, 1_024, 4_096)
FIGURES = ("throughput", "p50", "p99")


def ratios(sync: Turn, other: Turn) -> tuple[float, ...]:
    """SYNC_MASTER's over ASYNC_MASTER's, in the order of FIGURES."""
    rates = [each.messages / each.elapsed_s for each in (sync, other)]
    return rates[0] / rates[1], sync.p50_s / other.p50_s, sync.p99_s / other.p99_s


def compared(pairs: dict[str, Pair], body: int, in_flight: int, seconds: float, count: int) -> list[tuple[float, ...]]:
    """The ratios of each turn."""
    found = []
    for number in range(count):
        order = (SYNC, ASYNC) if number % 2 else (ASYNC, SYNC)
        done = {role: pairs[role].measure(lambda pair: sending(body, in_flight, seconds, pair)).turn for role in order}
        found.append(ratios(done[SYNC], done[ASYNC]))
    return found


def started(folder: Path, kind: Kind, stack: ExitStack, seconds: float) -> dict[str, Pair]:
    """Both roles' pairs of a kind, by role, joined and warm."""
    pairs = {role: Pair(folder / f"{kind.name}-{role}", kind, role, stack) for role in (SYNC, ASYNC)}
    for pair in pairs.values():
        pair.join()
        for body in BODIES:
            sending(body, IN_FLIGHT[-1], seconds, pair)
        pair.catch_up()
    return pairs


def main() -> None:
    """Print a Markdown table."""
    parser = turns.arguments("The cost of SYNC_MASTER against ASYNC_MASTER.")
    parser.add_argument("--flush", default="ASYNC_FLUSH", choices=("ASYNC_FLUSH", "SYNC_FLUSH"))
    given = parser.parse_args()
    SETTINGS["flushDiskType"] = given.flush

    def rows(kind: Kind, folder: Path, stack: ExitStack) -> Iterator[tuple[str, ...]]:
        pairs = started(folder, kind, stack, given.seconds)
        for body, in_flight in product(BODIES, IN_FLIGHT):
            found = compared(pairs, body, in_flight, given.seconds, given.turns)
            yield f"{body:,}", str(in_flight), *(turns.told(each) for each in zip(*found, strict=True))

    turns.print_table(given, ("bytes", "in flight", *FIGURES), rows)


if __name__ == "__main__":
    main()
