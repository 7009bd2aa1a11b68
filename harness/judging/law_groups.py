"""Groups of laws by the first word of their ids, for catalogues and reports."""

from __future__ import annotations

from collections.abc import Iterable

GROUPS = {
    "Durability contract": ("contract",),
    "Replication stream": ("ha-",),
    "Log and storage": ("log-", "loss-", "store-", "stored-", "queue-"),
    "Questions": ("query-", "invalid-", "config-", "valid-", "conversation-"),
    "Acknowledgement": ("ack-",),
    "Roles": ("role-", "mode-"),
    "Delivery": ("deliver-", "pull-", "transact-", "group-"),
    "Reading and routing": ("producer-", "client-", "read-", "route-"),
    "Consumer progress": ("progress-",),
    "Metadata": ("meta-",),
    "Liveness": ("live-", "node-"),
    "Any system": ("promise-", "copy-", "written-", "converges"),
}
"""The beginnings of the ids of each group."""
OTHERS = "Other laws"


def group_of(law: str) -> str:
    """The group of the law with this id; :data:`OTHERS` for a third party's."""
    return next((title for title, beginnings in GROUPS.items() if law.startswith(beginnings)), OTHERS)


def grouped(laws: Iterable[str]) -> list[tuple[str, list[str]]]:
    """The ids by group, groups in the order of :data:`GROUPS`, ids in the given order."""
    found: dict[str, list[str]] = {title: [] for title in GROUPS}
    for law in laws:
        found.setdefault(group_of(law), []).append(law)
    return [(title, members) for title, members in found.items() if members]
