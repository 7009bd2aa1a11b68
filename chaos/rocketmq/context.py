"""What clients and consumers need of the lab that they play in; each lab has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...harness.history import digest
from ...reference.ports import Effects, Node
from ...reference.wire.record import Record
from ..observers.stored_record import stored_key


class Context(Protocol):
    """Where a trial's clients are seen: its clock, its history, and who is behind which address."""

    add: Callable[..., None]
    """Records an event, see :meth:`pairproof.harness.history.Recorder.add`."""

    now: Callable[[], int]
    """The trial's time, ns."""
    node_at: Callable[[str], str]
    """The node behind an address; the address itself if it is nobody's."""

    def end_of_record(self, node: str, lo: int) -> int | None:
        """Where the record that a master put at ``lo`` ends; None if that is not known, or only later."""

    def delivered(
        self, process: int, op: int, node: str, found: Record, data: bytes, group: str | None = None, f: str = "pull"
    ) -> None:
        """One message of a pull's answer; ``group``: of the consumer that it was handed to; ``f``: the call's."""
        lo = found.physical_offset
        self.add(
            self.now(), "deliver", node, process=process, op=op, f=f, message=stored_key(data),
            queue=f"{found.message.topic}/{found.message.queue_id}", queue_offset=found.queue_offset, lo=lo,
            hi=lo + found.size, digest=digest(data), group=group, value=found.message.reconsume_times or None,
        )  # fmt: skip


class Machine(Protocol):
    """Where one node of ours runs, a consumer say."""

    node: Node | None

    @property
    def io(self) -> Effects:
        """What the node may do; a new one for each start."""

    def start(self, build: Callable[[], Node]) -> None:
        """Start the node that ``build`` makes; it may use :attr:`io`."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Let the node act."""

    def kill(self) -> None:
        """Its process ends without a word."""
