"""Properties files, as Java's Properties.load reads them: ``broker.conf``.

``key = value``, ``key: value`` or ``key value``; comments begin with ``#`` or ``!``; a backslash at the end continues
the line; ``\\t \\n \\r \\f \\uXXXX`` are escapes, any other backslash is dropped. The text is ISO-8859-1, the last of
equal keys wins. One difference: blanks at a value's end are dropped; RocketMQ keeps them, and then silently rejects
such a number. Source: java.util.Properties.

Refused are bytes that Java reads silently and editors do not show: UTF-16 and UTF-32, a byte order mark, control
characters.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ..errors import ConfigError
from ..wire import config_text
from ..wire.config_text import BLANKS, ESCAPE

MAX_BYTES = 1 << 20
MAX_SHOWN = 60
"""Characters of a key or a value that a message repeats."""
WIDE = {
    b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip
"""Byte order marks of encodings other than ASCII's; the longer ones first."""
MARK = b"\xef\xbb\xbf"
"""UTF-8's."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")


class Entry(NamedTuple):
    value: str
    line: int
    ends_with_blank: bool = False


def read(path: Path) -> dict[str, str]:
    """The file's keys and values; ConfigError if it cannot be read."""
    return {key: each.value for key, each in entries(text(path), f"{plain(str(path))}:").items()}


def text(path: Path) -> str:
    """The file's text, as Java decodes it; ConfigError if it cannot be read or Java would misread it."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as why:
        raise ConfigError(f"cannot read {plain(str(path))}: {getattr(why, 'strerror', why)}") from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{plain(str(path))} has more than {MAX_BYTES} bytes: this is not a properties file")
    if wrong := _misencoded(raw):
        raise ConfigError(f"{plain(str(path))} {wrong}")
    return raw.decode("iso-8859-1")


def _misencoded(raw: bytes) -> str:
    """What is wrong with a file's bytes, and the remedy; empty if nothing is."""
    wide = next((name for mark, name in WIDE.items() if raw.startswith(mark)), "")
    zeros = raw.count(0)
    if not wide and zeros and zeros in range(len(raw) // 2 - len(raw) // 8, len(raw) // 2 + 2):
        wide = "UTF-16"
    if wide:
        return f"is encoded in {wide}, of which RocketMQ reads no key: save it as UTF-8 without a byte order mark"
    if raw.startswith(MARK):
        return "begins with a byte order mark, which RocketMQ takes for a part of the first key: save it without one"
    if control := _CONTROL.search(raw):
        line = raw.count(b"\n", 0, control.start()) + 1
        return f"has the byte 0x{control[0].hex()} in line {line}: this is not a properties file, which is plain text"
    return ""


def entries(text: str, where: str = "line ") -> dict[str, Entry]:
    """Keys and values of a file's text, with line numbers; ConfigError for an illegal escape.

    ``where``: text before a line number in messages.
    """
    found = {}
    for number, key, value in config_text.entries(text):
        stripped, at = value.rstrip(BLANKS), f"{where}{number}"
        found[_unescape(key, at)] = Entry(_unescape(stripped, at), number, stripped != value)
    return found


def plain(text: str, most: int = 4_096) -> str:
    """A printable text: no control characters, limited length."""
    try:
        # A file is read as ISO-8859-1, but mostly written as UTF-8.
        text = text.encode("iso-8859-1").decode("utf-8")
    except UnicodeError:
        pass
    cut = text if len(text) <= most else f"{text[:most]}..."
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in cut)


def quoted(text: str) -> str:
    """A key or a value in a message."""
    return f"'{plain(text, MAX_SHOWN)}'"


def _unescape(text: str, where: str) -> str:
    if any(escape[1] == "u" for escape in ESCAPE.finditer(text)):
        raise ConfigError(rf"{where}: malformed \uXXXX escape in {quoted(text)}: write four hexadecimal digits")
    return config_text.without_escapes(text)
