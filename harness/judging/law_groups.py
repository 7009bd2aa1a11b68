"""Groups of laws by the first word of their ids, for catalogues and reports."""

from __future__ import annotations

from collections.abc import Iterable

GROUPS = (
    ("contract", "Durability contract"),
    ("ha-", "Replication stream"),
    ("log-", "Log and storage"),
    ("loss-", "Log and storage"),
    ("store-", "Log and storage"),
    ("stored-", "Log and storage"),
    ("queue-", "Log and storage"),
    ("query-", "Questions"),
    ("invalid-", "Questions"),
    ("config-", "Questions"),
    ("valid-", "Questions"),
    ("conversation-", "Questions"),
    ("ack-", "Acknowledgement"),
    ("role-", "Roles"),
    ("mode-", "Roles"),
    ("deliver-", "Delivery"),
    ("pull-", "Delivery"),
    ("transact-", "Delivery"),
    ("group-", "Delivery"),
    ("producer-", "Reading and routing"),
    ("client-", "Reading and routing"),
    ("read-", "Reading and routing"),
    ("route-", "Reading and routing"),
    ("progress-", "Consumer progress"),
    ("meta-", "Metadata"),
    ("live-", "Liveness"),
    ("node-", "Liveness"),
    ("promise-", "Any system"),
    ("copy-", "Any system"),
    ("written-", "Any system"),
    ("converges", "Any system"),
)

OTHERS = "Other laws"


def group_of(law: str) -> str:
    """The group of the law with this id; :data:`OTHERS` for a third party's."""
    return next((title for prefix, title in GROUPS if law.startswith(prefix)), OTHERS)


def grouped(laws: Iterable[str]) -> list[tuple[str, list[str]]]:
    """The ids by group, groups in the order of :data:`GROUPS`, ids in the given order."""
    found: dict[str, list[str]] = {title: [] for _, title in GROUPS}
    for law in laws:
        found.setdefault(group_of(law), []).append(law)
    return [(title, members) for title, members in found.items() if members]
