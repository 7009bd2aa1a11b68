"""What a timeline shows, read from one trial's events: operations, faults, connections, nodes, log ends, marks.

Times are ns since the trial began. Something that had not ended when the history did has no end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pairproof.harness.history import Event
from pairproof.reports.events import plain, words

NODES = ("master", "slave")


class Bar(NamedTuple):
    """Something that lasted. ``kind`` is its class in the drawing, ``label`` stands on it, ``title`` explains it."""

    began: int
    ended: int | None
    kind: str
    label: str
    title: str


class Step(NamedTuple):
    """A log end from ``t`` on; ``bytes`` is None while the node is down."""

    t: int
    bytes: int | None


class Mark(NamedTuple):
    """A moment worth naming."""

    t: int
    kind: str
    label: str
    title: str


class Scene(NamedTuple):
    """A trial, ready to be drawn."""

    times: list[int]
    clients: dict[int, list[Bar]]
    faults: list[Bar]
    links: list[Bar]
    down: dict[str, list[Bar]]
    ends: dict[str, list[Step]]
    reported: list[Step]
    marks: list[Mark]
    last: int


def scene(events: Sequence[Event], violated_at: int | None = None) -> Scene:
    """Read the events, which are in ``seq`` order. ``violated_at``: the seq of the event that broke the law."""
    return Scene(
        times=[event.t for event in events],
        clients=_clients(events),
        faults=_faults(events),
        links=_links(events),
        down={node: _down(events, node) for node in NODES},
        ends={node: _ends(events, node) for node in NODES},
        reported=_reported(events),
        marks=_marks(events, violated_at),
        last=events[-1].t if events else 0,
    )


def _clients(events: Iterable[Event]) -> dict[int, list[Bar]]:
    asked: dict[int | None, Event] = {}
    found: dict[int, list[Bar]] = {}
    for event in events:
        if event.kind == "invoke":
            asked[event.op] = event
        elif event.kind in ("ok", "fail", "info"):
            begun = asked.pop(event.op, event)
            found.setdefault(event.process or 0, []).append(_operation(begun, event))
    for event in asked.values():
        title = f"{words(event)}; never answered"
        found.setdefault(event.process or 0, []).append(
            Bar(event.t, None, "op open", _short(event, "no answer"), title)
        )
    return {process: sorted(found[process]) for process in sorted(found)}


def _operation(begun: Event, ended: Event) -> Bar:
    kind = {"fail": "refused", "info": "unknown"}.get(ended.kind, "done")
    if ended.kind == "ok" and ended.f == "send" and ended.status != "PUT_OK":
        kind = "late"
    return Bar(begun.t, ended.t, f"op {kind}", _short(begun, ended.status or ""), f"{words(begun)}; {words(ended)}")


def _short(event: Event, status: str) -> str:
    return " ".join(each for each in (event.f, event.message, status) if each)


def _faults(events: Iterable[Event]) -> list[Bar]:
    begun: dict[int | None, Event] = {}
    found = []
    for event in events:
        if event.kind != "fault":
            continue
        if event.status == "on":
            begun[event.op] = event
        elif (began := begun.pop(event.op, None)) is not None:
            bit = "did " + plain(event.detail) if event.value else "hit nothing"
            kind = "fault" if event.value else "fault missed"
            label = f"{event.f} {plain(began.detail)}".strip()
            found.append(Bar(began.t, event.t, kind, label, f"{label}: {bit}"))
    for event in begun.values():
        label = f"{event.f} {plain(event.detail)}".strip()
        found.append(Bar(event.t, None, "fault", label, f"{label}: still on when the history ends"))
    return sorted(found)


def _links(events: Iterable[Event]) -> list[Bar]:
    opened: dict[str, Event] = {}
    closed: dict[str, Event] = {}
    refused: dict[str, Event] = {}
    for event in events:
        if event.link is None:
            continue
        if event.kind == "connect":
            opened.setdefault(event.link, event)
        elif event.kind == "close":
            closed[event.link] = event
        elif event.kind == "diverged":
            refused.setdefault(event.link, event)
    return [_link(began, closed.get(link), refused.get(link)) for link, began in opened.items()]


def _link(began: Event, ended: Event | None, refused: Event | None) -> Bar:
    kind = "link refused" if refused else "link stranger" if began.f == "hostile" else "link"
    label = f"{began.link} {'refused' if refused else began.f or ''}".strip()
    title = f"HA connection {began.link}, opened by {began.f}"
    title += f"; {words(refused)}" if refused else ""
    title += f"; {words(ended)}" if ended else "; open to the end"
    return Bar(began.t, ended.t if ended else None, kind, label, title)


def _down(events: Iterable[Event], node: str) -> list[Bar]:
    found: list[Bar] = []
    went: Event | None = None
    for event in events:
        if event.node != node:
            continue
        if event.kind in ("crash", "stop"):
            went = went or event
        elif event.kind == "start" and went is not None:
            found.append(_away(went, event))
            went = None
    return found + ([_away(went, None)] if went is not None else [])


def _away(went: Event, back: Event | None) -> Bar:
    label = {"machine": "power lost", "process": "killed"}.get(str(went.f), "stopped")
    return Bar(went.t, back.t if back else None, "down", label, f"{words(went)}; {words(back) if back else 'not back'}")


def _ends(events: Iterable[Event], node: str) -> list[Step]:
    found: list[Step] = []
    for event in events:
        if event.node != node:
            continue
        if event.kind in ("append", "start"):
            found.append(Step(event.t, event.hi))
        elif event.kind == "cut":
            found.append(Step(event.t, event.lo))
        elif event.kind in ("crash", "stop"):
            found.append(Step(event.t, None))
        elif event.kind == "wipe":
            found.append(Step(event.t, 0))
    return found


def _reported(events: Sequence[Event]) -> list[Step]:
    # A stranger on the HA port may claim any number: it would say nothing of the slave, and ruin the scale.
    strangers = {event.link for event in events if event.kind == "connect" and event.f == "hostile"}
    reports = (event for event in events if event.kind == "report" and event.side == "m")
    return [Step(event.t, event.hi) for event in reports if event.link not in strangers and event.hi is not None]


def _marks(events: Iterable[Event], violated_at: int | None) -> list[Mark]:
    found = []
    for event in events:
        if event.seq == violated_at:
            found.append(Mark(event.t, "violation", "violated here", words(event)))
        if event.kind == "crash":
            found.append(Mark(event.t, "crash", f"✕ {event.node}", words(event)))
        elif event.kind == "start" and (event.incarnation or 1) > 1:
            found.append(Mark(event.t, "start", f"▲ {event.node}", words(event)))
        elif event.kind == "diverged":
            found.append(Mark(event.t, "crash", f"{event.link} refused", words(event)))
        elif event.kind == "mark" and event.f != "end":
            found.append(Mark(event.t, "mark", str(event.f), words(event)))
    return found
