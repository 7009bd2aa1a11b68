"""Read a finished history with the model, as laws do: for measurements after a trial.

A reader's handler ``on_<type>`` receives an event before the model does, so the model has the state before it. The
model receives only the event types in ``asks``, which saves time: most readers want a few facts from rare events.
Bounded by the model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache
from itertools import takewhile
from typing import Any, ClassVar, Self

from ...history import Event
from .model import Known


class Reader:
    """Base of the readers of one trial's events, in ``seq`` order."""

    asks: ClassVar[frozenset[str]] = frozenset()
    """Event types that the model receives."""

    def __init__(self) -> None:
        self.known = Known()

    def read(self, events: Iterable[Event], asks: Collection[str] | None = None) -> Self:
        """``asks``: instead of the class's."""
        asks = self.asks if asks is None else asks
        of: Any = type(self)
        own = {kind: getattr(self, name) for kind, name in _handled(of)}
        modelled = {kind: getattr(self.known, name) for kind, name in _handled(Known) if kind in asks}
        handlers: dict[str, tuple[Callable[[Any], None], ...]] = {
            kind: tuple(each[kind] for each in (own, modelled) if kind in each) for kind in {*own, *modelled}
        }
        for event in events:
            for handler in handlers.get(event.kind, ()):
                handler(event)
        return self


def before(events: Iterable[Event], seq: int, *kinds: str) -> Known:
    """The model after the events of these types before the one with this ``seq``."""
    return Reader().read(takewhile(lambda event: event.seq < seq, events), kinds).known


@cache
def _handled(of: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name[3:], name) for name in dir(of) if name.startswith("on_"))
