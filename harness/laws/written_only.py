"""``written-only``: a store holds what clients wrote, and nothing that was refused.

A call that ends as ``fail`` did not happen, says the history's vocabulary: what it would have written is in no store,
before that answer or after it. A name that no call ever had is in no store either.

Left out: calls of which nobody knows (``info``). Source: what refusing means.
"""

from __future__ import annotations

from ..event_types.client import Fail, Invoke
from ..event_types.store import Held
from ..judging.known import Known
from ..judging.law import DURABILITY, Law


class WrittenOnly(Law):
    id = "written-only"
    kind = DURABILITY
    promise = "A store holds only what clients wrote, and nothing of what was refused."
    source = "the meaning of a refusal"
    needs = frozenset({"invoke", "fail", "held"})

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.asked: set[str] = set()
        self.refused: dict[str, str | None] = {}
        """Writes that no store should hold, and what their clients were told."""
        self.where: dict[str, str] = {}
        """Writes that somebody found, and where."""

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
