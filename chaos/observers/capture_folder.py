"""A capture of real brokers, as a folder: what must be in it, read and checked, and nothing made of it yet.

    run.json                     t0_epoch_ms, events (at_ms, event), ha (opened_at_ms and closed_at_ms by connection);
                                 optional: format (1), rocketmq (a version such as 4.9.7)
    conf/NODE.properties         each broker's configuration file
    ha/NAME.m2s.bin, .s2m.bin    bytes of one HA connection, by direction; NAME begins with the slave's node name
    ha/NAME.timeline.jsonl       its TCP segments: at_ms, direction, offset, length; both streams are covered
    store/NODE                   store folders after the end; the master's is needed
    remoting/*--master.*         optional: see :mod:`pairproof.chaos.observers.client_capture`

What events are understood says :mod:`pairproof.chaos.observers.capture_events`, and docs/capture-folder.md all of it.
Times are milliseconds since t0. Whatever is missing or contradicts itself is a UsageError of one line that names the
file. The format is that of the captures in ``tests/golden``.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pairproof.chaos.observers.store_folder import open_log
from pairproof.chaos.observers.store_reader import LogFile
from pairproof.harness.errors import UsageError

MASTER = "master"
FORMAT = 1
DIRECTIONS = ("m2s", "s2m")
MAX_STREAM = 1 << 30
"""Bytes of one captured file that is read into memory."""

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
"""RocketMQ 4.9's own values for what a captured configuration leaves out and a law may ask for."""


class Segment(NamedTuple):
    """Bytes of one direction that arrived together, ``at`` ns after t0."""

    at: int
    direction: str
    data: bytes


class Connection(NamedTuple):
    """One captured HA connection; ``segments`` in order of time."""

    name: str
    node: str
    opened: int
    closed: int
    segments: list[Segment]

    def stream(self, direction: str) -> bytes:
        """All bytes of one direction."""
        return b"".join(each.data for each in self.segments if each.direction == direction)


class Capture(NamedTuple):
    """A folder, read. ``configs`` by broker; ``events``: (ns, text); ``log``: the master's commit log files."""

    folder: Path
    t0_ms: float
    configs: dict[str, dict[str, str | int]]
    events: list[tuple[int, str]]
    connections: list[Connection]
    log: list[LogFile]
    others: frozenset[str] = frozenset()
    """Processes with a configuration file that are no brokers."""
    rocketmq: str | None = None
    """The version, as run.json says it."""


def open_capture(folder: Path) -> Capture:
    """Read a capture folder; UsageError in one line if it is none."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such capture folder")
    if not (folder / "run.json").is_file():
        raise UsageError(f"{folder}: missing run.json, the capture's facts; is this a capture folder?")
    run = _run(folder / "run.json")
    configs = _configs(folder / "conf")
    names = sorted(each.name[: -len(".m2s.bin")] for each in (folder / "ha").glob("*.m2s.bin"))
    if not names:
        raise UsageError(f"{folder}: missing ha/*.m2s.bin, the captured HA streams")
    connections = [_connection(folder, name, run, configs) for name in names]
    store = folder / "store" / MASTER
    if not store.is_dir():
        raise UsageError(f"{folder}: missing store/{MASTER}, the master's store after the run")
    events = [(ns(each["at_ms"]), str(each["event"])) for each in run["events"]]
    others = frozenset(path.stem for path in (folder / "conf").glob("*.properties")) - configs.keys()
    connections.sort(key=lambda each: each.opened)
    t0_ms = float(run["t0_epoch_ms"])
    return Capture(folder, t0_ms, configs, events, connections, open_log(store), others, run.get("rocketmq"))


def ns(ms: float) -> int:
    """Milliseconds as nanoseconds; a capture's clock has microseconds."""
    return round(ms * 1_000) * 1_000


def read_bytes(path: Path) -> bytes:
    """A captured file; UsageError if it is missing or too large to be one."""
    try:
        if path.stat().st_size > MAX_STREAM:
            raise UsageError(f"{path}: larger than {MAX_STREAM} bytes, too large for a capture")
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{path}: missing") from None
    except OSError as why:
        raise UsageError(f"{path}: {why.strerror or why}") from None


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON-lines file, with their line numbers; UsageError for a line that is no object."""
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise UsageError(f"{path}: line {number} is not a JSON object")
        yield number, found


def _run(path: Path) -> dict[str, Any]:
    try:
        run = json.loads(read_bytes(path))
        ns(float(run["t0_epoch_ms"]))
        for each in run["events"]:
            ns(each["at_ms"]), each["event"]
        for each in run["ha"].values():
            ns(each["opened_at_ms"]), ns(each["closed_at_ms"])
        known, version = run.get("format", FORMAT), run.get("rocketmq")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as why:
        raise UsageError(f"{path}: not a capture's facts: {type(why).__name__} at {why}") from None
    if known != FORMAT:
        raise UsageError(f"{path}: format {known!r} is not one that this version reads; {FORMAT} is")
    if not isinstance(version, str | None):
        raise UsageError(f'{path}: rocketmq must be a version such as "4.9.7", not {version!r}')
    return dict(run)


def _configs(folder: Path) -> dict[str, dict[str, str | int]]:
    found = {}
    for path in sorted(folder.glob("*.properties")):
        given = _properties(path)
        # A name server's file says nothing of a role.
        if "brokerRole" in given:
            merged = {**DEFAULTS, **given}
            found[path.stem] = {
                key: int(value) if value.isdecimal() and len(value) < MAX_DIGITS else value
                for key, value in merged.items()
            }
    if MASTER not in found:
        raise UsageError(f"{folder}: missing {MASTER}.properties, the master's configuration")
    return found


def _properties(path: Path) -> dict[str, str]:
    text = read_bytes(path).decode("utf-8", "replace")
    pairs = (line.partition("=") for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _connection(folder: Path, name: str, run: dict[str, Any], configs: dict[str, dict[str, str | int]]) -> Connection:
    nodes = [each for each in configs if each != MASTER and (name == each or name.startswith(f"{each}-"))]
    if not nodes:
        raise UsageError(f"{folder}: no conf/*.properties for the slave of ha/{name}")
    if name not in run["ha"]:
        raise UsageError(f"{folder}: run.json has no ha entry for {name}")
    times = run["ha"][name]
    streams = {each: read_bytes(folder / "ha" / f"{name}.{each}.bin") for each in DIRECTIONS}
    segments = _segments(folder / "ha" / f"{name}.timeline.jsonl", streams)
    return Connection(name, max(nodes, key=len), ns(times["opened_at_ms"]), ns(times["closed_at_ms"]), segments)


def _segments(path: Path, streams: dict[str, bytes]) -> list[Segment]:
    found: list[Segment] = []
    covered = dict.fromkeys(DIRECTIONS, 0)
    latest = dict.fromkeys(DIRECTIONS, 0)
    for number, line in read_lines(path):
        try:
            direction, offset, length = line["direction"], int(line["offset"]), int(line["length"])
            at = ns(float(line["at_ms"]))
            at_end = offset == covered[direction]
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UsageError(f"{path}: line {number} needs at_ms, direction (m2s or s2m), offset and length") from None
        if not at_end or length < 0 or offset + length > len(streams[direction]):
            raise UsageError(f"{path}: line {number} does not continue the {direction} stream at {covered[direction]}")
        covered[direction] = offset + length
        # A byte is not received before those in front of it are, whatever the packets' own times say.
        latest[direction] = at = max(at, latest[direction])
        found.append(Segment(at, direction, streams[direction][offset : offset + length]))
    for direction, end in covered.items():
        if end != len(streams[direction]):
            raise UsageError(f"{path}: covers {end} of the {len(streams[direction])} bytes of the {direction} stream")
    return sorted(found, key=lambda each: each.at)
