"""A simulated machine's network cable, and what waits while it is pulled.

Bytes that the machine sends stay in its sockets' buffers, bytes for it in their senders': they are in flight, and their
senders feel it. The ends of connections wait with them, and so do attempts to connect, from here or to here, until
their own time is up. All of it goes on, in order, when the cable is plugged in: first what the machine had to say,
since what it hears then makes it say more.

Left out: TCP's growing pauses between its tries, so all goes on at once; and that it gives a connection up after a
quarter of an hour.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from .active_fault import ActiveFault, count

Waiting = tuple[Callable[..., Any], tuple[Any, ...]]
"""What will be seen to later: a function, and its arguments."""


class Cable:
    """``pulled``: the troubles that keep it out. Sockets' buffers and connects' time limits bound what waits."""

    __slots__ = ("_incoming", "_outgoing", "pulled")

    def __init__(self) -> None:
        self.pulled: list[ActiveFault] = []
        self._outgoing: deque[Waiting] = deque()
        self._incoming: deque[Waiting] = deque()

    def keep_outgoing(self, chunk: bytes | None, function: Callable[..., Any], *arguments: Any) -> None:
        """Bytes that do not leave, or (None) the end of a connection that its peer does not learn of."""
        self._count(chunk)
        self._outgoing.append((function, arguments))

    def keep_incoming(self, chunk: bytes | None, function: Callable[..., Any], *arguments: Any) -> None:
        """Bytes, or the end of a connection, that do not arrive."""
        self._count(chunk)
        self._incoming.append((function, arguments))

    def keep_connect(self, function: Callable[..., Any], *arguments: Any) -> None:
        """An attempt that nobody answers."""
        count(self.pulled, "connects_unanswered")
        self._outgoing.append((function, arguments))

    def forget(self, sender: object) -> None:
        """What a dead machine's socket, the first argument of what it sends, still held is gone."""
        self._outgoing = deque(each for each in self._outgoing if each[1][0] is not sender)

    def plug_in(self, fault: ActiveFault) -> None:
        """Let all go on, unless another trouble keeps, or on the way takes, the cable out."""
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
