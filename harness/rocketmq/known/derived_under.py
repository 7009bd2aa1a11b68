"""The settings under which each store's queues and key index were derived: those of all starts on that store.

A start applies its settings to what it dispatches; earlier entries stay. A promotion gives a store to a node with other
settings. The stores of two nodes that swap roles count as sharing their settings. Bounded by nodes and by the values of
their settings.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...event_types.node import Start, Wipe
from ..settings import Settings, keeps_index

LEVELS = "messageDelayLevel"
DELAYED = "SCHEDULE_TOPIC_XXXX/"
"""Queues whose entries hold delivery times, which a node derives from its own messageDelayLevel."""


class Derivation(NamedTuple):
    is_indexed: bool
    levels: str


class DerivedUnder:
    def __init__(self) -> None:
        self._seen: dict[str, set[Derivation]] = {}

    def started(self, event: Start, config: Mapping[str, Settings]) -> None:
        """A node continues with its store, under these settings."""
        settings = config.get(event.node, {})
        if event.f == "empty":
            self._seen.pop(event.node, None)
        found = Derivation(keeps_index(settings), str(settings.get(LEVELS, "")))
        self._seen.setdefault(event.node, set()).add(found)

    def wiped(self, event: Wipe) -> None:
        """A node's store was replaced: by an older image, an empty one, or another node's."""
        if event.detail is not None:
            self._seen[event.node] = self._seen.get(event.node, set()) | self._seen.get(event.detail, set())

    def indexed(self, node: str) -> bool | None:
        """Whether all records of a node's store were indexed, or none (False); None: some, or it is unknown."""
        seen = {each.is_indexed for each in self._seen.get(node, ())} or {True}
        return next(iter(seen)) if len(seen) == 1 else None

    def levels(self, *nodes: str) -> str:
        """The different delay levels under which these nodes' queues were derived; empty if they do not differ."""
        every = {node: sorted({each.levels for each in self._seen.get(node, ())}) for node in nodes}
        if len({level for levels in every.values() for level in levels}) < 2:
            return ""
        return f"{LEVELS} is " + ", ".join(f"{' or '.join(levels)!r} on {node}" for node, levels in every.items())
