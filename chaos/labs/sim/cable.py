"""A simulated machine's network cable, and the traffic that waits while it is pulled.

Bytes from the machine stay in its sockets' buffers, bytes for it in their senders': they are in flight, and cause
back-pressure. Ends of connections wait with them, and so do connects in either direction, until they time out. When the
cable is plugged in, everything continues in order: the machine's own traffic first, since it reacts to received bytes
by sending more.

Left out: TCP's growing retransmission gaps (everything continues at once), and its timeout of a quarter of an hour.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from .active_fault import ActiveFault, count

Waiting = tuple[Callable[..., Any], tuple[Any, ...]]
"""A postponed call: a function, and its arguments."""


class Cable:
    """``pulled``: the faults that disconnect it. Socket buffers and connect timeouts limit the waiting traffic."""

    __slots__ = ("_incoming", "_outgoing", "pulled")

    def __init__(self) -> None:
        self.pulled: list[ActiveFault] = []
        self._outgoing: deque[Waiting] = deque()
        self._incoming: deque[Waiting] = deque()

    def keep_outgoing(self, chunk: bytes | None, function: Callable[..., Any], *arguments: Any) -> None:
        self._count(chunk)
        self._outgoing.append((function, arguments))

    def keep_incoming(self, chunk: bytes | None, function: Callable[..., Any], *arguments: Any) -> None:
        self._count(chunk)
        self._incoming.append((function, arguments))

    def keep_connect(self, function: Callable[..., Any], *arguments: Any) -> None:
        count(self.pulled, "connects_unanswered")
        self._outgoing.append((function, arguments))

    def forget(self, sender: object) -> None:
        """Discard the waiting traffic of a dead machine's socket, the first argument of its calls."""
        self._outgoing = deque(each for each in self._outgoing if each[1][0] is not sender)

    def plug_in(self, fault: ActiveFault) -> None:
        """End a fault. Unless another one pulls the cable, let the waiting traffic continue."""
        self.pulled.remove(fault)
        for waiting in (self._outgoing, self._incoming):
            while waiting and not self.pulled:
                function, arguments = waiting.popleft()
                function(*arguments)

    def _count(self, chunk: bytes | None) -> None:
        if chunk is None:
            count(self.pulled, "closes_delayed")
        else:
            count(self.pulled, "bytes_held", len(chunk))
