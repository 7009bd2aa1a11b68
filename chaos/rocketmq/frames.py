"""Requests as bytes, in four forms that RocketMQ's brokers read. Shares no code with the programs under test.

Source: RemotingCommand, RocketMQSerializable.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

VERSION = 407
"""The ordinal of 4.9.7 in MQVersion."""
BINARY = 1
LONG_HEADER = 256 * 1024
"""Room for properties of 32,767 bytes, all escaped, and some more."""

Form = Callable[[int, int, Mapping[str, str], bytes], bytes]
"""From a code, the request's number, the header's fields and a body."""


def framed(header: bytes, body: bytes = b"", form: int = 0) -> bytes:
    """A frame with this header; ``form``: 0 for JSON, 1 for the binary one."""
    return struct.pack(">iI", 4 + len(header) + len(body), form << 24 | len(header)) + header + body


def plain(code: int, opaque: int, fields: Mapping[str, str], body: bytes) -> bytes:
    """As Java's clients."""
    header = {
        "code": code, "extFields": dict(fields), "flag": 0, "language": "JAVA", "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON", "version": VERSION,
    }  # fmt: skip
    return framed(json.dumps(header, separators=(",", ":")).encode(), body)


def binary(code: int, opaque: int, fields: Mapping[str, str], body: bytes) -> bytes:
    """As Java's clients with rocketmq.serialize.type set to the binary form."""
    parts = b"".join(_text(">h", name) + _text(">i", value) for name, value in fields.items())
    head = struct.pack(">hbhiiii", code, 0, VERSION, opaque, 0, 0, len(parts))
    return framed(head + parts, body, BINARY)


def loose(code: int, opaque: int, fields: Mapping[str, str], body: bytes) -> bytes:
    """As clients in another language may: blanks, escapes, numbers for numbers, a null, and unknown fields."""
    given: Mapping[str, Any] = {
        **{name: int(text) if text.isdecimal() and text == str(int(text)) else text for name, text in fields.items()},
        "aNull": None, "aTruth": True,
    }  # fmt: skip
    # As json.dumps(..., indent=1) writes it, which is ten times slower; the first letter of a name, escaped.
    fields_text = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in given.items())
    return framed(
        '{\n "nobodyKnows": {\n  "this": [\n   1,\n   null\n  ]\n },\n "\\u0065xtFields": {\n'
        f'{fields_text}\n }},\n "remark": null,\n "version": 1,\n "opaque": {opaque},\n "language": "GO",\n '
        f'"code": {code},\n "flag": 0\n}}'.encode(),
        body,
    )


def sparse(code: int, opaque: int, fields: Mapping[str, str], body: bytes) -> bytes:
    """Only the required fields, with blanks around the header, and an unescaped control character."""
    given = {"remark": "a-b", "extFields": dict(fields), "opaque": opaque, "code": code, "version": VERSION}
    header = json.dumps(given)
    return framed(f" \r\n{header}\t ".replace("a-b", "a\tb").encode(), body)


def padded(code: int, opaque: int, fields: Mapping[str, str], body: bytes) -> bytes:
    """With a header of :data:`LONG_HEADER` bytes."""
    header = {"code": code, "extFields": {**fields, "nobodyKnows": ""}, "flag": 0, "opaque": opaque, "version": VERSION}
    text = json.dumps(header)
    return framed(
        text.replace('"nobodyKnows": ""', f'"nobodyKnows": "{"x" * (LONG_HEADER - len(text))}"').encode(), body
    )


def _text(length: str, text: str) -> bytes:
    raw = text.encode()
    return struct.pack(length, len(raw)) + raw


FORMS: Sequence[Form] = (plain, binary, loose, sparse)
