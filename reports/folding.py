"""Folds repetitive events: neighbours that differ only in their queues, records, keys or chunks.

A line is one event, or a run of neighbours at one time that differ only in their subject. The event that broke a law is
never folded.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..harness.event_types.text import client, outcome
from ..harness.history import Event
from ..harness.rocketmq.event_types.metadata import TABLES
from .events import words

LEAST = 3
"""Fewer neighbours are listed one by one."""


class Line(NamedTuple):
    """Events ``first`` to ``last`` in the order of the history, described by ``words``."""

    first: Event
    last: Event
    words: str


def fold(events: Iterable[Event], keep: int | None = None) -> list[Line]:
    """Lines for the events, which are in ``seq`` order; the one with seq ``keep`` gets its own line."""
    runs: list[list[Event]] = []
    for event in events:
        if runs and event.seq != keep and runs[-1][-1].seq != keep and _alike(runs[-1][-1], event):
            runs[-1].append(event)
        else:
            runs.append([event])
    return [line for run in runs for line in _lines(run)]


def _lines(run: Sequence[Event]) -> list[Line]:
    if len(run) < LEAST:
        return [Line(event, event, words(event)) for event in run]
    return [Line(run[0], run[-1], _together(run))]


_SAME = ("t", "kind", "node", "f", "status", "process", "group")
_FOLDED = frozenset({"record", "chunk", "keys", "entries", "table", "dispatch", "flush", "sync", "persist"})
_MANY = {"pull": "pulls from", "commit": "commits to", "query": "questions to"}
_CALLS = frozenset({"invoke", "ok", "fail", "info", "assign", "deliver"})


def _alike(before: Event, event: Event) -> bool:
    if event.kind in _CALLS:
        # A producer's or an administrator's calls are the program itself.
        return event.group is not None and all(getattr(before, name) == getattr(event, name) for name in _SAME)
    if event.kind not in _FOLDED or (before.t, before.kind, before.node) != (event.t, event.kind, event.node):
        return False
    return event.kind in ("table", "sync", "persist") or before.status == event.status


def _together(run: Sequence[Event]) -> str:
    first, last, many = run[0], run[-1], len(run)
    if first.kind in _CALLS:
        return _calls(run)
    if first.kind in ("table", "sync", "persist"):
        tables = ", ".join(dict.fromkeys(TABLES.get(str(event.f), str(event.f)) for event in run))
        if first.kind == "table":
            return f"table reader: {many} tables of {first.node}: {tables}"
        what = "steps of the metadata sync" if first.kind == "sync" else "tables written to the disk"
        return f"{first.node}: {many} {what}: {tables}"
    if first.kind == "keys":
        return (
            f"store reader: the key index of {first.node} is asked for {many} keys, {first.message} to {last.message}"
        )
    if first.kind == "entries":
        return f"store reader: {many} queues of {first.node} are read"
    if first.kind in ("record", "chunk"):
        what = "records" if first.kind == "record" else "chunks"
        return f"store reader: {many} {what} of {first.node}, [{first.lo or 0:,}, {last.hi or 0:,})"
    return words(last)


def _calls(run: Sequence[Event]) -> str:
    first = run[0]
    if first.kind == "deliver":
        named = ", ".join(str(event.message) for event in run)
        return f"{client(first)}: received {len(run)} messages from {first.node}: {named}"
    queues = ", ".join(_numbered(event) for event in run)
    if first.kind == "assign":
        done = "takes" if first.status == "on" else "gives up"
        return f"{client(first)} {done} {len(run)} queues: {queues}"
    start = f"{client(first)}: {len(run)} {_MANY.get(first.f or '', f'calls of {first.f} to')} {first.node}"
    return f"{start}: {queues}" if first.kind == "invoke" else f"{start} {outcome(first)}: {queues}"


def _numbered(event: Event) -> str:
    at = next((each for each in (event.queue_offset, event.value) if each is not None), None)
    return f"{event.queue}{'' if at is None else f' at {at:,}'}"
