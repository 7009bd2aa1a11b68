"""A program's last output in one line; for a Java stack trace at its end the exception, never a frame."""

from __future__ import annotations

import re

_FRAME = re.compile(r"\s+at [\w.$/<>@-]+\(|\s*\.\.\. \d+ (more|common frames omitted)")
_CAUSE = re.compile(r"\s*(Caused by|Suppressed): ")
_NAME = re.compile(r"[\w.$]+(Exception|Error|Throwable)\b")
"""Start of a trace below the log line that it belongs to."""


def last_words(output: str, lines: int = 1) -> str:
    """The last ``lines`` lines, without frames. For a trace at the end: its log line, the exception, and its causes."""
    found = [each.rstrip() for each in output.splitlines() if each.strip()]
    kept = [number for number, each in enumerate(found) if not _FRAME.match(each)]
    if not kept:
        return " | ".join(each.strip() for each in found[-lines:])
    first = max(0, len(kept) - lines)
    if kept[-1] != len(found) - 1:
        head = len(kept) - 1
        while head and _CAUSE.match(found[kept[head]]):
            head -= 1
        if head and _NAME.match(found[kept[head]]) and kept[head - 1] == kept[head] - 1:
            head -= 1
        first = min(first, head)
    return " | ".join(found[each].strip() for each in kept[first:])
