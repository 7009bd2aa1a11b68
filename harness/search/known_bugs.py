"""Programs that have shown bugs: those of seeded bugs, and those of known deviations of real systems.

A real-time lab plays each once, after the single faults. It leaves out programs that it cannot play on its target, and
settings that the target does not accept. ``generic`` excludes programs taken from real systems, to show what is found
without them.
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
ALL, GENERIC, NONE = "all", "generic", "none"
WHICH = (ALL, GENERIC, NONE)


def programs(lab: Lab, target: Target, seed: str, which: str) -> list[KnownBug]:
    """The programs that the lab can play with this target, shuffled by the seed, without duplicates after pacing.

    Names have the origin: ``mutant acks_at_once``, ``deviation silent-master-kept``.
    """
    system = resolve.system_of(target)
    hosted = Hosted(lab, target)
    once: dict[str, KnownBug] = {}
    for each in _listed(system, which, hosted):
        if not lacking(hosted, each.schedule.ops, resolve.faults(), resolve.operations()):
            try:
                settings = target.settings(resolve.fitted(target, each.schedule.settings))
                known = f"{settings} {each.schedule.program()}"
            except UsageError:
                # A deviation of another version.
                continue
            once.setdefault(known, each)
    found = list(once.values())
    Random(f"{seed}/{NAME}").shuffle(found)
    return found


def _listed(system: System, which: str, hosted: Hosted) -> list[KnownBug]:
    """Programs of seeded bugs, paced for the lab; those of deviations, unchanged."""
    if which == NONE:
        return []
    seeded = [
        each._replace(name=f"mutant {each.name}", schedule=paced(hosted, each.schedule)) for each in system.known_bugs()
    ]
    if which == GENERIC:
        return [each for each in seeded if not each.seen_in]
    real = [each for each in deviations.every().values() if each.system == system.name and each.program]
    return [
        *seeded,
        *(KnownBug(f"deviation {each.id}", each.laws[0], each.source, each.schedule()) for each in real),
    ]
