"""Changes remoting commands of a byte stream on their way; all other bytes pass unchanged, such as TLS.

Source: NettyDecoder, RemotingCommand.
"""

from __future__ import annotations

from collections.abc import Callable

from .remoting_tap import MAX_FRAME

LENGTH = 4
SIZE_BITS = 24
"""The bits of a header's length; the byte above has the header's encoding."""
JSON_HEADER = 0

Change = Callable[[bytes, bytes, int], tuple[bytes, bytes]]
"""From header, body, and the header's encoding to the new header and body."""


class ChangedFrames:
    """Holds at most one frame between feeds."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._held = bytearray()
        self._is_read = True

    def feed(self, data: bytes) -> bytes:
        """The bytes to send instead; the rest of a frame comes with the feed that completes it."""
        held, told = self._held, bytearray()
        held += data
        while self._is_read and len(held) >= LENGTH:
            end = LENGTH + int.from_bytes(held[:LENGTH], "big")
            if not 2 * LENGTH <= end <= MAX_FRAME:
                self._is_read = False
            elif len(held) < end:
                return bytes(told)
            else:
                told += self._frame(bytes(held[:end]))
                del held[:end]
        if not self._is_read:
            told += held
            held.clear()
        return bytes(told)

    def _frame(self, frame: bytes) -> bytes:
        mixed = int.from_bytes(frame[LENGTH : 2 * LENGTH], "big")
        end = 2 * LENGTH + (mixed & (1 << SIZE_BITS) - 1)
        if end > len(frame):
            return frame
        head, body = self._change(frame[2 * LENGTH : end], frame[end:], mixed >> SIZE_BITS)
        length = (LENGTH + len(head) + len(body)).to_bytes(LENGTH, "big")
        return length + (mixed >> SIZE_BITS << SIZE_BITS | len(head)).to_bytes(LENGTH, "big") + head + body
