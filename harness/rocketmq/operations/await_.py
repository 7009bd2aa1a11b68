"""Time passes until something has happened often enough, without counting earlier events."""

from __future__ import annotations

from collections.abc import Callable
from reprlib import repr as short

from ...errors import UsageError
from ...history import Event
from ...operations.advance import MOST_MS
from ...ports.timing import CanAwait
from ...trials.operation import Operation, Running, number, text
from ...trials.schedule import Args

HAPPENED: dict[str, Callable[[Event], bool]] = {
    "answered": lambda event: event.f == "send" and event.kind in ("ok", "fail", "info"),
    "acknowledged": lambda event: event.f == "send" and event.kind == "ok" and event.status == "PUT_OK",
    "replicated": lambda event: event.f == "replicate" and event.kind == "append",
    "frames": lambda event: event.side == "s" and event.kind == "frame",
    "applied": lambda event: event.kind == "sync" and event.status == "applied",
    "saved": lambda event: event.kind == "persist",
    "registered": lambda event: event.kind == "register" and event.status == "ok",
}
"""answered     a send has ended, however it did
acknowledged  a send has ended with PUT_OK
replicated    a slave has appended what a frame brought
frames        a frame, or a heartbeat, has reached a slave
applied       a slave has taken one of its master's tables
saved         a broker has written a table to its file
registered    a name server has answered a broker's registration
"""


def _check_what(what: object) -> None:
    if what not in HAPPENED:
        raise UsageError(f"nothing called {short(what)} can be awaited; valid: {', '.join(HAPPENED)}")


class Await(Operation):
    """Time passes until ``count`` more of ``what`` (answered, acknowledged, replicated, frames) have happened, or
    ``ms`` are over.
    """

    name = "await"
    needs = CanAwait
    arguments = {
        "what": text(check=_check_what),
        "count": number(10_000, simpler=(1, 2)),
        "ms": number(MOST_MS, simpler=(100, 600, 3_100)),
    }

    def do(self, running: Running, args: Args) -> None:
        """Let it pass."""
        _check_what(args["what"])
        running.able.wait_for(HAPPENED[str(args["what"])], args["count"], args["ms"])


OPERATION = Await()
