"""Abilities to pass time other than by milliseconds, or to wait for a moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ..history import Event

POINTS = ("append", "flush", "send", "recv")
"""Points of every node: bytes were appended to a log, a flush has ended, bytes are about to be sent, bytes were
received. A system may have more (:attr:`pairproof.harness.system.System.points`).
"""


@runtime_checkable
class CanStep(Protocol):
    """Time can pass by events."""

    def step(self, events: int, within_ms: int = 1_000) -> int:
        """Let up to ``events`` events happen, none later than ``within_ms`` from now; returns their number."""


@runtime_checkable
class CanAwait(Protocol):
    """Time can pass until something has happened often enough."""

    def wait_for(self, happens: Callable[[Event], bool], count: int, ms: int) -> int:
        """Let time pass until ``happens`` is true of ``count`` more events, or ``ms`` are over; returns the number of
        such events.
        """


@runtime_checkable
class CanArm(Protocol):
    """A trigger can be set where a node passes a point for the n-th time."""

    def arm(self, node: str, point: str, nth: int, fire: Callable[[], None]) -> None:
        """Call ``fire`` once, when ``node`` passes ``point`` for the nth time from now."""

    def disarm(self) -> None:
        """Remove every trigger that has not fired."""


@runtime_checkable
class CanArmCall(Protocol):
    """A trigger can last for a single call of a node."""

    def arm_call(self, node: str, point: str, nth: int, fire: Callable[[], None], over: Callable[[], None]) -> None:
        """Call ``fire`` as :meth:`CanArm.arm` does, and ``over`` when the call that passes the point has ended: at the
        node's next point, or at the end of its step.
        """
