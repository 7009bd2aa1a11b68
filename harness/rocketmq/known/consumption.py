"""The consumed messages of readers, and the progress that brokers may have: shared by the laws of delivery and
progress.

It answers three questions:

- Which messages of a queue did a *reader* receive? A reader is a group, or each consumer of a broadcasting group.
- Which progress of a group may a broker's table have? See :mod:`pairproof.harness.rocketmq.known.registers`.
- What has the master lost? After a loss queue offsets are assigned again, and many promises end.

Bounded by the consumers' calls and deliveries of one trial. Left out: brokers of other names. Sources:
ConsumerOffsetManager (written every flushConsumerOffsetInterval, first 10 s after the start), RemoteBrokerOffsetStore.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...event_types import client
from ...event_types.client import Assign, Deliver, Fail, Info, Invoke, Ok
from ...event_types.node import Crash, Start, Stop, Wipe
from ...history import MS, Event
from ..event_types.metadata import Persist, Sync
from ..settings import DEFAULTS, is_on, refuses_reads
from ..topology import MASTER, MASTER_ID, SLAVES
from .consumed import Answer, Assignment, Consumed, Consumer, Route, subscribed
from .metadata import GROUPS, OFFSETS
from .naming import FOREVER
from .registers import NONE, Observation, Register, offsets_of
from .stores import promotes

if TYPE_CHECKING:
    from .model import Known

PAIR = frozenset((MASTER, *SLAVES))
"""Brokers of the pair's name; the queues of other brokers have the same names."""
COMMIT_NS = 5_000 * MS
PERSIST_MS = 5_000
"""The default interval of a broker's saves."""
FIRST_PERSIST_NS = 10_000 * MS
"""The delay of the first save after a start."""
SLACK_NS = 1_000 * MS
"""Time for writing a table, and for passing a message to its application."""
ARRIVED_NS = 10_000 * MS
"""After this time on a healthy link nothing is in flight."""


class Consumption:
    def __init__(self, known: Known) -> None:
        self.known = known
        self.consumers: dict[int | None, Consumer] = {}
        self.tags: dict[str, frozenset[str]] = {}
        self.consumed: dict[tuple[str, str], Consumed] = {}
        """By reader and queue."""
        self.assignments: dict[tuple[int | None, str], Assignment] = {}
        """By process and queue: current assignments."""
        self.registers: dict[tuple[str, str, str], Register] = {}
        """By broker, group and queue."""
        self.committed: dict[tuple[str, str], set[int]] = {}
        """By group and queue: all committed values, except the following."""
        self.ignored: dict[tuple[str, str, str], set[int]] = {}
        """By slave, group and queue: values that pulls carried to it."""
        self.resets: dict[tuple[str, str], int] = {}
        """By group and queue: when an administrator's reset last ended, ns; FOREVER: it may still arrive."""
        self.touched: dict[str, int] = {}
        """By broker: the last possible change of its table, ns."""
        self.routes: dict[int | None, Route] = {}
        self.lost_from: int | None = None
        """The lowest end of all truncations of the master's log; None: it lost nothing."""
        self._replaced = False
        self._answers: dict[tuple[int | None, str], Answer] = {}
        self._observed: tuple[int, list[Observation]] = (-1, [])

    def corrects_on_slaves(self) -> bool:
        """Whether a slave may correct a consumer's offset: that skips or repeats messages that the slave lacks."""
        return any(is_on(each, "offsetCheckInSlave") for each in self.known.config.values())

    def reader_of(self, process: int | None, group: str) -> str:
        """The group, or the consumer itself if the group is broadcasting."""
        consumer = self.consumers.get(process)
        return group if consumer is None or consumer.clustering else f"{group}#{process}"

    def may_be_refused(self, consumer: Consumer) -> bool:
        """Whether the consumer may keep asking a slave that serves no reads: its user chose one, or the master does."""
        config, fixed = self.known.config, consumer.fixed
        asks = is_on(config.get(MASTER, DEFAULTS), "slaveReadEnable") if fixed is None else fixed > 0
        return asks and any(refuses_reads(config.get(each, DEFAULTS)) for each in SLAVES)

    def is_orderly(self, process: int | None) -> bool:
        consumer = self.consumers.get(process)
        return consumer is not None and consumer.orderly

    def consumed_by(self, event: Event) -> Consumed | None:
        """The messages of this event's queue that its consumer's reader received."""
        return self.consumed.get((self.reader_of(event.process, event.group or ""), event.queue or ""))

    def observations(self, event: Event) -> list[Observation]:
        """The progress that an answered query, or a read table of offsets, shows for all groups that committed."""
        if self._observed[0] != event.seq:
            self._observed = (event.seq, self._observe(event))
        return self._observed[1]

    def shows(self, event: Event, group: str, queue: str) -> int | None:
        """The progress of one of them in such an event; None if it has none."""
        if event.kind != "ok":
            return offsets_of(event.detail or "{}").get((group, queue), NONE) if event.f == OFFSETS else None
        if (event.group, event.queue) != (group, queue):
            return None
        return NONE if event.queue_offset is None else event.queue_offset

    def was_committed(self, node: str, group: str, queue: str, value: int) -> bool:
        """Whether this progress may have been committed to this broker, or to one whose store it has."""
        found = self.registers.get((node, group, queue))
        return found is not None and found.was_committed(value)

    def has_passed(self, group: str, queue: str, offset: int) -> bool:
        """Whether the group may have committed more than this offset to the master."""
        register = self.registers.get((MASTER, group, queue))
        return (
            register is None or register.is_hidden or max(register.ever | register.under_way(), default=NONE) > offset
        )

    def answer_to(self, process: int | None, queue: str) -> Answer | None:
        """The last answer to a consumer that has not begun with the queue yet."""
        return self._answers.get((process, queue))

    def _observe(self, event: Event) -> list[Observation]:
        node, queue, group = event.node or "", event.queue or "", event.group or ""
        if node not in PAIR:
            return []
        if event.kind == "ok":
            if event.f != "query":
                return []
            register = self._register(node, group, queue)
            begun = self.known.calls.begun(event)
            possible = register.possible_since(event.t if begun is None else begun.call.t)
            seen = NONE if event.queue_offset is None else event.queue_offset
            return [Observation(group, queue, seen, register, possible)]
        if event.f != OFFSETS:
            return []
        since = self.known.disturbances.punctual(event.t - self.known.healthy_ns, event.t)
        table = offsets_of(event.detail or "{}")
        return [
            Observation(of, q, table.get((of, q), NONE), register, register.possible_since(since))
            for (where, of, q), register in self.registers.items()
            if where == node
        ]

    def comes_or_goes(self, event: client.Consumer) -> None:
        process = event.process
        if event.status == "on":
            self.consumers[process] = Consumer(
                event.group or "", event.f != "broadcasting", event.t, event.broker, event.f == "orderly"
            )  # fmt: skip
            tags = subscribed(event.detail)
            if tags is not None:
                self.tags[self.reader_of(process, event.group or "")] = tags
            return
        self.consumers.pop(process, None)
        for key in [key for key in self.assignments if key[0] == process]:
            del self.assignments[key]

    def assigned(self, event: Assign) -> None:
        key = (event.process, event.queue or "")
        if event.node not in (None, *PAIR):
            return
        if event.status != "on":
            self.assignments.pop(key, None)
            return
        start, consumed = event.offset or 0, self._consumed(event)
        answer = self._answers.pop(key, None)
        found = self.assignments[key] = Assignment(event.group or "", consumed, event.t, start)
        if answer is not None and answer.offset is not None:
            found.asked_at = answer.node
            found.floor = NONE if answer.possible is None else min(answer.possible)
        else:
            consumed.chosen = max(consumed.chosen, start)
            consumed.front = max(consumed.front, start)
        if consumed.first is None:
            consumed.first = consumed.front = start
        consumed.given = max(consumed.given, start)

    def begins(self, event: Invoke) -> None:
        if event.node not in PAIR:
            return
        if event.f in ("commit", "pull"):
            self.touched[event.node] = event.t
        if event.f == "commit":
            self._commit(event)

    def _commit(self, event: Invoke) -> None:
        node, group, queue, offset = event.node, event.group or "", event.queue or "", event.queue_offset or 0
        consumed = self._consumed(event)
        consumed.committed = max(consumed.committed, offset)
        if event.process not in self.consumers:
            self.resets[group, queue] = FOREVER
        # A slave ignores a commit that a pull carries.
        if node != MASTER and event.carried:
            self.ignored.setdefault((node, group, queue), set()).add(offset)
            return
        self.committed.setdefault((group, queue), set()).add(offset)
        register, since = self._register(node, group, queue), event.t - ARRIVED_NS
        if self.known.disturbances.undisturbed_and_punctual(since, event.t, node, f"client-{node}"):
            register.give_up(since)
        register.begin(event.op, offset, event.t)

    def ends(self, event: Ok | Fail | Info) -> None:
        if event.node not in PAIR:
            return
        if event.f == "commit":
            place = event.group or "", event.queue or ""
            if event.process not in self.consumers and place in self.resets and event.kind != "info":
                self.resets[place] = event.t
            register = self.registers.get((event.node, event.group or "", event.queue or ""))
            if register is not None:
                register.end(event, event.t)
        elif event.f == "query":
            if event.kind == "ok":
                (seen,) = self.observations(event)
                answer = Answer(event.node, event.queue_offset, seen.possible)
                self._answers[event.process, event.queue or ""] = answer
        elif event.f == "pull" and event.queue_offset is not None:
            begun = self.known.calls.begun(event)
            self._pulled(event, event.queue_offset, None if begun is None else begun.call.asked_from or 0)

    def _pulled(self, event: Ok | Fail | Info, position: int, asked: int | None) -> None:
        consumed = self._consumed(event)
        consumed.given = max(consumed.given, position)
        if asked is not None and event.node in self.known.logs.diverged:
            consumed.passed_at_diverged.append((asked, position))
        held = self.assignments.get((event.process, event.queue or ""))
        if held is None:
            return
        if position != held.position:
            held.position, held.moved = position, event.t
        held.served_by = event.node
        if consumed.reader in self.tags:
            consumed.front = max(consumed.front, position)
        if asked is not None and position < asked:
            possible = self._register(event.node or "", held.group, consumed.queue).possible_since(event.t)
            held.floor = NONE if possible is None else min(possible)
            held.asked_at = event.node

    def delivered(self, event: Deliver) -> None:
        if event.node not in PAIR or event.queue_offset is None:
            return
        behind, consumed = event.queue_offset + 1, self._consumed(event)
        consumed.front = max(consumed.front, behind)
        consumed.given = max(consumed.given, behind)
        consumed.messages.add(event.message)
        consumed.offsets.setdefault(event.queue_offset, event.message)
        held = self.assignments.get((event.process, event.queue or ""))
        if held is not None:
            held.next = behind
            held.steps.append((event.t, behind))

    def _consumed(self, event: Event) -> Consumed:
        key = (self.reader_of(event.process, event.group or ""), event.queue or "")
        found = self.consumed.get(key)
        if found is None:
            found = self.consumed[key] = Consumed(*key)
        return found

    def _register(self, node: str, group: str, queue: str) -> Register:
        key = (node, group, queue)
        found = self.registers.get(key)
        if found is None:
            # A slave's metadata sync overwrites commits to it.
            found = self.registers[key] = Register(self.known.tables.is_hidden(node, OFFSETS))
        return found

    def routed(self, event: client.Route) -> None:
        if event.status != "found":
            return
        nodes, before = json.loads(event.detail or "{}"), self.routes.get(event.process)
        same = before is not None and (MASTER_ID in before.nodes) == (MASTER_ID in nodes)
        self.routes[event.process] = Route(before.since if before is not None and same else event.t, nodes)

    def synced(self, event: Sync) -> None:
        slave = event.node or ""
        self.touched[slave] = event.t
        if event.f != OFFSETS:
            return
        if event.status == "answered":
            # The moment at which the slave applies it is not observed.
            for (node, group, queue), register in list(self.registers.items()):
                if node == slave:
                    register.is_hidden = True
                    register.inherit(self._register(MASTER, group, queue))
        elif event.status == "applied":
            asked = self.known.tables.asked(slave, OFFSETS)
            since = 0 if asked is None else asked.t
            for node, group, queue in list(self.registers):
                if node in (MASTER, slave):
                    source, register = self._register(MASTER, group, queue), self._register(slave, group, queue)
                    register.copy(source.possible_since(since), since, event.t)
                    register.inherit(source)

    def persisted(self, event: Persist) -> None:
        node = event.node or ""
        if event.f == OFFSETS:
            for (where, _, _), register in self.registers.items():
                if where == node:
                    register.save()
        elif event.f == GROUPS and event.node == MASTER:
            # An unobserved administrator may have deleted a group with its progress.
            for (node, _, _), register in self.registers.items():
                if node == MASTER:
                    register.may_be_gone()

    def started(self, event: Start) -> None:
        node = event.node or ""
        if node == MASTER:
            before, end = self.known.logs.ends.get(MASTER, 0), event.hi or 0
            if self._replaced:
                end = 0
            if self._replaced or end < before:
                self.lost_from = end if self.lost_from is None else min(end, self.lost_from)
            self._replaced = False

    def ended(self, event: Crash | Stop) -> None:
        node = event.node or ""
        of_machine = event.f == "machine"
        if of_machine and node == MASTER and "append" not in self.known.observes:
            # Its losses are unknown.
            self._replaced = True
        durable = self.known.tables.durable(OFFSETS, event) if of_machine else None
        since = 0 if of_machine else self._written_since(node, event.t)
        well = event.kind == "stop" and self._stops_well(node, event.t)
        # In real time a save may be recorded after the kill.
        is_exact = event.kind == "crash" and "persist" in self.known.observes and not self.known.instant_ns
        for (where, _, _), register in self.registers.items():
            if where != node:
                continue
            register.went_down(is_exact)
            if durable is not None:
                register.recover(durable.t, event.t)
            elif of_machine:
                register.forget(event.t)
            else:
                register.recover(event.t if well else since, event.t)

    def _stops_well(self, node: str, t: int) -> bool:
        """Whether a stopped broker has space to write its table: the only current fault is the stop."""
        here = [each.t for each in self.known.disturbances.active.values() if each.node == node]
        return not here or here == [t]

    def _written_since(self, node: str, t: int) -> int:
        """A moment such that a broker that ends at ``t`` has written its table at it or later, ns."""
        disturbances, born = self.known.disturbances, self.known.nodes.last_start(node)
        # A save precedes the file's time, which is all that is observed of a black box.
        late_ns = self.known.instant_ns if self.known.is_a_black_box(node) else 0
        since = max([born, *(each.t - late_ns for each in self.known.tables.saved(node, OFFSETS)[-1:])])
        # The fault that ended the broker does not count, only earlier ones.
        well = min([t, *(each.t for each in disturbances.active.values() if each.node == node)])
        period = int(self.known.config.get(node, {}).get("flushConsumerOffsetInterval", PERSIST_MS)) * MS
        due = well - period - SLACK_NS
        if well - SLACK_NS < born + FIRST_PERSIST_NS or disturbances.ended.get(node, -1) >= due:
            return since
        return since if disturbances.unavailable_ns(node, due, t) or disturbances.stall(due, t) else max(since, due)

    def wiped(self, event: Wipe) -> None:
        for node, group, queue in list(self.registers):
            # Its new store may be any node's.
            self._register(event.node, group, queue).forget(event.t)
            if promotes(event) and node == event.detail:
                self._register(MASTER, group, queue).inherit(self._register(node, group, queue))
        if event.node == MASTER:
            self._replaced = True
