"""Makes ``docs/inherited.md``: upstream bugs that the reference keeps on purpose.

The code that keeps a bug says so in its docstring, in a paragraph ``Inherited: ISSUES (VERSIONS): TEXT Law: ``ID``.``
The law tolerates the bug. Bugs that the reference does not keep: docs/reference-differences.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ... import reference
from ...harness.runs.documents import table

PAGE = "inherited.md"
HEAD = """<!-- Made by python -m pairproof.chaos.rocketmq.inherited_page; change the code, not this page. -->

# Inherited bugs

Upstream bugs that the reference keeps on purpose. Do not read them as promises: the law in each row tolerates its bug.

"""
COLUMNS = ("apache/rocketmq", "versions", "what happens", "law", "kept in `reference/`")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
_FIELD = re.compile(r"Inherited: ([\d, ]+) \((.+?)\): (.+?) Law: ``([a-z-]+)``\.")


class Inherited(NamedTuple):
    issues: str
    versions: str
    text: str
    law: str
    place: str
    """The module of the reference."""


def fields(docstring: str, place: str) -> Iterator[Inherited]:
    """The bugs of a docstring; ValueError for a paragraph that is not as it should be."""
    flat = " ".join(docstring.split())
    found = [Inherited(match[1], match[2], match[3], match[4], place) for match in _FIELD.finditer(flat)]
    if len(found) != flat.count("Inherited:"):
        raise ValueError(f"{place}: write 'Inherited: ISSUES (VERSIONS): TEXT Law: ``ID``.'")
    yield from found


def inherited() -> list[Inherited]:
    """All, in the order of their first issue."""
    root = Path(reference.__path__[0])
    found: list[Inherited] = []
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, DOCUMENTED):
                found += fields(ast.get_docstring(node) or "", str(path.relative_to(root)))
    return sorted(found, key=lambda each: int(each.issues.split(",")[0]))


def page() -> str:
    """The text of ``docs/inherited.md``."""
    rows = ((each.issues, each.versions, each.text, f"`{each.law}`", f"`{each.place}`") for each in inherited())
    return HEAD + table(COLUMNS, rows)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if sys.argv[1:] else "docs")
    (folder / PAGE).write_text(page(), encoding="utf-8")
