"""The transactions of a trial's producers: a half message, and later the producer's decision.

A half message has a UNIQ_KEY, as RocketMQ's producers set it, and no other key. Only one whose answer has its offset
can be ended. RocketMQ's producers request no answer to END_TRANSACTION; these do, so that the history has the accepted
ends. A wait for the next end counts as a call in flight, so the trial's end waits for it.
"""

from __future__ import annotations

import json
from functools import partial
from typing import NamedTuple

from ...harness.history import MS
from ...harness.rocketmq import topology
from ...harness.rocketmq.operations.scope import SMALL
from ...harness.rocketmq.operations.transact import COMMIT, NEVER
from ...harness.texts.content import content
from ...reference.client.client import GROUP, Outcome
from ...reference.core.processors import transactions
from .clients import Call, Clients, described, filled
from .provision import TOPIC

HALF = f"\x02TRAN_MSG\x01true\x02PGROUP\x01{GROUP}"


class Plan(NamedTuple):
    """The plan for a half message: ended with ``says`` after ``ms``, so many ``times``."""

    says: str
    ms: int
    times: int


class Transactions:
    """Implements CanTransact."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients

    def transact(self, producer: int, queue: int, says: str, ms: int, times: int, level: int) -> None:
        clients = self.clients
        key, flag, tags = clients.new_message()
        body = filled(key, SMALL)
        detail = content(body, tags, flag, half=True)
        call = clients.invoke(
            f"producer-{producer}", "send", topology.MASTER, key, f"{TOPIC}/{queue}", int(True), detail
        )
        # Its client takes the delay away from a half message, if it is RocketMQ's; not so those of other languages.
        delay = f"\x02DELAY\x01{level}" if level else ""
        properties = described(f"UNIQ_KEY\x01{key}", tags, True) + HALF + delay
        plan = Plan(says, ms, 0 if says == NEVER else times)
        clients.client.send(
            clients.address(call), TOPIC, queue, body, properties, partial(self._sent, call, plan), flag
        )

    def _sent(self, call: Call, plan: Plan, outcome: Outcome) -> None:
        half = self.clients.placed(call, outcome)
        if half is not None:
            self._go_on(call, plan, half)

    def _go_on(self, call: Call, plan: Plan, half: tuple[int, int]) -> None:
        if not plan.times:
            return
        self.clients.in_flight += 1
        self.clients.client.later(plan.ms * MS, partial(self._end, call, plan, half))

    def _end(self, send: Call, plan: Plan, half: tuple[int, int]) -> None:
        clients = self.clients
        clients.in_flight -= 1
        call = clients.begin(send.client, "decide", send.node, send.message, send.queue)
        self._note(call, half, "asked", detail=json.dumps({"says": plan.says, "at": half[0]}))
        decision = transactions.COMMIT if plan.says == COMMIT else transactions.ROLLBACK
        done = partial(self._ended, call, plan, half)
        clients.client.end_transaction(clients.address(call), send.message or "", half, decision, done)

    def _ended(self, call: Call, plan: Plan, half: tuple[int, int], outcome: Outcome) -> None:
        self.clients.over(call, outcome)
        remark = outcome.answer.remark if outcome.answer is not None else None
        self._note(call, half, outcome.phase, status=outcome.status, detail=remark)
        self._go_on(call, plan._replace(times=plan.times - 1), half)

    def _note(self, call: Call, half: tuple[int, int], f: str, **columns: object) -> None:
        self.clients.note(call, "decide", f=f, queue_offset=half[1], **columns)
