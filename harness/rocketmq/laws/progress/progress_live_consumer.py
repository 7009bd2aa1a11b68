"""``progress-live-consumer``: a consumer that outlives the master's loss and return neither skips nor repeats messages,
and the master's committed offset reaches its own.

Checks:
- In each assignment that outlives the master, each message has the next queue offset; a later one if the group
  subscribes by tag (see ``deliver-by-tag``).
- The progress in the master's answer or table is at least the consumer's offset ``REPORT_NS`` before (two commit
  periods, as the first commit may find its connection dead, and a call's timeout), if master, link and route were
  undisturbed since.
Abstains when:
- The master has lost a part of its log; for the order of offsets also after a log lost its oldest files.
- Two consumers hold the queue, or held it since the offset compared with.
- For the committed offset: the group is orderly, which waits for locks, or the consumer sends messages back, which
  delays its commits.
- For the committed offset: an administrator's reset of the group came later, or may still come.
- offsetCheckInSlave is set (not applicable): a slave that lags sends consumers back.
Source: ProcessQueue; RemoteBrokerOffsetStore.persistAll, MQClientInstance.persistAllConsumerOffset (every 5 s).
"""

from ....event_types.client import Assign, Consumer, Deliver
from ....history import MS, Event
from ...known.consumed import Assignment
from ...known.consumption import COMMIT_NS
from ...law import MASTER_ENDS
from ...topology import MASTER
from ..delivery.never_moved import NeverMoved
from .shown_progress import ShownProgress

CALL_TIMEOUT_NS = 5_000 * MS
REPORT_NS = 2 * COMMIT_NS + CALL_TIMEOUT_NS
TARGETS = (MASTER, f"client-{MASTER}")


class ProgressLiveConsumer(NeverMoved, ShownProgress):
    needs = frozenset({"invoke", "ok", "deliver", "assign", "crash", "start"})
    awaits = MASTER_ENDS
    timed = True

    def begin(self) -> None:
        self.given_up: dict[tuple[str | None, str | None], int] = {}
        """By group and queue (None: all of them), when a member last gave it up, ns."""

    def on_assign(self, event: Assign) -> None:
        if event.status == "off":
            self.given_up[event.group, event.queue] = event.t

    def on_consumer(self, event: Consumer) -> None:
        if event.status != "on":
            self.given_up[event.group, None] = event.t

    def on_deliver(self, event: Deliver) -> None:
        held = self._tested(event.process, event.queue)
        known = self.known.consumption
        if held is None or event.queue_offset is None or known.lost_from is not None or self.known.stores.expired:
            return
        self.judged += 1
        passes = held.consumed.reader in known.tags and event.queue_offset > held.next
        if event.queue_offset != held.next and not passes:
            how = "skipped from" if event.queue_offset > held.next else "went back from"
            where = f"{held.next} to {event.queue_offset} in {event.queue}"
            self.violate(event, f"{held.group} outlived the master's loss, and {how} {where}", since=None)

    def _tested(self, process: int | None, queue: str) -> Assignment | None:
        held = self.known.consumption.assignments.get((process, queue))
        return None if held is None or held.since > self.known.nodes.ended_at.get(MASTER, -1) else held

    def check_shown(self, event: Event) -> None:
        known, started = self.known.consumption, self.known.nodes.last_start(MASTER)
        since = event.t - REPORT_NS
        if event.node != MASTER or known.lost_from is not None or started > since:
            return
        if not self.known.disturbances.is_undisturbed(since, *TARGETS):
            return
        for seen in known.observations(event):
            stood = self._offset_at(seen.group, seen.queue, since)
            if stood is not None:
                self.judged += 1
                if seen.seen < stood:
                    what = f"{seen.group} stood at {stood} of {seen.queue} {REPORT_NS / MS:.0f} ms ago"
                    back = f"the master, back since {(event.t - started) / MS:.0f} ms"
                    self.violate(event, f"{what}; {back}, reports {seen.shown()}", since=since)

    def _offset_at(self, group: str, queue: str, since: int) -> int | None:
        """Offset of the group's only consumer of a queue at a time; None if it need not have committed it since."""
        known = self.known.consumption
        if known.resets.get((group, queue), -1) >= since:
            return None
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
