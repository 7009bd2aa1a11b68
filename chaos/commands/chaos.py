"""``pairproof chaos``: play scenarios: load, faults and expectations on a timeline, in a simulation or real lab."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ...harness.commands import closing, options, output
from ...harness.commands.helping import Group, completes, example
from ...harness.errors import EXIT_INTERRUPTED, EXIT_VIOLATED, UsageError
from ...harness.judging import deviations
from ...harness.runs import atomic
from ...harness.texts.folding import folded
from ...harness.texts.wording import counted
from ..scenarios import library

LABS = "sim,process"
MAX_PROGRAM = 200

_scenarios = completes(names=library.names, files=True)
_repeat = click.option(
    "--repeat",
    type=click.IntRange(1, 1_000),
    help="How many times to play each case; default: as in the scenario's file.",
)
_cases = click.option("--cases", type=click.IntRange(1), help="Play at most this many cases of each scenario, evenly.")
_all = click.option(
    "--all", "everything", is_flag=True, help="All shipped scenarios that the lab has the abilities for."
)


@click.group("chaos", cls=Group, epilog=example("chaos run master-kill-under-load --lab process"))
def command() -> None:
    """Play scenarios: load, faults and expectations on a timeline, in the simulation or in real labs.

    Name a scenario as `pairproof chaos list` shows it, or give the path of your own file.

    Exit codes: 0 all hold; 1 a law is violated or an expectation was not met; 2 usage; 3 something is unknown, was not
    judged, had no effect or was skipped; 4 the lab failed; 130 interrupted.
    """


@command.command("list", epilog=example("chaos list"))
@output.json_option
def list_(json_to: str | None) -> None:
    """List the scenarios that come with pairproof, and those of plug-ins."""
    from ..scenarios import page

    found = [library.shipped(name) for name in library.names()]
    if json_to is not None:
        output.write_json(
            [
                {
                    "name": each.name, "about": each.about, "deployment": page.deployment(each),
                    "cases": len(each.cases), "seconds": page.seconds(each), "catches": list(each.catches),
                }
                for each in found
            ],
            json_to,
        )  # fmt: skip
        return
    rows = [
        (each.name, each.about.partition(". ")[0], page.deployment(each), len(each.cases), f"{page.seconds(each):g}")
        for each in found
    ]
    output.table("", ("scenario", "about", "deployment", "cases", "s"), rows)


@command.command("show", epilog=example("chaos show master-kill-under-load"))
@click.argument("name", shell_complete=_scenarios)
@click.option("--case", "number", type=click.IntRange(1), default=1, show_default=True, help="The case to show.")
def show(name: str, number: int) -> None:
    """Show a scenario: its purpose, timeline, expectations, and the program that it becomes."""
    from ..scenarios import page, picture, timeline

    scenario = library.find(name)
    if number > len(scenario.cases):
        raise UsageError(
            f"{scenario.name} has {len(scenario.cases)} cases; --case 1 to {len(scenario.cases)} are valid"
        )
    case = scenario.cases[number - 1]
    out = output.console()
    out.print(scenario.name, style="bold")
    out.print(scenario.about)
    for each in scenario.promises:
        out.print(f"  - {each}")
    which = f"; case {number} of {len(scenario.cases)}: {case.label}" if case.label else ""
    out.print(f"\non {page.deployment(scenario)}{which}", soft_wrap=True)
    out.print(
        "settings: " + (", ".join(f"{k}={v}" for k, v in case.settings.items()) or "the defaults"), soft_wrap=True
    )
    out.print()
    for line in picture.drawn(case):
        out.print(line, soft_wrap=True)
    out.print()
    for line in _expected(case):
        out.print(line, soft_wrap=True)
    out.print(f"laws: {', '.join(scenario.laws) or 'all'}; catches: {', '.join(scenario.catches) or 'no mutant'}")
    program = folded(timeline.compiled(case, "").program())
    out.print("\nprogram:")
    for line in program[:MAX_PROGRAM]:
        out.print(f"  {line}", soft_wrap=True)
    if len(program) > MAX_PROGRAM:
        out.print(f"  ... and {len(program) - MAX_PROGRAM} lines more")


def _expected(case: Any) -> list[str]:
    lines = _expectations(case.expect)
    return [*lines, *(f"{only.text}: {line}" for only, more in case.apart for line in _expectations(more))]


def _expectations(expect: Any) -> list[str]:
    lines = [f"judged: {', '.join(expect.judged)}"] if expect.judged else []
    for where, counts in [("", expect.whole), *((f"{each.when} {each.id}: ", each.counts) for each in expect.phases)]:
        amounts = [f"{bound} {name}" for kind in counts for name, bound in kind.items()]
        lines += [f"expected: {where}{', '.join(amounts)}"] if amounts else []
    lines += [f"violated: {', '.join(expect.violated)}"] if expect.violated else []
    return lines if expect.bites else [*lines, "faults need not take effect"]


@command.command("run", epilog=example("chaos run master-kill-under-load --lab process"))
@click.argument("names", nargs=-1, shell_complete=_scenarios)
@_all
@options.lab
@options.target
@options.configuration
@_repeat
@_cases
@options.jobs("Scenarios")
@options.seed
@options.runs()
@options.report
@options.known_deviations
@output.json_option
def run(
    names: tuple[str, ...], everything: bool, lab_name: str, target_name: str, repeat: int | None, cases: int | None,
    jobs: int, seed: str | None, runs_folder: Path, report: bool, report_engine: str, json_to: str | None,
    master_conf: Path | None, slave_conf: Path | None, typed: tuple[str, ...], known_deviations: str | None,
) -> None:  # fmt: skip
    """Play scenarios and check them against the laws and their own expectations. Records a run like `pairproof check`.

    --all leaves out scenarios for which the lab lacks an ability, and lists them at the end. A scenario that was named
    is reported as skipped instead.

    Exit codes: 0 all hold; 1 a law is violated, an expectation was not met, or --known-deviations fails it; 2 usage; 3
    something is unknown, was not judged, had no effect or was skipped; 4 the lab failed; 130 interrupted.
    """
    from ...harness.trials import resolve
    from ..scenarios.closing import print_scenarios
    from ..scenarios.play import Plan

    tested = options.configured(target_name, master_conf, slave_conf, typed)
    plan = Plan(lab_name, target_name, options.seed_of(seed), repeat, cases, resolve.brought(tested), known_deviations)
    chosen = _chosen(names, everything, target_name)
    left_out = _lacking(chosen, lab_name) if everything else {}
    _check_some(chosen, left_out, lab_name)
    output.say_plugins()
    recording, code = _play(chosen, plan, jobs, runs_folder, left_out)
    if json_to is not None:
        output.write_json(_answer(recording, plan), json_to)
    if report:
        from ...harness.commands.check import make_report

        made = make_report(recording.folder, json_to, report_engine)
        code = code or made
    print_scenarios(recording, report)
    sys.exit(code)


@command.command("parity", epilog=example("chaos parity master-kill-under-load --labs sim,process"))
@click.argument("names", nargs=-1, shell_complete=_scenarios)
@_all
@click.option("--labs", default=LABS, show_default=True, help="The labs to compare, separated by commas.")
@options.target
@_repeat
@_cases
@options.jobs("Scenarios")
@options.seed
@options.runs()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the table as a Markdown page.")
@output.json_option
def parity(
    names: tuple[str, ...], everything: bool, labs: str, target_name: str, repeat: int | None, cases: int | None,
    jobs: int, seed: str | None, runs_folder: Path, out: Path | None, json_to: str | None,
) -> None:  # fmt: skip
    """Play scenarios in several labs and compare verdicts, laws and times.

    Each scenario is played in the labs that have the abilities for it; other labs show `cannot`, which does not
    count as a difference. A lab that does not run the target plays its model: rocketmq-4.9.7@model for
    rocketmq-4.9.7 in sim. --all leaves out scenarios that none of the labs can play, and names them at the end.

    Exit codes: 1 a difference is not explained by the scenario's file; otherwise as for run, from the verdicts on
    which all labs agree.
    """
    from ...harness.trials import resolve
    from ..scenarios import parity as comparing
    from ..scenarios.closing import print_left_out
    from ..scenarios.play import Plan

    chosen, listed, known = _chosen(names, everything, target_name), _labs(labs), options.seed_of(seed)
    target = resolve.target(target_name)
    plays = {lab: resolve.playable(resolve.lab(lab), target).name for lab in listed}
    titles = [lab if plays[lab] == target.name else f"{lab} ({plays[lab]})" for lab in listed]
    lacking = {lab: _lacking(chosen, lab) for lab in listed}
    by_lab: dict[str, list[Any]] = {lab: [] for lab in listed}
    # A scenario that was named is shown even if no lab can play it.
    nowhere = {
        name: lacks
        for name, lacks in lacking[listed[0]].items()
        if everything and all(name in lacking[lab] for lab in listed)
    }
    _check_some(chosen, nowhere, labs)
    for lab in listed:
        if len(lacking[lab]) == len(chosen):
            continue
        recording, code = _play(chosen, Plan(lab, plays[lab], known, repeat, cases), jobs, runs_folder, lacking[lab])
        if code == EXIT_INTERRUPTED:
            sys.exit(code)
        by_lab[lab] = recording.results()
        output.say(f"{lab}: recorded in {recording.folder}")
    shown = [each for each in chosen if each.name not in nowhere]
    rows = comparing.rows(shown, by_lab, lacking, {lab for lab in listed if plays[lab] != target.name})
    if out is not None:
        which = "--all" if everything else " ".join(names)
        command = f"chaos parity {which} --target {target_name} --labs {','.join(listed)} --out {out}"
        atomic.write_text(out, comparing.page(rows, titles, target_name, command), "--out")
    if json_to is not None:
        output.write_json(_compared(rows, listed), json_to)
    columns = ("scenario", *titles, *(f"s, {lab}" for lab in listed), "differences")
    output.table("", columns, map(_cells, rows))
    print_left_out("these labs", nowhere)
    unexplained = [each.scenario.name for each in rows if each.unexplained]
    output.say(f"{counted(len(rows), 'scenario')}; not explained: {', '.join(unexplained) or 'nothing'}")
    sys.exit(comparing.exit_code(rows))


def _cells(row: Any) -> tuple[str, ...]:
    from ..scenarios.parity import cell

    seconds = (f"{each:.1f}" for each in row.seconds)
    return row.scenario.name, *map(cell, row.verdicts, row.lacking), *seconds, _differences(row)


def _differences(row: Any) -> str:
    return "; ".join(f"{each.what}{'' if each.reason else ' (not explained)'}" for each in row.differences) or "none"


def _compared(rows: Sequence[Any], labs: Sequence[str]) -> list[dict[str, object]]:
    return [
        {
            "name": each.scenario.name,
            "verdicts": dict(zip(labs, each.verdicts, strict=True)),
            "lacking": {lab: lacks for lab, lacks in zip(labs, each.lacking, strict=True) if lacks},
            "seconds": dict(zip(labs, (round(s, 3) for s in each.seconds), strict=True)),
            "differences": [
                {"what": one.what, "seen": dict(zip(labs, one.seen, strict=True)), "reason": one.reason}
                for one in each.differences
            ],
        }
        for each in rows
    ]


def _chosen(names: tuple[str, ...], everything: bool, target: str) -> list[Any]:
    from ...harness.trials import resolve

    if bool(names) == everything:
        raise UsageError("name scenarios (pairproof chaos list shows them) or files, or give --all")
    if not everything:
        return library.find_all(names)
    system = resolve.system_of(resolve.target(target))
    shipped = library.find_all(library.names())
    return [each for each in shipped if resolve.system_of(resolve.target(each.target)) is system]


def _lacking(scenarios: Sequence[Any], lab: str) -> dict[str, tuple[str, ...]]:
    """By name, the abilities that a lab lacks for a scenario. Playable scenarios are absent."""
    from ...harness.trials import resolve
    from ..scenarios.play import lacking

    found = {each.name: lacking(each, resolve.lab(lab)) for each in scenarios}
    return {name: lacks for name, lacks in found.items() if lacks}


def _check_some(chosen: Sequence[Any], left_out: Collection[str], labs: str) -> None:
    if len(left_out) == len(chosen):
        raise UsageError(f"no scenario can be played in {labs}; pairproof labs lists the abilities of each lab")


def _labs(text: str) -> list[str]:
    from ...harness.trials import resolve

    found = list(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if len(found) < 2:
        raise UsageError(f"--labs needs two or more labs separated by commas, such as {LABS}, not {text!r}")
    for each in found:
        resolve.lab(each)
    return found


def _play(
    chosen: list[Any], plan: Any, jobs: int, runs: Path, left_out: Mapping[str, Sequence[str]]
) -> tuple[Any, int]:
    """The closed recording, and the exit code. ``left_out``: by scenario, the abilities that the lab lacks."""
    from ...harness.trials import resolve
    from ..scenarios import jobs as playing
    from ..scenarios.play import check, exit_code
    from ..scenarios.recording import Recording
    from ..scenarios.watch import watching

    target = resolve.configured(plan.target, plan.brought)
    resolve.check_pair(resolve.lab(plan.lab), target)
    for each in chosen:
        check(each, target)
    scenarios = [each for each in chosen if each.name not in left_out]
    recording = Recording(runs, plan, scenarios, left_out)
    try:
        with recording, watching() as watch:
            playing.run(scenarios, plan, jobs, watch, recording.take)
    except KeyboardInterrupt:
        code = exit_code(recording.results())
        return recording, code if code == EXIT_VIOLATED else EXIT_INTERRUPTED
    known_fails = deviations.fails(recording.writer.facts)
    return recording, EXIT_VIOLATED if known_fails else exit_code(recording.results())


def _answer(recording: Any, plan: Any) -> dict[str, object]:
    from ..scenarios.recording import summary

    return {
        "run": recording.folder.name,
        "folder": str(recording.folder),
        "state": recording.writer.facts["state"],
        "lab": plan.lab,
        "target": plan.target,
        "seed": plan.seed,
        "scenarios": [summary(each) for each in recording.results()],
        "left_out": recording.writer.facts["left_out"],
        "violated": sorted({finding.law for finding, _ in recording.findings}),
        **closing.known(recording.writer.facts),
    }
