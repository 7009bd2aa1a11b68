"""``contract``: only messages that the durability contract allows to be lost are lost. No message exists that was
refused or never sent.

Checks:
- At the final audits, each send is looked up in all stores, and judged by :mod:`pairproof.harness.rocketmq.contract`
  for its role, in-sync replicas, flush type, answer, and the store events since.
- An answer that rests on reports of rogue peers (``ack-replicated``) promises a copy on the master only.
- No store has a record of a message that no client sent, except RocketMQ's own OFFSET_MOVED_EVENT.
- ``notes`` count messages as ``required`` (to survive, or to be absent), ``permitted_losses``, and ``stronger`` than
  promised: allowed to be lost, but not lost.
Abstains when:
- For unsent messages: the store is a diverged slave's, where a record may begin in one log and end in another.
- A message is stored several times.
- A message is lost on the slave alone.
Source: docs/contract.md; master/slave replication by design, as RocketMQ's users rely on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ....event_types.client import SENDS, Fail, Invoke, Ok, Try
from ....history import Event
from ....judging.law import DURABILITY, only
from ... import contract
from ...event_types.log import Append
from ...law import Law
from ...topology import MASTER
from ..acks.ack_refused_is_absent import leaves_open

OWN_EVENTS = "OFFSET_MOVED_EVENT/"
"""The topic of RocketMQ's own messages, with a group's name as key (PullMessageProcessor)."""


@dataclass(slots=True, eq=False)
class Sent:
    waits: bool
    happened: int
    """Number of store events before it was stored."""
    tries: int = 0
    status: str = contract.UNKNOWN
    acked_while_diverged: bool = False
    copied: bool = True
    """Whether its answer rests on real slaves."""
    lo: int | None = None


class Contract(Law):
    kind = DURABILITY
    needs = frozenset({"config", "invoke", "ok", "crash", "record", "audit"})

    def begin(self) -> None:
        self.sent: dict[str | None, Sent] = {}

    @only(*SENDS)
    def on_invoke(self, event: Invoke) -> None:
        self.sent[event.message] = Sent(bool(event.waits), len(self.known.stores.happened))

    @only("began")
    def on_try(self, event: Try) -> None:
        """After a retry, the answer may be about any of several copies."""
        if event.message in self.sent:
            self.sent[event.message].tries += 1

    def on_append(self, event: Append) -> None:
        """Earlier store events cannot affect a stored message.

        Later copies, of a delayed or sent-back message, have no answer.
        """
        sent = self.sent.get(event.message) if event.message is not None else None
        if sent is not None and (sent.lo is None or event.node != MASTER):
            sent.happened = len(self.known.stores.happened)
            if event.node == MASTER:
                sent.lo = event.lo

    def on_ok(self, event: Ok) -> None:
        sent = self.sent.get(event.message)
        if sent is not None and event.f in SENDS and sent.tries <= 1 and event.status in contract.STORED:
            sent.status = event.status or contract.UNKNOWN
            sent.acked_while_diverged = bool(self.known.logs.diverged)
            sent.copied = not self.known.rests_on_rogues(event)
            sent.lo = event.lo if sent.lo is None else sent.lo

    def on_fail(self, event: Fail) -> None:
        sent = self.sent.get(event.message)
        if sent is not None and event.f in SENDS and not leaves_open(event):
            sent.status = contract.REFUSED

    def end(self, last: Event) -> None:
        final = self.known.audits.final
        if MASTER not in final:
            return
        held = {node: {each.message: each for each in found.records} for node, found in final.items()}
        self.notes = {"required": 0, "permitted_losses": 0, "stronger": 0}
        pushes = self.known.config.get(MASTER, {}).get("haPushes")
        if pushes is not None:
            # A master that pushes only flushed bytes should have no rollbacks.
            self.notes |= {f"trials_pushing_{pushes}": 1, f"rollbacks_pushing_{pushes}": self.known.logs.divergences}
        for node, records in held.items():
            if node in self.known.logs.diverged:
                continue
            for message, record in records.items():
                is_own = (record.queue or "").startswith(OWN_EVENTS)
                if message is not None and message not in self.sent and not is_own:
                    self.violate(record, f"{record.node} holds {message}, which nobody sent")
        for message, sent in self.sent.items():
            self._judge(message, sent, held)

    def _judge(self, message: str | None, sent: Sent, held: Mapping[str, Mapping[str | None, Event]]) -> None:
        self.judged += 1
        happened = self.known.stores.since(sent.happened, sent.lo)
        copies = self.known.needed if sent.copied else 0
        fault = contract.fault_class(happened, sent.acked_while_diverged, copies, copies == len(self.known.slaves))
        settings = self.known.config.get(MASTER, {})
        must = contract.must_with(settings, copies, sent.waits, sent.status, fault)
        on_master = message in held[MASTER] or self._is_in_pool(sent)
        anywhere = on_master or any(message in records for records in held.values())
        if must == contract.MAY_VANISH:
            if sent.status != contract.UNKNOWN:
                self.notes["stronger" if anywhere else "permitted_losses"] += 1
            return
        self.notes["required"] += 1
        audit = self.known.audits.final[MASTER].read
        assert audit is not None
        where = audit._replace(message=message)
        if must == contract.MUST_NOT_EXIST:
            if anywhere:
                self.violate(where, f"{message} was refused, and is stored all the same")
        elif must == contract.MUST_SURVIVE:
            if not on_master:
                self.violate(where, f"{message} ({sent.status}) is gone from the master; {_unfit(fault)}")
        elif not anywhere and len(held) > 1:
            self.violate(where, f"{message} ({sent.status}) is on no broker; {_unfit(fault)}")

    def _is_in_pool(self, sent: Sent) -> bool:
        """Whether the running master may still hold it in its transient store pool, which no reader of files sees."""
        known = self.known
        has_pool = MASTER in known.up and MASTER in known.stores.pooled
        return has_pool and sent.lo is not None and sent.lo >= known.committed(MASTER)


def _unfit(fault: str) -> str:
    return f"{fault} must not take it: {contract.FAULTS[fault].partition(';')[0]}"
