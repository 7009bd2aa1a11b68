"""``answer-was-asked``: a client is answered only what it asked."""

from __future__ import annotations

from pairproof import Event, Known, Law


class AnswerWasAsked(Law):
    """See the module."""

    id = "answer-was-asked"
    promise = "A client is answered only what it asked."
    source = "what a request is"
    needs = frozenset({"invoke", "ok"})

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.asked: set[int | None] = set()

    def on_invoke(self, event: Event) -> None:
        self.asked.add(event.op)

    def on_ok(self, event: Event) -> None:
        self.judged += 1
        if event.op not in self.asked:
            self.violate(event, f"operation {event.op} was answered and had not been asked")
