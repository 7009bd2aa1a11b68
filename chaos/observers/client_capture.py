"""Captured sends of real producers, as operations of a history.

Reads ``remoting/producer*--master.bin`` with its index (``.jsonl``: at_ms, connection, direction, offset, length of
each frame) and returns one ``invoke`` and one ``ok``, ``fail`` or ``info`` for every send whose frames have JSON
headers: codes 310 and 10. Left out, and counted: batches (320), one-way sends (without a guarantee), binary headers.

A send's name is its UNIQ_KEY, since real KEYS repeat. Overlapping sends on one connection count as different processes,
as if from separate clients. Source: RemotingCommand, SendMessageProcessor and SendMessageRequestHeaderV2 of RocketMQ
4.9.
"""

from collections import Counter
from collections.abc import Mapping
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple

from ...harness.errors import UsageError
from .capture_folder import MASTER, ns, read_bytes, read_lines
from .full_record import parse_properties
from .remoting_codes import STATUSES
from .remoting_tap import RESPONSE, Header, header_of

SENDS: Mapping[int, tuple[str, str, str]] = {10: ("topic", "queueId", "properties"), 310: ("b", "e", "i")}
"""By request code: its field names for topic, queue id and properties."""
BATCH = 320
ONE_WAY = 2
JSON_HEADER = 0
LEAST_SIZE = 8
"""Bytes of a frame's two lengths."""
OFFSET_DIGITS = 16

STORED = {code: STATUSES[code] for code in (0, 10, 11, 12)}
REFUSED = {code: STATUSES[code] for code in (2, 13, 14, 16, 17)}

MOST_VERSIONS = 16


class Operation(NamedTuple):
    """One phase of a send with an event's columns, ``t`` in ns."""

    t: int
    phase: str
    process: int
    op: int
    message: str | None
    queue: str
    value: int
    status: str | None = None
    queue_offset: int | None = None
    lo: int | None = None
    hi: int | None = None
    detail: str | None = None


class _Frame(NamedTuple):
    at: int
    connection: int
    to_server: bool
    header: Header | None


class ClientCapture:
    """All captured sends to the master. ``ends``: from each record's start in the master's log to its end."""

    def __init__(self, folder: Path, ends: Mapping[int, int], is_complete: bool = True) -> None:
        self.is_complete = is_complete
        self.ends = ends
        self.operations: list[Operation] = []
        self.left_out: Counter[str] = Counter()
        self.versions: set[int] = set()
        """RemotingCommand's version numbers in the master's answers."""
        self.files = sorted((folder / "remoting").glob(f"producer*--{MASTER}.bin"))
        self._waiting: dict[tuple[str, int, int], Operation] = {}
        self._free: list[int] = []
        self._processes = 0
        self._ops = 0
        for path in self.files:
            self._read(path)

    def _read(self, path: Path) -> None:
        last = 0
        for frame in _frames(path, self.is_complete):
            last = max(last, frame.at)
            if frame.header is None:
                self.left_out["frames with a binary header"] += 1
            elif frame.to_server:
                self._request(path.name, frame, frame.header)
            elif frame.header.flag & RESPONSE:
                self._note_version(frame.header.version)
                self._response(path.name, frame, frame.header)
        for sent in self._waiting.values():
            self.operations.append(sent._replace(t=last, phase="info", status="disconnected"))
        self._waiting.clear()

    def _note_version(self, number: object) -> None:
        if isinstance(number, int) and len(self.versions) < MOST_VERSIONS:
            self.versions.add(number)

    def _request(self, file: str, frame: _Frame, header: Header) -> None:
        names = SENDS.get(header.code)
        if names is None:
            self.left_out["batches"] += header.code == BATCH
            return
        if header.flag & ONE_WAY:
            self.left_out["one-way sends"] += 1
            return
        topic, queue, text = (header.fields.get(name, "") for name in names)
        properties = parse_properties(text.encode("utf-8", "surrogatepass"))
        if self._free:
            process = heappop(self._free)
        else:
            process = self._processes
            self._processes += 1
        waits = int(properties.get("WAIT", "true").lower() == "true")
        key = properties.get("UNIQ_KEY")
        sent = Operation(frame.at, "invoke", process, self._ops, message=key, queue=f"{topic}/{queue}", value=waits)
        self._ops += 1
        self._waiting[file, frame.connection, header.opaque] = sent
        self.operations.append(sent)

    def _response(self, file: str, frame: _Frame, header: Header) -> None:
        sent = self._waiting.pop((file, frame.connection, header.opaque), None)
        if sent is None:
            return
        heappush(self._free, sent.process)
        code, remark = header.code, header.remark
        if code in STORED:
            self.operations.append(self._stored(sent, frame.at, STORED[code], header.fields))
        else:
            # An unknown code leaves open whether the message was stored.
            phase, status = ("fail", REFUSED[code]) if code in REFUSED else ("info", f"code {code}")
            self.operations.append(sent._replace(t=frame.at, phase=phase, status=status, detail=remark))

    def _stored(self, sent: Operation, at: int, status: str, fields: dict[str, str]) -> Operation:
        try:
            lo = int(fields["msgId"][-OFFSET_DIGITS:], 16)
            queue_offset = int(fields["queueOffset"])
            queue = f"{sent.queue.rpartition('/')[0]}/{int(fields['queueId'])}"
        except (KeyError, TypeError, ValueError):
            return sent._replace(t=at, phase="info", status=status, detail="the answer names no message id")
        return sent._replace(
            t=at, phase="ok", status=status, queue=queue, queue_offset=queue_offset, lo=lo, hi=self.ends.get(lo)
        )


def _frames(path: Path, is_complete: bool) -> list[_Frame]:
    data = read_bytes(path)
    index = path.with_suffix(".jsonl")
    found = []
    for number, line in read_lines(index, is_complete):
        try:
            at, connection = ns(float(line["at_ms"])), int(line["connection"])
            lo = int(line["offset"])
            header = _header(data[lo : lo + int(line["length"])])
            to_server = line["direction"] == "client-to-server"
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as why:
            raise UsageError(
                f"{index}: line {number} is not the index of a whole frame of {path.name}: {why}"
            ) from None
        found.append(_Frame(at, connection, to_server, header))
    return found


def _header(frame: bytes) -> Header | None:
    """The JSON header of a remoting frame; None for another kind of header. ValueError for bytes that are not a
    frame.
    """
    if len(frame) < LEAST_SIZE or int.from_bytes(frame[:4], "big") != len(frame) - 4:
        raise ValueError("its length fields do not fit")
    # Without the body, which is in the file: a capture has many.
    return header_of(frame)._replace(body=b"") if frame[4] == JSON_HEADER else None
