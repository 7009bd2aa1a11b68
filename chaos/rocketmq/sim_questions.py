"""Asks simulated nodes questions. An answer belongs to the moment of the node's audit: only its own time passes.

A request reaches the node as bytes over its own connection, its header in one of three forms; only the network is left
out. The asking and reading code shares nothing with the node: a constant that is wrong in both would go unnoticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ...harness.rocketmq.conversations import CONVERSATIONS, FEW, LEAST_QUEUES, MASTER, NAMES, SLAVE
from ...harness.rocketmq.conversations.steps import Step
from ...harness.rocketmq.invalid_requests import (
    ILLEGAL_FOR_NAMES,
    ILLEGAL_FOR_REFERENCE,
    OF_BROKERS,
    OF_NAMES,
)
from ...reference.core.broker import Broker
from ...reference.core.namesrv import NameServer
from ..labs.sim.evidence import Evidence
from ..labs.sim.host import Host
from ..observers.remoting_codes import Request
from . import conversations, invalid_requests, questions
from .frames import FORMS, Form
from .questions import OF_REFERENCE, Answered
from .sim_caller import OPAQUE, Frame, answers, remove_events

READS = frozenset((
    Request.QUERY_MESSAGE, Request.QUERY_CONSUMER_OFFSET, Request.GET_ALL_TOPIC_CONFIG, Request.GET_BROKER_CONFIG,
    Request.GET_BROKER_RUNTIME_INFO, Request.SEARCH_OFFSET_BY_TIMESTAMP, Request.GET_MAX_OFFSET,
    Request.GET_MIN_OFFSET, Request.GET_EARLIEST_MSG_STORETIME, Request.VIEW_MESSAGE_BY_ID,
    Request.GET_CONSUMER_LIST_BY_GROUP, Request.GET_ROUTEINFO_BY_TOPIC, Request.GET_BROKER_CLUSTER_INFO,
    Request.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, Request.GET_TOPIC_STATS_INFO, Request.GET_CONSUMER_CONNECTION_LIST,
    Request.GET_PRODUCER_CONNECTION_LIST, Request.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Request.GET_CONSUME_STATS,
    Request.QUERY_TOPIC_CONSUME_BY_WHO,
))  # fmt: skip
"""Read-only requests, several of which may be in flight."""
ENDS = ("crash", "abort", "close")
"""The node's events during a conversation that stay in the history."""


def put(evidence: Evidence, host: Host, seed: str, groups: Sequence[str], has_conversation: bool) -> None:
    """Ask one node, if it is a running broker or name server; with ``has_conversation`` also send invalid requests and
    hold a conversation.
    """
    node, began = host.node, evidence.now()
    form = FORMS[Random(f"{seed}/form/{host.name}").randrange(len(FORMS))]
    dice = Random(f"{seed}/manner/{host.name}")

    def ask(frames: Sequence[Frame]) -> Sequence[Answered]:
        return answers(evidence, host, frames, dice, began)

    if isinstance(node, Broker):
        audit, records = questions.audited(evidence.recorder.events, host.name)
        for each in questions.chosen(seed, host.name, records, groups, OF_REFERENCE.kinds):
            for answered in ask([Frame(form(each.code, OPAQUE, each.fields, b""))]):
                questions.record(
                    evidence.add, began, host.name, host.incarnation, audit, each, answered, OF_REFERENCE.figures
                )
    if isinstance(node, Broker | NameServer) and has_conversation:
        sendable = (OF_BROKERS, ILLEGAL_FOR_REFERENCE) if isinstance(node, Broker) else (OF_NAMES, ILLEGAL_FOR_NAMES)
        for sent in invalid_requests.chosen(seed, host.name, *sendable):
            for answered in ask([Frame(invalid_requests.framed(sent, form, OPAQUE))]):
                invalid_requests.record(
                    evidence.add, began, host.name, host.incarnation, sent, answered.status, answered.remark
                )
        steps = conversations.chosen(seed, host.name, CONVERSATIONS[type_of(host.node)])
        since = len(evidence.recorder.events)
        told = ask([_frame(form, step) for step in steps])
        # A conversation's sends come after the last audit: no law could compare them.
        remove_events(evidence, since, ENDS, began)
        for number, (step, answered) in enumerate(zip(steps, told, strict=False)):
            conversations.record(evidence.add, began, host.name, host.incarnation, step, answered, told[:number])
    # The time of its answers was its own.
    evidence.kernel.now = began


def type_of(node: object) -> str:
    """The type of a node, for its conversations."""
    if not isinstance(node, Broker):
        return NAMES
    if node.config.is_slave:
        return SLAVE
    return MASTER if node.config.defaultTopicQueueNums >= LEAST_QUEUES else FEW


def _frame(form: Form, step: Step) -> Frame:
    return Frame(
        lambda number, before: conversations.framed(step, form, number, before),
        Request[step.asks.code] in READS and not conversations.refers(step),
        step.may_be_silent,
    )
