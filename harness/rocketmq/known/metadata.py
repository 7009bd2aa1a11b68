"""Names of the tables and of their syncs, and how to read a table.

A slave fetches four tables from its master, one after the other: topics, consumer offsets, delay offsets, groups.

A table is read as JSON: topics and groups by name, offsets by ``topic@group`` and queue id, delays by level, with or
without RocketMQ's wrapper object.

Left out: RocketMQ 5's further tables. Source: SlaveSynchronize.syncAll.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ...history import MS
from ..event_types.metadata import Register, Table

TOPICS, OFFSETS, DELAYS, GROUPS = STEPS = ("topics", "offsets", "delays", "groups")
"""In the order of a sync."""
BODIES = {
    TOPICS: "topicConfigTable", OFFSETS: "offsetTable", DELAYS: "offsetTable", GROUPS: "subscriptionGroupTable",
}  # fmt: skip
ADMIN = {"topic": TOPICS, "group": GROUPS}
DELETES = {"delete-topic": TOPICS, "delete-group": GROUPS}
CHANGES = {**ADMIN, **DELETES}
SLACK_NS = 1_000 * MS
"""The delay of its timers, and of a commit without an answer."""
DONE = frozenset({"same", "applied"})
"""Ends of a step after which slave and master agree."""
ARRIVED = DONE | {"answered"}
"""Ends of a step in which the slave received its master's table."""
MISSING = {"TOPIC_NOT_EXIST": TOPICS, "SUBSCRIPTION_GROUP_NOT_EXIST": GROUPS}
"""Answers for a missing entry, by table."""
RETRY, DEAD = "%RETRY%", "%DLQ%"
"""Prefixes of a group's retry and dead-letter topics."""

Name = tuple[str, str]
"""A table, and an entry: a topic, a group, or ``topic@group/queue id``."""


def entries(table: Table) -> Mapping[str, Any]:
    """The entries of a ``table`` event; ValueError for text that is not JSON."""
    content = _parsed(table.detail or "{}")
    found: Mapping[str, Any] = content.get(BODIES.get(table.f or "", ""), content)
    return found


def holds(table: Table, name: str) -> bool:
    """Whether a table has this entry; offsets are named ``topic@group/queue id``."""
    found = entries(table)
    if table.f != OFFSETS:
        return name in found
    key, _, queue = name.rpartition("/")
    return queue in found.get(key, ())


def registration_answer(register: Register) -> Mapping[str, str]:
    """The ``master`` and ``ha`` nodes in a name server's answer to a registration, if it has them."""
    return _parsed(register.detail or "{}")


@lru_cache(maxsize=256)
def _parsed(detail: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(detail)
    return found


def topic_of(queue: str | None) -> str:
    """The topic of ``topic/queue id``."""
    return (queue or "").rpartition("/")[0]
