"""The stored message record (V1 and V2) and the filler at a file's end: bytes to values and back.

Field order and sizes are those of CommitLog's message layout: 91 bytes besides body, topic and properties for two IPv4
hosts, 12 more per IPv6 host (bits 0x10 and 0x20 of the system flag). Big-endian, signed. The CRC covers the body only.

Decoding checks magic, sizes, bounds and CRC, but not whether a record lies at its own offset: recovery does
(:mod:`pairproof.reference.core.recovery`). V2 has two bytes for the topic's length instead of one: RocketMQ 5 writes
it, and so do we, for topics over 127 bytes, which only retry and dead-letter topics of long groups have. Source:
CommitLog.calMsgLength and checkMessageAndReturnSize, MessageExtEncoder, MessageVersion, MessageDecoder.
"""

from struct import Struct
from struct import error as StructError
from typing import NamedTuple
from zlib import crc32

from ..errors import CodecError

Host = tuple[bytes, int]
"""Address (4 or 16 bytes) and port."""

MAGIC_V1 = 0xDAA320A7 - (1 << 32)
MAGIC_V2 = 0xDAA320AB - (1 << 32)
MAGIC_BLANK = 0xCBD43194 - (1 << 32)
RECORD_MAGICS = tuple(magic.to_bytes(4, "big", signed=True) for magic in (MAGIC_V1, MAGIC_V2))
BLANK_SIZE = 8
FIXED_SIZE = 91
MAX_TOPIC = 127
"""Bytes of a V1 record's topic."""
MAX_WIDE_TOPIC = 32767
"""Bytes of a V2 record's topic."""
MAX_PROPERTIES = 32767
BORN_HOST_V6 = 0x10
STORE_HOST_V6 = 0x20
_ANY_V6 = BORN_HOST_V6 | STORE_HOST_V6
_CRC_MASK = 0x7FFFFFFF

_START = Struct(">ii")
_SHORT = Struct(">h")
# size magic crc queue flag | queueOffset physicalOffset | sysFlag | born, host | store, host | reconsumed prepared body
_LAYOUT = ">iiiii qq i q{}si q{}si iqi"
_HEADS = {
    flags: Struct(_LAYOUT.format(16 if flags & BORN_HOST_V6 else 4, 16 if flags & STORE_HOST_V6 else 4))
    for flags in (0, BORN_HOST_V6, STORE_HOST_V6, _ANY_V6)
}
_HEAD = _HEADS[0]
_LOOPBACK = b"\x7f\x00\x00\x01"
# Every head is followed by one byte of topic length, in V2 by two, and by two of properties length.
_LENGTHS = 3


class Message(NamedTuple):
    """The fields of a message from the producer and the broker, without its position in the log."""

    topic: str
    queue_id: int
    body: bytes
    properties: bytes = b""
    """As stored: see :func:`.properties.properties_of`."""
    flag: int = 0
    sys_flag: int = 0
    born_ms: int = 0
    born_host: Host = (_LOOPBACK, 0)
    store_host: Host = (_LOOPBACK, 10911)
    reconsume_times: int = 0
    prepared_offset: int = 0


class Record(NamedTuple):
    size: int
    queue_offset: int
    physical_offset: int
    store_ms: int
    body_crc: int
    message: Message


class Blank(NamedTuple):
    """The filler at a file's end: ``size`` bytes up to that end, of which the first 8 are defined."""

    size: int


def size_of(message: Message) -> int:
    """Bytes of the record; limits are not checked."""
    head = _HEADS[message.sys_flag & _ANY_V6].size
    topic = len(message.topic.encode())
    return head + _LENGTHS + (topic > MAX_TOPIC) + len(message.body) + topic + len(message.properties)


def text_size(message: Message) -> int:
    """Bytes from the topic's start to the record's end: neither the CRC nor the sizes cover their content."""
    return len(message.topic.encode()) + 2 + len(message.properties)


def encode(message: Message, queue_offset: int, physical_offset: int, store_ms: int) -> bytes:
    """The record's bytes: V2 for a topic over 127 bytes, otherwise V1.

    CodecError where a field does not fit the format: topic or properties over 32767 bytes, a host whose length
    contradicts the system flag, a number out of range.
    """
    topic_text, queue_id, body, properties, flag, sys_flag, born_ms, born, store, reconsumed, prepared = message
    try:
        topic = topic_text.encode()
        head = _HEADS[sys_flag & _ANY_V6]
        wide = len(topic) > MAX_TOPIC
        magic = MAGIC_V2 if wide else MAGIC_V1
        size = head.size + _LENGTHS + wide + len(body) + len(topic) + len(properties)
        if len(topic) > MAX_WIDE_TOPIC or len(properties) > MAX_PROPERTIES:
            raise CodecError(_too_long(topic, properties))
        if len(born[0]) + len(store[0]) != head.size - 80 or len(born[0]) != (16 if sys_flag & BORN_HOST_V6 else 4):
            raise CodecError(f"hosts of {len(born[0])} and {len(store[0])} bytes contradict system flag {sys_flag:#x}")
        start = head.pack(
            *(size, magic, crc32(body) & _CRC_MASK, queue_id, flag, queue_offset, physical_offset, sys_flag),
            *(born_ms, *born, store_ms, *store, reconsumed, prepared, len(body)),
        )
    except StructError as why:
        raise CodecError(f"message for topic {topic_text!r} cannot be stored: a number does not fit its field") from why
    except UnicodeEncodeError as why:
        raise CodecError(f"message for topic {topic_text!r} cannot be stored: a text is not UTF-8") from why
    topic_size = _SHORT.pack(len(topic)) if wide else bytes((len(topic),))
    return b"".join((start, body, topic_size, topic, _SHORT.pack(len(properties)), properties))


def _too_long(topic: bytes, properties: bytes) -> str:
    if len(topic) > MAX_WIDE_TOPIC:
        return f"topic of {len(topic)} bytes: the limit is {MAX_WIDE_TOPIC}"
    return f"properties of {len(properties)} bytes: the limit is {MAX_PROPERTIES}"


def encode_blank(size: int) -> bytes:
    """The 8 defined bytes of a filler of ``size`` bytes, these 8 included."""
    if size < BLANK_SIZE:
        raise CodecError(f"a filler takes at least {BLANK_SIZE} bytes, not {size}")
    return _START.pack(size, MAGIC_BLANK)


def peek(data: bytes, at: int = 0) -> tuple[int, int]:
    """(size, magic) at ``at``, unchecked; CodecError for fewer than 8 bytes."""
    if len(data) - at < BLANK_SIZE:
        raise CodecError(_too_few(len(data) - at, at))
    size, magic = _START.unpack_from(data, at)
    return size, magic


def decode(data: bytes, at: int = 0, check_crc: bool = True, origin: int = 0) -> Record | Blank:
    """The record or filler at ``data[at:]``. Never reads or allocates beyond ``data``.

    ``origin``: the log offset of ``data``, for error messages.

    CodecError, with the position and the reason, unless it is a filler of at least 8 bytes, whose undefined rest may
    lie outside ``data``, or one whole record with consistent lengths and, if ``check_crc``, the right CRC.
    """
    position = origin + at
    if len(data) - at < BLANK_SIZE:
        raise CodecError(_too_few(len(data) - at, position))
    size, magic = _START.unpack_from(data, at)
    if magic == MAGIC_BLANK:
        if size < BLANK_SIZE:
            raise CodecError(f"filler at {position} has size {size}, less than its own {BLANK_SIZE} bytes")
        return Blank(size)
    if magic not in (MAGIC_V1, MAGIC_V2):
        what = f"magic {magic & 0xFFFFFFFF:#010x}" if magic else "zero bytes"
        raise CodecError(f"no record at {position}: {what}")
    if size < FIXED_SIZE:
        raise CodecError(f"record at {position} has size {size}, less than the smallest one of {FIXED_SIZE}")
    if size > len(data) - at:
        raise CodecError(f"record at {position} has size {size}, but only {len(data) - at} bytes are there")
    return _decode_record(data, at, size, check_crc, position)


def _decode_record(data: bytes, at: int, size: int, check_crc: bool, position: int) -> Record:
    fields = _HEAD.unpack_from(data, at)
    body_at = at + _HEAD.size
    if fields[7] & _ANY_V6:
        head = _HEADS[fields[7] & _ANY_V6]
        if size < head.size + _LENGTHS:
            raise CodecError(f"record at {position} has size {size}, too little for its IPv6 hosts")
        fields = head.unpack_from(data, at)
        body_at = at + head.size
    _, magic, crc, queue, flag, queue_offset, offset, sys_flag, born, b_ip, b_port, stored, s_ip, s_port, *tail = fields
    reconsumed, prepared, body_size = tail
    topic_at = body_at + body_size
    end = at + size
    wide = magic == MAGIC_V2
    if body_size < 0 or topic_at + _LENGTHS + wide > end:
        raise CodecError(f"record at {position} of {size} bytes claims a body of {body_size} bytes")
    topic_size = data[topic_at] << 8 | data[topic_at + 1] if wide else data[topic_at]
    properties_at = topic_at + topic_size + _LENGTHS + wide
    # Java's numbers are signed: a larger length would be negative there.
    if topic_size > (MAX_WIDE_TOPIC if wide else MAX_TOPIC) or properties_at > end:
        raise CodecError(f"record at {position} of {size} bytes claims a topic of {topic_size} bytes")
    (properties_size,) = _SHORT.unpack_from(data, properties_at - 2)
    if properties_at + properties_size != end or properties_size < 0:
        raise CodecError(
            f"record at {position} has size {size}, but its parts make {properties_at + properties_size - at}"
        )
    body = bytes(data[body_at:topic_at])
    if check_crc and crc32(body) & _CRC_MASK != crc:
        raise CodecError(f"record at {position} has a body that does not match its CRC {crc}")
    try:
        topic = str(data[topic_at + 1 + wide : properties_at - 2], "utf-8")
    except UnicodeDecodeError as why:
        raise CodecError(f"record at {position} has a topic that is not UTF-8") from why
    properties = bytes(data[properties_at:end])
    hosts = ((b_ip, b_port), (s_ip, s_port))
    message = Message(topic, queue, body, properties, flag, sys_flag, born, *hosts, reconsumed, prepared)
    return Record(size, queue_offset, offset, stored, crc, message)


def why_misplaced(record: Record, position: int) -> str | None:
    """Why a decoded record cannot have been written at ``position``; None if it can."""
    if record.physical_offset != position:
        return f"record at {position} says that it belongs at {record.physical_offset}"
    return None


def _too_few(left: int, at: int) -> str:
    return f"{max(0, left)} bytes at {at} are too few for a record's size and magic"
