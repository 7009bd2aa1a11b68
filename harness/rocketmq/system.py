"""The system of every target whose nodes are RocketMQ's, real or modelled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..exploration.coverage_table import CoverageTable
from ..exploration.losses import Loss, LossProgram
from ..history import Event
from ..system import KnownBug, System
from ..trials.schedule import Args, Op, Scalar, Schedule
from . import (
    autopsy,
    boundaries,
    circumstances,
    cluster,
    corpus,
    coverage,
    known_bugs,
    loss_programs,
    losses,
    minimums,
    moments,
    naming,
    objectives,
    real_time,
    swarm,
    sweep,
    template,
    topology,
    truncation,
)
from .contract import PUT_OK
from .known.audits import whereabouts


class RocketMQ(System):
    name = "rocketmq"
    nodes = topology.NODES
    names = frozenset((*topology.PROCESSES, *topology.LINKS))
    # One trial of the machine in four has a name server.
    settings = (swarm.SETTINGS, swarm.SETTINGS, swarm.SETTINGS, {"lab.nameServer": (1,), **cluster.SETTINGS})
    varied = boundaries.drawn_values()
    starts = swarm.STARTS
    traffic = (
        Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),
        Op("pull", {"reader": 0, "node": "slave", "queue": 0}),
        Op("advance", {"ms": 300}),
    )
    awaits = ("frames", "replicated")
    swept = sweep.SWEPT
    enumerated = {"moments": moments.schedules, "truncation": truncation.schedules}
    circumstances = circumstances.CIRCUMSTANCES
    minimums = minimums.MINIMUMS
    seeded = {"swarm": swarm.schedule, "cluster": cluster.schedule}

    def listed(self, schedule: Schedule, number: int) -> Schedule:
        return boundaries.listed(schedule, number)

    def corpus(self) -> Sequence[Schedule]:
        return corpus.corpus()

    def known_bugs(self) -> Sequence[KnownBug]:
        return known_bugs.of_mutants()

    def fit(self, settings: Args, own: Collection[str] = ()) -> Args:
        return swarm.fitting(settings, own)

    def of_a_pair(self, values: Iterable[Scalar]) -> tuple[Scalar, ...]:
        return topology.of_a_pair(values)

    def within(self, args: Args, settings: Args) -> Args:
        return topology.within(args, settings)

    def is_whole(self, settings: Args) -> bool:
        return topology.has_names(settings)

    def opening(self, settings: Args) -> tuple[Op, ...]:
        return (template.join(0, 0),) if topology.has_names(settings) else ()

    def short(self, settings: Args) -> Args:
        return real_time.short(settings)

    overheard = System.overheard | {
        "connect", "close", "report", "frame", "partial", "diverged", "cut", "expire", "register",
    }  # fmt: skip

    def the(self, node: str | None) -> str:
        return naming.the(node)

    def message_of(self, events: Sequence[Event], seq: int | None, text: str) -> str | None:
        return autopsy.message_of(events, seq, text)

    has_autopsy = True

    def steps_of(self, events: Sequence[Event], message: str) -> Sequence[tuple[int, str]]:
        found = autopsy.autopsy(events, message)
        return [*((line.t, line.text) for line in found.lines), (events[-1].t, f"In short: {found.conclusion}")]

    def whereabouts(self, events: Sequence[Event]) -> Mapping[str, Mapping[str, str]]:
        return whereabouts(events)

    def replicated(self, events: Sequence[Event]) -> bool | None:
        has_slave = is_warm = False
        for event in events:
            if event.kind == "append":
                # The record of the warm-up comes before the workload's.
                if is_warm and event.node in topology.SLAVES:
                    return True
            elif event.kind == "mark":
                is_warm = is_warm or event.f == "warm"
            elif event.kind == "start":
                has_slave = has_slave or event.node in topology.SLAVES
        return False if has_slave else None

    def cover(self, events: Sequence[Event]) -> CoverageTable:
        return coverage.cover(events)

    acknowledged = PUT_OK

    def loss(self, events: Sequence[Event]) -> Loss | None:
        return losses.measure(events)

    def loss_programs(self, settings: Args) -> Iterable[LossProgram]:
        return loss_programs.programs(settings)

    def objectives(self, events: Sequence[Event]) -> Sequence[tuple[object, ...]]:
        return objectives.measure(events)


SYSTEM = RocketMQ()
