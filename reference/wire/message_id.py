"""The offset message id: store host, port and physical offset of a message, in upper-case hex.

32 characters for an IPv4 host, 56 for IPv6. Left out: reading an id, and the client's own UNIQ_KEY. Source:
MessageDecoder's createMessageId.
"""

from struct import Struct

_TAIL = Struct(">iq")


def encode(host: tuple[bytes, int], offset: int) -> str:
    """The id of the message at physical ``offset``, stored by ``host`` (4 or 16 address bytes, port)."""
    address, port = host
    return (address + _TAIL.pack(port, offset)).hex().upper()
