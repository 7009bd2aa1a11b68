"""What a socket did not take: kept in order, and offered again when it takes bytes again.

Frames that come meanwhile only go behind it. To offer everything again with each of them takes time in the square of
what waits: minutes, for a peer that has stopped to read and is owed twenty thousand answers.
"""

from ..ports import Conn, Effects

PIECE = 256 * 1024
"""Bytes offered at a time."""


def send_on(io: Effects, conn: Conn, unsent: bytearray) -> int:
    """Send, and take away, what the socket takes now; how many bytes that was."""
    before = len(unsent)
    while unsent:
        piece = bytes(unsent[:PIECE])
        taken = io.send(conn, piece)
        # Cutting a bytearray at its front moves no bytes.
        del unsent[:taken]
        if taken < len(piece):
            break
    return before - len(unsent)
