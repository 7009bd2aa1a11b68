"""Reads a capture's Java properties files: keys and values as text, the last of a key counts.

Left out: escapes (``\\u00e9``, ``\\:``), which no broker's setting needs.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"([^\s=:]+)\s*[=:]?\s*(.*)", re.DOTALL)
_CONTINUED = re.compile(r"\\\r?\n[ \t]*")


def parsed(data: bytes) -> dict[str, str]:
    """The settings of a file's bytes."""
    lines = map(str.strip, _CONTINUED.sub("", data.decode("utf-8", "replace")).splitlines())
    pairs = (_LINE.fullmatch(line) for line in lines if line and line[0] not in "#!")
    return {pair[1]: pair[2] for pair in pairs if pair is not None}
