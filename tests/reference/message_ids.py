"""Reads the message ids that the reference only writes."""

from struct import Struct

_TAIL = Struct(">iq")


def decode(text: str) -> tuple[tuple[bytes, int], int]:
    """(host, physical offset) of an id."""
    raw = bytes.fromhex(text)
    port, offset = _TAIL.unpack(raw[-_TAIL.size :])
    return (raw[: -_TAIL.size], port), offset
