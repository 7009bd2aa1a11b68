"""The reference pair beside a pair of Java brokers (RocketMQ 4.9.7): same clients, same host, same settings, one run.

    .venv/bin/python tests/bench/bench_java.py [seconds a turn]

Four pairs are up at once: SYNC_MASTER and ASYNC_MASTER of each kind, ASYNC_FLUSH, with the JVM's default compilers (the
tests' flags hold it at the first). They are warmed up, then take turns, so that noise hits all of them alike; every
figure is the median of three turns. A turn ends when the slave has everything. A pair that waits for its turn takes a
tenth of a core if it is Java's, nothing if it is ours. Asserts nothing; needs what tests/java needs. Columns:

/java     the reference's messages a second over Java's, in the same role
/async    SYNC_MASTER's over ASYNC_MASTER's, of the same kind; RocketMQ's users speak of about 0.9
us        processor time of the master's and the slave's processes for each message, from /proc, in microseconds
core      cores that the master was busy on; the reference has one thread for all of its work, so 1.0 is its most
client    cores that the client was busy on; others: what anybody else on this machine used meanwhile
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.extend(str(Path(__file__).parents[1] / each) for each in ("java", "reference/shell", "bench"))

import jars
import processes
from clients import Driver
from load_client import TOPIC, WAIT_S, Turn, client
from processes import BROKER, JAVA, REFERENCE, Broker, Kind, NameServer

SYNC, ASYNC = "SYNC_MASTER", "ASYNC_MASTER"
IN_FLIGHT = (1, 64, 256)
BODIES = (100, 1_024)
TURNS = 3
SECONDS = 1.5
SEND_TO = list(range(8))
PULLED = 20_000
PULL_FROM = ([8], [9, 10, 11, 12])
TICKS = os.sysconf("SC_CLK_TCK")
SETTINGS: dict[str, Any] = {
    "flushDiskType": "ASYNC_FLUSH",
    "mappedFileSizeCommitLog": 256 * 1024 * 1024,
    "mappedFileSizeConsumeQueue": 6_000_000,
    "maxHashSlotNum": 500_000,
    "maxIndexNum": 2_000_000,
}


class Measured(NamedTuple):
    """A turn, and what it cost until the slave had everything. Processor times are seconds."""

    turn: Turn
    wall_s: float
    master_s: float
    slave_s: float
    others_s: float


class Pair:
    """A name server of its own, a master and its slave; a connection to each broker."""

    def __init__(self, folder: Path, kind: Kind, role: str, stack: ExitStack) -> None:
        self.kind = kind
        self.role = role
        self.namesrv = NameServer(folder / "namesrv", REFERENCE)
        named: dict[str, Any] = {"namesrvAddr": self.namesrv.address, **SETTINGS}
        self.master = Broker(folder / "master", kind, brokerRole=role, brokerId=0, **named)
        copies = {"haMasterAddress": self.master.ha_address, **named}
        self.slave = Broker(folder / "slave", kind, brokerRole="SLAVE", brokerId=1, **copies)
        for each in (self.namesrv, self.master, self.slave):
            stack.callback(each.kill)
            each.start()
        self.client = stack.enter_context(client(self.master.address))
        self.at_slave = stack.enter_context(client(self.slave.address))

    @property
    def name(self) -> str:
        """Kind and role."""
        return f"{self.kind.name} {self.role.removesuffix('_MASTER').lower()}"

    def join(self) -> None:
        """Wait until the slave gets what is sent."""
        ends = time.monotonic() + WAIT_S
        while self.client.status(SEND_TO[0]) != 0:
            assert time.monotonic() < ends, f"the slave of {self.name} did not join within {WAIT_S} s"
            time.sleep(0.1)
        self.catch_up()

    def catch_up(self) -> None:
        """Wait until the slave has what the master has."""
        ends = time.monotonic() + WAIT_S
        queues = [*SEND_TO, *(queue for each in PULL_FROM for queue in each)]
        # Both again: a Java master answers a send before its own queues have the message.
        while [self.at_slave.end_of(each) for each in queues] != [self.client.end_of(each) for each in queues]:
            assert time.monotonic() < ends, f"the slave of {self.name} is behind after {WAIT_S} s"
            time.sleep(0.01)

    def measure(self, run: Callable[[Pair], Turn]) -> Measured:
        """One turn."""
        began = time.perf_counter(), machine_s(), cpu_s(self.master), cpu_s(self.slave)
        turn = run(self)
        self.catch_up()
        ended = time.perf_counter(), machine_s(), cpu_s(self.master), cpu_s(self.slave)
        wall, busy, master, slave = (after - before for before, after in zip(began, ended, strict=True))
        return Measured(turn, wall, master, slave, busy - turn.client_cpu_s - master - slave)


def machine_s() -> float:
    """Processor seconds of everything on this machine."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + softirq) / TICKS


def cpu_s(of: Broker | Driver) -> float:
    """Processor seconds of a process, all of its threads."""
    assert of.process is not None
    fields = Path(f"/proc/{of.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def java_client(driver: Driver, stack: ExitStack) -> Callable[[Pair, float], Turn]:
    """A real producer for each pair, all in one JVM; sends 1 KiB, 64 in flight."""
    known: set[str] = set()

    def run(pair: Pair, seconds: float) -> Turn:
        if pair.name not in known:
            known.add(pair.name)
            driver.ask("start", client=pair.name, kind="load", group="load", namesrv=pair.namesrv.address)
            stack.callback(driver.ask, "stop", client=pair.name)
        before = cpu_s(driver)
        settings = {"topic": TOPIC, "broker": BROKER, "queues": len(SEND_TO), "size": BODIES[-1], "inFlight": 64}
        said = driver.ask("run", client=pair.name, ms=int(seconds * 1_000), **settings)
        times = (said[name] / 1e9 for name in ("p50Ns", "p99Ns"))
        return Turn(said["sent"], said["elapsedNs"] / 1e9, cpu_s(driver) - before, *times)

    return run


def sending(body: int, in_flight: int, seconds: float, pair: Pair) -> Turn:
    """A turn of sends."""
    return pair.client.send(body, SEND_TO, in_flight, seconds)


def pulling(queues: list[int], pair: Pair) -> Turn:
    """A turn of pulls, from the queues' beginnings."""
    return pair.client.pull(dict.fromkeys(queues, 0), PULLED)


def started(folder: Path, stack: ExitStack) -> Iterator[Pair]:
    """All pairs, Java first of each role, joined and warm, with what is pulled later."""
    for role, kind in product((SYNC, ASYNC), (JAVA, REFERENCE)):
        pair = Pair(folder / f"{kind.name}-{role}", kind, role, stack)
        pair.join()
        if role == SYNC or kind is JAVA:
            for queues in PULL_FROM:
                pair.client.send(BODIES[-1], queues, 64, WAIT_S, PULLED)
            pair.catch_up()
        yield pair


HEADING = (
    f"{'what':28} {'pair':15} {'msg/s':>7} {'p50 ms':>7} {'p99 ms':>7} {'/java':>6} {'/async':>6} {'us: master':>11} "
    f"{'slave':>6} {'core':>5} {'client':>6} {'others':>6}"
)


def show(what: str, pairs: list[Pair], run: Callable[[Pair], Turn]) -> None:
    """Let the pairs take turns; a line each."""
    found: dict[str, list[Measured]] = {pair.name: [] for pair in pairs}
    for _, pair in product(range(TURNS), pairs):
        found[pair.name].append(pair.measure(run))
    rates = {name: middle(found[name], lambda each: each.turn.messages / each.turn.elapsed_s) for name in found}
    for name, measured in found.items():
        kind, role = name.split()
        async_rate = rates.get(f"{kind} async") if role == "sync" else None
        of = partial(middle, measured)
        print(
            f"{what:28} {name:15} {rates[name]:7,.0f} {of(lambda each: each.turn.p50_s) * 1e3:7.2f} "
            f"{of(lambda each: each.turn.p99_s) * 1e3:7.2f} {rates[name] / rates[f'java {role}']:6.2f} "
            f"{f'{rates[name] / async_rate:.2f}' if async_rate else '':>6} "
            f"{of(lambda each: each.master_s / each.turn.messages) * 1e6:11.0f} "
            f"{of(lambda each: each.slave_s / each.turn.messages) * 1e6:6.0f} "
            f"{of(lambda each: each.master_s / each.wall_s):5.2f} "
            f"{of(lambda each: each.turn.client_cpu_s / each.turn.elapsed_s):6.2f} "
            f"{of(lambda each: each.others_s / each.wall_s):6.2f}",
            flush=True,
        )


def middle(measured: list[Measured], figure: Callable[[Measured], float]) -> float:
    """The median of a figure."""
    return median(map(figure, measured))


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    os.environ.pop("NAMESRV_ADDR", None)
    processes.JVM = tuple(each for each in processes.JVM if not each.startswith("-XX:TieredStopAtLevel"))
    try:
        jars.program("java")
        jars.classpath()
    except jars.NoJava as why:
        print(f"not measured: {why}")
        return
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        pairs = list(started(Path(folder), stack))
        driver = Driver(Path(folder) / "driver")
        stack.callback(driver.close)
        load = java_client(driver, stack)
        for pair in pairs:
            load(pair, 2 * seconds)
        print(f"{len(pairs)} pairs joined and warm after {time.perf_counter() - began:.0f} s\n{HEADING}")
        for body, in_flight in product(BODIES, IN_FLIGHT):
            show(f"send {body:,} B, {in_flight} in flight", pairs, partial(sending, body, in_flight, seconds))
        show(f"Java's client, {BODIES[-1]:,} B, 64", pairs, lambda pair: load(pair, seconds))
        synchronous = [pair for pair in pairs if pair.role == SYNC]
        for queues in PULL_FROM:
            pull = partial(pulling, queues)
            for pair in synchronous:
                pull(pair)
            show(f"pull {BODIES[-1]:,} B, {len(queues)} queue{'s' * (len(queues) > 1)}", synchronous, pull)
    print(f"({time.perf_counter() - began:.0f} s in all)")


if __name__ == "__main__":
    main()
