"""Programs that have shown bugs before: of seeded bugs, and of what real systems are known to do wrong.

A lab with real time plays each once, after the single faults. What it cannot do to its target is left out, and so are
settings that the target does not take. ``generic`` leaves out whatever was learnt from a real system, so that what is
found of one was found without knowing it.
"""

from __future__ import annotations

from random import Random

from ..errors import UsageError
from ..judging import deviations
from ..ports import Lab, Target
from ..system import KnownBug, System
from ..trials import resolve
from ..trials.abilities import Hosted, lacking
from .pacing import paced

NAME = "known-bugs"
"""The search's."""
ALL, GENERIC, NONE = "all", "generic", "none"
WHICH = (ALL, GENERIC, NONE)
"""What to play of them."""


def programs(lab: Lab, target: Target, seed: str, which: str) -> list[KnownBug]:
    """Those that the lab can play with this target, shuffled by the seed; what is the same when it is paced only once.

    Each is named by its origin: ``mutant acks_at_once``, ``deviation silent-master-kept``.
    """
    system = resolve.system_of(target)
    place = Hosted(lab, target)
    once: dict[str, KnownBug] = {}
    for each in _listed(system, which, place):
        if not lacking(place, each.schedule.ops, resolve.faults(), resolve.operations()):
            try:
                settings = target.settings(resolve.fitted(target, each.schedule.settings))
                known = f"{settings} {each.schedule.program()}"
            except UsageError:
                # Of a version that this target is not.
                continue
            once.setdefault(known, each)
    found = list(once.values())
    Random(f"{seed}/{NAME}").shuffle(found)
    return found


def _listed(system: System, which: str, place: Hosted) -> list[KnownBug]:
    """Programs of seeded bugs as the lab plays them; of what a real system did, as it did it."""
    if which == NONE:
        return []
    seeded = [
        each._replace(name=f"mutant {each.name}", schedule=paced(place, each.schedule)) for each in system.known_bugs()
    ]
    if which == GENERIC:
        return [each for each in seeded if not each.seen_in]
    real = [each for each in deviations.every().values() if each.system == system.name and each.program]
    return [
        *seeded,
        *(KnownBug(f"deviation {each.id}", each.laws[0], each.source, each.schedule()) for each in real),
    ]
