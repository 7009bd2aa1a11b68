"""The bytes of the HA link: reports from slave to master, frames from master to slave.

A report is one signed 64-bit offset. A frame is a 12-byte header (offset of its first body byte, body size) and that
many raw commit log bytes; size 0 is a heartbeat. Everything is big-endian. Both readers accept any segmentation of a
stream, with the same results.

Left out: which offsets are acceptable. Source: RocketMQ 4.9's HAConnection and HAService.HAClient.
"""

from collections.abc import Iterator
from struct import Struct

from ..errors import CodecError

REPORT_SIZE = 8
HEADER_SIZE = 12

_REPORT = Struct(">q")
_HEADER = Struct(">qi")


def encode_report(offset: int) -> bytes:
    """The 8 bytes that report ``offset`` (bytes of log held). Any signed 64-bit value, for tests with false reports."""
    return _REPORT.pack(offset)


def encode_header(offset: int, size: int) -> bytes:
    """The 12 bytes before a body of ``size`` bytes that begins at physical offset ``offset``."""
    return _HEADER.pack(offset, size)


class ReportReader:
    """Splits a slave's stream into reports. Holds at most 7 bytes; every byte sequence is valid."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[int]:
        """Every report completed by ``data``, in order: any signed 64-bit value, also a negative one."""
        if self._rest:
            data = self._rest + data
        whole = len(data) - len(data) % REPORT_SIZE
        self._rest = bytes(data[whole:])
        return [offset for (offset,) in _REPORT.iter_unpack(data[:whole])]


class FrameReader:
    """Splits a master's stream into frames.

    Buffers one header and one body of at most ``max_body`` bytes besides the last ``feed``. A broken stream stays
    broken: every later ``feed`` raises the same error.
    """

    __slots__ = ("_broken", "_buffer", "announced", "max_body")

    def __init__(self, max_body: int) -> None:
        self.max_body = max_body
        self.announced: tuple[int, int] | None = None
        """(offset, size) of the header whose body is incomplete: a slave can reject it before the body arrives."""
        self._buffer = bytearray()
        self._broken: CodecError | None = None

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Add ``data``, and return an iterator over the complete frames: (offset, body).

        A heartbeat has the body ``b""``. The iterator raises CodecError at a header with a negative offset, or a size
        that is negative or above ``max_body``, after the frames before it. Frames not taken from the iterator come with
        the next ``feed``.
        """
        if self._broken is not None:
            raise self._broken
        self._buffer += data
        return self._frames()

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        buffer = self._buffer
        while True:
            if self.announced is None:
                if len(buffer) < HEADER_SIZE:
                    return
                self.announced = self._header()
            offset, size = self.announced
            end = HEADER_SIZE + size
            if len(buffer) < end:
                return
            body = bytes(buffer[HEADER_SIZE:end]) if size else b""
            # Deleting at a bytearray's front moves no bytes, so many small frames take linear time.
            del buffer[:end]
            self.announced = None
            yield offset, body

    def _header(self) -> tuple[int, int]:
        offset, size = _HEADER.unpack_from(self._buffer)
        if offset < 0:
            self._break(f"HA frame at the negative offset {offset}")
        if size < 0:
            self._break(f"HA frame at {offset} has the negative size {size}")
        if size > self.max_body:
            self._break(f"HA frame at {offset} announces {size} bytes, more than the limit of {self.max_body}")
        return offset, size

    def _break(self, why: str) -> None:
        self._broken = CodecError(why)
        self._buffer.clear()
        raise self._broken
