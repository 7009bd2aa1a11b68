"""RocketMQ's binary command header, type 1: the same contents as the JSON one.

``code i16, language i8, version i16, opaque i32, flag i32, remark (i32 length), fields (i32 length of: name with an i16
length, value with an i32 length)``. Source: RocketMQSerializable, LanguageCode.
"""

from collections.abc import Mapping
from struct import Struct
from struct import error as StructError

from ..errors import CodecError

MIN_INT, MAX_INT = -(1 << 31), (1 << 31) - 1

LANGUAGES = (
    *("JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY"),
    *("OTHER", "HTTP", "GO", "PHP", "OMS", "RUST"),
)

_FIXED = Struct(">hbhii")
_SHORT = Struct(">h")
_INT = Struct(">i")


def encode(
    code: int, opaque: int, flag: int, fields: Mapping[str, str], remark: str | None, language: str, version: int
) -> bytes:
    """The header; CodecError for a number that is out of range. An unknown language is written as OTHER."""
    known = language if language in LANGUAGES else "OTHER"
    entries = bytearray()
    note = (remark or "").encode("utf-8", "replace")
    try:
        for name, value in fields.items():
            raw_name, raw_value = name.encode("utf-8", "replace"), value.encode("utf-8", "replace")
            entries += _SHORT.pack(len(raw_name)) + raw_name + _INT.pack(len(raw_value)) + raw_value
        start = _FIXED.pack(code, LANGUAGES.index(known), version, opaque, flag)
    except StructError as why:
        raise CodecError(f"command {code} does not fit a binary header") from why
    return b"".join((start, _INT.pack(len(note)), note, _INT.pack(len(entries)), entries))


def decode(header: bytes) -> tuple[int, str, int, int, int, str | None, dict[str, str]]:
    """(code, language, version, opaque, flag, remark, fields); CodecError for inconsistent lengths."""
    try:
        code, language, version, opaque, flag = _FIXED.unpack_from(header)
        remark, at = _text(header, _FIXED.size, _INT)
        (size,) = _INT.unpack_from(header, at)
        at += _INT.size
        if size < 0 or at + size != len(header):
            raise CodecError(f"binary header of {len(header)} bytes claims {size} bytes of fields at {at}")
        fields = {}
        while at < len(header):
            name, at = _text(header, at, _SHORT)
            fields[name], at = _text(header, at, _INT)
    except StructError as why:
        raise CodecError(f"binary header of {len(header)} bytes ends within a number") from why
    except UnicodeDecodeError as why:
        raise CodecError("binary header has a text that is not UTF-8") from why
    name = LANGUAGES[language] if 0 <= language < len(LANGUAGES) else "OTHER"
    return code, name, version, opaque, flag, remark or None, fields


def _text(header: bytes, at: int, length: Struct) -> tuple[str, int]:
    (size,) = length.unpack_from(header, at)
    start = at + length.size
    end = start + size
    if size < 0 or end > len(header):
        raise CodecError(f"binary header of {len(header)} bytes claims a text of {size} bytes at {at}")
    return header[start:end].decode(), end
