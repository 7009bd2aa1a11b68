"""Faults that begin when a node passes a point: it stops there until the fault has begun.

Only nodes that obey the lab do so, see :class:`~pairproof.chaos.labs.real.control.Control`. In a JVM only the passing
thread stops. The stop is short: while the lab is busy, such as with another node's start, the fault begins after that
point.
"""

from __future__ import annotations

from collections.abc import Callable

from ....harness.errors import Unable
from ...plan import check_point
from .control import PASSED, STOPS_AT, TRIGGERS, Control
from .world import World


class Triggers:
    """Ability CanArm."""

    hooks = frozenset(TRIGGERS)

    def __init__(self, world: World) -> None:
        self.world = world
        self.armed: dict[tuple[str, str], list[tuple[int, Callable[[], None]]]] = {}
        """By node and point: the number of the pass, and the fault that begins then."""
        self._controls: dict[str, Control] = {}

    def arm(self, node: str, point: str, nth: int, fire: Callable[[], None]) -> None:
        check_point(self.world.plan, node, point)
        if point not in STOPS_AT:
            raise Unable(f"a process does not stop at {point}")
        self.world.obedient(node, STOPS_AT[point])
        control = self._controls[node] = self.world.environment.control(node)
        self.armed.setdefault((node, point), []).append((control.get(PASSED[point]) + max(1, nth), fire))
        self._set(node, point)

    def disarm(self) -> None:
        for node, point in self.armed:
            self._controls[node].set(STOPS_AT[point], 0)
        self.armed.clear()
        for control in self._controls.values():
            control.set("goes", control.get("stops"))

    def is_due(self) -> bool:
        """Whether a node has stopped at an armed point."""
        return any(each.get("stops") > each.get("goes") for each in self._controls.values())

    def fire(self) -> bool:
        """Begin the armed faults of stopped nodes, then let the nodes continue; returns whether there were any."""
        due = [(node, each) for node, each in self._controls.items() if each.get("stops") > each.get("goes")]
        for node, control in due:
            stops = control.get("stops")
            for at, point in [key for key in self.armed if key[0] == node]:
                self._fire(at, point, control.get(PASSED[point]))
            control.set("goes", stops)
        return bool(due)

    def _fire(self, node: str, point: str, passed: int) -> None:
        waiting = self.armed[node, point]
        self.armed[node, point] = [each for each in waiting if each[0] > passed]
        # Before any fault begins: a node that restarts in between may pass on.
        self._set(node, point)
        for at, begin in waiting:
            if at <= passed:
                begin()

    def _set(self, node: str, point: str) -> None:
        self._controls[node].set(STOPS_AT[point], min((at for at, _ in self.armed[node, point]), default=0))
