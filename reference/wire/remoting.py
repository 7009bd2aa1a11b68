"""The client link's frames: requests and responses of RocketMQ's remoting protocol.

A frame is ``total length | header type and length | header | body``. The header is JSON whose ``extFields`` values are
strings, or RocketMQ's binary form (:mod:`pairproof.reference.wire.remoting_binary`); a response uses its request's
form. The codec accepts any code; helpers exist only for SEND_MESSAGE_V2 (310) and PULL_MESSAGE (11). Left out: required
fields of a code, and a broker's answers. Source: RemotingCommand, NettyDecoder, SendMessageRequestHeaderV2,
PullMessageRequestHeader, ResponseCode.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from json import JSONDecoder
from struct import Struct
from typing import Any, NamedTuple

from ..errors import CodecError
from . import remoting_binary

SUCCESS = 0
SYSTEM_ERROR = 1
SYSTEM_BUSY = 2
REQUEST_CODE_NOT_SUPPORTED = 3
FLUSH_DISK_TIMEOUT = 10
SLAVE_NOT_AVAILABLE = 11
FLUSH_SLAVE_TIMEOUT = 12
MESSAGE_ILLEGAL = 13
SERVICE_NOT_AVAILABLE = 14
NO_PERMISSION = 16
TOPIC_NOT_EXIST = 17
PULL_NOT_FOUND = 19
PULL_RETRY_IMMEDIATELY = 20
PULL_OFFSET_MOVED = 21
QUERY_NOT_FOUND = 22
SUBSCRIPTION_PARSE_FAILED = 23
SUBSCRIPTION_NOT_EXIST = 24
SUBSCRIPTION_NOT_LATEST = 25
SUBSCRIPTION_GROUP_NOT_EXIST = 26
INVALID_PARAMETER = 29
"""Only in 5.x."""
CONSUMER_NOT_ONLINE = 206
RESPONSE_NAMES = {code: name for name, code in tuple(vars().items()) if isinstance(code, int)}
"""The numbers above."""

SEND_STATUS = {
    SUCCESS: "PUT_OK",
    FLUSH_DISK_TIMEOUT: "FLUSH_DISK_TIMEOUT",
    SLAVE_NOT_AVAILABLE: "SLAVE_NOT_AVAILABLE",
    FLUSH_SLAVE_TIMEOUT: "FLUSH_SLAVE_TIMEOUT",
}
"""Response codes of the four answers to a stored send."""

CODE_OF_STATUS = {status: code for code, status in SEND_STATUS.items()}

SEND_MESSAGE_V2, SEND_BATCH_MESSAGE, PULL_MESSAGE = 310, 320, 11
RESPONSE_FLAG = 1
ONEWAY_FLAG = 2
VERSION = 407
"""The ordinal of 4.9.7 in MQVersion."""

MAX_FRAME = 16 * 1024 * 1024
"""Bytes, including the length field."""
MAX_HEADER = 256 * 1024
"""Properties take at most 32767 bytes, six characters each where all of them need an escape."""

MIN_INT, MAX_INT = remoting_binary.MIN_INT, remoting_binary.MAX_INT
_PREFIX = Struct(">iI")
_PREFIX_SIZE = _PREFIX.size
_LENGTH_SIZE = 4
_BINARY_BIT = 1 << 24
_HEADER_MASK = 0xFFFFFF

# Escapes everything beyond ASCII: a lone surrogate from a malformed request can be echoed.
_quote = json.encoder.encode_basestring_ascii
# Unescaped control characters are permitted, as in fastjson.
_decoder = JSONDecoder(strict=False)
# Without the decoder's search for white space around the value: Java writes none.
_scan: Callable[[str, int], tuple[Any, int]] = vars(_decoder)["scan_once"]


class Command(NamedTuple):
    code: int
    opaque: int
    """Chosen by the requester, copied into the response."""
    flag: int
    """Bit 0: a response; bit 1: one-way, without a response."""
    fields: dict[str, str]
    body: bytes = b""
    remark: str | None = None
    language: str = "PYTHON"
    version: int = VERSION
    binary: bool = False
    """Whether the header is in the binary form."""

    @property
    def is_response(self) -> bool:
        return bool(self.flag & RESPONSE_FLAG)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & ONEWAY_FLAG)


def encode(command: Command) -> bytes:
    """The whole frame. CodecError if header or frame exceed their limits."""
    code, opaque, flag, fields, body, remark, language, version, binary = command
    if binary:
        header = remoting_binary.encode(code, opaque, flag, fields, remark, language, version)
    else:
        header = _json_header(code, opaque, flag, fields, remark, language, version).encode("ascii")
    size = len(header)
    total = _LENGTH_SIZE + size + len(body)
    if size > MAX_HEADER or _LENGTH_SIZE + total > MAX_FRAME:
        raise CodecError(f"frame of {total} bytes with a header of {size}: limits are {MAX_FRAME} and {MAX_HEADER}")
    return _PREFIX.pack(total, size | _BINARY_BIT if binary else size) + header + body


def _json_header(
    code: int, opaque: int, flag: int, fields: Mapping[str, str], remark: str | None, language: str, version: int
) -> str:
    # Written by hand: a general encoder takes twice as long, and every call of every client passes here.
    extra = ",".join([f"{_quote(name)}:{_quote(value)}" for name, value in fields.items()])
    remark_json = "" if remark is None else f'"remark":{_quote(remark)},'
    return (
        f'{{"code":{code},"extFields":{{{extra}}},"flag":{flag},"language":{_quote(language)},"opaque":{opaque},'
        f'{remark_json}"serializeTypeCurrentRPC":"JSON","version":{version}}}'
    )


class CommandReader:
    """Splits a stream into commands, whatever its segmentation.

    Buffers one frame of at most ``max_frame`` bytes besides the last ``feed``. A broken stream stays broken: every
    later ``feed`` raises the same error.
    """

    __slots__ = ("_broken", "_buffer", "_frame", "max_frame")

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.max_frame = max_frame
        self._buffer = bytearray()
        self._frame: tuple[int, int] | None = None
        self._broken: CodecError | None = None

    def feed(self, data: bytes) -> Iterator[Command]:
        """Add ``data``, and return an iterator over the complete commands.

        The iterator raises CodecError at a malformed frame, after the commands before it. Commands not taken from the
        iterator come with the next ``feed``.
        """
        if self._broken is not None:
            raise self._broken
        self._buffer += data
        return self._commands()

    @property
    def held(self) -> int:
        """Bytes of frames not taken yet, partial ones included."""
        return len(self._buffer)

    def _commands(self) -> Iterator[Command]:
        buffer = self._buffer
        while True:
            try:
                command = self._next()
            except CodecError as why:
                self._broken = why
                buffer.clear()
                raise
            if command is None:
                return
            yield command

    def _next(self) -> Command | None:
        buffer = self._buffer
        if self._frame is None:
            if len(buffer) < _PREFIX_SIZE:
                return None
            self._frame = self._lengths()
        total, header = self._frame
        end = _LENGTH_SIZE + total
        if len(buffer) < end:
            return None
        body_at = _PREFIX_SIZE + (header & _HEADER_MASK)
        head, body = bytes(buffer[_PREFIX_SIZE:body_at]), bytes(buffer[body_at:end])
        del buffer[:end]
        self._frame = None
        return _decode(head, body, header >> 24)

    def _lengths(self) -> tuple[int, int]:
        total, header = _PREFIX.unpack_from(self._buffer)
        size = header & _HEADER_MASK
        if not _LENGTH_SIZE <= total <= self.max_frame - _LENGTH_SIZE:
            raise CodecError(f"frame of {total} bytes behind its length: it must fit into {self.max_frame}")
        if size > MAX_HEADER or size > total - _LENGTH_SIZE:
            raise CodecError(f"frame of {total} bytes with a header of {size}: it must fit, and into {MAX_HEADER}")
        if header >> 24 not in (0, 1):
            raise CodecError(f"header type {header >> 24} is neither JSON (0) nor binary (1)")
        return total, header


def _decode(header: bytes, body: bytes, kind: int) -> Command:
    if kind:
        code, language, version, opaque, flag, remark, fields = remoting_binary.decode(header)
        return Command(code, opaque, flag, fields, body, remark, language, version, True)
    try:
        text = header.decode()
        try:
            values, end = _scan(text, 0)
        except StopIteration:
            end = -1
        if end != len(text):
            values = _decoder.decode(text)
    except (ValueError, RecursionError) as why:
        raise CodecError("header is not JSON") from why
    if type(values) is not dict:
        raise CodecError("header is JSON, but not an object")
    take: Any = values.get
    fields = take("extFields")
    if fields is None:
        fields = {}
    code, opaque, flag, version = take("code"), take("opaque"), take("flag", 0), take("version", 0)
    if not type(code) is type(opaque) is type(flag) is type(version) is int:
        raise CodecError(f"header needs the integers code, opaque, flag and version: {header[:100]!r}")
    if not (MIN_INT <= code <= MAX_INT >= opaque >= MIN_INT <= flag <= MAX_INT >= version >= MIN_INT):
        raise CodecError(f"header has a number that is not a 32-bit integer: {header[:100]!r}")
    if type(fields) is not dict or not {str}.issuperset(map(type, fields.values())):
        fields = _as_java_reads(fields)
    remark, language = take("remark"), take("language", "OTHER")
    if not (remark is None or type(remark) is str) or type(language) is not str:
        raise CodecError(f"header's remark and language must be text: {header[:100]!r}")
    return Command(code, opaque, flag, fields, body, remark, language, version)


def _as_java_reads(fields: object) -> dict[str, str]:
    """Field values as in Java's map of strings: numbers and booleans as text, without nulls."""
    if not isinstance(fields, dict):
        raise CodecError("header's extFields is not an object")
    read = {}
    for name, value in fields.items():
        if isinstance(value, bool):
            read[name] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            read[name] = str(value)
        elif value is not None:
            raise CodecError(f"header's field {name!r} is not text")
    return read


def send_request(
    opaque: int,
    *,
    producer_group: str,
    topic: str,
    queue_id: int,
    born_ms: int,
    body: bytes,
    properties: str,
    flag: int = 0,
    sys_flag: int = 0,
    batch: bool = False,
) -> bytes:
    """A SEND_MESSAGE_V2 frame, with one-letter field names. ``born_ms``: ms since the epoch.

    ``batch``: a SEND_BATCH_MESSAGE frame instead, which has the same header.
    """
    fields = {
        "a": producer_group,
        "b": topic,
        "c": "TBW102",
        "d": "4",
        "j": "0",
        "k": "false",
        "m": "true" if batch else "false",
        "e": str(queue_id),
        "f": str(sys_flag),
        "g": str(born_ms),
        "h": str(flag),
        "i": properties,
    }
    return encode(Command(SEND_BATCH_MESSAGE if batch else SEND_MESSAGE_V2, opaque, 0, fields, body))


def pull_request(
    opaque: int, *, consumer_group: str, topic: str, queue_id: int, offset: int, max_messages: int,
    tags: str = "*",
) -> bytes:  # fmt: skip
    """A PULL_MESSAGE frame for messages with these tags from logical ``offset`` on, answered at once.

    It carries its subscription (system flag 4), so the group needs no heartbeat; it commits nothing.
    """
    fields = {
        "consumerGroup": consumer_group,
        "topic": topic,
        "queueId": str(queue_id),
        "queueOffset": str(offset),
        "maxMsgNums": str(max_messages),
        "sysFlag": "4",
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subscription": tags,
        "subVersion": "0",
        "expressionType": "TAG",
    }
    return encode(Command(PULL_MESSAGE, opaque, 0, fields))


def response(
    request: Command,
    code: int,
    fields: Mapping[str, str],
    body: bytes = b"",
    remark: str | None = None,
    version: int = VERSION,
) -> bytes:
    """The frame that answers ``request``, in its header form. ``version``: the answering node's."""
    texts = dict(fields)
    answer = Command(code, request.opaque, RESPONSE_FLAG, texts, body, remark, version=version, binary=request.binary)
    return encode(answer)
