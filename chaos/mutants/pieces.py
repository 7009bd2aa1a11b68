"""Mutants that show only if a stream is split at one particular byte of a header."""

from ...reference.core.ha_slave import HaSlave
from ...reference.wire.ha import FrameReader
from .mutant import seeded

OFFSET_SIZE = 8


@seeded(
    "slave",
    "ha-appends-frames",
    "loses a body's last byte if its header came in two pieces, split after the offset",
)
class LosesLastByte(HaSlave):
    between: FrameReader | None = None

    def on_bytes(self, data: bytes) -> bool:
        grown = super().on_bytes(data)
        if self.frames.announced is None:
            self.between = self.frames if len(self.frames._buffer) == OFFSET_SIZE else None
        return grown

    def append(self, offset: int, body: bytes) -> bool:
        if body and self.between is self.frames:
            body = body[:-1] + b"\0"
        return super().append(offset, body)
