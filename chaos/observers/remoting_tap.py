"""A tap for one direction of a remoting connection: converts passing bytes into frame headers.

Like :mod:`pairproof.chaos.observers.ha_tap` it never raises. A malformed frame makes the rest of the stream unreadable:
``broken`` then has the reason, and later bytes are ignored. Headers are JSON or RocketMQ's binary form. Shares no code
with the judged programs. Source: RemotingCommand, RocketMQSerializable, NettyDecoder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from ...harness.texts.quoting import own_words

RESPONSE = 1
MAX_FRAME = 16 * 1024 * 1024
"""Bytes, NettyDecoder's limit."""
BINARY = 1

_INT = Struct(">i")
_LENGTHS = Struct(">ii")
_FIXED = Struct(">hbhii")
_SHORT = Struct(">h")


class Header(NamedTuple):
    code: int
    flag: int
    opaque: int
    fields: dict[str, str]
    remark: str | None = None
    body: bytes = b""
    version: object = None
    """The sender's, see :mod:`pairproof.chaos.observers.capture_version`."""


def registered_address(asked: Mapping[str, str]) -> str | None:
    """The HA address in a registration's fields, relative to the broker's own: ``:+1``, or ``10.1.0.1:+3`` for another
    host. None if it has none.

    The lab chooses real ports, so this is the same in every lab.
    """
    host, _, port = asked.get("brokerAddr", "").rpartition(":")
    other, _, ha = asked.get("haServerAddr", "").rpartition(":")
    if not (port.isdecimal() and ha.isdecimal()):
        return asked.get("haServerAddr")
    return f"{'' if other == host else other}:{int(ha) - int(port):+d}"


class RemotingTap:
    """Holds at most one frame between feeds."""

    __slots__ = ("_buffer", "broken", "max_frame")

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.max_frame = max_frame
        self.broken: str | None = None
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Header]:
        """The headers of frames that ``data`` completes, in order."""
        found: list[Header] = []
        if self.broken is not None:
            return found
        buffer, at = self._buffer, 0
        buffer += data
        try:
            while len(buffer) - at >= _INT.size:
                (size,) = _INT.unpack_from(buffer, at)
                if not _INT.size <= size <= self.max_frame:
                    raise ValueError(f"a frame of {size} bytes")
                end = at + _INT.size + size
                if end > len(buffer):
                    break
                found.append(header_of(bytes(buffer[at:end])))
                at = end
        except (ValueError, StructError, KeyError, RecursionError) as why:
            self.broken = own_words(why) or "a header that cannot be read"
            buffer.clear()
        else:
            del buffer[:at]
        return found


def header_of(frame: bytes) -> Header:
    """The header of a whole frame; ValueError, KeyError or struct.error if it is malformed."""
    _, mixed = _LENGTHS.unpack_from(frame)
    size, form = mixed & 0xFFFFFF, mixed >> 24
    raw = frame[_LENGTHS.size : _LENGTHS.size + size]
    if len(raw) != size:
        raise ValueError(f"a header of {size} bytes in a frame of {len(frame)}")
    header = _binary(raw) if form == BINARY else _json(raw)
    return header._replace(body=frame[_LENGTHS.size + size :])


def _json(raw: bytes) -> Header:
    told = json.loads(raw)
    if not isinstance(told, dict) or not all(type(told.get(each)) is int for each in ("code", "flag", "opaque")):
        raise ValueError("a header without code, flag or opaque")
    fields, remark = told.get("extFields") or {}, told.get("remark")
    if not isinstance(fields, dict) or not isinstance(remark, str | None):
        raise ValueError("extFields that are not an object, or a remark that is not a text")
    texts = {key: str(value) for key, value in fields.items()}
    return Header(told["code"], told["flag"], told["opaque"], texts, remark, version=told.get("version"))


def _binary(raw: bytes) -> Header:
    code, _, version, opaque, flag = _FIXED.unpack_from(raw)
    remark, at = _text(raw, _FIXED.size, _INT)
    (size,) = _INT.unpack_from(raw, at)
    at += _INT.size
    if size != len(raw) - at:
        raise ValueError(f"{size} bytes of fields where {len(raw) - at} are")
    fields = {}
    while at < len(raw):
        name, at = _text(raw, at, _SHORT)
        fields[name], at = _text(raw, at, _INT)
    return Header(code, flag, opaque, fields, remark or None, version=version)


def _text(raw: bytes, at: int, length: Struct) -> tuple[str, int]:
    (size,) = length.unpack_from(raw, at)
    end = at + length.size + size
    if size < 0 or end > len(raw):
        raise ValueError(f"a text of {size} bytes at {at}")
    return raw[at + length.size : end].decode("utf-8", "replace"), end
