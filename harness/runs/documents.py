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

A trial's history is a list of flat rows in `seq` order: client calls and answers, actions of nodes and stores,
traffic on HA links, and faults. Laws read nothing else. `harness/history.py` declares it; the Parquet columns and
Spark's types derive from that declaration.

An operation has phases: `invoke`, then `ok` (it happened), `fail` (it did not) or `info` (unknown; a client that
timed out continues under a new process number). An observer records a byte before it forwards it and after it
received it, so the order of rows is always one that was observed.

For example, the answer to a send:

    {{"seq": 41, "t": 12729034000, "kind": "ok", "process": 0, "op": 3, "f": "send", "node": "master",
     "message": "m1", "queue": "pairproof/0", "status": "PUT_OK", "lo": 230, "hi": 567}}
"""

DIGESTS = f"""\
Digests are 64-bit BLAKE2b as signed integers. Store readers digest a log in chunks of {history.CHUNK:,} bytes on an
absolute grid; the last chunk of an audit may be shorter.
"""

KINDS = """\
## Event types

Each is a class in `harness/event_types/` or `harness/rocketmq/event_types/`; third parties
register theirs under the entry points `pairproof.event_types`. Columns in parentheses have the general meaning above;
columns that are not listed are null, and listed ones may be.
"""

RUN_FOLDER = f"""\
# The run folder, format {schema.FORMAT}

One command that explores or records makes one folder, by default `runs/<run>/`:

| where | what |
|---|---|
| `run.json` | facts, written first and replaced when the run ends |
| `verdicts/part-NNNNN.parquet` | one row per (trial, law); a row without content counts `trials` trials of a search |
| `trials/part-NNNNN.parquet` | one row per trial |
| `faults/part-NNNNN.parquet` | one row per fault of a trial |
| `objectives/part-NNNNN.parquet` | per loss of the master or return of a slave: [objectives.md](objectives.md) |
| `coverage/part-NNNNN.parquet` | how often each state met each event under each fault |
| `history/part-NNNNN.parquet` | events of violating and unknown trials, and of a seeded sample of the others |
| `findings/NNNN.json` | a violation, its minimal schedule and the line that replays it |
| `failures/NNNN.json` | a trial in which the lab failed: a finding without a law, with its history and logs so far |
| `replays/NNNN.json` | executions of that finding by `pairproof replay`, and how many reproduced it |
| `chunks/NNNNN.json` | campaigns: the result of that chunk; written last, it commits the part |
| `logs/NNNNNN-NODE.log` | the end of each node's log, for trials whose history is kept, in labs with processes |

Every file is written under a hidden name and renamed, so readers never see half a file. A part has the same number in
every table; its `trials` file is renamed last and commits it. A killed run therefore holds whole trials only: its
`state` is still `running`, and at most its last part is missing. `coverage` is written once, at the end of the run
(in a campaign with each part). Columns are only added: readers ignore unknown ones, and a part's missing columns are
null. Parts of format 1 lack the last six of `trials`.

Parquet pages carry checksums. A folder of another format, a damaged one and one with missing files are refused in one
line that names the file: `contents` lists all parts with their rows, findings, failures and logs. A killed run has no
such list; it is refused if a part number is missing, a part has no verdicts, or a finding names a missing trial. For
runs older than `contents` only the number of trials is checked.
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


def run_folder_page() -> str:
    """``docs/run-folder.md``."""
    parts = [MADE, RUN_FOLDER, "## Facts: `run.json`\n", table(("fact", "meaning"), schema.FACTS.items())]
    for name, columns in schema.TABLES.items():
        own = [f"`{c}` ({kind.__name__})" for c, kind in (columns if name != "history" else columns[:2])]
        more = "; then the columns of [history.md](history.md)" if name == "history" else ""
        parts.append(f"## `{name}`\n\n{', '.join(own)}{more}.\n")
    parts.append(_remarks())
    return "\n".join(parts)


def _remarks() -> str:
    schedule = Schedule({}, "s", (Op("advance", {"ms": 5}),))
    fields = finding_json(Finding("", "", "", "", 0, 0, schedule, 0), Path("x"))
    return (
        "`seq` and `text` of a verdict locate and describe the first violation, or the doubt. `notes`, `args`,\n"
        "`effect`, `schedule` and `skipped` are JSON texts. `state` and `event` of `coverage` are the\n"
        "system's (RocketMQ's: `harness/rocketmq/coverage.py`); its `fault` is a fault's name, `none`, or `at` a\n"
        "target of cluster trials.\n\n"
        "## Findings\n\n"
        f"A JSON object with {', '.join(f'`{name}`' for name in fields)}.\n\n"
        "- `trial` found the violation; `shrunk_trial` executed the minimal schedule.\n"
        "- `original_ops`: operations before shrinking.\n"
        "- `shrunk_in`: the lab of shrinking and replay, if not the run's. `shrunk_trial` is then the trial that\n"
        "  found the violation, unless the minimal schedule reproduced it in the run's lab.\n"
        "- `cause`: the first law that the trial broke, and the event. Findings with one cause are reported together.\n"
        "- `search`: the search that found it; `source`: the known bug whose program it was, if any.\n"
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
