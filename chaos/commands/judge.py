"""``pairproof judge``: judge recorded histories again, or a capture of real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...harness.commands import options, output
from ...harness.commands.helping import example
from ...harness.errors import UsageError, joined

if TYPE_CHECKING:
    from ..capture_judging import JudgedCapture

MAX_LINES = 20
"""Violations shown to people; ``--json`` has all that were kept."""
NOTHING = "it holds no history to judge; record a run with pairproof check --keep all"


@click.command("judge", epilog=example("judge --ha-capture capture/"))
@click.argument("runs", nargs=-1)
@click.option("--ha-capture", "capture", type=click.Path(path_type=Path), help="Judge a folder of captured HA streams.")
@options.configuration_files
@options.law
@output.json_option
def command(
    runs: tuple[str, ...], capture: Path | None, master_conf: Path | None, slave_conf: Path | None,
    law_ids: tuple[str, ...], json_to: str | None,
) -> int:  # fmt: skip
    """Judge the kept histories of RUNS (folders, ids, or latest) again, or a capture of real brokers.

    Without --law a capture's streams are also replayed, cut in several ways, into the reference slave, whose commit
    log must come out equal to the real slave's. Lines of run.json that are not understood are named. A fault that
    never ends makes laws unknown. docs/capture-folder.md describes a capture folder. --master-conf and --slave-conf
    stand in place of its configuration files; a run's histories say themselves how their brokers were set.

    Exit codes: 0 every law holds, 1 one is violated, 2 usage, 3 unknown.
    """
    if bool(runs) == (capture is not None):
        raise UsageError("judge either run folders or one --ha-capture folder")
    files = options.files(master_conf, slave_conf)
    if files and capture is None:
        raise UsageError(
            "--master-conf and --slave-conf go with --ha-capture: a run's histories say how their brokers were set; to "
            "test another configuration run pairproof check with these files"
        )
    return _capture(capture, files, law_ids, json_to) if capture is not None else _runs(runs, law_ids, json_to)


def _laws(ids: tuple[str, ...]) -> Any:
    from ...harness.judging import judge as judging

    return judging.laws(ids) if ids else judging.all_laws()


def _capture(folder: Path, files: dict[str, Path], law_ids: tuple[str, ...], json_to: str | None) -> int:
    from ..capture_judging import judge_capture
    from ..rocketmq import configuration

    configuration.check(files)
    found = judge_capture(folder, _laws(law_ids), checks=not law_ids, brought=files)
    if json_to is not None:
        output.write_json(_as_json(folder, found), json_to)
    if json_to != output.STDOUT:
        _show(folder, found)
    return found.exit_code


def _as_json(folder: Path, found: JudgedCapture) -> dict[str, object]:
    return {
        "capture": str(folder),
        "events": len(found.history.events),
        "rocketmq": found.history.version.name,
        "rocketmq_known_from": found.history.version.source,
        "left_out": found.history.left_out,
        "not_understood": found.history.told.unread,
        "unended": found.history.told.unended,
        "concluded": found.history.told.notes,
        "laws": [
            {
                "law": each.law,
                "verdict": str(each.verdict),
                "judged": each.judged,
                "broken": each.broken,
                "doubt": each.doubt,
                "notes": each.notes,
                "violations": [one._asdict() for one in each.violations],
            }
            for each in found.laws
        ],
        "checks": [{**each._asdict(), "verdict": str(each.verdict)} for each in found.checks],
        "deviations": found.deviations,
        "exit_code": found.exit_code,
    }


def _show(folder: Path, found: JudgedCapture) -> None:
    from ...harness.commands.findings import say_deviations

    rows = [(each.law, str(each.verdict), each.judged, each.broken) for each in found.laws]
    rows += [(each.id, str(each.verdict), each.judged, len(each.why)) for each in found.checks]
    texts = [f"{each.law} at {one.t / 1e9:.6f} s: {one.text}" for each in found.laws for one in each.violations]
    texts += [f"{each.id}: {why}" for each in found.checks for why in each.why]
    texts += [f"{each.law}: {each.doubt}" for each in found.laws if each.doubt]
    left_out = ", ".join(f"{count} {what}" for what, count in sorted(found.history.left_out.items()))
    _table(f"{folder}: {len(found.history.events)} events", rows, texts)
    if left_out:
        output.echo(f"not judged: {left_out}")
    say_deviations(found.deviations)
    version, told = found.history.version, found.history.told
    output.echo(f"judged as RocketMQ {version.name}: {version.source}")
    _listed("concluded", told.notes)
    _listed("never ended, so nothing is known to hold", told.unended)
    _listed("not understood in run.json's events, and left out", told.unread)


def _listed(what: str, lines: list[str]) -> None:
    if lines:
        output.echo(f"{what}:")
    for line in lines[:MAX_LINES]:
        output.echo(f"  {line}")
    if len(lines) > MAX_LINES:
        output.echo(f"  ... and {len(lines) - MAX_LINES} more: --json has them")


def _table(title: str, rows: list[tuple[str, str, int, int]], texts: list[str]) -> None:
    output.table(title, ("law", "verdict", "judged", "violations"), rows)
    for text in texts[:MAX_LINES]:
        output.echo(text)
    if len(texts) > MAX_LINES:
        output.echo(f"... and {len(texts) - MAX_LINES} more: --json has them")


def _runs(names: tuple[str, ...], law_ids: tuple[str, ...], json_to: str | None) -> int:
    from ...harness.commands.check import recorded
    from ...harness.commands.findings import say_deviations
    from ...harness.judging.verdict import Standing, exit_code
    from ...harness.runs.reader import RunReader, resolve_run
    from ..rejudging import judge_run

    laws = _laws(law_ids)
    readers = [RunReader(resolve_run(name)) for name in names]
    found = [judge_run(reader, laws) for reader in readers]
    if json_to is not None:
        output.write_json([each.to_json() for each in found], json_to)
    if json_to != output.STDOUT:
        for each in found:
            texts = [f"trial {trial}, {law}: {text}" for trial, law, text in each.texts]
            _table(f"{each.run}: {each.trials} kept histories, {each.events} events", each.rows(), texts)
            say_deviations(each.deviations)
            if not any(each.judged.values()):
                output.echo(f"{each.run} says nothing: {'no law found anything to judge' if each.trials else NOTHING}")
    codes = [exit_code(map(Standing, each.verdicts.values())) for each in found]
    # What a run's own tables and findings say counts as much, unless one law was asked for.
    codes += [recorded(each.folder) for each in readers if each.facts.get("laws") and not law_ids]
    return joined(*codes)
