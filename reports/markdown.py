"""Markdown that shows texts from a run literally: a message's key cannot become a link or a table. Bounded, since a
build server cuts texts beyond a mebibyte.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

MAX_ROWS = 200
MAX_CHARS = 400
"""Characters of one text from a run."""

_EDGE_CASE = re.compile(r"([\\`*_{}\[\]<>#|~&@$]|(?<=www)\.|:(?=//))")


def escape(value: object) -> str:
    """``value`` on one literal line, cut if it is long."""
    line = " ".join(str(value).split())
    return prose(line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…")


def prose(text: str) -> str:
    """``text`` on one literal line, uncut."""
    return _EDGE_CASE.sub(r"\\\1", " ".join(text.split()))


def fenced(lines: Sequence[str]) -> list[str]:
    """Lines as a block of code, whatever they contain."""
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
