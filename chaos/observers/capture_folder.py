"""The folder of a capture of real brokers: reads and checks its files, without interpretation.

    run.json                     t0_epoch_ms, events (at_ms, event), ha (opened_at_ms, closed_at_ms, optional closed_by,
                                 by connection); optional: format (1), rocketmq (a version such as 4.9.7), complete,
                                 ended_at_ms, slack_ms, stalls (at_ms, lasted_ms, how), clock (at_ms, epoch_ms)
    conf/NODE.properties         each broker's configuration file
    ha/NAME.m2s.bin, .s2m.bin    bytes of one HA connection, by direction; NAME begins with the slave's node name
    ha/NAME.timeline.jsonl       its TCP segments: at_ms, direction, offset, length; both streams are covered
    store/NODE                   optional: store folders after the end
    remoting/*--master.*         optional: see :mod:`pairproof.chaos.observers.client_capture`

:mod:`pairproof.chaos.observers.capture_events` parses the events; docs/capture-folder.md describes everything. Times
are milliseconds since t0. A missing or contradictory part is a UsageError of one line that names the file. The captures
in ``tests/golden`` have this format.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ...harness.errors import UsageError
from ...harness.runs import locations
from ..properties import parsed
from .store_folder import open_log
from .store_reader import LogFile

MASTER, SLAVE = "master", "slave"
SLAVE_ROLE = "SLAVE"
NOTHING: Mapping[str, Path] = MappingProxyType({})
FORMAT = 1
DIRECTIONS = ("m2s", "s2m")
MAX_STREAM, MAX_FACTS = 1 << 30, 12 << 20
"""Limits of one captured file that is read into memory, and of run.json, whose Python objects take thirty times its
size.
"""

MAX_DIGITS = 19

DEFAULTS: dict[str, str] = {
    "brokerRole": "ASYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH",
    "flushIntervalCommitLog": "500",
    "haHousekeepingInterval": "20000",
    "haSendHeartbeatInterval": "5000",
    "haSlaveFallbehindMax": "268435456",
    "haTransferBatchSize": "32768",
    "mappedFileSizeCommitLog": "1073741824",
    "slaveTimeout": "3000",
    "syncFlushTimeout": "5000",
}
"""RocketMQ 4.9's defaults for missing settings that a law may use."""


class Segment(NamedTuple):
    """Bytes of one direction that arrived together, ``at`` ns after t0."""

    at: int
    direction: str
    data: bytes


class Late(NamedTuple):
    """A delay of the recorder, ns after t0: its times may be too late then."""

    at: int
    lasted: int
    how: str


class Connection(NamedTuple):
    """One captured HA connection; ``segments`` in order of time."""

    name: str
    node: str
    opened: int
    closed: int | None
    """None: open at the recording's end."""
    segments: list[Segment]
    closed_by: str | None = None

    def stream(self, direction: str) -> bytes:
        return b"".join(each.data for each in self.segments if each.direction == direction)


class Clock:
    """Readings of the machine's clock: pairs of milliseconds, since t0 and since 1970; the first is t0's."""

    def __init__(self, pairs: Sequence[tuple[float, float]]) -> None:
        self._stated = pairs
        # After a step back the later pair counts.
        self._since = list(accumulate((epoch for _, epoch in pairs), max))

    def at(self, epoch_ms: float) -> int:
        """The time of this clock reading, ns after t0, to the microsecond."""
        at, epoch = self._stated[max(bisect_right(self._since, epoch_ms) - 1, 0)]
        return ns(at + (epoch_ms - epoch))


class Capture(NamedTuple):
    """A folder's contents. ``configs`` by broker; ``events``: (ns, text); ``log``: the master's commit log files."""

    folder: Path
    clock: Clock
    configs: dict[str, dict[str, str | int]]
    events: list[tuple[int, str]]
    connections: list[Connection]
    log: list[LogFile]
    others: frozenset[str] = frozenset()
    """Processes with a configuration file that are not brokers."""
    rocketmq: str | None = None
    ended: int | None = None
    """End of the recording, if stated."""
    slack: int | None = None
    """Delay that the recorder's machine adds to a time, ns, if stated."""
    stalls: tuple[Late, ...] | None = None
    """None if stalls were not measured."""
    is_complete: bool = True
    """Whether the recording ended in an orderly way: otherwise the last line of a file may be incomplete."""
    unseen: int = 0
    """Unrecorded connections to the master's HA port: its acks may depend on them."""
    unseen_until: int = 0
    """Until then such connections were not detected: earlier sends are not judged."""


def open_capture(folder: Path, brought: Mapping[str, Path] = NOTHING) -> Capture:
    """Read a capture folder; UsageError in one line if it is invalid.

    ``brought``: configuration files, of ``master`` or ``slave``, instead of the folder's; the second is each slave's.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such capture folder")
    if not (folder / "run.json").is_file():
        raise UsageError(f"{folder}: missing run.json, the capture's facts; is this a capture folder?")
    run = _run(folder / "run.json")
    configs = _configs(folder / "conf", brought)
    names = sorted(each.name[: -len(".m2s.bin")] for each in (folder / "ha").glob("*.m2s.bin"))
    if not names:
        raise UsageError(f"{folder}: missing ha/*.m2s.bin, the captured HA streams")
    connections = [_connection(folder, name, run, configs) for name in names]
    store = folder / "store" / MASTER
    log = open_log(store) if store.is_dir() else []
    events = [(ns(each["at_ms"]), str(each["event"])) for each in run["events"]]
    others = frozenset(path.stem for path in (folder / "conf").glob("*.properties")) - configs.keys()
    connections.sort(key=lambda each: each.opened)
    clock = Clock(
        [(0.0, float(run["t0_epoch_ms"])), *((each["at_ms"], each["epoch_ms"]) for each in run.get("clock", ()))]
    )
    stalls = tuple(Late(ns(each["at_ms"]), ns(each["lasted_ms"]), str(each["how"])) for each in run.get("stalls", ()))
    return Capture(
        folder, clock, configs, events, connections, log, others, run.get("rocketmq"), _optional_ns(run, "ended_at_ms"),
        _optional_ns(run, "slack_ms"), stalls if "stalls" in run else None, is_complete(run),
        run.get("unseen", 0), _optional_ns(run, "unseen_until_ms") or 0,
    )  # fmt: skip


def is_complete(run: Mapping[str, Any]) -> bool:
    """Whether the recording ended in an orderly way, which is the default."""
    return bool(run.get("complete", True))


def _optional_ns(run: Mapping[str, Any], name: str) -> int | None:
    return None if run.get(name) is None else ns(run[name])


def ns(ms: float) -> int:
    """Milliseconds as nanoseconds; a capture's clock has microseconds."""
    return round(ms * 1_000) * 1_000


def read_bytes(path: Path, at_most: int = MAX_STREAM) -> bytes:
    """A captured file; UsageError if it is missing or too large."""
    try:
        return locations.read_bytes(path, at_most)
    except ValueError as why:
        raise UsageError(f"{path}: {why}, which no captured file is") from None
    except FileNotFoundError:
        raise UsageError(f"{path}: missing") from None
    except OSError as why:
        raise UsageError(f"{path}: {why.strerror or why}") from None


def read_lines(path: Path, is_complete: bool = True) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON-lines file, with their line numbers; UsageError for a line that is not an object.

    In an incomplete file a last line without a newline is ignored.
    """
    data = read_bytes(path)
    if not is_complete:
        data = data[: data.rfind(b"\n") + 1]
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise UsageError(f"{path}: line {number} is not a JSON object")
        yield number, found


def _run(path: Path) -> dict[str, Any]:
    try:
        run = json.loads(read_bytes(path, MAX_FACTS))
        ns(float(run["t0_epoch_ms"]))
        for each in run["events"]:
            ns(each["at_ms"]), each["event"]
        for each in run["ha"].values():
            ns(each["opened_at_ms"]), _optional_ns(each, "closed_at_ms")
        for each in run.get("clock", ()):
            ns(each["at_ms"]), ns(each["epoch_ms"])
        for each in run.get("stalls", ()):
            ns(each["at_ms"]), ns(each["lasted_ms"]), each["how"]
        for key in ("ended_at_ms", "slack_ms", "unseen_until_ms"):
            _optional_ns(run, key)
        known, version = run.get("format", FORMAT), run.get("rocketmq")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as why:
        raise UsageError(f"{path}: not a capture's facts: {type(why).__name__} at {why}") from None
    if known != FORMAT:
        raise UsageError(f"{path}: format {known!r} is not one that this version reads; {FORMAT} is")
    if not isinstance(run.get("unseen", 0), int):
        raise UsageError(f"{path}: unseen must be a number of connections, not {run['unseen']!r}")
    if not isinstance(version, str | None):
        raise UsageError(f'{path}: rocketmq must be a version such as "4.9.7", not {version!r}')
    return dict(run)


def _configs(folder: Path, brought: Mapping[str, Path]) -> dict[str, dict[str, str | int]]:
    """By broker. A name server's file has no role."""
    read = {path.stem: parsed(read_bytes(path)) for path in sorted(folder.glob("*.properties"))}
    found = {node: each for node, each in read.items() if "brokerRole" in each}
    if MASTER in brought:
        found[MASTER] = _brought(brought[MASTER], is_master=True)
    if SLAVE in brought:
        slaves = [node for node in found if node != MASTER] or [SLAVE]
        found |= dict.fromkeys(slaves, _brought(brought[SLAVE], is_master=False))
    if MASTER not in found:
        raise UsageError(
            f"{folder}: missing {MASTER}.properties, the master's configuration; or name its --master-conf"
        )
    return {node: _typed({**DEFAULTS, **each}) for node, each in found.items()}


def _brought(path: Path, is_master: bool) -> dict[str, str]:
    """A production file, which may omit RocketMQ's default role."""
    pairs = parsed(read_bytes(path))
    role = pairs.setdefault("brokerRole", DEFAULTS["brokerRole"] if is_master else SLAVE_ROLE)
    if (role == SLAVE_ROLE) == is_master:
        node = MASTER if is_master else SLAVE
        raise UsageError(f"{path}: the {node}'s brokerRole is {role}; are the two files the right way round?")
    return pairs


def _typed(pairs: Mapping[str, str]) -> dict[str, str | int]:
    return {key: int(each) if each.isdecimal() and len(each) < MAX_DIGITS else each for key, each in pairs.items()}


def _connection(folder: Path, name: str, run: dict[str, Any], configs: dict[str, dict[str, str | int]]) -> Connection:
    nodes = [each for each in configs if each != MASTER and (name == each or name.startswith(f"{each}-"))]
    if not nodes:
        raise UsageError(f"{folder}: no conf/*.properties for the slave of ha/{name}")
    if name not in run["ha"]:
        raise UsageError(f"{folder}: run.json has no ha entry for {name}")
    times = run["ha"][name]
    streams = {each: read_bytes(folder / "ha" / f"{name}.{each}.bin") for each in DIRECTIONS}
    segments = _segments(folder / "ha" / f"{name}.timeline.jsonl", streams, is_complete(run))
    closed, by = _optional_ns(times, "closed_at_ms"), times.get("closed_by")
    return Connection(name, max(nodes, key=len), ns(times["opened_at_ms"]), closed, segments, by)


def _segments(path: Path, streams: dict[str, bytes], is_complete: bool) -> list[Segment]:
    found: list[Segment] = []
    covered = dict.fromkeys(DIRECTIONS, 0)
    latest = dict.fromkeys(DIRECTIONS, 0)
    for number, line in read_lines(path, is_complete):
        try:
            direction, offset, length = line["direction"], int(line["offset"]), int(line["length"])
            at = ns(float(line["at_ms"]))
            at_end = offset == covered[direction]
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UsageError(f"{path}: line {number} needs at_ms, direction (m2s or s2m), offset and length") from None
        if not at_end or length < 0 or offset + length > len(streams[direction]):
            raise UsageError(f"{path}: line {number} does not continue the {direction} stream at {covered[direction]}")
        covered[direction] = offset + length
        # A byte is received after its predecessors, regardless of the packets' own times.
        latest[direction] = at = max(at, latest[direction])
        found.append(Segment(at, direction, streams[direction][offset : offset + length]))
    for direction, end in covered.items():
        if is_complete and end != len(streams[direction]):
            raise UsageError(f"{path}: covers {end} of the {len(streams[direction])} bytes of the {direction} stream")
    return sorted(found, key=lambda each: each.at)
