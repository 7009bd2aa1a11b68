"""``meta-as-administered``: a master's topics and groups are what administrators made of them.

Judged at each reading of a master's topics and groups, for the names that administrators have made, changed or deleted
there, and that nobody else uses. What an answered call has made is there with the values that it asked for; what one
has deleted is not; and no call for another name changes that, nor does a restart.

Somebody may change a table whom nobody watches. A master saves its table at each change, so the law is silent about a
name where the master has saved more often since than calls for other names explain: an answered one that makes
something other than what was there, or deletes something that was there, explains one.

Left out: calls that are under way, or whose end is not known, and from then on their names; what a machine's crash
leaves; what was changed while a fault touched the master (a full disk saves nothing), once that process has ended;
stores that were replaced; values besides a topic's numbers of queues and a group's two broker ids.
Source: TopicConfigManager.updateTopicConfig, deleteTopicConfig, SubscriptionGroupManager: each persists before the
answer.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ....judging.law import only
from ....kinds.client import Consumer, Fail, Info, Invoke, Ok
from ....kinds.node import Crash, Stop, Wipe
from ...kinds.metadata import Persist, Table
from ...known.metadata import CHANGES, DELETES, GROUPS, TOPICS, Name, entries, topic_of
from ...law import Law
from ...places import MASTER

FIELDS = {TOPICS: ("readQueueNums", "writeQueueNums"), GROUPS: ("brokerId", "whichBrokerWhenConsumeSlowly")}
Value = tuple[int, ...]
ABSENT: Value = ()


class Administered:
    """What a master's table may say of one name."""

    __slots__ = ("explained", "is_lost", "is_solid", "pending", "possible", "saves")

    def __init__(self) -> None:
        self.possible: set[Value] | None = None
        """None: anything."""
        self.pending: dict[int, tuple[Value, set[Value], int]] = {}
        """Calls under way: what each asks for, what calls beside it ask for, and when it began, ns."""
        self.saves = 0
        """How often the master had saved the table when this became known."""
        self.explained = 0
        """How many saves since then calls for other names explain."""
        self.is_solid = False
        """Whether it is sure to have been saved."""
        self.is_lost = False
        """Whether nobody can know any more what calls have left: one may arrive at any time, or its store is gone."""

    def forget(self) -> None:
        self.possible = None
        # The answer to what was under way may still come, and speak of a store that is gone.
        self.is_lost = self.is_lost or bool(self.pending)


class MetaAsAdministered(Law):
    id = "meta-as-administered"
    promise = "A master's topics and groups are what administrators made of them, and what they deleted is gone."
    source = "TopicConfigManager.updateTopicConfig, deleteTopicConfig; SubscriptionGroupManager"
    needs = frozenset({"invoke", "ok", "fail", "table", "persist"})

    def begin(self) -> None:
        self.names: dict[Name, Administered] = {}
        self.calls: dict[int, Name] = {}
        self.saves = {TOPICS: 0, GROUPS: 0}
        self.used: set[Name] = set()
        """Topics and groups that somebody else uses."""

    # Who uses what.

    def on_consumer(self, event: Consumer) -> None:
        self.used.add((GROUPS, event.group or ""))

    @only(node=MASTER)
    def on_persist(self, event: Persist) -> None:
        if event.f in self.saves:
            self.saves[event.f] += 1

    # What administrators do.

    def on_invoke(self, event: Invoke) -> None:
        table = CHANGES.get(event.f)
        if table is None:
            if event.group is not None:
                self.used.add((GROUPS, event.group))
            if event.queue is not None:
                self.used.add((TOPICS, topic_of(event.queue)))
        elif event.node == MASTER:
            name = self.calls[event.op] = (table, event.message or "")
            known = self.names.setdefault(name, Administered())
            value = ABSENT if event.f in DELETES else _asked(event.detail or "{}")
            beside = {other for other, _, _ in known.pending.values()}
            for _, others, _ in known.pending.values():
                others.add(value)
            known.pending[event.op] = value, beside, event.t

    def on_ok(self, event: Ok) -> None:
        name = self.calls.pop(event.op, None)
        if name is None:
            return
        known = self.names[name]
        value, beside, since = known.pending.pop(event.op)
        # To delete what is not there saves nothing, and neither does what is as it was in every broker.
        changes = known.possible != {value} if value else known.possible is not None and ABSENT not in known.possible
        known.possible = {value, *beside}
        known.saves, known.explained = self.saves[name[0]], 0
        known.is_solid = self.known.trouble.is_quiet(MASTER, since)
        if changes and not beside:
            for (table, other), each in self.names.items():
                if table == name[0] and other != name[1]:
                    each.explained += 1

    def on_fail(self, event: Fail) -> None:
        name = self.calls.pop(event.op, None)
        if name is not None:
            known = self.names[name]
            value, _, _ = known.pending.pop(event.op)
            if known.possible is not None:
                known.possible.add(value)

    def on_info(self, event: Info) -> None:
        name = self.calls.pop(event.op, None)
        if name is not None:
            self.names[name].is_lost = True

    # What a master loses.

    @only(node=MASTER)
    def on_crash(self, event: Crash | Stop) -> None:
        of_machine = event.kind == "crash" and event.f == "machine"
        for known in self.names.values():
            if of_machine or not known.is_solid:
                known.forget()

    on_stop = on_crash

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        for known in self.names.values():
            known.forget()

    # What it has.

    @only(node=MASTER)
    def on_table(self, event: Table) -> None:
        if event.f not in self.saves:
            return
        for name, known in self.names.items():
            if name[0] == event.f and name not in self.used and self._is_sure(name, known):
                self.judged += 1
                found = _held(event, name)
                if known.possible is not None and found not in known.possible:
                    wanted = " or ".join(sorted(map(_shown, known.possible)))
                    self.violate(
                        event,
                        f"the master's {event.f} have {name[1]} as {_shown(found)}; administrators left it {wanted}",
                    )

    def _is_sure(self, name: Name, known: Administered) -> bool:
        if known.possible is None or known.pending or known.is_lost:
            return False
        return self.saves[name[0]] - known.saves <= known.explained


@lru_cache(maxsize=64)
def _asked(detail: str) -> Value:
    said: Mapping[str, int] = json.loads(detail)
    if "queues" in said:
        return (said["queues"], said["queues"])
    return tuple(said.get(field, default) for field, default in zip(FIELDS[GROUPS], (0, 1), strict=True))


def _held(table: Table, name: Name) -> Value:
    entry: Mapping[str, Any] | None = entries(table).get(name[1])
    return ABSENT if entry is None else tuple(entry.get(field, 0) for field in FIELDS[name[0]])


def _shown(value: Value) -> str:
    return "/".join(map(str, value)) if value else "absent"
