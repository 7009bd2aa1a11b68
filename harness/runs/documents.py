"""Make the parts of pages that must agree with the code: of ``docs/history.md`` and ``docs/run-folder.md``.

``python -m pairproof.harness.runs.documents [DOCS]`` writes them, between the pages' marks; a test compares.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from .. import history
from ..trials.schedule import Op, Schedule
from ..trials.trial import Finding
from . import schema
from .writer import finding_json

PART = re.compile(r"(<!-- made: ([\w-]+) -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
"""A part of a page that is made from the code. The rest of a page is written by hand."""


def filled(page: str, parts: Mapping[str, str]) -> str:
    """The page with new texts for its marked parts; KeyError for a part that it does not have."""
    return PART.sub(lambda found: found[1] + parts[found[2]].rstrip("\n"), page)


def of_history() -> dict[str, str]:
    """The parts of ``docs/history.md``."""
    columns = ((f"`{each.name}`", each.type.__name__, each.unit, each.meaning) for each in history.FIELDS)
    return {
        "title": f"# The history: one event row, format {history.FORMAT}",
        "columns": table(("column", "type", "unit", "meaning"), columns),
        "digests": f"Store readers digest a log in chunks of {history.CHUNK:,} bytes on an absolute grid.",
        "event-types": "\n".join(_kinds()),
    }


def _kinds() -> Iterator[str]:
    """A section for each file of kinds."""
    by_file: dict[str, list[type[history.Event]]] = {}
    for name in sorted(history.own_kinds()):
        each = history.kinds()[name]
        by_file.setdefault(each.__module__, []).append(each)
    for module, classes in by_file.items():
        yield f"### {_words(inspect.getdoc(sys.modules[module]))}\n"
        seen: dict[str, str] = {}
        for each in classes:
            kind = f"`{each.__name__.lower()}`"
            alike: dict[str, list[str]] = {}
            for name, about in _columns(each):
                first = seen.setdefault(about, kind) if about else kind
                alike.setdefault(about if first == kind else f"as in {first}", []).append(f"`{name}`")
            plain = ", ".join(alike.pop("", []))
            yield f"**{kind}**{plain and f' ({plain})'}: {_words(inspect.getdoc(each))}.\n"
            if alike:
                yield "\n".join(f"- {', '.join(names)}: {about}" for about, names in alike.items()) + "\n"


def _words(docstring: str | None) -> str:
    return " ".join((docstring or "").replace("``", "`").split()).removesuffix(".")


def _columns(kind: type[history.Event]) -> list[tuple[str, str]]:
    """The columns that a kind names, with what they mean in it, from the source of its class and of those above it."""
    found: dict[str, tuple[str, str]] = {}
    for each in reversed(kind.__mro__[: kind.__mro__.index(history.Event)]):
        body = ast.parse(inspect.getsource(each)).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, following in zip_longest(body.body, body.body[1:]):
            if isinstance(statement, ast.AnnAssign):
                assert isinstance(statement.target, ast.Name)
                values = re.findall(r"'([\w-]+)'", ast.unparse(statement.annotation))
                match following:
                    case ast.Expr(ast.Constant(str(meaning))):
                        about = _words(meaning)
                        about = about[:1].lower() + about[1:] if about[1:2].islower() else about
                    case _:
                        about = ""
                name = statement.target.id
                if isinstance(statement.value, ast.Call):
                    # Under a name of the event type.
                    column, own = ast.literal_eval(statement.value.args[0]), name.replace("_", " ")
                    about, name = f"{own}: {about}" if about else own, column
                if not all(re.search(rf"\b{each}[:,)]", about, re.IGNORECASE) for each in values):
                    about = ", ".join(values) + ("; " if about else "") + about
                told = about
                found[statement.target.id] = (name, told)
    return list(found.values())


def of_run_folder() -> dict[str, str]:
    """The parts of ``docs/run-folder.md``."""
    schedule = Schedule({}, "s", (Op("advance", {"ms": 5}),))
    fields = finding_json(Finding("", "", "", "", 0, 0, schedule, 0), Path("x"))
    return {
        "title": f"# The run folder, format {schema.FORMAT}",
        "facts": table(("fact", "meaning"), schema.FACTS.items()),
        "tables": "\n".join(_tables()),
        "finding": f"A JSON object with {', '.join(f'`{name}`' for name in fields)}.",
    }


def _tables() -> Iterator[str]:
    for name, columns in schema.TABLES.items():
        own = [f"`{c}` ({kind.__name__})" for c, kind in (columns if name != "history" else columns[:2])]
        more = "; then the columns of [history.md](history.md)" if name == "history" else ""
        yield f"## `{name}`\n\n{', '.join(own)}{more}.\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


PAGES = {"history.md": of_history, "run-folder.md": of_run_folder}


def write(docs: Path, pages: Mapping[str, Callable[[], Mapping[str, str]]]) -> None:
    """Write the parts of these pages in ``docs``."""
    for name, parts in pages.items():
        page = docs / name
        page.write_text(filled(page.read_text(encoding="utf-8"), parts()), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"), PAGES)
