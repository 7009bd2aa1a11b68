"""``group-listed``: a broker names a group's members as they are, whenever one asks, and tells each of them at once
when one comes or goes.

A member is *sure* at a broker once that has answered its heartbeat, and was not started meanwhile: until its goodbye,
or its end, or until a call of its fails there. Then

- whoever asks for the group's members gets all sure ones, for 120 s after their heartbeats; and none that never sent
  one, that has said goodbye, or whose process ended more than a second ago;
- when a member becomes sure, or says goodbye, or its process ends, the broker has a second to tell all sure members
  that have sent a heartbeat in the last 120 s.

Judged only where no fault has touched the broker, and the clients' way to it, since the heartbeat; that somebody is
gone only if that is so since the member's first heartbeat there. Left out: brokers whose clock was set; who is told of
a change that may not be one. Other than most laws this one hears of another broker name's master, too.
Source: ConsumerManager.registerConsumer, unregisterConsumer, doChannelCloseEvent; DefaultConsumerIdsChangeListener.
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

LIVES_NS = 120_000 * MS
"""CHANNEL_EXPIRED_TIMEOUT."""
AT_ONCE_NS = 1_000 * MS
NOBODY = "SYSTEM_ERROR"
"""The answer of a broker that knows no member."""
BROKEN = frozenset({"timeout", "disconnected", "refused"})

Place = tuple[str, int, str]
"""A broker and its incarnation, which forgets all members with its process; and a group."""


class Member(NamedTuple):
    """A sure member: its client id, when it asked for its last heartbeat, and since when it has been sure, ns."""

    client: str
    since: int
    sure: int


class Word(NamedTuple):
    """That the group has changed, which a member must be told."""

    place: Place
    process: int
    since: int
    """When what changed it began, ns."""
    what: str


class GroupListed(Law):
    id = "group-listed"
    promise = (
        "A broker names exactly the members that a group has, and tells each of them at once when one comes or goes."
    )
    source = "ConsumerManager; DefaultConsumerIdsChangeListener; ConsumerManageProcessor.getConsumerListByGroup"
    needs = frozenset({"ask", "consumer", "fault", "crash"})
    ignored_nodes = frozenset()
    awaits = {"ask": EVERY}
    timed = True

    def begin(self) -> None:
        self.sure: dict[Place, dict[int, Member]] = {}
        """By process."""
        self.first: dict[Place, dict[str, int]] = {}
        """By client id: when it asked for its first heartbeat there, ns."""
        self.listed: set[tuple[str, str, str]] = set()
        """Broker, group and client id of all that ever sent a heartbeat there."""
        self.dropped: dict[int, tuple[int, list[tuple[Place, Member]]]] = {}
        """By process: who ceased to be sure at this moment, ns."""
        self.fresh: set[tuple[Place, int]] = set()
        """Processes whose first heartbeat is on its way to a broker that does not know them."""
        self.leaving: set[tuple[Place, int]] = set()
        """Processes that say goodbye, until they are answered: nobody knows whether they are members meanwhile."""
        self.gone: dict[Place, dict[str, int]] = {}
        """By client id: since when nobody with that id is there, ns."""
        self.words = Deadlines[Word](self, self._untold)
        self.told: dict[tuple[str, int], int] = {}
        """When a broker last told a process that its group has changed, ns."""

    def on_fail(self, event: Fail | Info) -> None:
        """Perhaps its connection has ended."""
        if event.group is not None and event.status in BROKEN:
            self._unsure(self._place(event.node, event.group), event.process, event.t)

    on_info = on_fail

    def on_back(self, event: Back) -> None:
        """A message sent back is a call, too."""
        if event.status in BROKEN:
            self._unsure(self._place(event.node, event.group), event.process, event.t)

    def _place(self, node: str, group: str) -> Place:
        return node, self.known.nodes.ended(node), group

    def on_mark(self, event: Mark) -> None:
        self.words.report_missed(event)

    def end(self, last: Event) -> None:
        self.words.report_missed(last)

    def on_consumer(self, event: Consumer) -> None:
        self.words.report_missed(event)
        if event.status == "on":
            return
        self._drop_words(event.process)
        # A process that ends closes its connections first.
        dropped, found = self.dropped.pop(event.process, (-1, []))
        found = found if event.t - dropped <= self.known.instant_ns else []
        for place, members in self.sure.items():
            member = members.pop(event.process, None)
            if member is not None and self._is_now(place):
                found.append((place, member))
        if event.status == "lost":
            for place, member in found:
                self._leaves(place, member, event.t, event.t, "ended")

    def on_ask(self, event: Ask) -> None:
        self.words.report_missed(event)
        if event.group is None or event.node in self.known.clocks:
            return
        place = self._place(event.node, event.group)
        if event.status == "told":
            self.told[event.node, event.process] = event.t
            self.judged += self._drop_words(event.process, event.node)
        elif event.status == "asked":
            if event.f == "beat":
                self.listed.add((event.node, event.group, event.client))
                if event.client not in self.first.get(place, {}) or event.client in self.gone.get(place, {}):
                    self.fresh.add((place, event.process))
                self.first.setdefault(place, {}).setdefault(event.client, event.t)
                self.gone.get(place, {}).pop(event.client, None)
            elif event.f == "goodbye":
                self.leaving.add((place, event.process))
                self._drop_words(event.process, event.node)
        elif (begun := self.known.calls.asked(event)) is not None:
            self._ended(event, place, begun.call.t)

    def _ended(self, event: Ask, place: Place, since: int) -> None:
        if event.f == "beat":
            # It may have been on its way while the broker was started.
            self.first.setdefault(place, {}).setdefault(event.client, since)
        if event.f == "goodbye":
            self.leaving.discard((place, event.process))
        if event.f == "members" and event.status in ("answered", NOBODY):
            self._judge(event, place, since)
        elif event.f == "beat" and event.status == "answered" and not self.known.calls.is_current(event):
            # Perhaps the earlier one had it: the answer was on its way.
            self.fresh.discard((place, event.process))
        elif event.f == "beat" and event.status == "answered":
            members = self.sure.setdefault(place, {})
            if (place, event.process) in self.fresh:
                self.fresh.discard((place, event.process))
                self._tell(place, since, event.t, f"{event.client} came", since)
            before = members.get(event.process)
            members[event.process] = Member(event.client, since, event.t if before is None else before.sure)
        elif event.f == "goodbye" and event.status == "answered":
            member = self.sure.get(place, {}).pop(event.process, None)
            if member is not None:
                self._leaves(place, member, since, event.t, "said goodbye")
        elif event.status in BROKEN:
            self._unsure(place, event.process, event.t)

    def _drop_words(self, process: int, node: str | None = None) -> int:
        """This client need not be told of anything more by this broker, or any; of how much it had to be."""
        dropped = [word for word in self.words if word.process == process and node in (None, word.place[0])]
        for word in dropped:
            del self.words[word]
        return sum(self._is_now(word.place) for word in dropped)

    def _unsure(self, place: Place, process: int, now: int) -> None:
        member = self.sure.get(place, {}).pop(process, None)
        self.fresh.discard((place, process))
        if member is not None:
            at, before = self.dropped.get(process, (now, []))
            self.dropped[process] = now, [*(before if at == now else ()), (place, member)]
        self._drop_words(process, place[0])

    def _leaves(self, place: Place, member: Member, since: int, now: int, how: str) -> None:
        client = member.client
        first = self.first.get(place, {}).get(client)
        twice = any(each.client == client for each in self.sure.get(place, {}).values())
        if first is not None and not twice and self._is_calm(place[0], first):
            self.gone.setdefault(place, {})[client] = now
        self._tell(place, since, now, f"{client} {how}", member.since)

    def _tell(self, place: Place, since: int, now: int, what: str, calm: int) -> None:
        for process, member in self.sure.get(place, {}).items():
            # A member may hear of it before the client that caused it has its answer; one that is silent is forgotten.
            if self.told.get((place[0], process), -1) < since and now - member.since < LIVES_NS:
                bound, ways = now - since + AT_ONCE_NS + self.known.healthy_ns, (place[0], f"client-{place[0]}")
                settled = since - min(calm, member.since)
                self.words.begin(Word(place, process, since, what), since, bound, *ways, settled=settled)

    def _is_now(self, place: Place) -> bool:
        """Whether the broker's incarnation has not ended."""
        return place[1] == self.known.nodes.ended(place[0])

    def _is_calm(self, node: str, since: int) -> bool:
        return self.known.disturbances.is_undisturbed(since, node, f"client-{node}")

    def _judge(self, event: Ask, place: Place, since: int) -> None:
        """``since``: when the members were asked for."""
        named = set(json.loads(event.detail or "[]")) if event.status == "answered" else set()
        sure = [each for process, each in self.sure.get(place, {}).items() if (place, process) not in self.leaving]
        calm = [each for each in sure if self._is_calm(event.node, each.since)]
        # Two clients' questions may overtake each other: who was sure before the other asked is in the answer.
        lacking = {each.client for each in calm if each.sure <= since and event.t - each.since < LIVES_NS} - named
        latest = since - AT_ONCE_NS - self.known.healthy_ns
        gone = {client for client, t in self.gone.get(place, {}).items() if client in named and t < latest}
        gone = gone if self._is_calm(event.node, latest) else set()
        strangers = {client for client in named if (event.node, event.group, client) not in self.listed}
        self.judged += bool(calm) or bool(self.gone.get(place))
        for clients, how in ((lacking, "leaves out"), (gone, "still names"), (strangers, "makes up")):
            if clients:
                text = f"{event.node} {how} {', '.join(sorted(clients))}, asked for the members of {event.group}"
                self.violate(event, text, since=since)

    def _untold(self, event: Event, word: Word, due: Deadline) -> None:
        if self._is_now(word.place):
            self.judged += 1
            text = f"{word.place[0]} has not told client {word.process} for a second that {word.what}"
            self.violate(event, text, since=due.since)
