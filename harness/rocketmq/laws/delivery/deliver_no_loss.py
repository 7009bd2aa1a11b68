"""``deliver-no-loss``: after healing, every message that the contract protects is delivered to every live group.

A group is live if one of its consumers has run since healing. The contract (:mod:`pairproof.harness.rocketmq.contract`)
protects a message on the master after an answer as stored; a crash in progress counts as later. A committed half
message counts as sent at its commit, without waiting, if the final audit finds it.

Checks:
- At the trial's end, a group has received each such message of the queues that it ever took, from its first position
  on. A broadcasting group is judged per consumer, a subscription by its tags.
- A group does not go on past a missing message.
- A group does not wait before one for 150 s after the last possible delay: healing, the answer to the send, the
  master's start, the consumer's start, route and assignment, a refusal of the group by a master that creates none, or
  an administrator's settings that keep the group from the queue.
Abstains when:
- The consumer chose its first offset itself.
- A broker may not be read (brokerPermission): not applicable.
- A slave was diverged when the message was stored, or when it answered a pull that passed the message's offset: its
  queues hold other messages there.
- The master lost a part of its log, and the group had passed the reused offset or received another message there.
- The group keeps asking a slave that lacks the log's beginning, or, by its user's or the master's choice, a 5.x slave
  that serves no reads.
- The message is delayed and lies in another queue by the final audit.
- offsetCheckInSlave is on (not applicable): a slave may move a consumer past messages that it lacks.
Source: docs/contract.md: at-least-once delivery, by design; ConsumeQueue, ConsumerOffsetManager.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ....event_types.client import SENDS, Fail, Ok
from ....event_types.machine import Mark
from ....history import MS, Event
from ....judging.law import DURABILITY, only
from ....texts.content import level_of, payload
from ... import contract
from ...event_types.transactions import Decide
from ...known.consumed import Assignment, Consumed, Consumer
from ...known.consumption import SLACK_NS
from ...known.tables import READ
from ...settings import creates_groups
from ...topology import MASTER
from .never_moved import NeverMoved
from .transacted import COMMIT

STUCK_NS = 150_000 * MS
"""A dead member expires after 120 s, a group rebalances every 20 s."""


class Stored(NamedTuple):
    ok: Event
    happened: int
    acked_while_diverged: bool
    delayed: bool
    given: dict[str, int]
    """By reader: its position then, if the master had already lost something."""


class DeliverNoLoss(NeverMoved):
    kind = DURABILITY
    applies_with = "a name server and consumers, without offsetCheckInSlave"
    needs = frozenset({"config", "invoke", "ok", "crash", "deliver", "consumer", "assign", "mark"})
    timed = True

    def applies(self) -> bool:
        return super().applies() and self.known.is_allowed(READ)

    def begin(self) -> None:
        self.stored: list[Stored] = []
        self.committed: list[Stored] = []
        self.listed: dict[str | None, tuple[str, int]] = {}
        """By message: queue and queue offset in the master's final audit."""
        self.refused: dict[str | None, int] = {}
        """By group: the last refusal by a master that creates no groups, ns."""
        self.alive: dict[int | None, Consumer] = {}
        """Consumers at healing."""

    # Stored messages.

    @only(*SENDS, node=MASTER)
    def on_ok(self, event: Ok) -> None:
        if event.status not in contract.STORED or event.message in self.known.sent.halves:
            return
        begun = self.known.calls.begun(event)
        delayed = begun is not None and level_of(begun.call) > 0
        self.stored.append(self._as_stored(event, self.known.calls.happened_before(event), delayed))

    def on_decide(self, event: Decide) -> None:
        begun = self.known.calls.asked(event) if event.f == "ok" and event.node == MASTER else None
        if begun is not None and payload(begun.call.detail).get("says") == COMMIT:
            ok = event._replace(status="PUT_OK", value=0)
            self.committed.append(self._as_stored(ok, begun.happened, False))

    def _as_stored(self, event: Event, happened: int, delayed: bool) -> Stored:
        known, given = self.known.consumption, {}
        if known.lost_from is not None:
            given = {each.reader: each.given for each in known.consumed.values() if each.queue == event.queue}
        return Stored(event, happened, bool(self.known.logs.diverged), delayed, given)

    def on_fail(self, event: Fail) -> None:
        refused = event.node == MASTER and event.status == "SUBSCRIPTION_GROUP_NOT_EXIST"
        if refused and not creates_groups(self.known.config.get(MASTER, {})):
            self.refused[event.group] = event.t

    # Groups that must have received them.

    @only("heal", "end")
    def on_mark(self, event: Mark) -> None:
        if event.f == "heal":
            self.alive = dict(self.known.consumption.consumers)
        elif "heal" in self.known.milestones and self.known.consumption.consumed:
            listing = self.known.audits.final.get(MASTER)
            for each in () if listing is None else listing.records:
                if each.queue is not None:
                    self.listed[each.message] = (each.queue, each.queue_offset)
            self._judge_all(event)

    def _judge_all(self, end: Event) -> None:
        known = self.known.consumption
        live = {
            known.reader_of(process, each.group)
            for process, each in self.alive.items()
            if known.consumers.get(process) is each
        }
        required: dict[str | None, list[Stored]] = {}
        for each in (*self.stored, *self._found()):
            if self._must_survive(each):
                required.setdefault(each.ok.queue, []).append(each)
        for consumed in known.consumed.values():
            if consumed.reader in live and consumed.first is not None:
                held = [each for each in known.assignments.values() if each.consumed is consumed]
                for each in required.get(consumed.queue, ()):
                    self._judge(each, consumed, held, end)

    def _found(self) -> Iterator[Stored]:
        for each in self.committed:
            queue, offset = self.listed.get(each.ok.message, ("", 0))
            if queue == each.ok.queue:
                yield each._replace(ok=each.ok._replace(queue_offset=offset))

    def _must_survive(self, stored: Stored) -> bool:
        ok, copies = stored.ok, self.known.needed
        happened = self.known.stores.since(stored.happened, ok.lo)
        fault = contract.fault_class(happened, stored.acked_while_diverged, copies)
        settings, status = self.known.config.get(MASTER, {}), ok.status or contract.UNKNOWN
        return contract.must_with(settings, copies, bool(ok.value), status, fault) == contract.MUST_SURVIVE

    def _judge(self, stored: Stored, consumed: Consumed, held: list[Assignment], end: Event) -> None:
        ok = stored.ok
        offset, message = ok.queue_offset, ok.message
        wanted = self.known.consumption.tags.get(consumed.reader)
        if wanted is not None and self.known.sent.tag(message) not in wanted:
            return
        if offset is None or offset < max(consumed.first or 0, consumed.chosen):
            return
        if stored.delayed and self.listed.get(message) != (ok.queue, offset):
            return
        if message in consumed.messages:
            self.judged += 1
            return
        if self.known.consumption.lost_from is not None and (
            stored.acked_while_diverged or offset < stored.given.get(consumed.reader, 0) or offset in consumed.offsets
        ):
            return
        if any(asked <= offset < following for asked, following in consumed.passed_at_diverged):
            return
        where = f"{message} ({ok.status}), {ok.queue} at {offset}, never came to {consumed.reader}"
        if self._has_passed(offset, consumed, held, end):
            self.judged += 1
            what = f"{where}, which has gone on behind it"
            self.violate(end._replace(message=message), what, since=end.t - SLACK_NS)
        elif not self._is_excused(ok, consumed, held, end):
            self.judged += 1
            what = f"{where}; for {STUCK_NS / MS:.0f} ms nothing has held it up"
            self.violate(end._replace(message=message), what, since=end.t - STUCK_NS)

    @staticmethod
    def _has_passed(offset: int, consumed: Consumed, held: list[Assignment], end: Event) -> bool:
        if not held:
            return consumed.committed > offset
        # A message that was just pulled may be in flight to the application.
        return any(each.position > offset and each.moved <= end.t - SLACK_NS for each in held)

    def _is_excused(self, ok: Event, consumed: Consumed, held: list[Assignment], end: Event) -> bool:
        known, disturbances = self.known.consumption, self.known.disturbances
        if (
            "unsettled" in self.known.milestones
            or self.known.logs.diverged
            or disturbances.active
            or MASTER not in self.known.up
        ):
            return True
        if any(disturbances.is_unavailable(node) for node in self.known.config):
            return True
        slaves = {each.served_by for each in held} - {MASTER, None}
        if any(self.known.logs.starts.get(slave or "") != 0 for slave in slaves):
            return True
        since = [ok.t, self.known.nodes.last_start(MASTER), *(each.since for each in held)]
        since += [self.refused.get(each.group, 0) for each in held]
        for process, consumer in known.consumers.items():
            if known.reader_of(process, consumer.group) == consumed.reader:
                if known.may_be_refused(consumer):
                    return True
                since.append(consumer.since)
                route = known.routes.get(process)
                since += [route.since] if route is not None else []
        group = consumed.reader.partition("#")[0]
        since.append(self.known.tables.held_back_until(consumed.queue, group, end.t))
        since.append(self.known.milestones["heal"].t)
        return end.t - max(since) <= STUCK_NS
