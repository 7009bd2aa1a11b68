"""Makes a schedule fit a real-time lab: nothing that only a simulation can do, and seconds, not minutes.

Intervals are set short, waits are shortened, and a trial's waits together have a limit; a wait beyond it is left out.
A ``step`` becomes a wait for what the next events would have brought, or a short one; where nothing can be armed, an
``arm`` the fault itself. What is paced stays as it is when it is paced again, so a part of such a schedule can be
executed as it is.

Left out: what a fault's own arguments may last, since a fault ends when it is healed.
"""

from ..ports.timing import CanArm
from ..trials import resolve
from ..trials.abilities import Hosted, can
from ..trials.schedule import Args, Op, Schedule

LONGEST_MS, ALL_MS = 1_500, 6_000
"""The longest wait of a pair's trial, and all of them together."""
LONGEST_CLUSTER_MS, ALL_CLUSTER_MS = 11_000, 25_000
"""The same of cluster trials, where tables and routes are asked for every 10 s and more."""
SOON_MS = 50
"""What the next few events need on a healthy machine, and some more."""


class Pace:
    """Fits the operations of one trial, in their order, to what hosts it. ``given``: the trial's settings."""

    def __init__(self, place: Hosted, given: Args) -> None:
        system = resolve.system_of(place.target)
        self.arms = can(place, CanArm)
        self.awaits = system.awaits
        whole = system.is_whole(given)
        self.longest = LONGEST_CLUSTER_MS if whole else LONGEST_MS
        self.left = ALL_CLUSTER_MS if whole else ALL_MS

    def fit(self, op: Op) -> tuple[Op, ...]:
        """What stands for this operation; nothing where no time is left to wait."""
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
    """The fault that a trigger would have begun."""
    taken = resolve.faults()[str(args["name"])].arguments
    return Op("fault", {key: value for key, value in args.items() if key == "name" or key in taken})


def paced(place: Hosted, schedule: Schedule) -> Schedule:
    """The schedule as a lab with real time can execute it with a target."""
    pace = Pace(place, schedule.settings)
    ops = tuple(fitted for op in schedule.ops for fitted in pace.fit(op))
    return schedule._replace(settings=resolve.system_of(place.target).short(schedule.settings), ops=ops)
