"""Properties files as Java's Properties.load reads them: ``broker.conf``.

``key = value``, ``key: value`` or ``key value``; comments begin with ``#`` or ``!``; a backslash at the end continues
the line; ``\\t \\n \\r \\f \\uXXXX`` are escapes, before anything else a backslash stands for nothing. The text is
ISO-8859-1, the last of equal keys wins. One difference: blanks at a value's end are dropped; RocketMQ keeps them, and
then silently takes a number with one for no number at all. Source: java.util.Properties.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pairproof.reference.errors import ConfigError

MAX_BYTES = 1 << 20
BLANKS = " \t\f"
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_MEANS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read(path: Path) -> dict[str, str]:
    """The file's keys and values; ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as why:
        raise ConfigError(f"cannot read {path}: {why.strerror}") from why
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path} has more than {MAX_BYTES} bytes: this is not a properties file")
    return parse(raw.decode("iso-8859-1"))


def parse(text: str) -> dict[str, str]:
    """Keys and values of a file's text; ConfigError for an escape that is none."""
    found = {}
    for line in _logical_lines(text):
        match = _KEY.match(line)
        assert match is not None, "an empty key matches, too"
        value = line[match.end() :]
        separator = _SEPARATOR.match(value)
        assert separator is not None, "so does an empty separator"
        found[_unescape(match[0])] = _unescape(value[separator.end() :].rstrip(BLANKS))
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments, blank ones and leading blanks; continued ones joined."""
    joined = ""
    for line in re.split(r"\r\n|\r|\n", text):
        line = line.lstrip(BLANKS)
        if not joined and (not line or line[0] in "#!"):
            continue
        joined += line
        backslashes = len(joined) - len(joined.rstrip("\\"))
        if backslashes % 2:
            joined = joined[:-1]
            continue
        yield joined
        joined = ""
    if joined:
        yield joined


def _unescape(text: str) -> str:
    def meaning(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        if match[2] == "u":
            raise ConfigError(rf"malformed \uXXXX escape in {text!r}: write four hexadecimal digits")
        return _MEANS.get(match[2], match[2])

    return _ESCAPE.sub(meaning, text)
