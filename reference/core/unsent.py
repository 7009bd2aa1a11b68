"""Unsent bytes of a socket, in order, sent when it takes bytes again.

New frames are appended to them. Offering all pending bytes with each new frame would take quadratic time: minutes, for
a peer that does not read twenty thousand answers.
"""

from ..ports import Conn, Effects

PIECE = 256 * 1024
"""Bytes offered at a time."""


def send_on(io: Effects, conn: Conn, unsent: bytearray) -> int:
    """Send and remove the bytes that the socket takes; returns their number."""
    before = len(unsent)
    while unsent:
        piece = bytes(unsent[:PIECE])
        taken = io.send(conn, piece)
        # Deleting at a bytearray's front moves no bytes.
        del unsent[:taken]
        if taken < len(piece):
            break
    return before - len(unsent)
