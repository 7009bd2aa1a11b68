"""An operation from another repository, and the kind of event that it records."""

from __future__ import annotations

from pairproof import Args, Event, operation


class Nap(Event):
    """Somebody let time pass."""

    __slots__ = ()
    value: int
    """How much, ms."""


class Naps(operation.Operation):
    """Somebody lets ``ms`` of time pass, and says so."""

    name = "nap"
    arguments = {"ms": operation.number(1_000, drawn=(1, 20, 300), simpler=(1,), usual=20)}
    drawn = operation.Drawn(after="send")
    is_load = True

    def do(self, running: operation.Running, args: Args) -> None:
        session = running.session
        session.recorder.add(session.now(), "nap", value=args["ms"])
        session.advance(args["ms"])


OPERATION = Naps()
