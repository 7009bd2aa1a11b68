"""Makes the pages that must say what the code says: ``docs/history.md``, ``docs/run-folder.md``, ``docs/contract.md``.

``python -m pairproof.harness.runs.documents [DOCS]`` writes them; a test compares what is there with what it would be.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from pairproof.harness import history
from pairproof.harness.rocketmq import contract
from pairproof.harness.runs import schema
from pairproof.harness.runs.writer import finding_json
from pairproof.harness.schedule import Op, Schedule
from pairproof.harness.trial import Finding

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
`pairproof.kinds`. Columns that a kind does not name are null, and so are those that it could have and has not.
"""

CONTRACT = """\
# The durability contract: what may be lost, and what may not

The law `contract` judges by this table, which is data in `harness/rocketmq/contract.py`: for the master's role, its
in-sync replicas (itself counted; 4.x: 2) and its flush mode, whether a send waited, what it was answered, and what
happened to the stores afterwards. The first row that fits decides. A report then says *violated*, *permitted loss*, or
*stronger than promised* (it might have vanished and did not), never just "lost".
"""

CONSUMERS = """\
## What consumers are promised

Delivery is *at least once*, to each group; in a broadcasting group to each consumer. The laws `deliver-*` and
`progress-*` judge it in trials with a name server; the table above says which messages there are to deliver.

**Nothing that must survive on the master is lost to a group** that has taken the queue (`deliver-no-loss`), whichever
brokers and consumers came and went meanwhile. All the same:
"""

LACKS = (
    ("what the table above lets vanish", "nobody has it"),
    (
        "what was stored after the master lost the end of its log, at queue offsets that the group had passed",
        "the offsets of what was lost are given a second time, and a group's progress is an offset",
    ),
    (
        "what lies before the offset at which the group's first consumer began",
        "no broker knew the group: the consumer chose",
    ),
    (
        "anything, where slaves have offsetCheckInSlave",
        "such a slave sends consumers past what it lacks, or back; nothing is promised with it",
    ),
)

REPEATS_HEAD = """\
**What a group receives a second time** lies above the progress that the broker knew which told a consumer where to go
on (`deliver-at-least-once`):
"""

REPEATS = (
    ("a consumer says goodbye", "its last commit, which goes with the goodbye", "what was under way"),
    ("a consumer dies", "its last commit, one every 5 s", "what it had received since"),
    (
        "the master is killed, and is back",
        "what it had written last: every flushConsumerOffsetInterval, first 10 s after its start "
        "(`progress-persisted`)",
        "what was committed since, or at a slave only, since no slave tells its master (`progress-recovers`)",
    ),
    (
        "the master is away, and a slave tells",
        "what its last sync brought, one every 10 s, and what was committed there since",
        "what was committed at the master after that sync",
    ),
    ("the master's machine loses power, or its store is replaced", "what is left of its table", "all"),
    (
        "a consumer lives through all of that with its queue",
        "not asked",
        "nothing, unless the master lost messages (`progress-live-consumer`)",
    ),
)

CONSUMERS_END = """\
A slave's answer to a pull never sends a consumer back: what the slave lacks it may still get. A commit that rides on a
pull counts at a master, not at a slave (`progress-on-pull`). A delayed message comes not before its time; a master that
went down may deliver it again (`deliver-delayed`).
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
| `logs/NNNNNN-NODE.log` | of a trial whose history is kept, where nodes are processes: the end of what each said |

Every file is written under a hidden name and renamed, so a reader never meets half of one. A part has the same number
in every table, and its `trials` file is renamed last: a number that `trials` lacks does not count. A run that was
killed therefore holds whole trials only; its `state` is still `running`, and at most its last part is missing.
`coverage` is written once, when the run ends, under the number of its last part.
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
        _table(("column", "type", "unit", "meaning"), columns),
        DIGESTS,
        KINDS,
        *_kinds(),
    )
    return "\n".join(parts)


def _kinds() -> Iterator[str]:
    """A table for each file of kinds."""
    by_file: dict[str, list[type[history.Event]]] = {}
    for name in sorted(history.own_kinds()):
        each = history.kinds()[name]
        by_file.setdefault(each.__module__, []).append(each)
    for module, classes in by_file.items():
        yield f"### {_words(inspect.getdoc(sys.modules[module]))}\n"
        told = ((f"`{each.__name__.lower()}`", _words(inspect.getdoc(each)), _columns(each)) for each in classes)
        yield _table(("kind", "what happened", "columns"), told)


def _words(docstring: str | None) -> str:
    return " ".join((docstring or "").replace("``", "`").split()).removesuffix(".")


def _columns(kind: type[history.Event]) -> str:
    """The columns that a kind names, with what they mean in it, from the source of its class and of those above it."""
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
                told = ", ".join(values) + ("; " if values and about else "") + about
                found[statement.target.id] = f"{statement.target.id} ({told})" if told else statement.target.id
    return ", ".join(found.values())


def contract_page() -> str:
    """``docs/contract.md``."""
    parts = (
        MADE,
        CONTRACT,
        contract.to_markdown(),
        CONSUMERS,
        _table(("a group may lack", "since"), LACKS),
        REPEATS_HEAD,
        _table(("what happens", "that broker knows at least", "so this may come again"), REPEATS),
        CONSUMERS_END,
    )
    return "\n".join(parts)


def run_folder_page() -> str:
    """``docs/run-folder.md``."""
    parts = [MADE, RUN_FOLDER, "## Facts: `run.json`\n", _table(("fact", "meaning"), schema.FACTS.items())]
    for name, columns in schema.TABLES.items():
        own = columns if name != "history" else columns[:2]
        parts += [f"## `{name}`\n", _table(("column", "type"), ((f"`{c}`", kind.__name__) for c, kind in own))]
        if name == "history":
            parts.append("and the columns of [history.md](history.md).\n")
    parts.append(_remarks())
    return "\n".join(parts)


def _remarks() -> str:
    schedule = Schedule({}, "s", (Op("advance", {"ms": 5}),))
    fields = finding_json(Finding("", "", "", "", 0, 0, schedule, 0), Path("x"))
    return (
        "`seq` and `text` of a verdict: where and how the first violation was seen, or the doubt. `notes`, `args`,\n"
        "`effect`, `schedule` and `skipped` are JSON texts. `state` and `event` of `coverage` are those of\n"
        "`harness/coverage_table.py`; its `fault` is a fault's name, `none`, or `at` a place of whole trials.\n\n"
        "## Findings\n\n"
        f"A JSON object with {', '.join(f'`{name}`' for name in fields)}: `trial` found the violation, `shrunk_trial`\n"
        "executed the minimal schedule, `original_ops` is how many operations the schedule had before it was shrunk.\n"
        "`shrunk_in` is the lab in which it was shrunk, if not the run's, and in which it is replayed; `shrunk_trial`\n"
        "is then the trial that found it, unless the minimal schedule showed it in the run's lab, too. `cause` is\n"
        "what that trial broke first: the law, and the event that broke it. Findings with one cause are told\n"
        "together.\n"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


PAGES = {"history.md": history_page, "run-folder.md": run_folder_page, "contract.md": contract_page}


def main(docs: Path) -> None:
    """Write the pages into ``docs``."""
    for name, page in PAGES.items():
        (docs / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
