"""The data of a timeline, from one trial's events: operations, faults, connections, nodes, log ends, lag, marks.

:mod:`pairproof.reports.groups` reads consumers and metadata. Times are ns since the trial began.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..harness.event_types.text import plain, status
from ..harness.history import BY_THEMSELVES, Event
from ..harness.rocketmq import topology
from . import groups
from .axis import seconds
from .events import words
from .lanes import Bar, Row, Tick

MASTER = topology.MASTER
ROGUES = ("rogue_slave", "rogue_master")
OTHERS = (topology.OTHER, topology.NAMES)


class Step(NamedTuple):
    """A log end from ``t`` on; ``bytes`` is None while the node is down."""

    t: int
    bytes: int | None


class Sent(NamedTuple):
    """A send at its request: ``latency`` (ns) is None without an answer, ``outcome`` as in its bar's kind."""

    t: int
    latency: int | None
    outcome: str
    title: str


class Scene(NamedTuple):
    times: list[int]
    nodes: list[str]
    """Brokers of the pair, master first."""
    others: list[str]
    """The other broker name's master and the name server, if any."""
    clients: dict[int, list[Bar]]
    groups: dict[str, list[Row]]
    syncs: list[Row]
    """Rows of slaves' metadata syncs, and of registrations."""
    faults: list[Bar]
    links: list[Bar]
    down: dict[str, list[Bar]]
    ends: dict[str, list[Step]]
    reported: dict[str, list[Step]]
    """Per slave: the offsets reported to the master."""
    lag: dict[str, list[Step]]
    """Per slave: bytes by which its log lags the master's."""
    sends: list[Sent]
    marks: list[Tick]


def scene(events: Sequence[Event], violated_at: int | None = None) -> Scene:
    """Read the events, which are in ``seq`` order. ``violated_at``: the seq of the event that broke the law."""
    seen = _nodes(events)
    nodes, others = [node for node in seen if node not in OTHERS], [node for node in OTHERS if node in seen]
    ends = {node: _ends(events, node) for node in nodes}
    return Scene(
        times=[event.t for event in events],
        nodes=nodes,
        others=others,
        clients=_clients(events),
        groups=groups.rows(events),
        syncs=groups.syncs(events),
        faults=_faults(events),
        links=_links(events),
        down={node: _down(events, node) for node in (*nodes, *others)},
        ends=ends,
        reported=_reported(events),
        lag={node: _lag(ends.get(MASTER, []), ends[node]) for node in nodes if node != MASTER},
        sends=_sends(events),
        marks=_marks(events, violated_at),
    )


def _nodes(events: Iterable[Event]) -> list[str]:
    found = {event.node for event in events if event.kind in ("config", "start", "append") and event.node}
    return sorted(found - {*ROGUES}, key=lambda node: (node != MASTER, node))


def _calls(events: Iterable[Event]) -> Iterator[tuple[Event, Event | None]]:
    """Each call's request and end, in the order of their ends, then those without an answer; an end without a request
    is both.
    """
    begun_calls: dict[int | None, Event] = {}
    for event in events:
        if event.kind == "invoke":
            begun_calls[event.op] = event
        elif event.kind in ("ok", "fail", "info"):
            yield begun_calls.pop(event.op, event), event
    for event in begun_calls.values():
        yield event, None


def _clients(events: Iterable[Event]) -> dict[int, list[Bar]]:
    found: dict[int, list[Bar]] = {}
    for begun, ended in _calls(event for event in events if event.group is None):
        found.setdefault((ended or begun).process or 0, []).append(_operation(begun, ended))
    return {process: sorted(found[process]) for process in sorted(found)}


def _outcome(ended: Event) -> str:
    if ended.kind == "ok":
        return "late" if ended.f == "send" and ended.status != "PUT_OK" else "done"
    return "refused" if ended.kind == "fail" else "unknown"


def _sends(events: Iterable[Event]) -> list[Sent]:
    found = []
    for begun, ended in _calls(event for event in events if event.f == "send"):
        if ended is None:
            found.append(Sent(begun.t, None, "open", f"{begun.message}: never answered"))
        elif ended is not begun:
            took = ended.t - begun.t
            title = f"{begun.message}: {ended.status} after {seconds(took)}"
            found.append(Sent(begun.t, took, _outcome(ended), title))
    return sorted(found, key=lambda sent: sent.t)


def _operation(begun: Event, ended: Event | None) -> Bar:
    if ended is None:
        return Bar(begun.t, None, "op open", _short(begun, "no answer"), f"{words(begun)}; never answered")
    return Bar(
        begun.t, ended.t, f"op {_outcome(ended)}", _short(begun, status(ended)), f"{words(begun)}; {words(ended)}"
    )


def _short(event: Event, status: str) -> str:
    return " ".join(each for each in (event.f, event.message, status) if each)


def spans(events: Iterable[Event]) -> Iterator[tuple[Event, Event | None]]:
    """Each fault's begin and end, in the order of their ends, then active ones."""
    begun: dict[int | None, Event] = {}
    for event in events:
        if event.kind == "fault" and event.status == "on":
            begun[event.op] = event
        elif event.kind == "fault" and event.op in begun:
            yield begun.pop(event.op), event
    for event in begun.values():
        yield event, None


def _faults(events: Iterable[Event]) -> list[Bar]:
    found = []
    for began, ended in spans(events):
        label = f"{began.f} {plain(began.detail)}".strip()
        bit = "still on when the history ends" if ended is None else "hit nothing"
        if ended is not None and ended.value:
            bit = "did " + plain(ended.detail)
        kind = "fault" if ended is None or ended.value else "fault missed"
        found.append(Bar(began.t, ended.t if ended else None, kind, label, f"{label}: {bit}"))
    return sorted(found, key=lambda bar: bar.began)


def _links(events: Iterable[Event]) -> list[Bar]:
    links: dict[str, dict[str, Event]] = {}
    for event in events:
        if event.link is not None and event.kind in ("connect", "close", "diverged"):
            own = links.setdefault(event.link, {})
            if event.kind == "close" or event.kind not in own:
                own[event.kind] = event
    return [
        _link(each["connect"], each.get("close"), each.get("diverged")) for each in links.values() if "connect" in each
    ]


def _link(began: Event, ended: Event | None, refused: Event | None) -> Bar:
    kind = "link refused" if refused else "link stranger" if began.f == "rogue_slave" else "link"
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
        ends = event.kind in ("crash", "stop")
        back = event.kind in ("start", "resume") or (ends and went is not None and went.kind == "pause")
        if back and went is not None:
            found.append(_away(went, event))
            went = None
        if ends or event.kind == "pause":
            went = went or event
    return found + ([_away(went, None)] if went is not None else [])


def _away(went: Event, back: Event | None) -> Bar:
    paused = went.kind == "pause"
    label = "paused" if paused else {"machine": "power lost", "process": "killed"}.get(str(went.f), "stopped")
    label = "crashed" if went.status in BY_THEMSELVES else label
    title = f"{words(went)}; {words(back) if back else 'not back'}"
    return Bar(went.t, back.t if back else None, "down paused" if paused else "down", label, title)


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
    return found


def _lag(master: Sequence[Step], slave: Sequence[Step]) -> list[Step]:
    """Bytes behind. While the master is down its last end counts; a slave that is down has no lag."""
    both = sorted([(step.t, 0, step) for step in master] + [(step.t, 1, step) for step in slave], key=lambda at: at[:2])
    end, own, found = 0, None, list[Step]()
    for t, which, step in both:
        if which:
            own = step.bytes
        elif step.bytes is not None:
            end = step.bytes
        behind = None if own is None else max(0, end - own)
        if found and found[-1].t == t:
            found.pop()
        if not found or found[-1].bytes != behind:
            found.append(Step(t, behind))
    return found


def _reported(events: Sequence[Event]) -> dict[str, list[Step]]:
    # A rogue peer on the HA port may report any number, which would distort the scale.
    peers = {
        event.link: event.node or MASTER for event in events if event.kind == "connect" and event.f != "rogue_slave"
    }
    strangers = {event.link for event in events if event.kind == "connect" and event.f == "rogue_slave"}
    found: dict[str, list[Step]] = {}
    for event in events:
        if event.kind == "report" and event.side == "m" and event.link not in strangers and event.hi is not None:
            found.setdefault(peers.get(event.link, "slave"), []).append(Step(event.t, event.hi))
    return found


_MARKED = {
    "diverged": "{0.link} refused",
    "abort": "{0.node} not up",
    "wipe": "{0.node} wiped",
    "expire": "{0.node} expires",
    "clock": "{0.node} clock",
}


def _marks(events: Iterable[Event], violated_at: int | None) -> list[Tick]:
    found = []
    for event in events:
        if event.seq == violated_at:
            found.append(Tick(event.t, "violation", "violated here", words(event)))
        if event.kind == "crash":
            found.append(Tick(event.t, "crash", f"✕ {event.node}", words(event)))
        elif event.kind == "start" and (event.incarnation or 1) > 1:
            found.append(Tick(event.t, "start", f"▲ {event.node}", words(event)))
        elif event.kind in _MARKED:
            found.append(Tick(event.t, "crash", _MARKED[event.kind].format(event), words(event)))
        elif event.kind == "mark" and event.f != "end":
            found.append(Tick(event.t, "mark", str(event.f), words(event)))
    return found
