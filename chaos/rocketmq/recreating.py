"""Administrators who create, delete and re-create topics and groups: the operation ``recreate``.

Unless the object is used, they have their own names, so no message, consumer or other administrator depends on a
deleted one. Each step is a call in the history, and begins after the one before was answered, even with a refusal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
        f, detail, ask, arguments = _request(job, done)
        # Not the client of other operations: a lost answer ends the client's process.
        client = f"administrator-{job.node}-{job.name}"
        call = self.clients.invoke(client, f, job.node, job.name, detail=json.dumps(detail, sort_keys=True))
        ask(
            self.clients.client.calls, self.clients.address(call), *arguments, partial(self._ended, job, done, call)
        )  # fmt: skip

    def _ended(self, job: Job, done: int, call: Call, outcome: Outcome) -> None:
        self.clients.ended(call, outcome)
        if outcome.phase != "info" and done + 1 < job.steps:
            self._step(job, done + 1)


def _request(job: Job, done: int) -> tuple[str, Mapping[str, int], Callable[..., object], tuple[object, ...]]:
    """A step's operation and its detail, and the administrator's function with its own arguments."""
    match job.what, done:
        case "topic", 1:
            return "delete-topic", {}, admin.delete_topic, (job.name,)
        case _, 1:
            progress = bool(job.number % 2)
            return "delete-group", {"progress": progress}, admin.delete_group, (job.name, progress)
        case "topic", _:
            queues = QUEUES[done // 2]
            return "topic", {"queues": queues}, admin.update_topic, (TopicConfig(job.name, queues, queues),)
    broker, slowly = BROKERS[done // 2]
    config = SubscriptionGroupConfig(job.name, broker_id=broker, which_broker_when_consume_slowly=slowly)
    detail = {"brokerId": broker, "whichBrokerWhenConsumeSlowly": slowly}
    return "group", detail, admin.update_group, (config,)
