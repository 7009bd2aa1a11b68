"""``written-only``: a store holds only what clients wrote, and nothing that was refused.

Checks:
- No store holds a write of a call that ended as ``fail``, before that answer or after it.
- No store holds a write that no call named.
Abstains when:
- A call has no known result (``info``).
Source: the meaning of a refusal.
"""

from __future__ import annotations

from ..event_types.client import Fail, Invoke
from ..event_types.store import Held
from ..judging.law import DURABILITY, Law


class WrittenOnly(Law):
    id = "written-only"
    kind = DURABILITY
    promise = "A store holds only what clients wrote, and nothing that was refused."
    source = "the meaning of a refusal"
    needs = frozenset({"invoke", "fail", "held"})

    def begin(self) -> None:
        self.asked: set[str] = set()
        self.refused: dict[str, str | None] = {}
        """Writes that no store may hold, and the status of their refusal."""
        self.where: dict[str, str] = {}
        """By write: the first node that held it."""

    def on_invoke(self, event: Invoke) -> None:
        if event.message is not None:
            self.asked.add(event.message)

    def on_fail(self, event: Fail) -> None:
        if event.message is None:
            return
        self.judged += 1
        if event.message in self.where:
            self.violate(event, f"{event.message} was refused ({event.status}), and {self.where[event.message]} had it")
        else:
            self.refused[event.message] = event.status

    def on_held(self, event: Held) -> None:
        write = event.message
        if write not in self.where:
            self.judged += 1
            self.where[write] = event.node
            if write not in self.asked:
                self.violate(event, f"{event.node} holds {write}, which nobody wrote")
        if write in self.refused:
            self.violate(event, f"{write} was refused ({self.refused.pop(write)}), and {event.node} holds it")
