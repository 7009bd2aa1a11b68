"""The terminal output at the end of a scenario run: failures, losses, causes, and three last lines.

Leaves out scenarios that hold, except for their losses; ``--json`` and the run folder have everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...harness.commands import closing, output
from ...harness.commands.findings import say_commands, say_deviations
from ...harness.exploration.losses import Loss
from ...harness.exploration.summary import played_again
from ...harness.judging import deviations
from ...harness.rocketmq import losses
from ...harness.system import System
from ...harness.texts.wording import counted
from ...harness.trials import resolve
from .play import HOLDS, UNKNOWN, VERDICTS, VIOLATED, Result
from .recording import Recording

MAX_SAID = 10
MAX_CASES = 20


def print_scenarios(recording: Recording, reported: bool) -> None:
    """Print the results of a scenario run. ``reported``: its report was made."""
    plan, results = recording.plan, recording.results()
    for each in results:
        _say_scenario(each)
    system = resolve.system_of(resolve.target(plan.target))
    _say_causes(recording, system)
    say_deviations(recording.writer.known_deviations)
    print_left_out("this lab", recording.left_out)
    trials = sum(len(each.played) for each in results)
    if again := sum(one.trial.again for each in results for one in each.played):
        output.say(played_again(again))
    seconds = sum(each.seconds for each in results)
    output.say(f"{counted(trials, 'trial')} in {seconds:.1f} s, seed {plan.seed}, recorded in {recording.folder}")
    facts, first = recording.writer.facts, next((path for _, path in recording.findings), None)
    output.say_remarks(closing.known(facts)["configuration_remarks"])
    listed = _verdict(recording, results)
    for line in closing.three(listed, facts, recording.folder, first, system, "show" if reported else "report"):
        output.say(*line)


def print_left_out(where: str, lacking: Mapping[str, Sequence[str]]) -> None:
    """Print the scenarios that ``where`` cannot play, each with the abilities that it lacks."""
    listed = ", ".join(f"{name} ({', '.join(lacks)})" for name, lacks in lacking.items())
    if listed:
        output.say(f"not for {where}: {listed}")


def _verdict(recording: Recording, results: Sequence[Result]) -> closing.Line:
    facts = recording.writer.facts
    worst = min((each.verdict for each in results), key=VERDICTS.index, default=UNKNOWN)
    if deviations.fails(facts) and worst != VIOLATED:
        worst = "known-deviation"
    green, asked = sum(each.verdict == HOLDS for each in results), len(recording.scenarios)
    count = f"{green} of {counted(asked, 'scenario')} {'holds' if green == 1 else 'hold'}"
    rest = f", {asked - len(results)} not played" if asked > len(results) else ""
    ended = "; interrupted before its end" if facts["state"] == "interrupted" else ""
    cost = closing.known_cost(facts)
    style = output.AMBER if cost and worst == HOLDS else output.COLOURS.get(worst, output.AMBER)
    plan = recording.plan
    return closing.Line(f"{plan.target} in {plan.lab}: {worst}{cost}; {count}{rest}{ended}", style)


def _say_scenario(each: Result) -> None:
    if each.verdict != HOLDS:
        output.say(f"{each.scenario.name}: {each.verdict}", output.COLOURS.get(each.verdict, output.AMBER))
        for line in each.reasons[:MAX_SAID]:
            output.say(f"  {line}")
        if len(each.reasons) > MAX_SAID:
            output.say(f"  ... and {len(each.reasons) - MAX_SAID} more; --json has them")
    if each.not_observable:
        output.say(f"{each.scenario.name}: not observable here: {', '.join(each.not_observable)}")
    for line in costs([(one.case.label, losses.measure(one.trial.events)) for one in each.played]):
        output.say(f"{each.scenario.name}{line}")


def costs(played: Sequence[tuple[str, Loss | None]]) -> list[str]:
    """The acked messages that each case lost, by its label; one line for all cases without losses. Omits cases whose
    faults had no effect.
    """
    sums = [(label, losses.total([cost])) for label, cost in played if cost is not None]
    lines = [f"{f' [{label}]' if label else ''}: {line}" for label, cost in sums if (line := losses.words(cost))]
    none = [cost["acknowledged"] for _, cost in sums if not losses.words(cost)]
    if len(lines) > MAX_CASES:
        lines[MAX_CASES:] = [f": {len(lines) - MAX_CASES} more trials lost messages; --json has the sum"]
    if none:
        which = f"{len(none)} of {len(sums)} trials: " if lines else ""
        lines.append(f": {which}{sum(none):,} PUT_OK, none lost")
    return lines


def _say_causes(recording: Recording, system: System) -> None:
    """The laws that each cause violates, and the commands for its first finding: one replay shows them all."""
    by_cause: dict[str, list[int]] = {}
    for number, (finding, _) in enumerate(recording.findings):
        by_cause.setdefault(finding.cause or str(finding.trial), []).append(number)
    for numbers in list(by_cause.values())[: closing.MAX_LINES]:
        found = [recording.findings[number] for number in numbers]
        first, path = found[0]
        laws, trials = {each.law: None for each, _ in found}, {each.trial for each, _ in found}
        output.say(f"violated in {counted(len(trials), 'trial')}, from one cause: {', '.join(laws)}")
        say_commands(system, path, recording.plan.target, first.law)
    if len(by_cause) > closing.MAX_LINES:
        output.say(f"{counted(len(by_cause) - closing.MAX_LINES, 'more cause')}; the report shows all")
