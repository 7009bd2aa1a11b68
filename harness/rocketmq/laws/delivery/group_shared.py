"""``group-shared``: soon after a member of a clustering group joins or leaves, exactly one member holds each queue.

The broker notifies all members of each change (NOTIFY_CONSUMER_IDS_CHANGED), and they rebalance. A group that is not
notified rebalances only every 20 s.

Checks:
- 3 s after the last member joined or left, exactly one live member holds each queue that the group ever held, also
  queues of other broker names. The group holds a queue, if a member has a route to a master.
- A queue released less than 3 s ago is judged later: a leaving member releases its queues before its goodbye.
- After a topic's route has changed, as for a retry topic that masters create, a group is judged after all members have
  asked for it again (every 30 s) and rebalanced.
Abstains when:
- Within 150 s there was a crash, a stop, a replaced store or a fault, except between slaves and their master: a dead
  member expires after 120 s.
- A broker is down.
- A broker may not be read (brokerPermission): not applicable.
- An administrator's settings keep the group from the queue, or did in the time of a new route.
- The group broadcasts, or has no members.
Source: ConsumerManager.registerConsumer, unregisterConsumer, doChannelCloseEvent; DefaultConsumerIdsChangeListener,
which notifies all members of a change at once; RebalanceImpl.rebalanceByTopic.
"""

from dataclasses import dataclass, field

from ....event_types.client import Assign, Consumer, Route
from ....history import MS, Event
from ....judging.law import EVERY, only
from ....texts.content import payload
from ...event_types.groups import Ask
from ...known.tables import READ
from ...law import Law
from ...topology import HA_LINKS, MASTER_ID, META_LINKS

SHARED_NS = 3_000 * MS
"""Calls for the route, a heartbeat, the members, and the progress in each queue."""
ROUTED_NS = (30_000 + 20_000) * MS
AFTER_NS = 150_000 * MS
BETWEEN = (HA_LINKS[0], META_LINKS[0])
"""Prefixes of the links between slaves and their master, which consumers do not need."""


@dataclass(slots=True, eq=False)
class Group:
    members: set[int] = field(default_factory=set)
    holders: dict[str, set[int]] = field(default_factory=dict)
    freed: dict[str, int] = field(default_factory=dict)
    changed: int = 0
    """When a member last joined or left, ns."""
    routes: dict[tuple[int, str], str | None] = field(default_factory=dict)
    rerouted: int | None = None
    """When a member last received another route, ns."""
    is_judged: bool = False
    """Since the last change."""


class GroupShared(Law):
    needs = frozenset({"consumer", "assign", "fault", "crash"})
    ignored_nodes = frozenset()
    awaits = {"consumer": EVERY, "route": EVERY}
    timed = True

    def applies(self) -> bool:
        return self.known.is_allowed(READ)

    def begin(self) -> None:
        self.groups: dict[str, Group] = {}
        self.routed: dict[int, int] = {}
        """By consumer: since when it has had a route to a master, ns."""

    @only("clustering")
    def on_consumer(self, event: Consumer) -> None:
        self._judge_all(event)
        group = self.groups.setdefault(event.group, Group())
        group.changed, group.is_judged = event.t, False
        if event.status == "on":
            group.members.add(event.process)
        else:
            group.members.discard(event.process)
            self.routed.pop(event.process, None)
            for holders in group.holders.values():
                holders.discard(event.process)

    def on_assign(self, event: Assign) -> None:
        group = self.groups.get(event.group or "")
        if group is None or event.process not in group.members or event.queue is None:
            return
        self._judge_all(event)
        queue = f"{event.queue} of {event.node}" if event.node else event.queue
        holders = group.holders.setdefault(queue, set())
        if event.status == "on":
            holders.add(event.process)
        else:
            holders.discard(event.process)
            group.freed[queue] = event.t

    def on_route(self, event: Route) -> None:
        self._judge_all(event)
        if event.status == "found" and MASTER_ID in payload(event.detail):
            self.routed.setdefault(event.process, event.t)
        else:
            self.routed.pop(event.process, None)

    def on_ask(self, event: Ask) -> None:
        group = self.groups.get(event.group or "")
        if group is None or event.f != "route" or event.status not in ("answered", "none"):
            return
        self._judge_all(event)
        key = event.process, str(event.topic)
        if group.routes.setdefault(key, event.detail) != event.detail:
            group.routes[key], group.rerouted, group.is_judged = event.detail, event.t, False

    def on_mark(self, event: Event) -> None:
        """Such events show that time has passed, without a disturbance until now."""
        self._judge_all(event)

    on_register = on_sync = on_fault = on_pause = on_crash = on_stop = on_mark

    def end(self, last: Event) -> None:
        self._judge_all(last)

    def _judge_all(self, event: Event) -> None:
        for name, group in self.groups.items():
            if group.is_judged or not group.members or not self._is_over(event.t - group.changed):
                continue
            if self._is_disturbed(event.t):
                return
            if group.rerouted is not None and not self._is_over(event.t - group.rerouted - ROUTED_NS):
                continue
            if group.holders:
                self._judge(name, group, event)
            elif any(self._is_held_back(f"{topic}/0", name, event.t) for _, topic in group.routes):
                continue
            elif since := self._routed_since(group, event.t):
                group.is_judged = True
                self.judged += 1
                late = (event.t - since) // MS
                text = f"{name} holds no queue, {late} ms after a member learned the way to a master"
                self.violate(event, text, since=since)

    def _is_disturbed(self, now: int) -> bool:
        known = self.known
        faults = known.disturbances.active.values()
        if known.nodes.down or any(each.node or not (each.link or "").startswith(BETWEEN) for each in faults):
            return True
        disturbed = known.disturbed_at(BETWEEN)
        return disturbed >= 0 and now - disturbed <= AFTER_NS

    def _routed_since(self, group: Group, now: int) -> int | None:
        """Since when an unchanged group has had a member with a route, ns; None if not for long enough."""
        since = min((self.routed[each] for each in group.members if each in self.routed), default=now)
        since = max(since, group.changed)
        return since if self._is_over(now - since) else None

    def _is_held_back(self, queue: str, group: str, now: int) -> bool:
        return not self._is_over(now - self.known.tables.held_back_until(queue, group, now) - ROUTED_NS)

    def _is_over(self, took_ns: int) -> bool:
        return took_ns > SHARED_NS + self.known.healthy_ns

    def _judge(self, name: str, group: Group, event: Event) -> None:
        wrong = [
            queue
            for queue, holders in group.holders.items()
            if len(holders) != 1 and not self._is_held_back(queue.partition(" ")[0], name, event.t)
        ]
        sure = [queue for queue in wrong if group.holders[queue] or self._is_over(event.t - group.freed.get(queue, 0))]
        if wrong and not sure:
            return
        group.is_judged = True
        self.judged += 1
        if sure:
            queue, late = sure[0], (event.t - group.changed) // MS
            holders = len(group.holders[queue])
            how = f"{holders} members hold" if holders else "nobody holds"
            text = f"{how} {queue} in {name}, {late} ms after a member came or went"
            self.violate(event, text, since=group.changed)
