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

A trial's history is a list of flat rows in `seq` order: clients' calls and their answers, events of nodes and their
stores, traffic on the HA links, and faults. Laws judge only the history. It is declared in `harness/history.py`; the
Parquet columns and Spark's types derive from that declaration.

Operations have phases: `invoke`, then `ok` (it happened), `fail` (it did not) or `info` (unknown: a client that
timed out continues with a new process number). An observer records a byte before it forwards it and after it received
it, so the order of rows never claims more than was observed.
"""

DIGESTS = f"""\
Digests are 64-bit BLAKE2b as signed integers. Store readers digest a log in chunks of {history.CHUNK:,} bytes on an
absolute grid; the last chunk of an audit may be shorter.
"""

KINDS = """\
## Event types

Each is a class in `harness/event_types/` or `harness/rocketmq/event_types/`; a third party registers its own under the
entry points `pairproof.event_types`. Columns that a type does not name are null, and so are its optional ones without a
value.
"""

RUN_FOLDER = f"""\
# The run folder, format {schema.FORMAT}

Each command that explores or records makes one folder, by default `runs/<run>/`:

| where | what |
|---|---|
| `run.json` | facts, written first and replaced when the run ends |
| `verdicts/part-NNNNN.parquet` | one row per (trial, law) |
| `trials/part-NNNNN.parquet` | one row per trial |
| `faults/part-NNNNN.parquet` | one row per fault of a trial |
| `objectives/part-NNNNN.parquet` | a row per loss of the master or return of a slave: [objectives.md](objectives.md) |
| `coverage/part-NNNNN.parquet` | how often each state met each event under each fault |
| `history/part-NNNNN.parquet` | events of violating and unknown trials, and of a seeded sample of the others |
| `findings/NNNN.json` | a violation, its minimal schedule and the line that replays it |
| `failures/NNNN.json` | a trial in which the lab failed, not judged: like a finding without a law, with the history \
and logs so far |
| `replays/NNNN.json` | the executions of that finding by `pairproof replay`, and the number of reproductions |
| `chunks/NNNNN.json` | of a campaign: the result of that chunk; written last, it commits the part |
| `logs/NNNNNN-NODE.log` | of a trial with a kept history, if nodes are processes: the end of each one's output |

Every file is written under a hidden name and renamed, so a reader never sees a partial file. A part has the same number
in every table, and its `trials` file is renamed last: a number that `trials` lacks does not count. A killed run
therefore holds whole trials only; its `state` is still `running`, and at most its last part is missing.
`coverage` is written once, when the run ends, under the number of its last part; in a campaign with each part.
Columns are only added: unknown ones are ignored, and those that a part lacks are null. Parts of format 1 lack the last
six of `trials`.
Parquet pages carry checksums. A folder of another format, a damaged one, or one that lost files is refused in one line
that names the file: when a run ends, `contents` lists all parts with their rows, findings, failures and logs. A killed
run has no such list: its committed parts can be read unless a number is missing, a part has no verdicts, or a finding
names a missing trial. For older runs without lists the number of trials is compared.
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
    by_file: dict[str, list[type[history.Event]]] = {}
    for name in sorted(history.own_kinds()):
        each = history.kinds()[name]
        by_file.setdefault(each.__module__, []).append(each)
    for module, classes in by_file.items():
        yield f"### {_words(inspect.getdoc(sys.modules[module]))}\n"
        rows = ((f"`{each.__name__.lower()}`", _words(inspect.getdoc(each)), _columns(each)) for each in classes)
        yield table(("type", "event", "columns"), rows)


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
        "`seq` and `text` of a verdict: the first violation, or the doubt. `notes`, `args`,\n"
        "`effect`, `schedule` and `skipped` are JSON texts. `state` and `event` of `coverage` are the\n"
        "system's (RocketMQ's: `harness/rocketmq/coverage.py`); its `fault` is a fault's name, `none`, or `at` a\n"
        "target of cluster trials.\n\n"
        "## Findings\n\n"
        f"A JSON object with {', '.join(f'`{name}`' for name in fields)}: `trial` found the violation, `shrunk_trial`\n"
        "executed the minimal schedule, `original_ops` is the number of operations before shrinking.\n"
        "`shrunk_in` is the lab that shrunk it, if not the run's, and in which it is replayed; `shrunk_trial`\n"
        "is then the trial that found it, unless the minimal schedule showed it in the run's lab, too. `cause` is\n"
        "that trial's first violation: the law, and the event. Findings of one cause are reported\n"
        "together. `search` found it, and `source` is the known bug of its program, if any.\n"
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
