"""Every field of a stored record, under the names of RocketMQ's own tools.

For people, and for comparison with Java's decoder; :mod:`pairproof.chaos.observers.store_reader` stays fast without it.
A body whose compression the standard library lacks (LZ4, ZSTD), or that exceeds the limit when unpacked, has null as
its unpacked length and hash.

Source: MessageDecoder.decode and MessageExt of RocketMQ 4.9; tag codes: String.hashCode.
"""

import zlib
from hashlib import sha256
from struct import Struct

from .stored_record import BORN_V6, STORE_V6, LogRecord

MAX_UNPACKED = 64 * 1024 * 1024
COMPRESSED = 0x1
COMPRESSION = 0x700
ZLIB = (0x0, 0x300)
LEAST_PROPERTY = 3

# size magic crc queueId flag queueOffset physicalOffset sysFlag born
_HEAD = Struct(">iiiiiqqiq")
_PORT = Struct(">i")
_LONG = Struct(">q")


def describe(record: LogRecord, file: str) -> dict[str, object]:
    """The record as one flat, JSON-able object. ``file``: name of its commit log file."""
    raw = record.raw
    size, _, crc, queue_id, flag, queue_offset, offset, sys_flag, born = _HEAD.unpack_from(raw)
    stored_at, born_host, _ = _host(raw, _HEAD.size, bool(sys_flag & BORN_V6))
    _, store_host, store_bytes = _host(raw, stored_at + 8, bool(sys_flag & STORE_V6))
    body = record.body
    unpacked = _unpack(body, sys_flag)
    properties = parse_properties(record.properties)
    tags = properties.get("TAGS")
    return {
        "kind": "message",
        "file": file,
        "physicalOffset": offset,
        "storeSize": size,
        "topic": str(record.data[record.topic_at : record.topic_at + record.topic_size], "utf-8", "replace"),
        "queueId": queue_id,
        "queueOffset": queue_offset,
        "msgId": (store_bytes + _LONG.pack(offset)).hex().upper(),
        "uniqKey": properties.get("UNIQ_KEY"),
        "tags": tags,
        "keys": properties.get("KEYS"),
        "flag": flag,
        "sysFlag": sys_flag,
        "bornTimestamp": born,
        "bornHost": born_host,
        "storeTimestamp": record.store_ms,
        "storeHost": store_host,
        "reconsumeTimes": record.reconsume_times,
        "preparedTransactionOffset": record.prepared,
        "bodyCRC": crc,
        "crc32OfStoredBody": zlib.crc32(body) & 0x7FFFFFFF,
        "storedBodyLength": len(body),
        "storedBodySha256": sha256(body).hexdigest(),
        "bodyLength": None if unpacked is None else len(unpacked),
        "bodySha256": None if unpacked is None else sha256(unpacked).hexdigest(),
        "properties": properties,
        "tagsCodeOfTags": java_hash(tags) if tags else 0,
        "recordSha256": sha256(raw).hexdigest(),
    }


def parse_properties(data: bytes) -> dict[str, str]:
    """Values by name. As in Java, entries of less than three characters, or without name or value, are ignored."""
    found: dict[str, str] = {}
    for each in data.decode("utf-8", "replace").split("\x02"):
        name, mark, value = each.partition("\x01")
        if len(each) >= LEAST_PROPERTY and mark and name and value:
            found[name] = value
    return dict(sorted(found.items()))


def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 units, 32 bits, signed."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _host(raw: bytes, at: int, v6: bool) -> tuple[int, str, bytes]:
    end = at + (16 if v6 else 4)
    address = raw[at:end]
    (port,) = _PORT.unpack_from(raw, end)
    if v6:
        # Java's text form never shortens a run of zeros.
        text = ":".join(f"{address[n] << 8 | address[n + 1]:x}" for n in range(0, 16, 2))
    else:
        text = ".".join(map(str, address))
    return end + 4, f"{text}:{port}", raw[at : end + 4]


def _unpack(body: bytes, sys_flag: int) -> bytes | None:
    if not sys_flag & COMPRESSED:
        return body
    if sys_flag & COMPRESSION not in ZLIB:
        return None
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(body, MAX_UNPACKED)
    except zlib.error:
        return None
    return unpacked if unpacker.eof else None
