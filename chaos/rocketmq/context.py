"""The lab's interface for clients and consumers; each lab has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...harness.history import digest
from ...reference.ports import Effects, Node
from ...reference.wire.record import Record
from ..observers.stored_record import stored_key


class Context(Protocol):
    """Observations of a trial's clients: its clock, its history, and the node of each address."""

    add: Callable[..., None]
    """Records an event, see :meth:`pairproof.harness.history.Recorder.add`."""

    now: Callable[[], int]
    """The trial's time, ns."""
    node_at: Callable[[str], str]
    """The node with this address; the address itself if there is none."""

    def end_of_record(self, node: str, lo: int) -> int | None:
        """End of the record that a master stored at ``lo``; None if unknown, or not yet known."""

    def delivered(
        self, process: int, op: int, node: str, found: Record, data: bytes, group: str | None = None, f: str = "pull"
    ) -> None:
        """One message of a pull's answer; ``group``: of the consumer that received it; ``f``: the call's."""
        lo = found.physical_offset
        self.add(
            self.now(), "deliver", node, process=process, op=op, f=f, message=stored_key(data),
            queue=f"{found.message.topic}/{found.message.queue_id}", queue_offset=found.queue_offset, lo=lo,
            hi=lo + found.size, digest=digest(data), group=group, value=found.message.reconsume_times or None,
        )  # fmt: skip


class Machine(Protocol):
    node: Node | None

    @property
    def io(self) -> Effects:
        """The node's effects port; a new one for each start."""

    def start(self, build: Callable[[], Node]) -> None:
        """Start the node that ``build`` makes; it may use :attr:`io`."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call the node."""

    def kill(self) -> None:
        """Its process ends without closing in an orderly way."""
