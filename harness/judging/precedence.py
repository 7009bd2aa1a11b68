"""Check that no effect precedes its cause: a history that violates this shows nothing about the target.

All laws rely on this order, so the judge refuses such a history as a failure of the lab that recorded it. An event type
that a call causes names the column that the two share (``caused_by``): the call's number for an answer and a delivery,
the message for an append. An effect without a call is allowed, since a capture may lack the producer.

Bounded by the calls of one trial and by :data:`MAX_EARLY`. Costs less than a microsecond an event, since every
simulated trial needs it.
"""

from __future__ import annotations

from types import MethodType

from ..errors import LabError
from ..event_types.client import SENDS
from ..history import Event, kinds

CALL = "invoke"
MAX_EARLY = 100_000
"""The limit of effects without a call that are kept until a call follows."""


class Precedence:
    """Checks one trial: the judge passes it, in order, the events of types that have a :meth:`handler`."""

    def __init__(self) -> None:
        self._called: set[object] = set()
        """Numbers of calls, and the messages that they send."""
        self._early: dict[object, Event] = {}
        """Effects whose calls have not occurred yet."""

    def handler(self, kind: str) -> MethodType | None:
        """The check for events of this type; None for one that neither is nor has a call."""
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
