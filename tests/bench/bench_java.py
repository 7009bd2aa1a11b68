"""The reference pair beside a pair of Java brokers (RocketMQ 4.9.7): same client, same host, same settings, one run.

    .venv/bin/python tests/bench/bench_java.py [seconds a turn]

Four pairs are up at once: SYNC_MASTER and ASYNC_MASTER of each kind, ASYNC_FLUSH, default JIT (the tests' JVM flags
hold it at its first level). They are warmed up, then take turns, so that noise hits all of them alike; every figure is
the median of three turns. A turn ends when the slave has everything. CPU is that of the broker processes, from /proc,
per message; "core" is the share of one core that the reference's master, which has one thread for its work, or the
client was busy for. ``others`` is what anybody else on the machine used meanwhile, in cores. Asserts nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "java"), str(TESTS / "reference" / "shell"), str(TESTS / "bench")]

from load_client import WAIT_S, LoadClient, Turn, client
from processes import JAVA, REFERENCE, Broker, Kind

SYNC, ASYNC = "SYNC_MASTER", "ASYNC_MASTER"
IN_FLIGHT = (1, 64, 256)
BODIES = (100, 1_024)
TURNS = 3
SECONDS = 1.5
SEND_TO = list(range(8))
PULLED = 20_000
PULL_FROM = {1: [8], 4: [9, 10, 11, 12]}
"""By how many queues: which."""
TICKS = os.sysconf("SC_CLK_TCK")
SETTINGS = {
    "flushDiskType": "ASYNC_FLUSH",
    "mappedFileSizeCommitLog": 256 * 1024 * 1024,
    "mappedFileSizeConsumeQueue": 6_000_000,
    "maxHashSlotNum": 500_000,
    "maxIndexNum": 2_000_000,
}


class Pair:
    """A master and its slave, of one kind."""

    def __init__(self, folder: Path, kind: Kind, role: str) -> None:
        self.kind = kind
        self.role = role
        self.master = Broker(folder / "master", kind, brokerRole=role, brokerId=0, **SETTINGS)
        copies = {"haMasterAddress": self.master.ha_address}
        self.slave = Broker(folder / "slave", kind, brokerRole="SLAVE", brokerId=1, **copies, **SETTINGS)
        self.brokers = (self.master, self.slave)
        for each in self.brokers:
            each.command = [word for word in each.command if word != "-XX:TieredStopAtLevel=1"]

    def caught_up(self, ask: LoadClient, slave: LoadClient) -> None:
        """Wait until the slave has what the master has."""
        ends = time.monotonic() + WAIT_S
        queues = [*SEND_TO, *(queue for each in PULL_FROM.values() for queue in each)]
        # Both again: a Java master answers a send before its own queues have the message.
        while [slave.end_of(each) for each in queues] != [ask.end_of(each) for each in queues]:
            assert time.monotonic() < ends, f"the {self.kind.name} slave is behind after {WAIT_S} s"
            time.sleep(0.01)


class Measured(NamedTuple):
    """A turn, and what it cost. CPU: seconds of master, slave, and everybody but brokers and client."""

    turn: Turn
    master_s: float
    slave_s: float
    others_s: float
    wall_s: float


class Bench:
    """A pair with connections to both of its brokers."""

    def __init__(self, pair: Pair, master: LoadClient, slave: LoadClient) -> None:
        self.pair = pair
        self.master = master
        self.slave = slave

    def joined(self) -> None:
        """Wait until the slave gets what is sent."""
        ends = time.monotonic() + WAIT_S
        while self.master.status(SEND_TO[0]) != 0:
            assert time.monotonic() < ends, f"the {self.pair.kind.name} slave did not join within {WAIT_S} s"
            time.sleep(0.1)
        self.pair.caught_up(self.master, self.slave)

    def measure(self, run: Callable[[LoadClient], Turn]) -> Measured:
        """One turn."""
        began = self._cpu()
        turn = run(self.master)
        self.pair.caught_up(self.master, self.slave)
        wall, busy, own, master, slave = (after - before for before, after in zip(began, self._cpu(), strict=True))
        return Measured(turn, master, slave, busy - own - master - slave, wall)

    def _cpu(self) -> tuple[float, float, float, float, float]:
        """Wall clock, all of the machine, this process, master, slave: seconds."""
        busy = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        # user nice system idle iowait irq softirq steal
        machine = (sum(busy[:3]) + sum(busy[5:7])) / TICKS
        brokers = (cpu_seconds(each) for each in self.pair.brokers)
        return (time.perf_counter(), machine, time.process_time(), *brokers)


def cpu_seconds(broker: Broker) -> float:
    """Processor seconds of a broker's process, all threads."""
    assert broker.process is not None
    fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def started(folder: Path, stack: ExitStack) -> Iterator[Bench]:
    """All pairs, Java first of each role, joined."""
    for role in (SYNC, ASYNC):
        for kind in (JAVA, REFERENCE):
            pair = Pair(folder / f"{kind.name}-{role}", kind, role)
            for each in pair.brokers:
                stack.callback(each.kill)
                each.start()
            made = Bench(pair, *(stack.enter_context(client(each.address)) for each in pair.brokers))
            made.joined()
            yield made


def turns(benches: list[Bench], run: Callable[[LoadClient], Turn]) -> dict[tuple[str, str], list[Measured]]:
    """Every pair's turns, by kind and role."""
    found: dict[tuple[str, str], list[Measured]] = {}
    for _ in range(TURNS):
        for each in benches:
            found.setdefault((each.pair.kind.name, each.pair.role), []).append(each.measure(run))
    return found


HEADING = (
    f"{'what':24} {'pair':16} {'msg/s':>7} {'p50 ms':>7} {'p99 ms':>7} {'/java':>6} {'/async':>6}  "
    f"{'us master':>9} {'us slave':>8} {'core':>5} {'client':>6} {'others':>6}"
)


def show(what: str, found: dict[tuple[str, str], list[Measured]]) -> None:
    """One line a pair."""
    rates = {key: median(each.turn.rate for each in measured) for key, measured in found.items()}
    for (kind, role), measured in found.items():
        java = rates[kind, role] / rates["java", role]
        ratio = rates[kind, role] / rates[kind, ASYNC] if (kind, ASYNC) in rates and role == SYNC else None
        cuts = [quantiles(each.turn.latencies_s, n=100) for each in measured]
        p50, p99 = (median(each[at] for each in cuts) * 1e3 for at in (49, 98))
        master, slave = (
            median(cpu / each.turn.messages for each, cpu in zip(measured, costs, strict=True)) * 1e6
            for costs in ([each.master_s for each in measured], [each.slave_s for each in measured])
        )
        core = median(each.master_s / each.wall_s for each in measured)
        busy = median(each.turn.client_cpu_s / each.turn.elapsed_s for each in measured)
        others = median(each.others_s / each.wall_s for each in measured)
        print(
            f"{what:24} {f'{kind} {role[:-7].lower()}':16} {rates[kind, role]:7,.0f} {p50:7.2f} {p99:7.2f} {java:6.2f} "
            f"{'' if ratio is None else f'{ratio:.2f}':>6}  {master:9.0f} {slave:8.0f} {core:5.2f} {busy:6.2f} {others:6.2f}",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    os.environ.pop("NAMESRV_ADDR", None)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        benches = list(started(Path(folder), stack))
        synchronous = [each for each in benches if each.pair.role == SYNC]
        # What is pulled later; for a JVM also the time to compile what it will need.
        for each in benches:
            for queues in PULL_FROM.values():
                if each in synchronous or each.pair.kind is JAVA:
                    each.measure(lambda to, queues=queues: to.send(BODIES[-1], queues, 64, WAIT_S, PULLED))
        print(f"{len(benches)} pairs joined and warm after {time.perf_counter() - began:.0f} s")
        print(HEADING)
        for body in BODIES:
            for in_flight in IN_FLIGHT:
                what = f"send {body:,} B, {in_flight} in flight"
                show(what, turns(benches, lambda to, b=body, n=in_flight: to.send(b, SEND_TO, n, seconds)))
        for count, queues in PULL_FROM.items():
            begins = dict.fromkeys(queues, 0)
            for each in synchronous:
                each.measure(lambda to, begins=begins: to.pull(begins, PULLED))
            what = f"pull {BODIES[-1]:,} B, {count} queue{'s' * (count > 1)}"
            show(what, turns(synchronous, lambda to, begins=begins: to.pull(begins, PULLED)))
    print(f"({time.perf_counter() - began:.0f} s in all)")


if __name__ == "__main__":
    main()
