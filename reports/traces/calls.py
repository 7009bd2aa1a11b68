"""Throughput of clients' calls, and latency of sends, in and out of fault windows.

A call lasts from its ``invoke`` to its ``ok``, ``fail`` or ``info``. It is *answered* if it is ``ok``: of a send that
means that the master has stored it, whatever the answer says of the disk and the slaves. A send is told under the
faults that it overlapped. The time that throughput is divided by is that from the first call of a function to the last
answer to one; answers are counted in the window in which they came.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...harness.history import Event
from ...harness.rocketmq.contract import STORED
from ...harness.rocketmq.places import OTHER
from .faults import IN, OUT, Active, label, window, within

ALL = "all"
"""In place of a function: every call."""

PUT_OK = STORED[0]


class Call(NamedTuple):
    """Calls of one function, in or out of fault windows."""

    f: str
    window: str
    asked: int
    answered: int
    span_ns: int


class Send(NamedTuple):
    """One send to the pair; exactly one of the four outcomes is 1."""

    fault: str
    window: str
    put_ok: int
    stored: int
    """Stored, with a doubt about the disk or the slaves: FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, ..."""
    refused: int
    unanswered: int
    latency_ns: int | None
    """None unless it was answered as stored."""


class _Function:
    """Calls of one function so far."""

    __slots__ = ("answered", "asked", "first", "last")

    def __init__(self, first: int) -> None:
        self.first = self.last = first
        self.asked = {IN: 0, OUT: 0}
        self.answered = {IN: 0, OUT: 0}

    def rows(self, f: str, windows: Sequence[tuple[int, int]]) -> list[Call]:
        inside = within(windows, self.first, self.last)
        spans = {IN: inside, OUT: self.last - self.first - inside}
        found = [Call(f, each, self.asked[each], self.answered[each], spans[each]) for each in (IN, OUT)]
        return [each for each in found if each.asked or each.answered or each.span_ns]


class _Open(NamedTuple):
    """A send that is under way."""

    began: Event
    faults: set[str]


def measure(events: Sequence[Event]) -> tuple[list[Call], list[Send]]:
    """Rows of one trial's events, which are in ``seq`` order."""
    seen = _Seen(events)
    for event in events:
        if event.kind in _TOLD:
            seen.hear(event)
    return seen.rows(events[-1].t if events else 0)


_TOLD = frozenset(("fault", "invoke", "ok", "fail", "info"))


class _Seen:
    """Bounded by the calls and faults of one trial."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.active = Active(events)
        self.functions: dict[str, _Function] = {}
        self.open: dict[int | None, _Open] = {}
        self.sends: list[Send] = []

    def hear(self, event: Event) -> None:
        if event.kind == "fault":
            if self.active.hear(event) and event.status == "on":
                for each in self.open.values():
                    each.faults.add(str(event.f))
            return
        f, now = str(event.f), window(self.active.names)
        for name in (f, ALL):
            counted = self.functions.get(name) or self.functions.setdefault(name, _Function(event.t))
            if event.kind == "invoke":
                counted.asked[now] += 1
            else:
                counted.last = event.t
                counted.answered[now] += event.kind == "ok"
        if f == "send" and event.kind == "invoke" and event.node != OTHER:
            self.open[event.op] = _Open(event, set(self.active.names))
        elif f == "send" and (begun := self.open.pop(event.op, None)) is not None:
            self.sends.append(_send(begun, event))

    def rows(self, end_ns: int) -> tuple[list[Call], list[Send]]:
        windows = self.active.until(end_ns)
        found = [row for f, each in sorted(self.functions.items()) for row in each.rows(f, windows)]
        return found, self.sends + [_send(each, None) for each in self.open.values()]


def _send(begun: _Open, answer: Event | None) -> Send:
    kind = answer.kind if answer is not None else "info"
    put_ok, stored = kind == "ok" and answer.status == PUT_OK, kind == "ok" and answer.status != PUT_OK  # type: ignore[union-attr]
    took = answer.t - begun.began.t if answer is not None and kind == "ok" else None
    return Send(
        label(begun.faults),
        window(begun.faults),
        int(put_ok),
        int(stored),
        int(kind == "fail"),
        int(kind == "info"),
        took,
    )
