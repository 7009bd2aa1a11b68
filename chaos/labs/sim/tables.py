"""What an administrator who no fault stops would read of the nodes' tables, as ``table`` events.

A broker's answer is its table's own encoding, read by :mod:`pairproof.chaos.observers.table_reader`. A slave's delay
offsets are what its file holds, since it loads them only when it becomes a master.
"""

from __future__ import annotations

import json

from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.observers import table_reader
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.namesrv import NameServer

EMPTY = b'{"offsetTable":{}}'


def record(evidence: Evidence, host: Host) -> None:
    """Record every table of a node that runs; nothing of one that does not."""
    node = host.node
    if isinstance(node, NameServer):
        known = node.routes.cluster_info().broker_addr_table
        brokers = {
            name: {str(number): evidence.node_at(address) for number, address in broker.broker_addrs.items()}
            for name, broker in known.items()
        }
        _add(evidence, host.name, "brokers", table_reader.Table(None, None, json.dumps(brokers, sort_keys=True)))
    elif isinstance(node, Broker):
        for table, body in _bodies(node).items():
            _add(evidence, host.name, table, table_reader.read(table, body))


def _bodies(broker: Broker) -> dict[str, bytes]:
    parts = broker.parts
    found = {
        "topics": parts.topics.encode(),
        "groups": parts.groups.encode(),
        "offsets": parts.offsets.encode(),
    }
    if broker.config.is_slave:
        found["delays"] = broker.io.disk.read_whole(parts.delay_offsets.file.name) or EMPTY
    else:
        found["delays"] = parts.delay_offsets.encode()
    return found


def _add(evidence: Evidence, node: str, f: str, table: table_reader.Table) -> None:
    evidence.add(
        evidence.kernel.now, "table", node, None, None, None, None, evidence.audits, f, None, None, None, None,
        table.timestamp, None, None, table.counter, table.detail,
    )  # fmt: skip
