"""A timeline's rows of consumers, by group, and of metadata: slaves' syncs and brokers' registrations.

A consumer's rows show its start and end, routes, the broker that each queue was read from, deliveries, and commits.
Simultaneous events, or those of one round of a sync, share one sign. Pulls are not drawn one by one: a queue's bar
shows the broker that answered last. Commits in pulls are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ..harness.event_types.text import client, outcome
from ..harness.history import Event
from ..harness.rocketmq import topology
from ..harness.rocketmq.event_types.metadata import TABLES
from ..harness.rocketmq.naming import the
from .lanes import Bar, Row, Tick

ROUND_NS = 20_000_000_000
"""A slave's round of its metadata sync takes less, whatever the outcome of its calls."""

ASKING, FROM = "asking", "from"

Key = tuple[str, str]
"""A queue and its broker name; empty for the pair's."""


def rows(events: Sequence[Event]) -> dict[str, list[Row]]:
    """Rows of each consumer, by group, groups by name and consumers by start."""
    found: dict[str, list[Row]] = {}
    for consumer in _consumers(events):
        found.setdefault(consumer.group, []).extend(consumer.rows())
    return dict(sorted(found.items()))


def _consumers(events: Iterable[Event]) -> list[_Consumer]:
    known: dict[int | None, _Consumer] = {}
    had: dict[tuple[str, str | None], bool] = {}
    for event in events:
        if event.group is None:
            continue
        consumer = known.get(event.process)
        if consumer is None:
            consumer = known[event.process] = _Consumer(event)
        again = False
        if event.kind == "deliver":
            # A broadcasting consumer is its own reader.
            reader = consumer.group if consumer.f != "broadcasting" else f"{consumer.group}#{event.process}"
            again = had.get((reader, event.message), False)
            had[reader, event.message] = True
        consumer.record(event, again)
    return list(known.values())


class _Held:
    """A held queue: the broker that answers its pulls, since when."""

    def __init__(self, event: Event) -> None:
        self.took = event
        self.states: list[tuple[int, str, str]] = [(event.t, ASKING, "")]

    def begins(self, event: Event) -> None:
        node = event.node or ""
        since, how, before = self.states[-1]
        if node != before:
            if how == ASKING and since == event.t:
                self.states.pop()
            self.states.append((event.t, ASKING, node))

    def ends(self, event: Event) -> None:
        node = event.node or ""
        since, how, asked = self.states[-1]
        now = FROM if event.kind == "ok" else str(event.status)
        if how == ASKING and asked == node and now == FROM:
            self.states[-1] = (since, FROM, node)
        elif (how, asked) != (now, node):
            self.states.append((event.t, now, node))

    def bars(self, ended: int | None, gone: str) -> list[Bar]:
        taken = f"{client(self.took)} holds {_named(self.took)} from {self.took.value} on"
        found = []
        for at, (t, how, node) in enumerate(self.states):
            after = self.states[at + 1][0] if at + 1 < len(self.states) else ended
            found.append(Bar(t, after, *_serving(how, node), f"{taken}; {_served(how, node)}{gone}"))
        return found


def _serving(how: str, node: str) -> tuple[str, str]:
    if how == ASKING:
        return "held asking", f"asks {node}" if node else "not asked"
    if how == FROM:
        return f"held from {node if node in topology.NODES else 'other'}", node
    return "held nobody", f"{node}: {how}"


def _served(how: str, node: str) -> str:
    if how == ASKING:
        return f"a pull from {the(node)} is not answered yet" if node else "no broker was asked yet"
    return f"pulls answered by {the(node)}" if how == FROM else f"the last pull from {the(node)} ended: {how}"


class _Consumer:
    """One consumer. Bounded by its calls."""

    def __init__(self, event: Event) -> None:
        self.group = event.group or ""
        self.process = event.process
        self.f = event.f if event.kind == "consumer" else "clustering"
        self.since: int = event.t
        self.until: int | None = None
        self.route: tuple[int, str, str] = (event.t, "route none", "no route yet")
        self.known: list[Bar] = []
        self.held: dict[Key, _Held] = {}
        self.bars: dict[Key, list[Bar]] = {}
        self.deliveries: dict[Key, list[tuple[Event, bool]]] = {}
        self.commits: list[tuple[int, Event]] = []
        self.asked: dict[int | None, Event] = {}

    def record(self, event: Event, again: bool) -> None:
        if event.kind == "consumer" and event.status != "on":
            self._goes(event)
        elif event.kind == "route":
            self._learns(event)
        elif event.kind == "assign":
            self._assigned(event)
        elif event.kind == "deliver":
            self.deliveries.setdefault(_key(event), []).append((event, again))
        elif event.f in ("pull", "commit"):
            self._calls(event)

    def _goes(self, event: Event) -> None:
        self.until = event.t
        how = "its process ends" if event.status == "lost" else "it unregisters"
        for key in list(self.held):
            self._lets_go(key, event.t, f"; {how}")

    def _learns(self, event: Event) -> None:
        described: dict[str, str] = json.loads(event.detail or "{}")
        label = "route to " + ", ".join(described.values()) if event.status == "found" and described else "no route"
        kind = "route" if "0" in described else "route partial" if described else "route none"
        if label != self.route[2]:
            self._routed(event.t)
            self.route = (event.t, kind, label)

    def _routed(self, until: int | None) -> None:
        since, kind, label = self.route
        if until != since:
            who = f"consumer {self.process} of {self.group}, {self.f}"
            self.known.append(Bar(since, until, kind, label, f"{who}: {label} by its route"))

    def _assigned(self, event: Event) -> None:
        key = _key(event)
        if key in self.held:
            self._lets_go(key, event.t, "")
        if event.status == "on":
            self.held[key] = _Held(event)

    def _lets_go(self, key: Key, until: int | None, gone: str) -> None:
        self.bars.setdefault(key, []).extend(self.held.pop(key).bars(until, gone))

    def _calls(self, event: Event) -> None:
        if event.f == "commit":
            if event.kind == "invoke" and not event.value:
                self.asked[event.op] = event
            elif (begun := self.asked.pop(event.op, None)) is not None:
                self.commits.append((begun.t, event))
        elif (held := self.held.get(_key(event))) is not None:
            (held.begins if event.kind == "invoke" else held.ends)(event)

    def rows(self) -> list[Row]:
        """Its route, a row for each queue that it held, and its commits."""
        for key in list(self.held):
            self._lets_go(key, None, "")
        self._routed(self.until)
        self.commits += [(event.t, event) for event in self.asked.values()]
        found = [Row(f"{self.group} consumer {self.process}", True, self.known, [])]
        for key in sorted({*self.bars, *self.deliveries}):
            name = f"queue {key[0].rpartition('/')[2]}" + (f" of {key[1]}" if key[1] else "")
            found.append(Row(name, False, self.bars.get(key, []), _deliveries(self.deliveries.get(key, ()))))
        if self.commits:
            found.append(Row("commits", False, [], _commits(self.commits)))
        return found


def _key(event: Event) -> Key:
    return event.queue or "", topology.OTHER if event.node == topology.OTHER else ""


def _named(event: Event) -> str:
    return f"{event.queue}{f' of {the(event.node)}' if event.node else ''}"


def _deliveries(found: Iterable[tuple[Event, bool]]) -> list[Tick]:
    together: dict[tuple[int, bool], list[Event]] = {}
    for event, again in found:
        together.setdefault((event.t, again), []).append(event)
    ticks = []
    for (t, again), same in sorted(together.items(), key=lambda each: (each[0][0], not each[0][1])):
        named = ", ".join(f"{event.message} at {event.queue_offset}" for event in same)
        what = "received again" if again else "received"
        label = str(same[0].message) + (f" +{len(same) - 1}" if len(same) > 1 else "")
        ticks.append(Tick(t, "again" if again else "first", label, f"{what} from {the(same[0].node)}: {named}"))
    return ticks


def _commits(found: Iterable[tuple[int, Event]]) -> list[Tick]:
    together: dict[tuple[int, str | None], list[Event]] = {}
    for t, event in found:
        together.setdefault((t, event.node), []).append(event)
    ticks = []
    for (t, node), same in together.items():
        bad = any(event.kind != "ok" for event in same)
        kind = "failed" if bad else "usual" if node in (topology.MASTER, topology.OTHER) else "aside"
        described = ", ".join(f"{event.queue_offset} of {event.queue} {outcome(event)}" for event in same)
        ticks.append(Tick(t, kind, "", f"commits to {the(node)}: {described}"))
    return ticks


def syncs(events: Iterable[Event]) -> list[Row]:
    """A row for each slave's rounds of its metadata sync, and one for registrations."""
    rounds: dict[str, list[list[Event]]] = {}
    registered: dict[int, list[Event]] = {}
    for event in events:
        if event.kind == "sync":
            own = rounds.setdefault(event.node or "", [])
            begins = event.f == "topics" and event.status == "asked"
            if begins or not own or event.t - own[-1][0].t > ROUND_NS:
                own.append([])
            own[-1].append(event)
        elif event.kind == "register":
            registered.setdefault(event.t, []).append(event)
    found = [Row(f"{node} syncs", True, [], [_round(each) for each in rounds[node]]) for node in sorted(rounds)]
    if registered:
        found.append(Row("Registrations", True, [], [_registered(same) for same in registered.values()]))
    return [row._replace(name=row.name[:1].upper() + row.name[1:]) for row in found]


_TAKEN = {
    "same": "the same", "applied": "applied", "answered": "received", "failed": "failed", "asked": "never answered",
}  # fmt: skip


def _round(steps: Sequence[Event]) -> Tick:
    last = {event.f: event.status for event in steps}
    described = ", ".join(f"{TABLES.get(str(f), f)} {_TAKEN.get(str(status), status)}" for f, status in last.items())
    bad = not {"failed", "asked"}.isdisjoint(last.values())
    changed = last.get("topics") == "applied" or last.get("groups") == "applied"
    kind = "failed" if bad else "first" if changed else "usual"
    return Tick(steps[0].t, kind, "", f"{steps[0].node} fetches its master's tables: {described}")


def _registered(same: Sequence[Event]) -> Tick:
    bad = [event for event in same if event.status != "ok"]
    described = ", ".join(f"{event.node} {'not answered' if event in bad else 'registers'}" for event in same)
    return Tick(same[0].t, "failed" if bad else "usual", "", described)
