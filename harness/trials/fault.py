"""The implementations that most faults share; other faults are classes with the same four names
(:class:`ports.Fault`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from ..ports import Effect
from ..ports.links import CanShapeLink
from .schedule import Args


@dataclass(frozen=True)
class Listed:
    """A fault with listed values, some of which may need a further ability."""

    name: str
    needs: type
    arguments: Mapping[str, tuple[Any, ...]]
    special: Mapping[str, type] = field(default_factory=dict, kw_only=True)
    """Values of its arguments that need a further ability, with that ability."""

    def without(self, values: Collection[str]) -> Self:
        """The fault without these values, for searches."""
        left = {name: tuple(each for each in listed if each not in values) for name, listed in self.arguments.items()}
        return replace(self, arguments=left)


@dataclass(frozen=True)
class HeldFault(Listed):
    """A fault with two methods of an ability. The first gets the fault's arguments in order and returns a handle; the
    other gets the handle and returns the effect.
    """

    begin: Callable[..., Any]
    end: Callable[..., Effect]

    def start(self, session: Any, args: Args) -> Any:
        return _call(session, self.begin, *(args[name] for name in self.arguments))

    def stop(self, session: Any, handle: Any) -> Effect:
        effect: Effect = _call(session, self.end, handle)
        return effect


@dataclass(frozen=True)
class MomentaryFault(Listed):
    """A fault without duration: one method of an ability gets the fault's arguments in order and returns the effect."""

    do: Callable[..., Effect]

    def start(self, session: Any, args: Args) -> Any:
        return _call(session, self.do, *(args[name] for name in self.arguments))

    def stop(self, session: Any, handle: Any) -> Effect:
        return dict(handle)


@dataclass(frozen=True)
class DownFault(MomentaryFault):
    """A node goes down by one method of an ability that also has ``restart``, and is started again at the end.

    The first argument is the node.
    """

    def start(self, session: Any, args: Args) -> Any:
        return args["node"], super().start(session, args)

    def stop(self, session: Any, handle: Any) -> Effect:
        node, effect = handle
        session.restart(node)
        return dict(effect)


@dataclass(frozen=True)
class ToxicFault:
    """A toxic on one ``direction`` of a ``link``, the first two of its arguments."""

    name: str
    arguments: Mapping[str, tuple[Any, ...]]
    toxic: str
    attributes: Callable[[Args], Mapping[str, int]]
    """The toxic's attributes for the fault's arguments; UsageError for invalid values."""
    needs: type = CanShapeLink

    def start(self, session: CanShapeLink, args: Args) -> Any:
        return session.add_toxic(str(args["link"]), str(args["direction"]), self.toxic, self.attributes(args))

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        return session.remove_toxic(handle)


def _call(session: Any, method: Callable[..., Any], *given: object) -> Any:
    # The ability's method is given for mypy and editors; the session's method of that name runs.
    return getattr(session, method.__name__)(*given)
