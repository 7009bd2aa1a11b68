"""``pairproof mutants``: seed each known bug, and report the law that catches it and the number of trials.

A mutant counts as killed only when the law that it declares is violated. The control runs the unmutated reference over
the same schedules with the same budget; one alarm there means that the harness is wrong. In the process and docker labs
the Hypothesis machine searches instead (:mod:`pairproof.chaos.commands.mutants_real`). Generic mutants are in
:mod:`pairproof.chaos.commands.mutants_generic`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import count, islice, zip_longest
from pathlib import Path
from statistics import median
from time import process_time
from typing import NamedTuple

import click

from ...harness.commands import options, output
from ...harness.commands.helping import completes, example
from ...harness.errors import EXIT_HOLDS, EXIT_VIOLATED, UsageError
from ...harness.exploration.profiles import PROOF, REAL_TIME_LABS, profile
from ...harness.judging import judge as judging
from ...harness.judging.verdict import Verdict
from ...harness.ports import Lab, Target
from ...harness.rocketmq import cluster, known_bugs, moments, swarm, truncation
from ...harness.search import shrink, sweep
from ...harness.trials import resolve
from ...harness.trials.interpreter import run_trial
from ...harness.trials.schedule import Schedule
from ...harness.trials.schedule_json import from_json
from .. import model_mutants
from ..mutants import Mutant, catalogue
from . import mutants_generic, mutants_model, mutants_real

TRIALS = 6_000
REAL = sum(profile(PROOF).counts.values())
DEFAULTS = f"{TRIALS}; {REAL} in {REAL_TIME_LABS}; {mutants_generic.TRIALS} with --generic"
CLUSTER_ONE_IN = 4
"""Cluster trials cost ten times as much as others, so they get about half of the time."""


class Kill(NamedTuple):
    """The result for one mutant. ``law``: the law that caught it; ``also``: others violated by the same trial."""

    name: str
    killed: bool
    law: str
    also: list[str]
    trials: int
    seconds: float
    origin: str
    program: list[str]
    settings: dict[str, object]
    text: str
    schedule: dict[str, object]
    """The shrunk program as a document for :func:`harness.trials.schedule_json.from_json`."""


def schedules(lab: Lab, target: Target, seed: str) -> Iterator[tuple[str, Schedule]]:
    """Every search but Hypothesis in turn: moments, the sweep, truncation points, swarm and cluster trials."""
    moments_, swept_, cuts = _listed(lab.name, target.name, seed)
    for moment, swept, cut, number in zip_longest(moments_, swept_, cuts, count()):
        if moment is not None:
            yield "moments", moment
        if swept is not None:
            yield "sweep", swept
        if cut is not None:
            yield "truncation", cut
        yield "swarm", swarm.schedule(seed, number)
        if number % CLUSTER_ONE_IN == 0:
            yield "cluster", cluster.schedule(seed, number // CLUSTER_ONE_IN)


@lru_cache(maxsize=1)
def _listed(lab: str, target: str, seed: str) -> tuple[list[Schedule], ...]:
    """Schedules of the enumerated searches, cached for all hunts, many of which end before this list is complete."""
    there, pair = resolve.lab(lab), resolve.target(target)
    return tuple(listed(there, pair, seed) for listed in (moments.schedules, sweep.schedules, truncation.schedules))


def violated(lab: Lab, target: Target, schedule: Schedule) -> dict[str, str]:
    """Laws that a schedule violates, with the first text of each."""
    judgements = run_trial(lab, target, schedule, origin="mutants").judgements
    return {each.law: each.violations[0].text for each in judgements if each.verdict is Verdict.VIOLATED}


def hunt(lab: Lab, mutant: Mutant, seed: str, trials: int) -> Kill:
    """Search until the declared law catches the mutant, then shrink the program."""
    target = resolve.target(f"reference+{mutant.name}")
    # Judge that law alone: the others cost most of the time.
    caught = fails_by(lab, target, mutant.law)
    began = process_time()
    # The sweep uses the unmutated pair's boundaries, because a mutant may never become quiescent.
    for number, (origin, schedule) in enumerate(schedules(lab, resolve.target("reference"), seed), 1):
        if caught(schedule):
            seconds = process_time() - began
            small = shrink.shrink(resolve.system_of(target), schedule, caught)
            found = violated(lab, target, small)
            also = sorted(set(found) - {mutant.law})
            return Kill(
                mutant.name, True, mutant.law, also, number, round(seconds, 3), origin, small.program(),
                dict(small.settings), found[mutant.law], small.to_json(),
            )  # fmt: skip
        if number >= trials:
            break
    return Kill(mutant.name, False, mutant.law, [], trials, round(process_time() - began, 3), "", [], {}, "", {})


def fails_by(lab: Lab, target: Target, law: str) -> shrink.StillFails:
    """Whether a schedule violates this law; no other law is judged."""
    laws = judging.laws([law])

    def fails(candidate: Schedule) -> bool:
        judged = run_trial(lab, target, candidate, origin="shrink", laws=laws).judgements
        return judged[0].verdict is Verdict.VIOLATED

    return fails


def control(lab: Lab, seed: str, trials: int) -> list[str]:
    """Laws that raise an alarm for the unmutated reference over the same schedules. There must be none."""
    target = resolve.target("reference")
    alarms: set[str] = set()
    for number, (_, schedule) in enumerate(schedules(lab, target, seed), 1):
        alarms |= set(violated(lab, target, schedule))
        if number >= trials:
            break
    return sorted(alarms)


@click.command("mutants", epilog=example("mutants goes_back"))
@click.argument("names", nargs=-1, shell_complete=completes(names=lambda: catalogue()))
@click.option("--seed", default="mutants", show_default=True, help="Random seed of every schedule.")
@click.option("--trials", type=click.IntRange(1), help=f"Trials for each mutant. [default: {DEFAULTS}]")
@click.option("--model", "of_model", is_flag=True, help="Mutate the model behind the laws instead.")
@mutants_generic.options
@options.lab
@options.jobs("Trials", f"; in {REAL_TIME_LABS}, or with --generic")
@options.runs(f", in {REAL_TIME_LABS}")
@output.json_option
def command(
    names: tuple[str, ...], seed: str, trials: int | None, asked: mutants_generic.Asked | None, lab_name: str,
    jobs: int, runs_folder: Path, json_to: str | None, of_model: bool,
) -> None:  # fmt: skip
    """Seed each known bug into the reference; report which law catches it, after how many trials.

    In the process and docker labs, name the mutants to search for. There only the Hypothesis machine searches, every
    trial is recorded, and the program that violates the law is shrunk, executed several more times, and reported.

    With --generic, a sample of small changes of the target's code is judged instead. The share that any law notices
    measures the worth of a green run. Then 0 means that the control is clean.

    With --model, the model behind the laws is mutated: without an excuse some law must accuse the reference, and with a
    false fact a known bug must survive. Then 0 means that every mutant is noticed.

    Exit codes: 0 every mutant was killed by its declared law and the control is clean, 1 otherwise, 4 the lab failed.
    """
    if asked is not None:
        if names:
            raise UsageError(f"--generic makes its own mutants; leave {names[0]!r} out")
        sys.exit(mutants_generic.run(asked, resolve.lab(lab_name), seed, trials, jobs, json_to))
    if of_model:
        if names:
            raise UsageError(f"--model has its own mutants; leave {names[0]!r} out")
        sys.exit(_of_model(resolve.lab("sim"), seed, trials or TRIALS, json_to))
    unknown = [name for name in names if name not in catalogue()]
    if unknown:
        raise UsageError(f"unknown mutant {unknown[0]!r}; valid: {', '.join(catalogue())}")
    chosen = [catalogue()[name] for name in names] or list(catalogue().values())
    lab = resolve.lab(lab_name)
    if not lab.deterministic:
        if not names:
            raise UsageError(f"in lab {lab_name} each mutant takes minutes; name those to search for")
        code, catches = mutants_real.hunt(mutants_real.Hunt(lab, seed, trials, jobs, runs_folder), chosen)
        if json_to is not None:
            output.write_json([each._asdict() for each in catches], json_to)
        sys.exit(code)
    if jobs > 1:
        raise UsageError(f"--jobs is for real-time labs such as process and docker, not for {lab_name}; leave it out")
    sys.exit(_simulated(lab, chosen, seed, trials or TRIALS, json_to))


def _of_model(lab: Lab, seed: str, trials: int, json_to: str | None) -> int:
    reference = resolve.target("reference")
    found: list[mutants_model.Noticed] = []
    with output.progress() as progress:
        total = len(model_mutants.EXCUSES) + len(model_mutants.FACTS)
        for each in model_mutants.EXCUSES:
            progress(len(found), total, each.name)
            rare = model_mutants.RARE.get(each.name)
            drawn = (schedule for _, schedule in islice(schedules(lab, reference, seed), trials))
            played = drawn if rare is None else (rare,)
            found.append(mutants_model.excuse(each, played, lambda schedule: violated(lab, reference, schedule)))
        stored = {each.name: each.schedule for each in known_bugs.of_mutants()}
        for each in model_mutants.FACTS:
            progress(len(found), total, each.name)
            declared = catalogue()[each.shown_by]
            mutant = declared._replace(law=each.law or declared.law)
            fails = fails_by(lab, resolve.target(f"reference+{mutant.name}"), mutant.law)
            program, number = stored.get(mutant.name), 1
            if program is None or not fails(program):
                kill = hunt(lab, mutant, seed, trials)
                program, number = from_json(kill.schedule) if kill.killed else None, kill.trials
            if program is None:
                about = f"{each.about}; but {mutant.name} survived: give more --trials"
                found.append(mutants_model.Noticed(each.name, about, False, number, [mutant.law]))
            else:
                found.append(mutants_model.fact(each, mutant.law, number, partial(fails, program)))
    return mutants_model.report(found, json_to)


def _simulated(lab: Lab, chosen: list[Mutant], seed: str, trials: int, json_to: str | None) -> int:
    kills = []
    with output.progress() as progress:
        for done, mutant in enumerate(chosen):
            progress(done, len(chosen) + 1, mutant.name)
            kills.append(hunt(lab, mutant, seed, trials))
        progress(len(chosen), len(chosen) + 1, "control")
        # The control runs as many trials as the longest hunt.
        budget = max(each.trials for each in kills)
        alarms = control(lab, seed, budget)
    if json_to is not None:
        output.write_json([each._asdict() for each in kills], json_to)
    _say(kills, alarms, budget)
    return EXIT_HOLDS if all(each.killed for each in kills) and not alarms else EXIT_VIOLATED


def _say(kills: list[Kill], alarms: list[str], budget: int) -> None:
    rows = [
        (
            each.name,
            "killed" if each.killed else "SURVIVED",
            each.law,
            each.origin,
            str(each.trials),
            f"{each.seconds:.2f}",
            str(len(each.program)),
            ", ".join(each.also),
        )
        for each in kills
    ]
    output.table(
        "Mutants", ("mutant", "verdict", "declared law", "by", "trials", "CPU s", "program ops", "also violated"), rows
    )
    killed = [each for each in kills if each.killed]
    if killed:
        trials, seconds = median(each.trials for each in killed), median(each.seconds for each in killed)
        size = median(len(each.program) for each in killed)
        output.say(
            f"{len(killed)} of {len(kills)} killed by their declared law; median to the first kill: {trials:.0f} "
            f"trials, {seconds:.2f} CPU seconds; median program: {size:.0f} operations"
        )
        origins = Counter(each.origin for each in killed).most_common()
        output.say(f"first caught by: {', '.join(f'{origin} {number}' for origin, number in origins)}")
    output.say(f"control: the unmutated reference over {budget} trials: {', '.join(alarms) or 'no alarm'}")
