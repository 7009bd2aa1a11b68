"""Reads a broker's tables from outside: what GET_ALL_TOPIC_CONFIG and its like answer, and what config files hold.

fastjson writes maps with numbers for keys without quotes; here they get them. Nothing is shared with the broker that is
judged. Left out: tables of RocketMQ 5. Source: TopicConfigSerializeWrapper, SubscriptionGroupWrapper,
ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import NamedTuple

BODIES = {
    "topics": "topicConfigTable", "groups": "subscriptionGroupTable", "offsets": "offsetTable", "delays": "offsetTable",
}  # fmt: skip
"""By table, where its body has its content."""
_BARE_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|([{,]\s*)(-?\d+)(\s*:)')


class Table(NamedTuple):
    """A table as read: ``detail`` is its content as JSON with sorted keys; no version where it has none."""

    counter: int | None
    timestamp: int | None
    detail: str


@lru_cache(maxsize=256)
def read(table: str, body: bytes) -> Table:
    """Read one; ValueError for bytes that are no such table. Cached, since most tables are read again as they were."""
    said = json.loads(_BARE_KEY.sub(_quoted, body.decode()))
    if not isinstance(said, dict) or not isinstance(said.get(BODIES[table]), dict):
        raise ValueError(f"no {table}: {body[:40]!r}")
    version = said.get("dataVersion") or {}
    detail = json.dumps(said[BODIES[table]], sort_keys=True)
    return Table(version.get("counter"), version.get("timestamp"), detail)


def brokers(body: bytes) -> dict[str, dict[str, str]]:
    """What a name server answers to GET_BROKER_CLUSTER_INFO: by broker name, addresses by broker id.

    ValueError for bytes that are no such answer.
    """
    said = json.loads(_BARE_KEY.sub(_quoted, body.decode()))
    table = said.get("brokerAddrTable") if isinstance(said, dict) else None
    if not isinstance(table, dict):
        raise ValueError(f"no brokers: {body[:40]!r}")
    return {name: dict(broker["brokerAddrs"]) for name, broker in sorted(table.items())}


def _quoted(found: re.Match[str]) -> str:
    return found[0] if found[2] is None else f'{found[1]}"{found[2]}"{found[3]}'
