"""Tables of nodes and name servers."""

from __future__ import annotations

from typing import Literal

from ...event_types.base import OfNode, OfReader
from ...event_types.text import The, count
from ...history import column
from ...texts.content import payload
from ..topology import NAMES


class Table(OfReader):
    """One of a node's tables was read."""

    f: Literal["topics", "groups", "offsets", "delays", "brokers"]
    """brokers: a name server's, broker name to id to node."""
    counter: int | None = column("value")
    """The counter of its data version; none for offsets, delays and brokers."""
    stamp: int | None = column("lo")
    """The timestamp of its data version."""
    detail: str
    """Its content as JSON with sorted keys; for delays on a slave that of its file."""

    def words(self, the: The) -> str:
        content = self.detail or "{}"
        content = content if len(content) <= MOST else f"{content[:MOST]}…"
        version = "" if self.counter is None else f", version {count(self.counter)}"
        return f"table reader: {self.f} of {self.node}{version}: {content}"


class Routed(OfReader):
    """The topics of a master that a name server has registered."""

    master: str = column("f")
    """The node that it knows as the master."""
    counter: int = column("value")
    """The counter of the registered data version."""
    stamp: int = column("lo")
    """The timestamp of the registered data version."""
    detail: str
    """JSON: topic to its queues to read, to write, and permissions."""

    def words(self, the: The) -> str:
        return f"table reader: {self.node} has {len(payload(self.detail))} topics of {self.master}"


class Garbled(OfReader):
    """One of a node's tables cannot be read."""

    f: str
    """As of a table."""
    detail: str
    """The error."""

    def words(self, the: The) -> str:
        return f"the {self.f} of {self.node} cannot be read: {self.detail}"


class Sync(OfNode):
    """A slave did a step of its metadata sync."""

    f: Literal["topics", "offsets", "delays", "groups"]
    status: Literal["asked", "answered", "same", "applied", "failed", "unread"]
    """``answered``: the master's table reached it; whether it applied the table is unknown. ``unread``: it could not
    read it.
    """

    def words(self, the: The) -> str:
        return _SYNC.get(self.status, "{node}: sync of {table}").format(
            node=self.node, table=TABLES.get(self.f, self.f)
        )


class Persist(OfNode):
    """A node wrote one of its tables to its disk."""

    f: Literal["topics", "groups", "offsets", "delays"]

    def words(self, the: The) -> str:
        return f"{self.node} writes its {TABLES.get(self.f, self.f)} to its disk"


class Register(OfNode):
    """A name server answered a broker's registration, or did not."""

    address: str | None = column("f")
    """The HA address that it registered, relative to its own: ``:+1``, or ``10.1.0.1:+3`` for another host."""
    status: Literal["ok", "failed"]
    detail: str | None
    """JSON: master, ha: the addresses in the answer, as nodes; absent if it has none."""

    def words(self, the: The) -> str:
        if self.status != "ok":
            return f"{self.node} is not answered when it registers with {the(NAMES)}"
        answer = ", ".join(f"{word} is {node}" for word, node in payload(self.detail).items())
        own = "" if self.address in (None, PLAIN_ADDRESS) else f" and its HA address as {self.address}"
        return f"{self.node} registers with {the(NAMES)}{own}{f'; in the answer {answer}' if answer else ''}"


PLAIN_ADDRESS = ":+1"
"""The HA address of a broker that neither brokerIP2 nor haListenPort changes."""
TABLES = {"topics": "topics", "groups": "groups", "offsets": "consumer offsets", "delays": "delay offsets"}

MOST = 160
"""Characters of a table's content in a sentence."""

_SYNC = {
    "asked": "{node} asks the master for its {table}",
    "answered": "the master's {table} reach {node}",
    "same": "the {table} of {node} are of the master's version; it keeps them",
    "applied": "{node} applies the master's {table}",
    "failed": "{node} does not receive the master's {table}",
    "unread": "{node} cannot read the master's {table}",
}
