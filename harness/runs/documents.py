"""Make the pages that must agree with the code: ``docs/history.md``, ``docs/run-folder.md``.

``python -m pairproof.harness.runs.documents [DOCS]`` writes them; a test compares.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from .. import history
from ..trials.schedule import Op, Schedule
from ..trials.trial import Finding
from . import schema
from .writer import finding_json

MADE = "<!-- Made by python -m pairproof.harness.runs.documents; change the code, not this page. -->"

HISTORY = f"""\
# The history: one event row, format {history.FORMAT}

A trial's history is a list of flat rows in `seq` order: what clients asked and were told, what nodes and their stores
did, what was seen on the HA links, which faults came and went. Laws judge it and see nothing else. It is declared in
`harness/history.py`; the Parquet columns and Spark's types derive from that declaration.

Operations have phases: `invoke`, then `ok` (it happened), `fail` (it did not) or `info` (unknown: a client that
timed out goes on under a new process number). An observer records a byte before it passes it on and after it received
it, so the order of rows never claims more than was seen.
"""

DIGESTS = f"""\
Digests are 64-bit BLAKE2b as signed integers. Store readers digest a log in chunks of {history.CHUNK:,} bytes on an
absolute grid; the last chunk of an audit may be shorter.
"""

KINDS = """\
## Kinds

Each is a class in `harness/kinds/` or `harness/rocketmq/kinds/`; a third party registers its own under the entry points
`pairproof.event_types`. Columns that a kind does not name are null, and so are those that it could have and has not.
"""

RUN_FOLDER = f"""\
# The run folder, format {schema.FORMAT}

One command that explores or records makes one folder, `runs/<run>/` unless told otherwise:

| where | what |
|---|---|
| `run.json` | facts, written first and replaced when the run ends |
| `verdicts/part-NNNNN.parquet` | one row per (trial, law) |
| `trials/part-NNNNN.parquet` | one row per trial |
| `faults/part-NNNNN.parquet` | one row per fault of a trial |
| `objectives/part-NNNNN.parquet` | a loss of the master or a return of a slave a row: [objectives.md](objectives.md) |
| `coverage/part-NNNNN.parquet` | how often each state met each event under each fault |
| `history/part-NNNNN.parquet` | events of violating and unknown trials, and of a seeded sample of the others |
| `findings/NNNN.json` | a violation, its minimal schedule and the line that replays it |
| `failures/NNNN.json` | a trial in which the lab failed, which no law judges: like a finding, without a law, and with \
what there is of its history and logs |
| `replays/NNNN.json` | how often `pairproof replay` executed the finding of that number, and how often it showed |
| `chunks/NNNNN.json` | of a campaign: what the chunk of that number came to; written last, it commits the part |
| `logs/NNNNNN-NODE.log` | of a trial whose history is kept, where nodes are processes: the end of what each said |

Every file is written under a hidden name and renamed, so a reader never meets half of one. A part has the same number
in every table, and its `trials` file is renamed last: a number that `trials` lacks does not count. A run that was
killed therefore holds whole trials only; its `state` is still `running`, and at most its last part is missing.
`coverage` is written once, when the run ends, under the number of its last part; in a campaign with each part.
Columns are only added: unknown ones are ignored, and those that a part lacks are null. Parts of format 1 lack the last
six of `trials`.
Parquet pages carry checksums. A folder of another format, or one that is damaged, is refused in one line that names
the file. So is one that lost files: when a run ends, `contents` lists all parts with their rows, findings, failures and
logs. A run that was killed has no such list: what it committed can be read unless a number of its parts is missing, a
part has no verdicts, or a finding names a trial that is not there. Of a run recorded before there were lists the number
of trials is compared.
"""


def history_page() -> str:
    """``docs/history.md``."""
    columns = ((f"`{each.name}`", each.type.__name__, each.unit, each.meaning) for each in history.FIELDS)
    parts = (
        MADE,
        HISTORY,
        "## Columns\n",
        table(("column", "type", "unit", "meaning"), columns),
        DIGESTS,
        KINDS,
        *_kinds(),
    )
    return "\n".join(parts)


def _kinds() -> Iterator[str]:
    """A table for each file of event types."""
    by_file: dict[str, list[type[history.Event]]] = {}
    for name in sorted(history.own_kinds()):
        each = history.kinds()[name]
        by_file.setdefault(each.__module__, []).append(each)
    for module, classes in by_file.items():
        yield f"### {_words(inspect.getdoc(sys.modules[module]))}\n"
        rows = ((f"`{each.__name__.lower()}`", _words(inspect.getdoc(each)), _columns(each)) for each in classes)
        yield table(("kind", "what happened", "columns"), rows)


def _words(docstring: str | None) -> str:
    return " ".join((docstring or "").replace("``", "`").split()).removesuffix(".")


def _columns(kind: type[history.Event]) -> str:
    """The columns that an event type names, with their meaning, from the source of its class and of its base
    classes.
    """
    found: dict[str, str] = {}
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
                meaning = ", ".join(values) + ("; " if values and about else "") + about
                found[statement.target.id] = f"{name} ({meaning})" if meaning else name
    return ", ".join(found.values())


def run_folder_page() -> str:
    """``docs/run-folder.md``."""
    parts = [MADE, RUN_FOLDER, "## Facts: `run.json`\n", table(("fact", "meaning"), schema.FACTS.items())]
    for name, columns in schema.TABLES.items():
        own = columns if name != "history" else columns[:2]
        parts += [f"## `{name}`\n", table(("column", "type"), ((f"`{c}`", kind.__name__) for c, kind in own))]
        if name == "history":
            parts.append("and the columns of [history.md](history.md).\n")
    parts.append(_remarks())
    return "\n".join(parts)


def _remarks() -> str:
    schedule = Schedule({}, "s", (Op("advance", {"ms": 5}),))
    fields = finding_json(Finding("", "", "", "", 0, 0, schedule, 0), Path("x"))
    return (
        "`seq` and `text` of a verdict: where and how the first violation was seen, or the doubt. `notes`, `args`,\n"
        "`effect`, `schedule` and `skipped` are JSON texts. `state` and `event` of `coverage` are the\n"
        "system's (RocketMQ's: `harness/rocketmq/coverage.py`); its `fault` is a fault's name, `none`, or `at` a\n"
        "place of cluster trials.\n\n"
        "## Findings\n\n"
        f"A JSON object with {', '.join(f'`{name}`' for name in fields)}: `trial` found the violation, `shrunk_trial`\n"
        "executed the minimal schedule, `original_ops` is how many operations the schedule had before it was shrunk.\n"
        "`shrunk_in` is the lab in which it was shrunk, if not the run's, and in which it is replayed; `shrunk_trial`\n"
        "is then the trial that found it, unless the minimal schedule showed it in the run's lab, too. `cause` is\n"
        "what that trial broke first: the law, and the event that broke it. Findings with one cause are told\n"
        "together. `search` found it, and `source` is the known bug whose program that was, if it was one.\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


PAGES = {"history.md": history_page, "run-folder.md": run_folder_page}


def main(docs: Path) -> None:
    """Write the pages into ``docs``."""
    for name, page in PAGES.items():
        (docs / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
