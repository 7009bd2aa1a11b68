"""A slave's copies of its master's tables: what the laws about metadata share.

A slave that registers with a name server learns from it where its master is, and from then on fetches four tables, one
after the other, on a schedule that depends on its version: topics, consumer offsets, delay offsets, subscription
groups. A slave without a name server never fetches any, so nothing here applies to it.

A table is read as JSON: topics and groups by name, offsets by ``topic@group`` and queue id, delays by level; the body
that RocketMQ wraps around it may be there or not.

Left out: what RocketMQ 5 syncs besides. Sources: BrokerController.handleSlaveSynchronize of 4.4.0, 4.9.7 and 5.5.0,
SlaveSynchronize.syncAll.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ...history import MS, Event
from ...kinds.client import Invoke, Ok
from ...kinds.node import Config
from ..kinds.metadata import Persist, Register, Sync, Table
from ..law import Law
from ..places import MASTER
from ..settings import Settings, parse, version
from .model import Known

TOPICS, OFFSETS, DELAYS, GROUPS = STEPS = ("topics", "offsets", "delays", "groups")
"""In the order of a sync."""
BODIES = {
    TOPICS: "topicConfigTable", OFFSETS: "offsetTable", DELAYS: "offsetTable", GROUPS: "subscriptionGroupTable",
}  # fmt: skip
ADMIN = {"topic": TOPICS, "group": GROUPS}
"""What an administrator changes, and the table that it is in."""
DELETES = {"delete-topic": TOPICS, "delete-group": GROUPS}
"""The same of what one deletes."""
CHANGES = {**ADMIN, **DELETES}
"""Both."""
CALL_NS = 3_000 * MS
"""What a slave waits for one answer."""
SLACK_NS = 1_000 * MS
"""What its timers, and a commit that nobody waits for, may be late."""
DONE = frozenset({"same", "applied"})
"""How a step ends after which slave and master agree."""
ARRIVED = DONE | {"answered"}
"""How one ends that brought the slave its master's table."""
MISSING = {"TOPIC_NOT_EXIST": TOPICS, "SUBSCRIPTION_GROUP_NOT_EXIST": GROUPS}
"""Answers that say that a table lacks something."""

Name = tuple[str, str]
"""A table, and what is in it: a topic, a group, or ``topic@group/queue id``."""


class Schedule(NamedTuple):
    """When slaves of a version line sync, ms."""

    since: tuple[int, ...]
    """The first version of the line."""
    first: int
    """From the start to the first time."""
    period: int
    look: int
    """How late that may be, since the slave only looks so often."""


SCHEDULES = (
    Schedule((5,), 60_000, 60_000, 3_000),
    Schedule((4, 5), 3_000, 10_000, 0),
    Schedule((0,), 10_000, 60_000, 0),
)
"""Newest first."""


def schedule(settings: Settings) -> Schedule:
    """A slave's schedule by its version."""
    numbers = version(settings)
    return next(each for each in SCHEDULES if each.since <= numbers)


def entries(table: Table) -> Mapping[str, Any]:
    """What a ``table`` event's table holds; ValueError for text that is no JSON."""
    return _entries(table.detail or "{}", BODIES.get(table.f or "", ""))


@lru_cache(maxsize=256)
def _entries(detail: str, body: str) -> Mapping[str, Any]:
    said = json.loads(detail)
    found: Mapping[str, Any] = said.get(body, said)
    return found


def holds(table: Table, name: str) -> bool:
    """Whether a table has this entry; of offsets ``topic@group/queue id``."""
    found = entries(table)
    if table.f != OFFSETS:
        return name in found
    key, _, queue = name.rpartition("/")
    return queue in found.get(key, ())


def told(register: Register) -> Mapping[str, str]:
    """What a name server answered to a registration: ``master`` and ``ha``, as nodes, if it has them."""
    return _told(register.detail or "{}")


@lru_cache(maxsize=64)
def _told(detail: str) -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads(detail)
    return found


def topic_of(queue: str | None) -> str:
    """The topic of ``topic/queue id``."""
    return (queue or "").rpartition("/")[0]


class MetadataLaw(Law):
    """Base of laws that apply to slaves which sync: those that know a name server."""

    def begin(self) -> None:
        self.slaves: dict[str, Settings] = {}

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if settings.get("brokerRole") == "SLAVE" and settings.get("namesrvAddr"):
            self.slaves[event.node] = settings
        self.applicable = bool(self.slaves)


class Agreement:
    """Whether a slave's copy of a versioned table can be any other than its master's."""

    __slots__ = ("agreed", "asked", "changed", "changed_since", "saves")

    def __init__(self) -> None:
        self.asked: int | None = None
        """When the step under way was asked for, ns."""
        self.saves: list[Event] = []
        """What the slave saved while it is under way."""
        self.agreed: tuple[int, int] | None = None
        """When the last step after which both agreed was asked for, and when it ended, ns."""
        self.changed = self.changed_since = False
        """Whether anything may have changed since the one was asked for; and since the one under way was."""

    def ask(self, t: int) -> None:
        self.asked, self.changed_since = t, False
        self.saves.clear()

    def change(self) -> None:
        self.changed = self.changed_since = True

    def saved(self, event: Event) -> None:
        """The slave saved its table: for the step under way, or because it has changed it."""
        if self.asked is not None:
            self.saves.append(event)
        else:
            self.change()

    def is_unchanged(self, step: Sync, instant_ns: int) -> bool:
        """Whether, as a step ends, both are sure to have agreed already.

        One save is the step's own; what was saved earlier, or besides, is a change of the slave's.
        """
        own = not self.saves or (len(self.saves) == 1 and step.t - self.saves[0].t <= instant_ns)
        return own and self.agreed is not None and not self.changed

    def end(self, step: Sync) -> None:
        """A step is over; if it is done the copy was the master's table at some moment of it."""
        if self.asked is not None and step.status in DONE:
            self.agreed = (self.asked, step.t)
            self.changed = self.changed_since
        self.asked = None


class Sighting(NamedTuple):
    """A name that the master's tables held when it was last seen in use."""

    since: int
    """From when on without a break, ns."""
    seen: int
    """When it was seen last, ns."""
    saves: int
    """How often the master had saved the tables that a deletion changes, at the latest, when it was there."""


class Seen(NamedTuple):
    """What one more sight of names says: which have been there all the time since the last one, and which may not."""

    held: list[Name]
    broken: list[Name]


class Copies:
    """What the master's tables hold, and which slave has synced it since.

    A name is known from a call that the master answered, or a reading of its table. It may be deleted by somebody whom
    nobody watches; a master saves its table at each change, so until the next save it is there for sure, and if it is
    seen again after one save only, it was there all the time: to delete it and to create it anew takes two.

    What the master holds is unknown from when it goes down, what slaves hold from when it is back, for a sync may bring
    the loss to them. Bounded by the topics, groups and queues of one trial.
    """

    def __init__(self, known: Known) -> None:
        self.known = known
        self.master: dict[Name, Sighting] = {}
        self.slaves: dict[str, set[Name]] = {}
        self._asked: dict[Name, int] = {}
        """When a slave last asked for a table."""
        self._began: dict[int | None, tuple[int, Mapping[str, int]]] = {}
        """Calls under way: when each began, ns, and what the master had saved by then."""
        self._saves: Mapping[str, int] = {TOPICS: 0, GROUPS: 0}
        self._left: set[Name] = set()
        """What a master that is down was sure to hold."""

    def began(self, call: Invoke) -> None:
        if call.node == MASTER:
            self._began[call.op] = call.t, self._saves

    def saved(self, persist: Persist) -> None:
        """The master saved a table: something in it may be gone."""
        table = persist.f or ""
        if persist.node == MASTER and table in self._saves:
            self._saves = {**self._saves, table: self._saves[table] + 1}

    def is_sure(self, name: Name) -> bool:
        """Whether the master holds it now, or did when it went down: nothing was deleted since it was seen."""
        if name in self._left:
            return True
        known = self.master.get(name)
        return known is not None and known.saves == _saves_of(name, self._saves) and self._is_quiet(known)

    def _is_quiet(self, known: Sighting) -> bool:
        """Whether each change was saved: a full disk hides some."""
        return self.known.trouble.is_quiet(MASTER, known.seen)

    def read(self, table: Table) -> Seen:
        seen = Seen([], [])
        for name in [name for name in self.master if name[0] == table.f]:
            if holds(table, name[1]):
                self._see(name, table.t, self._saves, seen)
            else:
                self._lose(name, seen)
        return seen

    def answered(self, ok: Ok) -> Seen:
        """A call went well. An answer that was under way when the master went down says nothing of its next life."""
        seen = Seen([], [])
        began, saves = self._began.pop(ok.op, (None, self._saves))
        if ok.node != MASTER or began is None:
            return seen
        names: list[Name] = []
        since = ok.t
        if ok.f in ("send", "pull"):
            names.append((TOPICS, topic_of(ok.queue)))
            if ok.group is not None:
                names.append((GROUPS, ok.group))
        elif ok.f == "topic":
            names.append((TOPICS, ok.message or ""))
        elif ok.f == "group":
            names.append((GROUPS, ok.message or ""))
        elif ok.f == "commit" and self._arrived(began):
            # Nobody may have waited for the master's word.
            since += SLACK_NS
            topic, _, queue = (ok.queue or "").rpartition("/")
            names.append((OFFSETS, f"{topic}@{ok.group}/{queue}"))
        for name in names:
            self._see(name, since, saves, seen)
        return seen

    def _see(self, name: Name, t: int, saves: Mapping[str, int], seen: Seen) -> None:
        """A name was there at some time between those ``saves`` and now."""
        known, least = self.master.get(name), _saves_of(name, saves)
        if known is not None and (_saves_of(name, self._saves) - known.saves > 1 or not self._is_quiet(known)):
            self._lose(name, seen)
            known = None
        elif known is not None:
            seen.held.append(name)
        since = t if known is None else known.since
        self.master[name] = Sighting(since, t, least if known is None else max(least, known.saves))

    def _lose(self, name: Name, seen: Seen) -> None:
        seen.broken.append(name)
        del self.master[name]
        for held in self.slaves.values():
            held.discard(name)

    def _arrived(self, began: int) -> bool:
        trouble = self.known.trouble
        return all(trouble.is_quiet(place, began) for place in (MASTER, f"client-{MASTER}"))

    def synced(self, step: Sync) -> set[Name]:
        """A slave did a step of its sync; what it is sure to hold by that."""
        node, table = step.node or "", step.f or ""
        if step.status == "asked":
            self._asked[node, table] = step.t
            return set()
        asked = self._asked.pop((node, table), None)
        if asked is None or step.status not in DONE:
            return set()
        found = {name for name, known in self.master.items() if name[0] == table and known.since <= asked}
        if table == OFFSETS:
            # Where the machine stalled, a commit for whose answer nobody waits may have come later than that.
            found = {name for name in found if self._stall(name, asked) is None}
        self.slaves.setdefault(node, set()).update(found)
        return found

    def _stall(self, name: Name, until: int) -> object:
        return self.known.trouble.stall(self.master[name].since - SLACK_NS, until)

    def has(self, node: str | None, name: Name) -> bool:
        """Whether this slave is sure to hold it."""
        return name in self.slaves.get(node or "", ())

    def down(self, node: str | None) -> None:
        if node == MASTER:
            self._left = {name for name in self.master if self.is_sure(name)}
            self.master.clear()
            self._began.clear()

    def up(self, node: str | None) -> None:
        if node == MASTER:
            self._left = set()
            self.slaves.clear()
            self._asked.clear()
        else:
            self._asked = {name: t for name, t in self._asked.items() if name[0] != node}


def _saves_of(name: Name, saves: Mapping[str, int]) -> int:
    """How many saves may have taken this name away: a group's progress goes with the group, or with the topic."""
    return saves[name[0]] if name[0] != OFFSETS else saves[TOPICS] + saves[GROUPS]


class CopiesLaw(MetadataLaw):
    """Base of laws that accuse a slave of not having what it has synced: only if its master is sure to have it still.

    Where that is not known yet the accusation waits until the master is seen to have had it all the time.
    """

    def begin(self) -> None:
        super().begin()
        self.copies = Copies(self.known)
        self._suspected: dict[Name, list[tuple[Event, str]]] = {}

    def suspect(self, event: Event, name: Name, text: str) -> None:
        """A slave lacks ``name``."""
        if self.copies.is_sure(name):
            self.accuse(event, text)
        else:
            self._suspected.setdefault(name, []).append((event, text))

    def accuse(self, event: Event, text: str) -> None:
        self.violate(event, text)

    def forget(self, name: Name) -> None:
        """The master may have been without it, and slaves with it."""

    def see(self, seen: Seen) -> None:
        for name in seen.broken:
            self._suspected.pop(name, None)
            self.forget(name)
        for name in seen.held:
            for event, text in self._suspected.pop(name, ()):
                self.accuse(event, text)

    def down(self, node: str | None) -> None:
        self.copies.down(node)
        if node == MASTER:
            self._suspected.clear()
