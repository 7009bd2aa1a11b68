"""A broker's configuration as text: the body of codes 25 and 26, in the form of Java's properties files.

Reads like Java's ``Properties.load``: comments, continued lines, escapes, and ``=``, ``:`` or blanks between key and
value. Writes one ``key=value`` per line, with escaped backslashes (Java does not escape them). Source:
MixAll.properties2String and string2Properties, java.util.Properties.
"""

import re
from collections.abc import Mapping

from ..errors import CodecError

_escape = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK = " \t\f"
_key = re.compile(r"((?:[^\\=: \t\f]++|\\.)*)[ \t\f]*+[=:]?[ \t\f]*+", re.DOTALL)
_one_line = re.compile(r"(?![ \t\f])[^\r\n]*")


def decode(text: bytes) -> dict[str, str]:
    """Key to value; the last one of repeated keys. CodecError for text that is not UTF-8."""
    try:
        lines = re.split(r"\r\n|\r|\n", text.decode())
    except UnicodeDecodeError as why:
        raise CodecError(f"configuration is not UTF-8 at byte {why.start}") from why
    found: dict[str, str] = {}
    parts: list[str] = []
    for line in lines:
        start = line.lstrip(_BLANK)
        if not parts and (not start or start[0] in "#!"):
            continue
        if (len(start) - len(start.rstrip("\\"))) % 2:
            parts.append(start[:-1])
            continue
        _take("".join([*parts, start]), found)
        parts.clear()
    if parts:
        _take("".join(parts), found)
    return found


def _take(line: str, found: dict[str, str]) -> None:
    head = _key.match(line)
    assert head is not None, "the pattern also matches nothing"
    found[_escape.sub(_plain, head[1])] = _escape.sub(_plain, line[head.end() :])


def _plain(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) == 5 else _LETTERS.get(code, code)


def encode(values: Mapping[str, str]) -> bytes:
    """The text; CodecError for a key or value that does not fit one line."""
    for key, value in values.items():
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", key) or not _one_line.fullmatch(value):
            raise CodecError(f"configuration {key!r:.40} = {value!r:.40} does not fit one line")
    return "".join(f"{key}={value}\n".replace("\\", "\\\\") for key, value in values.items()).encode("utf-8", "replace")
