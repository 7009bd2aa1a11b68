"""``pairproof reference inspect``: show the contents of a store's commit log, and where and why it is damaged.

With ``--json`` it prints one object a line, with the field names of RocketMQ's own decoder: every ``message`` and
``blank``, then ``end`` (the first position without a record) or ``broken`` (where and why). It reads one record at a
time, so a store may have any size. The store's broker must be stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from ...harness.commands import output
from ...harness.commands.helping import example
from ...harness.errors import EXIT_HOLDS, EXIT_VIOLATED

MAX_ROWS = 200
"""Messages in the table; ``--json`` prints all."""

Line = dict[str, object]


@click.command("inspect", epilog=example("reference inspect /var/lib/rocketmq/store"))
@click.argument("store", type=click.Path(path_type=Path))
@output.json_option
def command(store: Path, json_to: str | None) -> int:
    """Show the records in the commit log of STORE: a store folder, or its commitlog folder.

    Exit codes: 0 the log is whole, 1 it is damaged somewhere, 2 this is not a commit log.
    """
    found = _Last(lines(store))
    if json_to is not None:
        output.write_json_lines(found, json_to)
    else:
        _show(store, found)
    return EXIT_VIOLATED if found.line["kind"] == "broken" else EXIT_HOLDS


class _Last:
    def __init__(self, found: Iterator[Line]) -> None:
        self.found = found
        self.line: Line = {}

    def __iter__(self) -> Iterator[Line]:
        for line in self.found:
            self.line = line
            yield line


def lines(store: Path) -> Iterator[Line]:
    """The log's contents as flat objects, the last one of type ``end`` or ``broken``. UsageError if it is not a log."""
    from ..observers.full_record import describe
    from ..observers.store_folder import file_name, open_log
    from ..observers.store_reader import Walk
    from ..observers.stored_record import LogRecord

    files = open_log(store)
    walk = Walk(files)
    starts = [start for start, _ in files]

    def name_at(offset: int) -> str:
        return file_name(max((each for each in starts if each <= offset), default=starts[0]))

    def walked() -> Iterator[Line]:
        size = len(files[0][1])
        for each in walk:
            # All files have the same size, so no search for the file of each record.
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


def _show(store: Path, found: Iterable[Line]) -> None:
    queues: Counter[str] = Counter()
    rows: list[tuple[object, ...]] = []
    blanks = 0
    last: Line = {}
    for last in found:
        blanks += last["kind"] == "blank"
        if last["kind"] == "message":
            queue = f"{last['topic']}/{last['queueId']}"
            queues[queue] += 1
            if len(rows) < MAX_ROWS:
                keys = last["keys"] or last["uniqKey"] or ""
                rows.append(
                    (last["physicalOffset"], last["storeSize"], queue, last["queueOffset"], keys, last["tags"] or "")
                )
    output.table(str(store), ("offset", "size", "topic/queue", "queue offset", "keys", "tags"), rows)
    messages = queues.total()
    if messages > MAX_ROWS:
        output.echo(f"... and {messages - MAX_ROWS} more: --json shows all")
    output.table("", ("topic/queue", "messages"), sorted(queues.items()))
    if last["kind"] == "broken":
        state = f"broken at {last['physicalOffset']} in file {last['file']}: {last['why']}"
    else:
        state = f"whole up to its end at {last['physicalOffset']}"
    output.echo(f"{messages} messages, {blanks} fillers; {state}")
