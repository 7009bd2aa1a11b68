"""Writes a capture folder while the captured pair runs, so that a kill loses the last second at most.

Every piece of a stream is written before it is forwarded, followed by its line in the timeline; ``run.json`` is
replaced whenever a connection begins or ends, and each second. Its ``complete`` means that recording ended in an
orderly way: without it a stream may be longer than its timeline, and the last line incomplete.

Limits: ``limit`` bytes on disk, :data:`MAX_CONNECTIONS` connections, :data:`MAX_OPEN` at once, :data:`MAX_LINES` lines
about the brokers. Recording stops at a full disk and at its limit; bytes are still forwarded. Layout of the folder:
docs/capture-folder.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from ...harness.errors import PairproofError, UsageError
from ...harness.history import MS
from ...harness.runs import atomic
from ..labs.real.stalls import Stall
from ..observers.capture_folder import FORMAT, MASTER

SLAVE = "slave"
OPTION = "--output"
MAX_BYTES = 1 << 30
"""The judge reads no larger file."""
MAX_CONNECTIONS = 1_000
MAX_OPEN = 64
MAX_LINES = 1_000
MAX_CLOCK = 1_000
"""Above this, every second entry is dropped, and the threshold for new ones doubles."""
CLOCK_MS = 1.0
"""Movement of the machine's clock against elapsed time that makes an entry."""
READINGS = 9
MAX_STALLS = 1_000
"""The last of them covers the unlisted ones."""
SLACK_MS = 300
"""Allowance of laws of time, as in real-time labs: a shorter delay of this process is not a stall."""
WITHOUT_ROLE = "\n# Added by pairproof: the file names no role, and RocketMQ takes this one.\nbrokerRole=ASYNC_MASTER\n"


class Recording:
    """A growing folder. UsageError if it exists already or a configuration cannot be read."""

    def __init__(self, folder: Path, confs: Mapping[str, Path], rocketmq: str | None, limit: int = MAX_BYTES) -> None:
        self.folder = folder
        self.limit = limit
        self.written = 0
        self.ended: str | None = None
        self.left_out = 0
        self.gone_round = 0
        self.came_ms: float | None = None
        """Time of the slave's first connection through the tap."""
        self.ha: dict[str, dict[str, Any]] = {}
        self.bytes = {"m2s": 0, "s2m": 0}
        self.frames = 0
        self.open = 0
        self.stalls: list[Stall] = []
        self.events: list[dict[str, Any]] = []
        self.is_complete = False
        texts = {node: _configuration(path) for node, path in confs.items()}
        try:
            folder.mkdir(parents=True)
            for name in ("conf", "ha"):
                (folder / name).mkdir()
            for node, text in texts.items():
                (folder / "conf" / f"{node}.properties").write_text(text, encoding="utf-8")
        except FileExistsError:
            raise UsageError(f"{folder} exists already; name a new folder with {OPTION}") from None
        except OSError as why:
            raise UsageError(f"cannot write {folder}: {why.strerror or why}; name another with {OPTION}") from None
        self._rocketmq = {} if rocketmq is None else {"rocketmq": rocketmq}
        epoch, self._t0 = _clocks()
        self._clock: list[tuple[float, float]] = [(0.0, epoch / MS)]
        self._clock_ms = CLOCK_MS
        self.save()

    def now(self) -> float:
        """Milliseconds since it began, to the microsecond."""
        return self.at(time.monotonic_ns())

    def at(self, monotonic_ns: int) -> float:
        return round(max(0, monotonic_ns - self._t0) / MS, 3)

    def note(self, line: str) -> None:
        """Record a line about the brokers, see :mod:`pairproof.chaos.observers.capture_events`."""
        if self.ended is None and len(self.events) < MAX_LINES:
            self.events.append({"at_ms": self.now(), "event": line})

    def save(self) -> None:
        """Replace run.json; all recordings until now count."""
        if self.ended is None:
            self._until = self.now()
            self._compare_clocks()
        try:
            atomic.put_json(self.folder, "run.json", self._facts(), OPTION)
        except PairproofError as why:
            self._break(str(why))

    def _compare_clocks(self) -> None:
        """Brokers date records by a clock that may be set, or slewed."""
        epoch, monotonic = _clocks()
        now, said = self.at(monotonic), epoch / MS
        at, epoch_ms = self._clock[-1]
        if abs(said - epoch_ms - (now - at)) < self._clock_ms:
            return
        self._clock.append((now, said))
        if len(self._clock) > MAX_CLOCK:
            del self._clock[1::2]
            self._clock_ms *= 2

    def end(self, reason: str) -> None:
        """Stop recording; the folder is complete. No effect after the first call."""
        if self.ended is None:
            self.is_complete = True
            self._until = self.now()
            self.ended = reason
            self.save()

    def begin(self) -> HaStream | None:
        """A connection of the slave begins; None if it is not recorded."""
        if self.ended is not None or len(self.ha) >= MAX_CONNECTIONS or self.open >= MAX_OPEN:
            self.left_out += self.ended is None
            return None
        name = f"{SLAVE}-{len(self.ha) + 1:04d}"
        now = self.now()
        self.came_ms = now if self.came_ms is None else self.came_ms
        self.ha[name] = {"opened_at_ms": now, "closed_at_ms": None}
        # Before its files: a connection without files is ignored, files without a connection are an error.
        self.save()
        try:
            return HaStream(self, name)
        except OSError as why:
            self._break(f"cannot write {self.folder / 'ha'}: {why.strerror or why}")
            return None

    def put(self, writes: Iterable[tuple[FileIO, bytes]]) -> bool:
        writes = tuple(writes)
        size = sum(len(data) for _, data in writes)
        if self.ended is None and self.written + size > self.limit:
            self.end(f"{self.limit:,} bytes are recorded, the most that --max-size allows")
        if self.ended is not None:
            return False
        self.written += size
        try:
            for file, data in writes:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        except OSError as why:
            self._break(f"cannot write {self.folder}: {why.strerror or why}")
            return False
        return True

    def _break(self, why: str) -> None:
        if self.ended is None:
            self._until = self.now()
        self.ended, self.is_complete = why, False

    def _facts(self) -> dict[str, Any]:
        return {
            "format": FORMAT, **self._rocketmq, "t0_epoch_ms": self._clock[0][1], "complete": self.is_complete,
            "ended_at_ms": self._until, "slack_ms": SLACK_MS,
            "unseen": self.left_out + self.gone_round, "unseen_until_ms": self.came_ms, "stalls": self._stalls(),
            "events": self.events,
            "ha": self.ha, "clock": [{"at_ms": at, "epoch_ms": epoch} for at, epoch in self._clock[1:]],
        }  # fmt: skip

    def _stalls(self) -> list[dict[str, Any]]:
        told = self.stalls[:MAX_STALLS]
        if len(self.stalls) > MAX_STALLS:
            told[-1] = told[-1]._replace(end=max(each.end for each in self.stalls))
        return [
            {"at_ms": self.at(each.begin), "lasted_ms": round((each.end - each.begin) / MS, 3), "how": each.how}
            for each in told
        ]


class HaStream:
    def __init__(self, recording: Recording, name: str) -> None:
        self.recording = recording
        self.name = name
        self.offsets = {"m2s": 0, "s2m": 0}
        # The m2s file last: readers find the connection by its name.
        names = {each: recording.folder / "ha" / f"{name}.{each}" for each in ("timeline.jsonl", "s2m.bin", "m2s.bin")}
        self._timeline, *streams = (FileIO(path, "xb") for path in names.values())
        self._streams = dict(zip(("s2m", "m2s"), streams, strict=True))
        recording.open += 1

    def took(self, direction: str, data: bytes) -> None:
        at, recording = self.offsets[direction], self.recording
        line = _line(at_ms=recording.now(), direction=direction, offset=at, length=len(data))
        if recording.put(((self._streams[direction], data), (self._timeline, line))):
            self.offsets[direction] += len(data)
            recording.bytes[direction] += len(data)

    def close(self, by: str | None) -> None:
        """It has ended. ``by``: the broker that closed it, if known."""
        for file in (self._timeline, *self._streams.values()):
            file.close()
        self.recording.open -= 1
        if self.recording.ended is None:
            self.recording.ha[self.name].update(closed_at_ms=self.recording.now(), closed_by=by)
            self.recording.save()


class ClientFile:
    """Frames between clients of one link and the master, and their index. UsageError if it cannot be made."""

    def __init__(self, recording: Recording, name: str) -> None:
        self.recording = recording
        self.offset = 0
        self.connections = 0
        self.held = 0
        """Bytes of incomplete frames, over all its connections."""
        folder = recording.folder / "remoting"
        try:
            folder.mkdir(exist_ok=True)
            self._data = FileIO(folder / f"{name}--{MASTER}.bin", "xb")
            self._index = FileIO(folder / f"{name}--{MASTER}.jsonl", "xb")
        except OSError as why:
            raise UsageError(f"cannot write {folder}: {why.strerror or why}; name another with {OPTION}") from None

    def took(self, connection: int, direction: str, frame: bytes) -> None:
        line = _line(
            at_ms=self.recording.now(), connection=connection, direction=direction, offset=self.offset,
            length=len(frame),
        )  # fmt: skip
        if self.recording.put(((self._data, frame), (self._index, line))):
            self.offset += len(frame)
            self.recording.frames += 1

    def close(self) -> None:
        self._data.close()
        self._index.close()


def _clocks() -> tuple[int, int]:
    """The machine's clock and elapsed time, ns, at one moment: a process may be paused between two readings."""
    found = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(READINGS)]
    before, epoch, after = min(found, key=lambda each: each[2] - each[0])
    return epoch, (before + after) // 2


def _line(**fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _configuration(path: Path) -> str:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError as why:
        raise UsageError(f"cannot read {path}: {why.strerror or why}; name the broker's configuration file") from None
    has_role = any(line.partition("=")[0].strip() == "brokerRole" for line in text.splitlines())
    return text if has_role else text + WITHOUT_ROLE
