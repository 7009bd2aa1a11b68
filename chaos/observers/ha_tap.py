"""Taps for one HA connection: convert passing bytes into reports and frames.

A tap has its own state and never raises: it observes a foreign stream, and a malformed one is evidence. A frame header
that no broker can mean (a negative size, or one above ``max_body``) makes the rest of the stream unreadable: ``broken``
then has the position and the reason, and later bytes are ignored.

Left out: any judgement of offsets, which is the laws' task. The decoders share no code with the judged broker. Layout:
HAConnection and HAService.HAClient of RocketMQ 4.9.
"""

from struct import Struct

REPORT_SIZE = 8
HEADER_SIZE = 12
MAX_BODY = 16 * 1024 * 1024
"""Far above any transfer batch, so that a master that exceeds its batch is observed."""

_HEADER = Struct(">qi")
_REPORT = Struct(">q")


class ReportTap:
    """A slave's stream as 8-byte reports. Any 8 bytes are a report, so the stream cannot break; holds <= 7 bytes."""

    __slots__ = ("_rest", "broken")

    def __init__(self) -> None:
        self._rest = b""
        self.broken: str | None = None

    @property
    def pending(self) -> int:
        """Bytes of an incomplete report."""
        return len(self._rest)

    @property
    def announced(self) -> None:
        """A report has no header."""

    def feed(self, data: bytes) -> list[int]:
        """Reports that ``data`` completes, in order: signed 64-bit offsets."""
        rest = self._rest
        if not rest:
            if len(data) == REPORT_SIZE:
                return [int.from_bytes(data, "big", signed=True)]
        else:
            data = rest + data
        whole = len(data) - len(data) % REPORT_SIZE
        self._rest = data[whole:]
        return [value for (value,) in _REPORT.iter_unpack(data[:whole])]


class FrameTap:
    """A master's stream as frames. Holds at most one header and ``max_body`` bytes between feeds."""

    __slots__ = ("_buffer", "_need", "broken", "max_body", "taken")

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self.max_body = max_body
        self.broken: str | None = None
        self.taken = 0
        """Bytes of complete frames so far: the next frame's position in the stream."""
        self._buffer = bytearray()
        self._need = HEADER_SIZE

    @property
    def pending(self) -> int:
        """Bytes of an incomplete frame."""
        return len(self._buffer)

    @property
    def announced(self) -> int | None:
        """The offset in an incomplete frame's header, once the header is complete."""
        return int(_HEADER.unpack_from(self._buffer)[0]) if len(self._buffer) >= HEADER_SIZE else None

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Frames that ``data`` completes, in order: (offset of the first body byte, body; empty for a heartbeat)."""
        length = len(data)
        if not self._buffer and length >= HEADER_SIZE and self.broken is None:
            offset, size = _HEADER.unpack_from(data)
            # Nearly every send of a master is one whole frame: no copy but the body's.
            if size == length - HEADER_SIZE and size <= self.max_body:
                self.taken += length
                return [(offset, data[HEADER_SIZE:])]
        return self._feed_slowly(data)

    def _feed_slowly(self, data: bytes) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        if self.broken is not None:
            return found
        buffer = self._buffer
        buffer += data
        at = 0
        while len(buffer) - at >= self._need:
            offset, size = _HEADER.unpack_from(buffer, at)
            if size < 0 or size > self.max_body:
                self._break(at, offset, size)
                return found
            end = at + HEADER_SIZE + size
            if end > len(buffer):
                self._need = HEADER_SIZE + size
                break
            found.append((offset, bytes(buffer[at + HEADER_SIZE : end])))
            self.taken += end - at
            at = end
            self._need = HEADER_SIZE
        del buffer[:at]
        return found

    def _break(self, at: int, offset: int, size: int) -> None:
        bound = "less than none" if size < 0 else f"more than {self.max_body}"
        self.broken = f"frame header at byte {self.taken} of the stream: offset {offset}, body of {size} bytes, {bound}"
        self._buffer.clear()
