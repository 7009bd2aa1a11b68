"""No effect before its cause: a history in which one comes first says nothing about the target.

Every law relies on this order, so the judge refuses such a history as a failure of the lab that recorded it. A kind of
event that a call causes names the column that the two have in common (``caused_by``): an answer and a delivery the
call's number, an append its message. An effect of which no call is in the history is allowed: a capture may lack the
producer.

Bounded by the calls of one trial and by :data:`MAX_EARLY`. Every simulated trial passes through this, so it costs less
than a microsecond an event.
"""

from __future__ import annotations

from types import MethodType

from ..errors import LabError
from ..event_types.client import SENDS
from ..history import Event, kinds

CALL = "invoke"
MAX_EARLY = 100_000
"""Effects without a call that are remembered, in case their call follows."""


class Precedence:
    """Checks one trial: the judge hands it, in order, the events of kinds that have a :meth:`handler`."""

    def __init__(self) -> None:
        self._called: set[object] = set()
        """Numbers of calls, and the messages that they send."""
        self._early: dict[object, Event] = {}
        """Effects of calls that are not there yet."""

    def handler(self, kind: str) -> MethodType | None:
        """What checks events of this kind; None for one that neither is a call nor has one."""
        caused_by = CALL if kind == CALL else getattr(kinds()[kind], "caused_by", "")
        name = {CALL: "_begins", "op": "_answers", "message": "_stores"}.get(caused_by)
        return None if name is None else getattr(self, name)

    def _begins(self, event: Event) -> None:
        message = event.message if event.f in SENDS else None
        self._called.update((event.op, message))
        early = self._early and (self._early.get(event.op) or self._early.get(message))
        if early:
            raise LabError(
                f"this history cannot be judged: event {early.seq}, {early.kind} of {message or f'call {event.op}'}, "
                f"comes before event {event.seq}, its cause; the lab or the recorder is wrong, not the target"
            )

    def _answers(self, event: Event) -> None:
        if event.op not in self._called:
            self._remember(event.op, event)

    def _stores(self, event: Event) -> None:
        if event.message not in self._called:
            self._remember(event.message, event)

    def _remember(self, cause: object, event: Event) -> None:
        if cause is not None and len(self._early) < MAX_EARLY:
            self._early.setdefault(cause, event)
