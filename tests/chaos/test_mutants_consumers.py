"""Mutants of delivery and of consumer progress, each shown by a program of a few operations; and no law is broken by
the same program without the mutant.

``pairproof mutants`` finds these programs by itself, see :mod:`test_mutants`; here they say what each mutant needs.
"""

from __future__ import annotations

from typing import Any, cast

import pytest

from pairproof.chaos.mutants import Mutant, catalogue, delivery, progress
from pairproof.chaos.mutants.mutant import seeded_in, with_parts
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.template import advance, delayed, fault, group, heal, join, leave, pull, send
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.reference.client.consumer import Consumer
from pairproof.reference.client.process_queue import ProcessQueue
from pairproof.reference.client.pulling import Pulling as ConsumersPulling
from pairproof.reference.client.routes import Choice
from pairproof.reference.core.processors.pulling import Pulling

SOON = advance(20)
COMMITTED = advance(6_000)
SAVED = advance(12_000)
KILL = fault("kill", node="master")
STALL = fault("stall", link="ha", direction="down")
FROM_SLAVE: Args = {"slaveReadEnable": True, "accessMessageInMemoryMaxRatio": 0}
LARGE: Args = {"accessMessageInMemoryMaxRatio": 0, "mappedFileSizeCommitLog": 65_536}

PROGRAMS: dict[str, tuple[Args, tuple[Op, ...]]] = {
    # The trial's own last send wakes the consumer.
    "wakes_past": ({}, (join(0, 0), SOON)),
    "counts_what_did_not_fit": (LARGE, (*(send(0, size=30_000) for _ in range(3)), join(0, 0))),
    "slave_steps_past_end": ({"slaveReadEnable": True}, (group(0, 1, "master"), join(0, 0), advance(38_000))),
    "drops_first_after_restart": ({}, (join(0, 0), KILL, SOON, send(0))),
    "drops_duplicates": ({}, (join(0, 0), send(1))),
    "counts_what_waits": ({}, (fault("dispatch_stall", node="master"), send(0, wait=True), SOON, pull("master"), SOON)),
    # Two of one length: every second message has a tag.
    "slave_reuses_buffers": ({}, (join(0, 0), KILL, SOON, *2 * (send(1, wait=True, size=100),))),
    "remembers_by_offset": ({}, (join(0, 0), SOON, send(1))),
    "stores_twice": ({}, (join(0, 0),)),
    "newest_first": ({}, (join(0, 0),)),
    "slave_starts_one_early": (FROM_SLAVE, (join(0, 0), SOON)),
    "asks_memory_first": ({}, (join(0, 0), send(3), COMMITTED, join(0, 2))),
    "forgets_lonely_groups": ({}, (join(0, 1), SOON, leave(0, 1), join(0, 0))),
    "slave_moves_readers_back": ({}, (join(0, 0), STALL, send(0), SOON, KILL, advance(31_000))),
    "slave_takes_no_commits": ({}, (join(0, 0), join(0, 1), KILL, SOON, leave(0, 0), advance(3_100))),
    "delivers_at_once": ({}, (delayed(0, 1),)),
    "forgets_what_waits": ({}, (delayed(0, 1), SOON, KILL)),
    "delivers_twice": ({}, (delayed(0, 1), SOON, delayed(0, 1))),
    "stores_one_more": ({}, (join(0, 0),)),
    "begins_at_the_end": ({}, (join(0, 0),)),
    "slave_begins_at_the_end": ({}, (fault("restart", node="master"), join(0, 0), SOON)),
    "gives_up_one_further": ({}, (join(0, 0), SOON, leave(0, 0))),
    "keeps_the_larger": (
        {},
        (join(0, 0), SOON, fault("power_loss", node="master", keep="none"), heal("power_loss"), advance(20_000)),
    ),
    "skips_backlog_after_restart": ({}, (join(0, 0), SOON, KILL, join(0, 2))),
    "loads_backup": ({}, (join(0, 0), COMMITTED, send(0), COMMITTED, KILL, join(0, 2))),
    "skips_on_return": ({}, (join(0, 0), delayed(0, 1), SOON, KILL, heal("kill"), advance(3_100))),
    "keeps_what_it_loaded": ({}, (join(0, 0), COMMITTED, KILL)),
    "begins_anew_after_failure": ({}, (join(0, 0), SOON, KILL)),
    "ignores_carried": ({}, (join(0, 0), SOON, send(0), advance(1), leave(0, 0, lost=True))),
    "loads_no_progress": ({}, (join(0, 0), COMMITTED, KILL)),
    "never_saves_progress": ({}, (join(0, 0), SAVED, KILL)),
    "saves_progress_once": ({}, (join(0, 0), COMMITTED, send(0), SAVED, KILL)),
    "tells_replicas": ({}, (join(0, 0),)),
    "tells_masters_only": ({}, (join(0, 0), SOON, KILL, advance(38_000))),
}
"""Settings beside the name server, and what happens."""


def broken(target: ReferenceTarget, settings: Args, ops: tuple[Op, ...], *laws: str) -> set[str]:
    schedule = Schedule({"lab.nameServer": 1, **settings}, "consumers", ops)
    judges = judge.laws(laws) if laws else judge.all_laws()
    trial = run_trial(resolve.lab("sim"), target, schedule, origin="test", laws=judges)
    return {each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize(
    "mutant",
    # The others need a search's program: see kills.jsonl.
    [each for each in (*seeded_in(delivery.__name__), *seeded_in(progress.__name__)) if each.name in PROGRAMS],
    ids=lambda each: each.name,
)
def test_the_declared_law_catches_it(mutant: Mutant) -> None:
    assert broken(ReferenceTarget((mutant,)), *PROGRAMS[mutant.name], mutant.law) == {mutant.law}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_program_breaks_no_law_without_it(name: str) -> None:
    assert name in catalogue()
    assert broken(ReferenceTarget(), *PROGRAMS[name]) == set()


# A consumer that behaves shows nothing of a slave that stores what pulls carry, since it tells a slave nothing so.


class StoresCarried(Pulling):
    """Stores what a pull carries, on a slave, too."""

    def stores_commits(self) -> bool:
        """Always."""
        return True


class CarriesEverywhere(ConsumersPulling):
    """Tells a slave the group's progress with every pull, too."""

    def carries(self, held: ProcessQueue, choice: Choice) -> bool:
        """Whichever broker is asked."""
        return held.progress > 0 and not self.shared.settings.broadcasting


STORES = Mutant("stores_carried", "slave", with_parts(pulling_class=StoresCarried), "progress-on-pull",
                "a slave stores the progress that a pull carries")  # fmt: skip
CARRIER = with_parts(Consumer, pulling_class=CarriesEverywhere)


class WithCarrier(ReferenceTarget):
    """The consumers tell everybody their progress with every pull, as RocketMQ's would without its last check."""

    def consumer_class(self) -> type[Consumer]:
        """Such a one."""
        return cast("type[Consumer]", CARRIER)


@pytest.mark.parametrize(
    ("target", "laws"),
    [
        (WithCarrier((STORES,)), {"progress-on-pull"}),
        (WithCarrier(), set()),
        (ReferenceTarget((STORES,)), set()),
    ],
    ids=["both", "consumer alone", "slave alone"],
)
def test_a_slave_stores_nothing_that_a_pull_carries(target: Any, laws: set[str]) -> None:
    # The consumer dies before it commits in any other way, so no sync brings the slave what it was told.
    assert broken(target, FROM_SLAVE, (join(0, 0), SOON, leave(0, 0, lost=True)), "progress-on-pull") == laws
