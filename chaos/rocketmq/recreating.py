"""Administrators who create, delete and re-create topics and groups: the operation ``recreate``.

Unless the object is used, they have their own names, so no message, consumer or other administrator depends on a
deleted one. Each step is a call in the history, and begins after the one before was answered, even with a refusal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from ...harness.errors import Unable
from ...reference.client import admin
from ...reference.client.client import Outcome
from ...reference.wire.bodies import SubscriptionGroupConfig, TopicConfig
from .clients import Call, Clients
from .provision import TOPIC

QUEUES = (4, 1)
"""A topic's, at its first and second creation."""
BROKERS = ((1, 0), (0, 2))
"""A group's likewise: brokerId, whichBrokerWhenConsumeSlowly."""


class Job(NamedTuple):
    what: str
    number: int
    steps: int
    node: str
    used: bool

    @property
    def name(self) -> str:
        if self.what == "topic":
            return TOPIC if self.used else f"a{self.number}"
        return f"{'g' if self.used else 'ga'}{self.number}"


class Recreating:
    """Implements CanRemake."""

    def __init__(self, clients: Clients, keeps_queues: bool) -> None:
        self.clients = clients
        self.keeps_queues = keeps_queues
        """Whether a deleted topic's queues remain. RocketMQ deletes them, so that a new one begins at offset 0."""

    def recreate(self, what: str, number: int, steps: int, node: str, used: bool) -> None:
        self.clients.check(node, "an administrator asks")
        if used and what == "topic" and not self.keeps_queues:
            raise Unable("brokers of this lab may delete the queues of a topic that clients use")
        if steps:
            self._step(Job(what, number, steps, node, used), 0)

    def _step(self, job: Job, done: int) -> None:
        if done == 1:
            self._delete(job)
        elif job.what == "topic":
            self._make_topic(job, done)
        else:
            self._make_group(job, done)

    def _make_topic(self, job: Job, done: int) -> None:
        queues = QUEUES[done // 2]
        call = self._invoke("topic", job, {"queues": queues})
        config = TopicConfig(job.name, queues, queues)
        admin.update_topic(self.clients.client.calls, self.clients.address(call), config, self._then(job, done, call))

    def _make_group(self, job: Job, done: int) -> None:
        broker, slowly = BROKERS[done // 2]
        call = self._invoke("group", job, {"brokerId": broker, "whichBrokerWhenConsumeSlowly": slowly})
        config = SubscriptionGroupConfig(job.name, broker_id=broker, which_broker_when_consume_slowly=slowly)
        admin.update_group(self.clients.client.calls, self.clients.address(call), config, self._then(job, done, call))

    def _delete(self, job: Job) -> None:
        calls = self.clients.client.calls
        if job.what == "topic":
            call = self._invoke("delete-topic", job, {})
            admin.delete_topic(calls, self.clients.address(call), job.name, self._then(job, 1, call))
        else:
            progress = bool(job.number % 2)
            call = self._invoke("delete-group", job, {"progress": progress})
            admin.delete_group(calls, self.clients.address(call), job.name, progress, self._then(job, 1, call))

    def _invoke(self, f: str, job: Job, detail: Mapping[str, int]) -> Call:
        # Not the client of other operations: a lost answer ends the client's process.
        client = f"administrator-{job.node}-{job.name}"
        return self.clients.invoke(client, f, job.node, job.name, detail=json.dumps(detail, sort_keys=True))

    def _then(self, job: Job, done: int, call: Call) -> partial[None]:
        return partial(self._ended, job, done, call)

    def _ended(self, job: Job, done: int, call: Call, outcome: Outcome) -> None:
        self.clients.ended(call, outcome)
        if outcome.phase != "info" and done + 1 < job.steps:
            self._step(job, done + 1)
