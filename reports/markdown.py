"""Markdown that shows what comes from a run and does nothing else with it: a message's key cannot become a link or a
table. Bounded, since a build server cuts what is longer than a mebibyte.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

MAX_ROWS = 200
MAX_CHARS = 400
"""Of one text that comes from a run."""

_EDGE_CASE = re.compile(r"([\\`*_{}\[\]<>#|~&@$]|(?<=www)\.|:(?=//))")


def escape(value: object) -> str:
    """``value`` on one line that Markdown shows as it is, cut where it is long."""
    line = " ".join(str(value).split())
    return prose(line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…")


def prose(text: str) -> str:
    """``text`` on one line that Markdown shows as it is, whole."""
    return _EDGE_CASE.sub(r"\\\1", " ".join(text.split()))


def fenced(lines: Sequence[str]) -> list[str]:
    """Lines as a block of code, whatever they hold."""
    runs = re.findall(r"`+", "\n".join(lines))
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return [fence + "text", *lines, fence]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lines of a table; cells are escaped, the head is not."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    shown = list(rows)
    for row in shown[:MAX_ROWS]:
        yield "| " + " | ".join(escape(cell) for cell in row) + " |"
    yield ""
    if len(shown) > MAX_ROWS:
        yield f"{len(shown) - MAX_ROWS} more rows are in the report.\n"
