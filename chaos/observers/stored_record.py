"""One stored message record, seen from outside: positions of its fields, and its possible damage.

The fields are decoded on access, from the file's own bytes. Checked: sizes against each other, the body's CRC, the
record's own offset, and that no sector of its topic and properties is lost: 512 zeros at a multiple of 512 in its file.
Their *text* is not checked and may contain NUL. Shares no code with the judged broker. Layout: CommitLog,
MessageExtEncoder and MessageDecoder of RocketMQ 4.9; MessageVersion of RocketMQ 5, whose version 2 has two bytes for
the length of a topic over 127 bytes.
"""

from mmap import mmap
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from ...harness.history import digest
from ...harness.texts.content import content

Data = bytes | bytearray | memoryview | mmap
MAGIC = -626843481
MAGIC_V2 = -626843477
MAGIC_BLANK = -875286124
_WIDE = MAGIC_V2 & 0xFF
BLANK_SIZE = 8
LEAST_SIZE = 91
SECTOR = 512
BORN_V6 = 0x10
STORE_V6 = 0x20
COMPRESSED = 0x1

START = Struct(">ii")
# size magic crc queueId flag queueOffset physicalOffset sysFlag; then born and stored, reconsumed, prepared, body size.
HEAD = Struct(">iiiiiqqi8x8x8x8x4x8xi")
SYS_FLAG_AT = 36
STORED_AT = 56
RECONSUMED_AT = 72
PREPARED_AT = 76
FLAG_AT = 16
INT = Struct(">i")
TRANSACTION = 0xC
TYPES = {0x4: "prepared", 0x8: "commit", 0xC: "rollback"}


class LogRecord(NamedTuple):
    """One whole record: physical range [lo, hi), and the file's bytes that the other fields are decoded from."""

    lo: int
    hi: int
    queue_id: int
    queue_offset: int
    data: Data
    at: int
    body_at: int
    topic_at: int
    """Position of the topic's first character in ``data``; its length is before it: see :attr:`topic_size`."""

    @property
    def raw(self) -> bytes:
        return bytes(self.data[self.at : self.at + self.hi - self.lo])

    @property
    def topic_size(self) -> int:
        low = self.data[self.topic_at - 1]
        return self.data[self.topic_at - 2] << 8 | low if self.data[self.at + 7] == _WIDE else low

    @property
    def topic(self) -> str:
        """The topic; invalid UTF-8 is escaped."""
        at = self.topic_at
        return bytes(self.data[at : at + self.topic_size]).decode("utf-8", "backslashreplace")

    @property
    def queue(self) -> str:
        """``topic/queue id``."""
        return f"{self.topic}/{self.queue_id}"

    @property
    def properties(self) -> bytes:
        """The properties' text as stored: name 0x01 value, separated by 0x02."""
        return bytes(self.data[self.topic_at + self.topic_size + 2 : self.at + self.hi - self.lo])

    def value_of(self, name: bytes) -> str | None:
        text = b"\x02" + self.properties
        at = text.find(b"\x02" + name + b"\x01")
        if at < 0:
            return None
        at += len(name) + 2
        end = text.find(b"\x02", at)
        return text[at : end if end >= 0 else len(text)].decode("utf-8", "backslashreplace")

    @property
    def key(self) -> str | None:
        """The message's name in the history: its KEYS, else its UNIQ_KEY."""
        return self.value_of(b"KEYS") or self.value_of(b"UNIQ_KEY")

    @property
    def unique_key(self) -> str | None:
        """The UNIQ_KEY, which real clients set in every message, while KEYS may repeat; else the KEYS."""
        return self.value_of(b"UNIQ_KEY") or self.value_of(b"KEYS")

    @property
    def body(self) -> bytes:
        """The body as stored, which may be compressed."""
        (size,) = INT.unpack_from(self.data, self.body_at - 4)
        return bytes(self.data[self.body_at : self.body_at + size])

    @property
    def content(self) -> str:
        """The history's form of its content: see :mod:`harness.texts.content`."""
        properties = self.properties
        tags = (self.value_of(b"TAGS") if b"TAGS\x01" in properties else None) or ""
        (flag,) = INT.unpack_from(self.data, self.at + FLAG_AT)
        more: dict[str, object] = {}
        times = self.reconsume_times
        if self.data[self.at + SYS_FLAG_AT + 3] & COMPRESSED:
            more["compressed"] = True
        if (times or not more) and b"REAL_TOPIC\x01" in properties:
            more["real"] = f"{self.value_of(b'REAL_TOPIC')}/{self.value_of(b'REAL_QID')}"
        if times:
            origin, topic = self.value_of(b"ORIGIN_MESSAGE_ID"), self.value_of(b"RETRY_TOPIC")
            more |= {"times": times, "origin": origin, "from": topic}
        kind = self.data[self.at + SYS_FLAG_AT + 3] & TRANSACTION
        if kind:
            more |= {"type": TYPES[kind], "prepared": self.prepared}
        return content(self.body, tags, flag, **more)

    @property
    def reconsume_times(self) -> int:
        """How often a consumer has sent the message back."""
        at = self._behind_hosts(RECONSUMED_AT)
        return int.from_bytes(self.data[at : at + 4], "big", signed=True)

    @property
    def prepared(self) -> int:
        """Start of its transaction's half message, if it has one."""
        at = self._behind_hosts(PREPARED_AT)
        return int.from_bytes(self.data[at : at + 8], "big", signed=True)

    def _behind_hosts(self, place: int) -> int:
        """Position in ``data`` of a field behind the two hosts; ``place``: its position behind two IPv4 hosts."""
        flags = self.data[self.at + SYS_FLAG_AT + 3]
        return self.at + place + 12 * bool(flags & BORN_V6) + 12 * bool(flags & STORE_V6)

    @property
    def store_ms(self) -> int:
        """When the broker stored it, ms since the epoch."""
        at = self.at + STORED_AT + (12 if self.data[self.at + SYS_FLAG_AT + 3] & BORN_V6 else 0)
        return int.from_bytes(self.data[at : at + 8], "big", signed=True)

    @property
    def digest(self) -> int:
        return digest(self.raw)


def stored_key(data: bytes) -> str | None:
    """A stored record's KEYS, else its UNIQ_KEY, found without decoding it: a record's properties come last."""
    at, size = data.rfind(b"KEYS\x01"), 5
    if at < 0:
        at, size = data.rfind(b"UNIQ_KEY\x01"), 9
    if at < 0:
        return None
    end = data.find(b"\x02", at)
    return data[at + size : end if end >= 0 else len(data)].decode("utf-8", "backslashreplace")


class Filler(NamedTuple):
    lo: int
    hi: int


def length_size(magic: int) -> int:
    """Bytes of the topic's length in a record with this magic."""
    return 2 if magic == MAGIC_V2 else 1


def fits(data: Data, topic_at: int, end: int) -> bool:
    """Whether topic and properties fill a version 1 record exactly; a Java byte is signed: a topic has 127 at most."""
    topic_size = data[topic_at - 1]
    at = topic_at + topic_size
    return topic_size < 128 and at + 2 <= end and data[at] < 128 and (data[at] << 8 | data[at + 1]) == end - at - 2


def fits_wide(data: Data, topic_at: int, end: int) -> bool:
    """The same for a version 2 record."""
    topic_size = data[topic_at - 2] << 8 | data[topic_at - 1]
    at = topic_at + topic_size
    return topic_size < 1 << 15 and at + 2 <= end and data[at] < 128 and (data[at] << 8 | data[at + 1]) == end - at - 2


def lost_sector(data: Data, topic_at: int, end: int) -> int | None:
    """Position in ``data``, a whole file, of the first lost sector of a record's topic and properties, if any."""
    for at in range(topic_at + -topic_at % SECTOR, end - SECTOR + 1, SECTOR):
        if not any(data[at : at + SECTOR]):
            return at
    return None


def why_not(data: Data, lo: int, at: int, stop: int, body_at: int, body_size: int) -> str | None:
    """The damage of a record whose fixed part lies within ``stop``; None if there is none."""
    size, magic = START.unpack_from(data, at)
    end, before = at + size, length_size(magic)
    if end > stop:
        return why_size(size, stop - at)
    if body_size < 0 or body_at + body_size + before + 2 > end:
        return f"size {size} does not hold a body of {body_size} bytes"
    _, _, crc, _, _, _, offset, *_ = HEAD.unpack_from(data, at)
    found = crc32(bytes(data[body_at : body_at + body_size])) & 0x7FFFFFFF
    if found != crc:
        return f"CRC mismatch: the body has {found}, the record says {crc}"
    if offset != lo:
        return f"the record says that it lies at {offset}"
    topic_at = body_at + body_size + before
    if not (fits if before == 1 else fits_wide)(data, topic_at, end):
        return f"the lengths of body, topic and properties do not add up to size {size}"
    lost = lost_sector(data, topic_at, end)
    if lost is not None:
        return f"a lost sector in topic or properties: {SECTOR} zeros from {lo - at + lost} on"
    return None


def why_size(size: int, left: int) -> str:
    """Why a record of ``size`` bytes does not fit into ``left`` bytes."""
    if size < LEAST_SIZE:
        return f"size {size} is less than the smallest record's {LEAST_SIZE}"
    return f"size {size} reaches past the end: {left} bytes are left"


def why_magic(magic: int) -> str:
    """Describes a ``magic`` that is neither a record's nor a filler's."""
    return "zero bytes" if magic == 0 else f"bad magic 0x{magic & 0xFFFFFFFF:08x}"
