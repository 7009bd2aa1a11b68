"""What RocketMQ pairs are to the engine: the system of every target whose nodes are RocketMQ's, real or modelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pairproof.harness.coverage_table import CoverageTable
from pairproof.harness.history import Event
from pairproof.harness.rocketmq import (
    corpus,
    coverage,
    cuts,
    floors,
    objectives,
    pace,
    places,
    stories,
    swarm,
    sweep,
    whole,
)
from pairproof.harness.schedule import Args, Op, Scalar, Schedule
from pairproof.harness.system import System


class RocketMQ(System):
    name = "rocketmq"
    nodes = places.NODES
    names = frozenset((*places.PROCESSES, *places.LINKS))
    # One trial of the machine in four has a name server.
    settings = (swarm.SETTINGS, swarm.SETTINGS, swarm.SETTINGS, {"lab.names": (1,), **whole.SETTINGS})
    starts = swarm.STARTS
    traffic = (
        Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0}),
        Op("pull", {"reader": 0, "node": "slave", "queue": 0}),
        Op("advance", {"ms": 300}),
    )
    awaits = ("frames", "replicated")
    swept = sweep.SWEPT
    enumerated = {"cuts": cuts.schedules}
    floors = floors.FLOORS
    seeded = {"swarm": swarm.schedule, "whole": whole.schedule}

    def corpus(self) -> Sequence[Schedule]:
        return corpus.corpus()

    def fit(self, settings: Args) -> Args:
        return swarm.fitting(settings)

    def of_a_pair(self, values: Iterable[Scalar]) -> tuple[Scalar, ...]:
        return places.of_a_pair(values)

    def within(self, args: Args, settings: Args) -> Args:
        return places.within(args, settings)

    def is_whole(self, settings: Args) -> bool:
        return places.has_names(settings)

    def opening(self, settings: Args) -> tuple[Op, ...]:
        return (stories.join(0, 0),) if places.has_names(settings) else ()

    def short(self, settings: Args) -> Args:
        return pace.short(settings)

    def cover(self, events: Sequence[Event]) -> CoverageTable:
        return coverage.cover(events)

    def objectives(self, events: Sequence[Event]) -> Sequence[tuple[object, ...]]:
        return objectives.measure(events)


SYSTEM = RocketMQ()
