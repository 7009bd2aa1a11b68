"""Seeded fault pairs: two faults of the sweep in one trial, the second up to some events after the first.

The effects of one fault may only show under another one. There are some hundred million pairs at all event boundaries,
so each trial draws one; the base program and the operations during the faults are the sweep's, and so is a trial's
cost. In half of the trials the first fault has ended before the second begins. A schedule is a function of (seed,
number), of the target's system and of the faults to draw.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random

from ..system import System
from ..trials import resolve
from ..trials.abilities import Place, simulates
from ..trials.schedule import Args, Op, Schedule
from .sweep import LAST, SOON, variants

LATEST = 24
"""In events: a pair is at rest 21 to 35 of them after the beginning of the sweep's base program."""


def schedule(system: System, seed: str, number: int, lab: Place | None = None) -> Schedule:
    """The schedule with this number under this seed, with faults that this lab can inject (None: any)."""
    dice, swept = Random(f"{seed}/pairs/{number}"), system.swept
    at = dice.randrange(len(swept.modes))
    settings = swept.modes[at].settings
    faults = _faults(system, at, tuple(resolve.drawn(lab)))
    if not faults:
        return Schedule(settings, f"{seed}/{number}", (*swept.program(settings), *LAST))
    first, second = (dice.choice(dice.choice(faults)) for _ in range(2))
    before, between = (Op("step", {"events": dice.randint(0, LATEST)}) for _ in range(2))
    over = (Op("heal", {"name": str(first["name"])}),) if dice.random() < 0.5 else ()
    begun = (*swept.program(settings), before, Op("fault", first), between, *over, Op("fault", second))
    sequels = [op for name in dict.fromkeys((first["name"], second["name"])) for op in swept.sequels.get(str(name), ())]
    found = Schedule(settings, f"{seed}/{number}", (*begun, SOON, *swept.during, *LAST, *sequels))
    return system.listed(found, number) if simulates(lab) else found


@lru_cache(maxsize=64)
def _faults(system: System, mode: int, names: tuple[str, ...]) -> list[list[Args]]:
    found = (list(variants(system, resolve.faults()[name], system.swept.modes[mode])) for name in names)
    return [each for each in found if each]
