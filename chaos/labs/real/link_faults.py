"""Faults of a trial's links: toxics and cuts by a real toxiproxy, resets by the taps.

The taps at both ends of a link's proxy count bytes, so each fault can report its effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ....harness.errors import LabError
from ....harness.ports import Effect
from .links import Link
from .world import World

WHAT = {
    "latency": "bytes_delayed", "bandwidth": "bytes_delayed", "slicer": "bytes_sliced", "slow_close": "closes_delayed",
    "limit_data": "bytes_lost", "timeout": "bytes_lost", "reset_peer": "bytes_lost",
}  # fmt: skip
"""A toxic's effect, in one word. ``bandwidth`` at rate 0 holds, see :func:`_effect`."""


class OnLink(NamedTuple):
    link: Link
    direction: str
    toxic: str
    name: str
    rate: int | None
    taken: int
    given: int
    standing: int
    connections: int
    severed: int


class Cut(NamedTuple):
    link: Link
    token: object
    closed: int
    unreached: int


class LinkFaults:
    """Abilities CanShapeLink and CanCutLink of :mod:`pairproof.harness.ports`."""

    def __init__(self, world: World) -> None:
        self.world = world

    def add_toxic(self, link: str, direction: str, toxic: str, attributes: Mapping[str, int]) -> OnLink:
        where = self.world.link(link)
        if toxic not in WHAT:
            raise LabError(f"unknown toxic {toxic!r}; valid: {', '.join(WHAT)}")
        taken, given = where.tap.moved(direction)
        standing, connections, severed = where.tap.standing(), where.tap.connections, where.tap.severed
        # Bytes continue to flow, so that held bytes can leave the toxic.
        name = self.world.aside(lambda: self.world.environment.proxies.add_toxic(link, direction, toxic, attributes))
        return OnLink(
            where, direction, toxic, name, attributes.get("rate"), taken, given, standing, connections, severed
        )  # fmt: skip

    def remove_toxic(self, handle: OnLink) -> Effect:
        effect = _effect(handle)
        self.world.aside(lambda: self.world.environment.proxies.remove_toxic(handle.link.name, handle.name))
        return effect

    def cut_link(self, link: str) -> Cut:
        where = self.world.link(link)
        self.world.evidence.poll()
        cut = Cut(where, object(), where.tap.standing(), self.world.evidence.unreached[where.address])
        cut.link.cuts.append(cut.token)
        self.world.refresh()
        # Connections that it ended are recorded now, not as an effect of another fault.
        self.world.drained()
        return cut

    def mend_link(self, handle: Cut) -> Effect:
        # The refused side reports itself: without a listener there is no tap.
        self.world.evidence.poll()
        refused = self.world.evidence.unreached[handle.link.address] - handle.unreached
        handle.link.cuts.remove(handle.token)
        self.world.refresh()
        return {"connections_closed": handle.closed, "connections_refused": refused}

    def reset_link(self, link: str) -> Effect:
        return self.world.link(link).tap.reset()


def _effect(on: OnLink) -> Effect:
    taken, given = on.link.tap.moved(on.direction)
    came, went = taken - on.taken, given - on.given
    if on.toxic == "slow_close":
        return {WHAT[on.toxic]: on.standing + (on.link.tap.connections - on.connections) - on.link.tap.standing()}
    held = max(0, came - went)
    if on.toxic in ("limit_data", "timeout", "reset_peer"):
        # A crashed node closes its connections and loses bytes, too: not an effect of the toxic.
        closed = on.link.tap.severed - on.severed
        return {WHAT[on.toxic]: held if closed or on.toxic == "timeout" else 0, "connections_closed": closed}
    if on.rate == 0:
        return {"bytes_held": held}
    return {WHAT[on.toxic]: came}
