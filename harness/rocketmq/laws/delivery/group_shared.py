"""``group-shared``: a clustering group shares its queues out at once when a member comes or goes.

The broker tells all members of each change (NOTIFY_CONSUMER_IDS_CHANGED), and they share the queues out anew. Judged
where nobody came or went for 3 s: each queue that the group ever held is held by exactly one of the members that
live, neither by two nor by none; and it holds some, where a member knows the way to a master. A group that nobody
tells shares out every 20 s only. A queue that was given up less than 3 s ago is judged later: a member that leaves
gives its queues up first, and then says goodbye. Where a topic's route has changed, as that of a group's retry topic
does while masters make it, a group is judged once all have asked again (every 30 s) and have shared out by it.

Judged in an undisturbed world: no crash, stop or other store, and no fault but between slaves and their master, in the
150 s before (a lost member is missed after 120 s, and groups share out every 20 s); and no broker is down, as one is
that refused its store.
Left out: broadcasting groups, whose members hold every queue each; which member gets which queue; groups without
members. Other than most laws this one hears of another broker name's master, too: a group shares the queues of all
masters.
Source: ConsumerManager.registerConsumer, unregisterConsumer, doChannelCloseEvent; DefaultConsumerIdsChangeListener;
RebalanceImpl.rebalanceByTopic.
"""

from ....event_types.client import Assign, Consumer, Route
from ....history import MS, Event
from ....judging.law import EVERY, only
from ....texts.content import payload
from ...event_types.groups import Ask
from ...law import Law
from ...topology import HA_LINKS, META_LINKS

SHARED_NS = 3_000 * MS
"""A few calls: the route, a heartbeat, the members, the group's progress in each queue."""
ROUTED_NS = (30_000 + 20_000) * MS
AFTER_NS = 150_000 * MS
BETWEEN = (HA_LINKS[0], META_LINKS[0])
"""How links begin over which slaves copy their master, and nothing that consumers need goes. What happens between a
broker and the name server does concern them: without that connection the broker leaves the routes.
"""


class Group:
    """A clustering group: who lives, and who holds which of the queues that it ever held."""

    __slots__ = ("changed", "freed", "holders", "is_judged", "members", "rerouted", "routes")

    def __init__(self) -> None:
        self.members: set[int] = set()
        self.holders: dict[str, set[int]] = {}
        self.freed: dict[str, int] = {}
        """When each queue was given up last, ns."""
        self.changed = 0
        """When a member came or went last, ns."""
        self.routes: dict[tuple[int, str], str | None] = {}
        """Where each member was told last that each topic is."""
        self.rerouted: int | None = None
        """When one was told otherwise last, ns."""
        self.is_judged = False
        """Whether it was judged since."""


class GroupShared(Law):
    id = "group-shared"
    promise = "When a member of a clustering group comes or goes, each queue is soon held by exactly one member."
    source = "DefaultConsumerIdsChangeListener: all members are told of a change at once"
    needs = frozenset({"consumer", "assign", "fault", "crash"})
    ignored_nodes = frozenset()
    awaits = {"consumer": EVERY, "route": EVERY}
    timed = True

    def begin(self) -> None:
        self.groups: dict[str, Group] = {}
        self.routed: dict[int, int] = {}
        """Consumers that know the way to a master, and since when, ns."""

    @only("clustering")
    def on_consumer(self, event: Consumer) -> None:
        if event.group is None:
            return
        self._look(event)
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
        self._look(event)
        queue = f"{event.queue} of {event.node}" if event.node else event.queue
        holders = group.holders.setdefault(queue, set())
        if event.status == "on":
            holders.add(event.process)
        else:
            holders.discard(event.process)
            group.freed[queue] = event.t

    def on_route(self, event: Route) -> None:
        self._look(event)
        if event.status == "found" and "0" in payload(event.detail):
            self.routed.setdefault(event.process, event.t)
        else:
            self.routed.pop(event.process, None)

    def on_ask(self, event: Ask) -> None:
        group = self.groups.get(event.group or "")
        if group is None or event.f != "route" or event.status not in ("answered", "none"):
            return
        self._look(event)
        key = event.process, str(event.topic)
        if group.routes.setdefault(key, event.detail) != event.detail:
            group.routes[key], group.rerouted, group.is_judged = event.detail, event.t, False

    def on_mark(self, event: Event) -> None:
        """Whatever comes now and then shows that time has passed, and a disturbance that it was quiet until then."""
        self._look(event)

    on_register = on_sync = on_fault = on_pause = on_crash = on_stop = on_mark

    def end(self, last: Event) -> None:
        self._look(last)

    def _look(self, event: Event) -> None:
        """Judge how all groups stand, before what happens now."""
        for name, group in self.groups.items():
            if group.is_judged or not group.members or not self._is_over(event.t - group.changed):
                continue
            if self._is_disturbed(event.t):
                return
            if group.rerouted is not None and not self._is_over(event.t - group.rerouted - ROUTED_NS):
                continue
            if group.holders:
                self._judge(name, group, event)
            elif since := self._routed_since(group, event.t):
                group.is_judged = True
                self.judged += 1
                late = (event.t - since) // MS
                text = f"{name} holds no queue, {late} ms after a member learned the way to a master"
                self.violate(event, text, since=since)

    def _is_disturbed(self, now: int) -> bool:
        """Whether something happened to the world in the last time, but between slaves and their master."""
        known = self.known
        faults = known.disturbances.active.values()
        if known.nodes.down or any(each.node or not (each.link or "").startswith(BETWEEN) for each in faults):
            return True
        disturbed = known.disturbed_at(BETWEEN)
        return disturbed >= 0 and now - disturbed <= AFTER_NS

    def _routed_since(self, group: Group, now: int) -> int | None:
        """Since when a member has known the way for long enough, as the group has been the same; None if none has."""
        since = min((self.routed[each] for each in group.members if each in self.routed), default=now)
        since = max(since, group.changed)
        return since if self._is_over(now - since) else None

    def _is_over(self, took_ns: int) -> bool:
        return took_ns > SHARED_NS + self.known.healthy_ns

    def _judge(self, name: str, group: Group, event: Event) -> None:
        wrong = [queue for queue, holders in group.holders.items() if len(holders) != 1]
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
