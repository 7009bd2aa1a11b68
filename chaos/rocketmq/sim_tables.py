"""An unhindered administrator's reads of the nodes' tables, as ``table`` events; ends of queues.

A broker's answer is its table's own encoding, read by :mod:`pairproof.chaos.observers.table_reader`. A slave's delay
offsets are read from its file, since it loads them only when it becomes a master.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial

from ...harness.rocketmq.operations.scope import AWAITED_MS, FALTERING
from ...reference.core.broker import Broker
from ...reference.core.delay import SCHEDULE_TOPIC, queue_of_level
from ...reference.core.namesrv import NameServer
from ...reference.core.routes import MASTER_ID
from ...reference.core.topics import retry_topic
from ...reference.wire.bodies_client import MessageQueue
from ..labs.sim.evidence import Evidence
from ..labs.sim.host import Host
from ..observers import table_reader
from .provision import TOPIC


def record(evidence: Evidence, host: Host) -> None:
    """Record every table of a running node."""
    node = host.node
    if isinstance(node, NameServer):
        known = node.routes.cluster_info().broker_addr_table
        brokers = {
            name: {str(number): evidence.node_at(address) for number, address in broker.broker_addrs.items()}
            for name, broker in known.items()
        }
        _record(evidence, host.name, "brokers", lambda: table_reader.Table(json.dumps(brokers, sort_keys=True)))
    elif isinstance(node, Broker):
        parts = node.parts
        for table, of in (("topics", parts.topics), ("groups", parts.groups), ("offsets", parts.offsets)):
            _answered(evidence, host, table, of.encode)
        if node.config.is_slave:
            file = parts.delay_offsets.file
            bodies = (node.io.disk.read_whole(name) for name in (file.name, file.backup))
            _record(evidence, host.name, "delays", partial(table_reader.read_delays, bodies))
        else:
            _answered(evidence, host, "delays", parts.delay_offsets.encode)


def routed(evidence: Evidence, host: Host) -> None:
    """Record the topics that a running name server has of its masters."""
    if not isinstance(host.node, NameServer):
        return
    routes = host.node.routes
    for name, broker in routes.brokers.items():
        address = broker.broker_addrs.get(MASTER_ID)
        live = routes.live.get(address or "")
        if address is None or live is None:
            continue
        topics = {
            topic: [found.read_queue_nums, found.write_queue_nums, found.perm]
            for topic, queues in routes.topics.items()
            if (found := queues.get(name)) is not None
        }
        evidence.add(
            evidence.now(), "routed", host.name, op=evidence.audits, f=evidence.node_at(address),
            value=live.version.counter, lo=live.version.timestamp, detail=json.dumps(topics, sort_keys=True),
        )  # fmt: skip


def queue_ends(brokers: Iterable[Broker]) -> dict[MessageQueue, int]:
    """The next offset of each queue of the clients' topic, and of the retry topic of the group that needs one."""
    found = {}
    for broker in brokers:
        for name in (TOPIC, retry_topic(f"g{FALTERING}")):
            topic = broker.parts.topics.get(name)
            for number in range(topic.read_queue_nums if topic is not None else 0):
                end = broker.store.queues.next_offset(name, number)
                found[MessageQueue(name, broker.config.brokerName, number)] = end
    return found


def holds_back(master: Broker) -> bool:
    """Whether it still has undelivered delayed messages, of levels that a trial waits for."""
    queues, delays = master.store.queues, master.store.delays_ms
    return any(
        delays[level - 1] <= AWAITED_MS and at < queues.next_offset(SCHEDULE_TOPIC, queue_of_level(level))
        for level, at in master.delivery.next.items()
    )


def _answered(evidence: Evidence, host: Host, table: str, encode: Callable[[], bytes]) -> None:
    said: list[bytes] = []
    # The node's own code: an exception is its crash.
    host.call(lambda: said.append(encode()))
    for body in said:
        _record(evidence, host.name, table, partial(table_reader.read, table, body))


def _record(evidence: Evidence, node: str, f: str, reading: Callable[[], table_reader.Table]) -> None:
    table_reader.record(evidence.add, evidence.now, node, evidence.audits, f, reading)
