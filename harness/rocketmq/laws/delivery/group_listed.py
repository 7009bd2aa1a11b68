"""``group-listed``: a broker lists exactly the members of a group, and notifies each of them at once when one joins or
leaves.

A member is *sure* at a broker from the answer to its heartbeat until its goodbye, its end, or a failed call there.

Checks:
- A list has all sure members, for 120 s after their heartbeats. It has no client without a heartbeat, and none that
  left more than 1 s ago, by a goodbye or its end.
- Within 1 s of a change, the broker notifies all sure members with a heartbeat in the last 120 s.
- Masters of other broker names are included.
Abstains when:
- A fault affected the broker or the clients' link to it since the heartbeat (for an absence, the first one).
- The broker's clock was set.
- An administrator ever turned the group's notifications off.
- The change is uncertain: a heartbeat or goodbye has no answer yet.
Source: ConsumerManager.registerConsumer, unregisterConsumer, doChannelCloseEvent; DefaultConsumerIdsChangeListener;
ConsumerManageProcessor.getConsumerListByGroup.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ....event_types.client import Consumer, Fail, Info
from ....event_types.machine import Mark
from ....history import MS, Event
from ....judging.law import EVERY
from ...event_types.groups import Ask, Back
from ...known.deadlines import Deadline, Deadlines
from ...law import Law

EXPIRY_NS = 120_000 * MS
"""CHANNEL_EXPIRED_TIMEOUT."""
AT_ONCE_NS = 1_000 * MS
NOBODY = "SYSTEM_ERROR"
"""The answer for a group without members."""
BROKEN = frozenset({"timeout", "disconnected", "refused"})

Key = tuple[str, int, str]
"""A broker, its incarnation, and a group."""


class Member(NamedTuple):
    """A sure member: its client id, the request of its last heartbeat, and when it became sure, ns."""

    client: str
    since: int
    sure: int


class Notification(NamedTuple):
    key: Key
    process: int
    since: int
    what: str


class GroupListed(Law):
    needs = frozenset({"ask", "consumer", "fault", "crash"})
    ignored_nodes = frozenset()
    awaits = {"ask": EVERY}
    timed = True

    def begin(self) -> None:
        self.sure: dict[Key, dict[int, Member]] = {}
        """By process."""
        self.first: dict[Key, dict[str, int]] = {}
        """By client id: the request of its first heartbeat there, ns."""
        self.listed: set[tuple[str, str, str]] = set()
        """Broker, group and client id of every heartbeat."""
        self.dropped: dict[int, tuple[int, list[tuple[Key, Member]]]] = {}
        """By process: the members that ceased to be sure at this moment, ns."""
        self.fresh: set[tuple[Key, int]] = set()
        """Processes with a first heartbeat in flight."""
        self.leaving: set[tuple[Key, int]] = set()
        """Processes with a goodbye in flight: they may or may not be members."""
        self.gone: dict[Key, dict[str, int]] = {}
        """By client id: since when no client has that id there, ns."""
        self.pending = Deadlines[Notification](self, self._missed)
        self.notified_at: dict[tuple[str, int], int] = {}

    def on_fail(self, event: Fail | Info) -> None:
        if event.group is not None and event.status in BROKEN:
            self._unsure(self._key(event.node, event.group), event.process, event.t)

    on_info = on_fail

    def on_back(self, event: Back) -> None:
        if event.status in BROKEN:
            self._unsure(self._key(event.node, event.group), event.process, event.t)

    def _key(self, node: str, group: str) -> Key:
        return node, self.known.nodes.ended(node), group

    def on_mark(self, event: Mark) -> None:
        self.pending.report_missed(event)

    def on_consumer(self, event: Consumer) -> None:
        self.pending.report_missed(event)
        if event.status == "on":
            return
        self._drop_pending(event.process)
        # A process that ends closes its connections first.
        dropped, found = self.dropped.pop(event.process, (-1, []))
        found = found if event.t - dropped <= self.known.instant_ns else []
        for key, members in self.sure.items():
            member = members.pop(event.process, None)
            if member is not None and self._is_current(key):
                found.append((key, member))
        if event.status == "lost":
            for key, member in found:
                self._leaves(key, member, event.t, event.t, "ended")

    def on_ask(self, event: Ask) -> None:
        self.pending.report_missed(event)
        if event.group is None or event.node in self.known.clocks:
            return
        key = self._key(event.node, event.group)
        if event.status == "told":
            self.notified_at[event.node, event.process] = event.t
            self.judged += self._drop_pending(event.process, event.node)
        elif event.status == "asked":
            if event.f == "beat":
                self.listed.add((event.node, event.group, event.client))
                if event.client not in self.first.get(key, {}) or event.client in self.gone.get(key, {}):
                    self.fresh.add((key, event.process))
                self.first.setdefault(key, {}).setdefault(event.client, event.t)
                self.gone.get(key, {}).pop(event.client, None)
            elif event.f == "goodbye":
                self.leaving.add((key, event.process))
                self._drop_pending(event.process, event.node)
        elif (begun := self.known.calls.asked(event)) is not None:
            self._ended(event, key, begun.call.t)

    def _ended(self, event: Ask, key: Key, since: int) -> None:
        if event.f == "beat":
            # It may have been in flight while the broker was started.
            self.first.setdefault(key, {}).setdefault(event.client, since)
        if event.f == "goodbye":
            self.leaving.discard((key, event.process))
        if event.f == "members" and event.status in ("answered", NOBODY):
            self._judge(event, key, since)
        elif event.f == "beat" and event.status == "answered" and not self.known.calls.is_current(event):
            # The earlier incarnation may have received it: the answer was in flight.
            self.fresh.discard((key, event.process))
        elif event.f == "beat" and event.status == "answered":
            members = self.sure.setdefault(key, {})
            if (key, event.process) in self.fresh:
                self.fresh.discard((key, event.process))
                self._expect(key, since, event.t, f"{event.client} came", since)
            before = members.get(event.process)
            members[event.process] = Member(event.client, since, event.t if before is None else before.sure)
        elif event.f == "goodbye" and event.status == "answered":
            member = self.sure.get(key, {}).pop(event.process, None)
            if member is not None:
                self._leaves(key, member, since, event.t, "said goodbye")
        elif event.status in BROKEN:
            self._unsure(key, event.process, event.t)

    def _drop_pending(self, process: int, node: str | None = None) -> int:
        dropped = [each for each in self.pending if each.process == process and node in (None, each.key[0])]
        for each in dropped:
            del self.pending[each]
        return sum(self._is_current(each.key) for each in dropped)

    def _unsure(self, key: Key, process: int, now: int) -> None:
        member = self.sure.get(key, {}).pop(process, None)
        self.fresh.discard((key, process))
        if member is not None:
            at, before = self.dropped.get(process, (now, []))
            self.dropped[process] = now, [*(before if at == now else ()), (key, member)]
        self._drop_pending(process, key[0])

    def _leaves(self, key: Key, member: Member, since: int, now: int, how: str) -> None:
        client = member.client
        first = self.first.get(key, {}).get(client)
        twice = any(each.client == client for each in self.sure.get(key, {}).values())
        if first is not None and not twice and self._is_undisturbed(key[0], first):
            self.gone.setdefault(key, {})[client] = now
        self._expect(key, since, now, f"{client} {how}", member.since)

    def _expect(self, key: Key, since: int, now: int, what: str, quiet: int) -> None:
        for process, member in self._staying(key):
            # The notification may arrive before the answer to the client that caused it. A silent member expires.
            if self.notified_at.get((key[0], process), -1) < since and now - member.since < EXPIRY_NS:
                bound, ways = now - since + AT_ONCE_NS + self.known.healthy_ns, (key[0], f"client-{key[0]}")
                settled = since - min(quiet, member.since)
                self.pending.begin(Notification(key, process, since, what), since, bound, *ways, settled=settled)

    def _staying(self, key: Key) -> list[tuple[int, Member]]:
        """Sure members, by process, without those that are saying goodbye."""
        return [each for each in self.sure.get(key, {}).items() if (key, each[0]) not in self.leaving]

    def _is_current(self, key: Key) -> bool:
        return key[1] == self.known.nodes.ended(key[0])

    def _is_undisturbed(self, node: str, since: int) -> bool:
        return self.known.disturbances.is_undisturbed(since, node, f"client-{node}")

    def _judge(self, event: Ask, key: Key, since: int) -> None:
        """``since``: the time of the request."""
        named = set(json.loads(event.detail or "[]")) if event.status == "answered" else set()
        quiet = [each for _, each in self._staying(key) if self._is_undisturbed(event.node, each.since)]
        # Requests of two clients may overtake each other: a member must be listed if it was sure before this one.
        lacking = {each.client for each in quiet if each.sure <= since and event.t - each.since < EXPIRY_NS} - named
        latest = since - AT_ONCE_NS - self.known.healthy_ns
        gone = {client for client, t in self.gone.get(key, {}).items() if client in named and t < latest}
        gone = gone if self._is_undisturbed(event.node, latest) else set()
        unknown = {client for client in named if (event.node, event.group, client) not in self.listed}
        self.judged += bool(quiet) or bool(self.gone.get(key))
        for clients, how in ((lacking, "leaves out"), (gone, "still names"), (unknown, "makes up")):
            if clients:
                text = f"{event.node} {how} {', '.join(sorted(clients))}, asked for the members of {event.group}"
                self.violate(event, text, since=since)

    def _missed(self, event: Event, missed: Notification, deadline: Deadline) -> None:
        node, _, group = missed.key
        notifies = all(each.notifyConsumerIdsChangedEnable for each in self.known.tables.groups(node, group, 0))
        if notifies and self._is_current(missed.key):
            self.judged += 1
            text = f"{node} has not told client {missed.process} for a second that {missed.what}"
            self.violate(event, text, since=deadline.since)
