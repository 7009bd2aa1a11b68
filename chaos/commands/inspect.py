"""``pairproof inspect``: what a store's commit log holds, and where and why it stops being whole.

With ``--json`` one object a line, under the names that RocketMQ's own decoder gives: every ``message`` and ``blank``,
then ``end`` (the first position without a record) or ``broken`` (where and why). Reads one record at a time, so a store
may be of any size. The store's broker must not run meanwhile.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click
from pairproof.harness.commands import output
from pairproof.harness.errors import EXIT_HOLDS, EXIT_VIOLATED, UsageError

MAX_ROWS = 200
"""Messages that the table for people shows; ``--json`` shows all."""

Line = dict[str, object]


@click.command("inspect")
@click.argument("store", type=click.Path(path_type=Path))
@output.json_option
def command(store: Path, json_to: str | None) -> None:
    """Show what the commit log of STORE holds: a store folder, or its commitlog folder.

    Exit codes: 0 the log is whole, 1 it stops being whole somewhere, 2 this is no commit log.
    """
    found = lines(store)
    if json_to is None:
        last = _show(store, found)
    elif json_to == "-":
        last = _write(found, sys.stdout)
    else:
        try:
            with Path(json_to).open("w", encoding="utf-8") as file:
                last = _write(found, file)
        except OSError as why:
            raise UsageError(f"{json_to}: {why.strerror}; --json takes a file, and the store comes before it") from None
    sys.exit(EXIT_VIOLATED if last["kind"] == "broken" else EXIT_HOLDS)


def lines(store: Path) -> Iterator[Line]:
    """The log's contents as flat objects; the last one is of kind ``end`` or ``broken``. UsageError if it is none."""
    from pairproof.chaos.observers.full_record import describe
    from pairproof.chaos.observers.store_folder import file_name, open_log
    from pairproof.chaos.observers.store_reader import Walk
    from pairproof.chaos.observers.stored_record import LogRecord

    files = open_log(store)
    walk = Walk(files)
    starts = [start for start, _ in files]

    def name_at(offset: int) -> str:
        return file_name(max((each for each in starts if each <= offset), default=starts[0]))

    def walked() -> Iterator[Line]:
        size = len(files[0][1])
        for each in walk:
            # A walk has files of one size only: no search for the file of each record.
            name = file_name(each.lo - (each.lo - starts[0]) % size)
            if isinstance(each, LogRecord):
                yield describe(each, name)
            else:
                yield {"kind": "blank", "file": name, "physicalOffset": each.lo, "size": each.hi - each.lo}
        if walk.why is None:
            yield {"kind": "end", "file": name_at(walk.where), "physicalOffset": walk.where, "size": 0, "magic": 0}
        else:
            yield {"kind": "broken", "file": name_at(walk.where), "physicalOffset": walk.where, "why": walk.why}

    return walked()


def _write(found: Iterator[Line], to: TextIO) -> Line:
    last: Line = {}
    for last in found:
        to.write(json.dumps(last, ensure_ascii=False, separators=(",", ":")) + "\n")
    return last


def _show(store: Path, found: Iterator[Line]) -> Line:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("offset", "size", "topic/queue", "queue offset", "keys", "tags", title=escape(str(store)))
    queues: Counter[str] = Counter()
    messages = blanks = 0
    last: Line = {}
    for last in found:
        blanks += last["kind"] == "blank"
        if last["kind"] != "message":
            continue
        messages += 1
        queue = f"{last['topic']}/{last['queueId']}"
        queues[queue] += 1
        if messages <= MAX_ROWS:
            texts = (queue, last["queueOffset"], last["keys"] or last["uniqKey"] or "", last["tags"] or "")
            table.add_row(*(escape(str(each)) for each in (last["physicalOffset"], last["storeSize"], *texts)))
    console = Console()
    console.print(table)
    if messages > MAX_ROWS:
        console.print(f"… and {messages - MAX_ROWS} more: --json shows all")
    for queue, count in sorted(queues.items()):
        console.print(f"{escape(queue)}: {count} messages", highlight=False)
    state = f"broken at {last['physicalOffset']} in {last['file']}: {last['why']}" if "why" in last else "whole"
    ends = f"up to {last['physicalOffset']}; " if "why" not in last else ""
    console.print(f"{messages} messages, {blanks} fillers; {ends}{state}", highlight=False, soft_wrap=True)
    return last
