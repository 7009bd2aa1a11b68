"""``progress-live-consumer``: who lives through the master's loss and return neither skips nor repeats, and the master
hears how far it got.

Judged for every assignment that went on while the master went down, from then on as long as it lasts: each message that
comes of it has the next queue offset, or a later one if the group subscribes by tag (what it must not leave out then,
``deliver-by-tag`` says). And once the master is back, and the consumer knows it as the master, for two commit periods
(the first commit may find out that its connection is dead) and the time that this takes: wherever the master then shows
the group's progress, in its table or in answer to a query, it is no lower than where the consumer stood that long
before, provided that nothing was wrong with the master and the client's way to it meanwhile.

Left out: everything after the master lost a part of its log, and the order of offsets after any log lost its oldest
files; a queue that two consumers hold at once, or held since the time that is asked of; what the master hears of
orderly groups, which wait for their locks, and of consumers that send messages back, whose progress waits for that. Not
applicable with offsetCheckInSlave, where a slave that lags sends consumers back.
Source: RemoteBrokerOffsetStore, MQClientInstance.persistAllConsumerOffset (every 5 s).
"""

from ....event_types.client import Assign, Consumer, Deliver
from ....history import MS, Event
from ....judging.law import EventFilter
from ...known.consumed import Assignment
from ...known.consumption import COMMIT_NS
from ...topology import MASTER
from ..delivery.never_moved import NeverMoved
from .shown_progress import ShownProgress

FIND_OUT_NS = 5_000 * MS
"""How long a call may take that nobody answers."""
HEARD_NS = 2 * COMMIT_NS + FIND_OUT_NS
PLACES = (MASTER, f"client-{MASTER}")


class ProgressLiveConsumer(NeverMoved, ShownProgress):
    id = "progress-live-consumer"
    promise = (
        "A consumer that outlives the master's loss and return neither skips nor repeats messages, and the master's "
        "committed offset reaches its own."
    )
    source = "ProcessQueue; RemoteBrokerOffsetStore.persistAll"
    needs = frozenset({"invoke", "ok", "deliver", "assign", "crash", "start"})
    awaits = dict.fromkeys(("crash", "stop"), EventFilter(nodes=frozenset((MASTER,))))
    timed = True

    def begin(self) -> None:
        self.given_up: dict[tuple[str | None, str | None], int] = {}
        """When a member of a group gave a queue up last, or (of no queue) went, ns."""

    def on_assign(self, event: Assign) -> None:
        if event.status == "off":
            self.given_up[event.group, event.queue] = event.t

    def on_consumer(self, event: Consumer) -> None:
        if event.status != "on":
            self.given_up[event.group, None] = event.t

    def on_deliver(self, event: Deliver) -> None:
        held = self._tested(event.process, event.queue)
        known = self.known.consumption
        if held is None or event.queue_offset is None or known.lost_from is not None or known.expired:
            return
        self.judged += 1
        passes = held.consumed.reader in known.tags and event.queue_offset > held.next
        if event.queue_offset != held.next and not passes:
            how = "skipped from" if event.queue_offset > held.next else "went back from"
            self.violate(
                event, f"{held.group} lived through the master's loss, and {how} {held.next} to {event.queue_offset} "
                f"in {event.queue}", since=None
            )  # fmt: skip

    def _tested(self, process: int | None, queue: str) -> Assignment | None:
        """An assignment through which the master went down."""
        held = self.known.consumption.assignments.get((process, queue))
        return None if held is None or held.since > self.known.nodes.ended_at.get(MASTER, -1) else held

    def look(self, event: Event) -> None:
        known, born = self.known.consumption, self.known.nodes.last_start(MASTER)
        since = event.t - HEARD_NS
        if event.node != MASTER or known.lost_from is not None or born > since:
            return
        if not self.known.disturbances.is_undisturbed(since, *PLACES):
            return
        for seen in known.observations(event):
            stood = self._stood(seen.group, seen.queue, since)
            if stood is not None:
                self.judged += 1
                if seen.seen < stood:
                    self.violate(
                        event, f"{seen.group} stood at {stood} of {seen.queue} {HEARD_NS / MS:.0f} ms ago; the master, "
                        f"back since {(event.t - born) / MS:.0f} ms, knows {seen.shown()}", since=since
                    )  # fmt: skip

    def _stood(self, group: str, queue: str, since: int) -> int | None:
        """Where the one consumer that holds a group's queue stood then, if it should have told the master since."""
        known = self.known.consumption
        holders = [who for (who, of), each in known.assignments.items() if of == queue and each.group == group]
        if len(holders) != 1 or max(self.given_up.get((group, each), -1) for each in (queue, None)) >= since:
            return None
        (process,) = holders
        held, consumer = self._tested(process, queue), known.consumers.get(process)
        route = known.routes.get(process)
        if any(each.event.process == process for each in self.known.sent.backs.values()):
            return None
        if held is None or held.since > since or consumer is None or not consumer.clustering or consumer.orderly:
            return None
        if route is not None and ("0" not in route.nodes or route.since > since):
            return None
        return held.next_at(since)
