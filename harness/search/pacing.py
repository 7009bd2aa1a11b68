"""Fit a schedule to a real-time lab: without anything that only a simulation can do, and in seconds, not minutes.

Intervals are short, waits are shortened, and a trial's total waiting time is limited; later waits are left out. A
``step`` becomes a wait for the effect of the next events, or a short wait; without the ability to arm, an ``arm``
becomes the fault itself. Pacing is idempotent, so a part of a paced schedule can be executed unchanged.

Left out: durations in a fault's arguments, since a fault ends when it is healed.
"""

from ..ports.timing import CanArm
from ..trials import resolve
from ..trials.abilities import Hosted, can
from ..trials.schedule import Args, Op, Schedule

LONGEST_MS, ALL_MS = 1_500, 6_000
"""The longest single wait, and the total, of a pair's trial."""
LONGEST_CLUSTER_MS, ALL_CLUSTER_MS = 11_000, 25_000
"""The same of cluster trials, where nodes ask for tables and routes every 10 s or more."""
SOON_MS = 50
"""The duration of the next few events on a healthy machine, with some reserve."""


class Pace:
    """Fits the operations of one trial, in order, to its lab and target. ``given``: the trial's settings."""

    def __init__(self, hosted: Hosted, given: Args) -> None:
        system = resolve.system_of(hosted.target)
        self.arms = can(hosted, CanArm)
        self.awaits = system.awaits
        whole = system.is_whole(given)
        self.longest = LONGEST_CLUSTER_MS if whole else LONGEST_MS
        self.left = ALL_CLUSTER_MS if whole else ALL_MS

    def fit(self, op: Op) -> tuple[Op, ...]:
        """The replacement of this operation; empty if no waiting time is left."""
        if op.do == "step":
            return self._step(int(op.args["events"]))
        if op.do == "arm" and not self.arms:
            return (_at_once(op.args),)
        if op.do in ("advance", "await"):
            return self._wait(op)
        return (op,)

    def _step(self, events: int) -> tuple[Op, ...]:
        rounds, which = divmod(events, 1 + len(self.awaits))
        if which == 0:
            return self._wait(Op("advance", {"ms": min(SOON_MS, 1 + rounds)}))
        return self._wait(Op("await", {"what": self.awaits[which - 1], "count": 1, "ms": SOON_MS}))

    def _wait(self, op: Op) -> tuple[Op, ...]:
        ms = min(int(op.args["ms"]), self.longest, self.left)
        self.left -= ms
        return (op._replace(args={**op.args, "ms": ms}),) if ms > 0 else ()


def _at_once(args: Args) -> Op:
    """The fault of a trigger, to begin at once."""
    taken = resolve.faults()[str(args["name"])].arguments
    return Op("fault", {key: value for key, value in args.items() if key == "name" or key in taken})


def paced(hosted: Hosted, schedule: Schedule) -> Schedule:
    """The schedule in a form that a real-time lab can execute with a target."""
    pace = Pace(hosted, schedule.settings)
    ops = tuple(fitted for op in schedule.ops for fitted in pace.fit(op))
    return schedule._replace(settings=resolve.system_of(hosted.target).short(schedule.settings), ops=ops)
