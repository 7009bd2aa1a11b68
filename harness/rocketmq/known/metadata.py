"""The words of tables and of their syncs, and how to read a table.

A slave fetches four tables of its master's, one after the other: topics, consumer offsets, delay offsets, groups.

A table is read as JSON: topics and groups by name, offsets by ``topic@group`` and queue id, delays by level; the body
that RocketMQ wraps around it may be there or not.

Left out: what RocketMQ 5 syncs besides. Source: SlaveSynchronize.syncAll.
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
"""What an administrator changes, and the table that it is in."""
DELETES = {"delete-topic": TOPICS, "delete-group": GROUPS}
"""The same of what one deletes."""
CHANGES = {**ADMIN, **DELETES}
"""Both."""
SLACK_NS = 1_000 * MS
"""What its timers, and a commit that nobody waits for, may be late."""
DONE = frozenset({"same", "applied"})
"""How a step ends after which slave and master agree."""
ARRIVED = DONE | {"answered"}
"""How one ends that brought the slave its master's table."""
MISSING = {"TOPIC_NOT_EXIST": TOPICS, "SUBSCRIPTION_GROUP_NOT_EXIST": GROUPS}
"""Answers that say that a table lacks something."""

Name = tuple[str, str]
"""A table, and what is in it: a topic, a group, or ``topic@group/queue id``."""


def entries(table: Table) -> Mapping[str, Any]:
    """What a ``table`` event's table holds; ValueError for text that is no JSON."""
    return _entries(table.detail or "{}", BODIES.get(table.f or "", ""))


@lru_cache(maxsize=256)
def _entries(detail: str, body: str) -> Mapping[str, Any]:
    said = json.loads(detail)
    found: Mapping[str, Any] = said.get(body, said)
    return found


def holds(table: Table, name: str) -> bool:
    """Whether a table has this entry; of offsets ``topic@group/queue id``."""
    found = entries(table)
    if table.f != OFFSETS:
        return name in found
    key, _, queue = name.rpartition("/")
    return queue in found.get(key, ())


def registration_answer(register: Register) -> Mapping[str, str]:
    """What a name server answered to a registration: ``master`` and ``ha``, as nodes, if it has them."""
    return _registration_answer(register.detail or "{}")


@lru_cache(maxsize=64)
def _registration_answer(detail: str) -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads(detail)
    return found


def topic_of(queue: str | None) -> str:
    """The topic of ``topic/queue id``."""
    return (queue or "").rpartition("/")[0]
