"""A broker's configuration as text: the body of codes 25 and 26, in the form of Java's properties files.

Reads like Java's ``Properties.load``: comments, continued lines, escapes, and ``=``, ``:`` or blanks between key and
value. Writes one ``key=value`` per line, with escaped backslashes (Java does not escape them). Source:
MixAll.properties2String and string2Properties, java.util.Properties.
"""

import re
from collections.abc import Iterator, Mapping

from ..errors import CodecError

BLANKS = " \t\f"
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
"""A malformed \\u is an escaped u."""
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_key = re.compile(r"((?:[^\\=: \t\f]++|\\.)*)[ \t\f]*+[=:]?[ \t\f]*+", re.DOTALL)
_one_line = re.compile(r"(?![ \t\f])[^\r\n]*")


def decode(text: bytes) -> dict[str, str]:
    """Key to value; the last one of repeated keys. CodecError for text that is not UTF-8."""
    try:
        return {without_escapes(key): without_escapes(value) for _, key, value in entries(text.decode())}
    except UnicodeDecodeError as why:
        raise CodecError(f"configuration is not UTF-8 at byte {why.start}") from why


def entries(text: str) -> Iterator[tuple[int, str, str]]:
    """The number of each entry's first line, and its key and value, which still have their escapes."""
    joined, first, continues = "", 0, False
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = line.lstrip(BLANKS)
        if not continues:
            first = number
            if not line or line[0] in "#!":
                continue
        joined += line
        continues = (len(joined) - len(joined.rstrip("\\"))) % 2 == 1
        if continues:
            joined = joined[:-1]
        else:
            yield first, *_split(joined)
            joined = ""
    if continues:
        yield first, *_split(joined)


def _split(line: str) -> tuple[str, str]:
    head = _key.match(line)
    assert head is not None, "the pattern also matches nothing"
    return head[1], line[head.end() :]


def without_escapes(text: str) -> str:
    """The text with the meaning of its escapes."""
    return ESCAPE.sub(lambda escape: _LETTERS.get(escape[1]) or _unescaped(escape[1]), text)


def _unescaped(code: str) -> str:
    return chr(int(code[1:], 16)) if len(code) == 5 else code


def encode(values: Mapping[str, str]) -> bytes:
    """The text; CodecError for a key or value that does not fit one line."""
    for key, value in values.items():
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", key) or not _one_line.fullmatch(value):
            raise CodecError(f"configuration {key!r:.40} = {value!r:.40} does not fit one line")
    return "".join(f"{key}={value}\n".replace("\\", "\\\\") for key, value in values.items()).encode("utf-8", "replace")
