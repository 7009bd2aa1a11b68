"""A slave's copies of its master's tables: what the laws about metadata share.

A slave that registers with a name server learns from it where its master is, and from then on fetches four tables, one
after the other, on a schedule that depends on its version: topics, consumer offsets, delay offsets, subscription
groups. A slave without a name server never fetches any, so nothing here applies to it.

A table is read as JSON: topics and groups by name, offsets by ``topic@group`` and queue id, delays by level; the body
that RocketMQ wraps around it may be there or not.

Left out: what RocketMQ 5 syncs besides. Sources: BrokerController.handleSlaveSynchronize of 4.4.0, 4.9.7 and 5.5.0,
SlaveSynchronize.syncAll.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pairproof.harness.history import Event
from pairproof.harness.laws.base import Law
from pairproof.harness.laws.ledger import MASTER, Ledger
from pairproof.harness.settings import Settings, parse, version

MS = 1_000_000
TOPICS, OFFSETS, DELAYS, GROUPS = STEPS = ("topics", "offsets", "delays", "groups")
"""In the order of a sync."""
BODIES = {
    TOPICS: "topicConfigTable", OFFSETS: "offsetTable", DELAYS: "offsetTable", GROUPS: "subscriptionGroupTable",
}  # fmt: skip
ADMIN = {"topic": TOPICS, "group": GROUPS}
"""What an administrator changes, and the table that it is in."""
CALL_NS = 3_000 * MS
"""What a slave waits for one answer."""
SLACK_NS = 1_000 * MS
"""What its timers, and a commit that nobody waits for, may be late."""
DONE = frozenset({"same", "applied"})
"""How a step ends after which slave and master agree."""
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


def entries(table: Event) -> Mapping[str, Any]:
    """What a ``table`` event's table holds; ValueError for text that is no JSON."""
    return _entries(table.detail or "{}", BODIES.get(table.f or "", ""))


@lru_cache(maxsize=256)
def _entries(detail: str, body: str) -> Mapping[str, Any]:
    said = json.loads(detail)
    found: Mapping[str, Any] = said.get(body, said)
    return found


def holds(table: Event, name: str) -> bool:
    """Whether a table has this entry; of offsets ``topic@group/queue id``."""
    found = entries(table)
    if table.f != OFFSETS:
        return name in found
    key, _, queue = name.rpartition("/")
    return queue in found.get(key, ())


def told(register: Event) -> Mapping[str, str]:
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

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.slaves: dict[str, Settings] = {}

    def on_config(self, event: Event) -> None:
        """Who is there."""
        settings = parse(event.detail or "{}")
        if settings.get("brokerRole") == "SLAVE" and settings.get("namesrvAddr"):
            self.slaves[event.node or ""] = settings
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
        """A step begins."""
        self.asked, self.changed_since = t, False
        self.saves.clear()

    def change(self) -> None:
        """Something may be different."""
        self.changed = self.changed_since = True

    def saved(self, event: Event) -> None:
        """The slave saved its table: for the step under way, or because it has changed it."""
        if self.asked is not None:
            self.saves.append(event)
        else:
            self.change()

    def is_unchanged(self, step: Event, instant_ns: int) -> bool:
        """Whether, as a step ends, both are sure to have agreed already.

        One save is the step's own; what was saved earlier, or besides, is a change of the slave's.
        """
        own = not self.saves or (len(self.saves) == 1 and step.t - self.saves[0].t <= instant_ns)
        return own and self.agreed is not None and not self.changed

    def end(self, step: Event) -> None:
        """A step is over; if it is done the copy was the master's table at some moment of it."""
        if self.asked is not None and step.status in DONE:
            self.agreed = (self.asked, step.t)
            self.changed = self.changed_since
        self.asked = None


class Copies:
    """What the master's tables are sure to hold, and which slave has synced it since.

    A name is known from a call that the master answered. Nothing takes one out again but a loss of the master's store:
    what it holds is unknown from when it goes down, what slaves hold from when it is back, for a sync may bring the
    loss to them. Bounded by the topics, groups and queues of one trial.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.master: dict[Name, int] = {}
        """Since when, ns."""
        self.slaves: dict[str, set[Name]] = {}
        self._asked: dict[Name, int] = {}
        """When a slave last asked for a table."""
        self._began: dict[int | None, int] = {}

    def began(self, call: Event) -> None:
        """A call began."""
        if call.node == MASTER:
            self._began[call.op] = call.t

    def answered(self, ok: Event) -> None:
        """A call went well. An answer that was under way when the master went down says nothing of its next life."""
        began = self._began.pop(ok.op, None)
        if ok.node != MASTER or began is None:
            return
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
            self.master.setdefault(name, since)

    def _arrived(self, began: int) -> bool:
        trouble = self.ledger.trouble
        return all(trouble.is_quiet(place, began) for place in (MASTER, f"client-{MASTER}"))

    def synced(self, step: Event) -> set[Name]:
        """A slave did a step of its sync; what it is sure to hold by that."""
        node, table = step.node or "", step.f or ""
        if step.status == "asked":
            self._asked[node, table] = step.t
            return set()
        asked = self._asked.pop((node, table), None)
        if asked is None or step.status not in DONE:
            return set()
        found = {name for name, since in self.master.items() if name[0] == table and since <= asked}
        if table == OFFSETS:
            # Where the machine stalled, a commit for whose answer nobody waits may have come later than that.
            found = {name for name in found if self.ledger.trouble.stall(self.master[name] - SLACK_NS, asked) is None}
        self.slaves.setdefault(node, set()).update(found)
        return found

    def has(self, node: str | None, name: Name) -> bool:
        """Whether this slave is sure to hold it."""
        return name in self.slaves.get(node or "", ())

    def down(self, node: str | None) -> None:
        """A broker is gone."""
        if node == MASTER:
            self.master.clear()
            self._began.clear()

    def up(self, node: str | None) -> None:
        """A broker is back."""
        if node == MASTER:
            self.slaves.clear()
            self._asked.clear()
        else:
            self._asked = {name: t for name, t in self._asked.items() if name[0] != node}
