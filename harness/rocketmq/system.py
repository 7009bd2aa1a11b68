"""The system of every target whose nodes are RocketMQ's, real or modelled."""

from __future__ import annotations

from collections.abc import Sequence

from ..history import Event
from ..system import System
from ..trials.schedule import Args, Op
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
    traffic = (template.send(0, wait=True, size=100), template.pull("slave"), template.advance(300))
    awaits = ("frames", "replicated")
    swept = sweep.SWEPT
    enumerated = {"moments": moments.schedules, "truncation": truncation.schedules}
    circumstances = circumstances.CIRCUMSTANCES
    minimums = minimums.MINIMUMS
    seeded = {"swarm": swarm.schedule, "cluster": cluster.schedule}

    listed = staticmethod(boundaries.listed)
    corpus = staticmethod(corpus.corpus)
    known_bugs = staticmethod(known_bugs.of_mutants)
    fit = staticmethod(swarm.fitting)
    of_line = staticmethod(swarm.of_line)
    of_a_pair = staticmethod(topology.of_a_pair)
    within = staticmethod(topology.within)
    is_whole = staticmethod(topology.has_names)
    short = staticmethod(real_time.short)
    the = staticmethod(naming.the)
    message_of = staticmethod(autopsy.message_of)
    whereabouts = staticmethod(whereabouts)
    cover = staticmethod(coverage.cover)
    loss = staticmethod(losses.measure)
    loss_programs = staticmethod(loss_programs.programs)
    objectives = staticmethod(objectives.measure)

    def opening(self, settings: Args) -> tuple[Op, ...]:
        return (template.join(0, 0),) if topology.has_names(settings) else ()

    overheard = System.overheard | {
        "connect", "close", "report", "frame", "partial", "diverged", "cut", "expire", "register",
    }  # fmt: skip

    has_autopsy = True

    def steps_of(self, events: Sequence[Event], message: str) -> Sequence[tuple[int, str]]:
        found = autopsy.autopsy(events, message)
        return [*((line.t, line.text) for line in found.lines), (events[-1].t, f"In short: {found.conclusion}")]

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

    acknowledged = PUT_OK


SYSTEM = RocketMQ()
