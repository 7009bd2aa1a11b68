"""The offset message id: store host, port and physical offset of a message, in upper-case hex.

32 characters for an IPv4 host, 56 for IPv6. Left out: the client's own UNIQ_KEY. Source: MessageDecoder's
createMessageId and decodeMessageId.
"""

from struct import Struct
from struct import error as StructError

from ..errors import CodecError

_TAIL = Struct(">iq")
_LENGTHS = {2 * (4 + _TAIL.size): 4, 2 * (16 + _TAIL.size): 16}


def encode(host: tuple[bytes, int], offset: int) -> str:
    """The id of the message at physical ``offset``, stored by ``host`` (4 or 16 address bytes, port)."""
    address, port = host
    if len(address) not in (4, 16):
        raise CodecError(f"a message id needs an address of 4 or 16 bytes, not {len(address)}")
    try:
        return (address + _TAIL.pack(port, offset)).hex().upper()
    except StructError as why:
        raise CodecError(f"no message id for port {port} and offset {offset}") from why


def decode(text: str) -> tuple[tuple[bytes, int], int]:
    """(host, physical offset) of an id; CodecError for anything else."""
    width = _LENGTHS.get(len(text))
    if width is None:
        raise CodecError(f"a message id has 32 or 56 characters, not {len(text)}")
    try:
        raw = bytes.fromhex(text)
    except ValueError as why:
        raise CodecError(f"message id {text!r} is not hexadecimal") from why
    if len(raw) != width + _TAIL.size:
        # fromhex skips blanks: then the result is too short.
        raise CodecError(f"message id {text!r} is not hexadecimal")
    port, offset = _TAIL.unpack_from(raw, width)
    return (raw[:width], port), offset
