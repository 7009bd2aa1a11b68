"""``pairproof judge``: judge recorded histories again, or a capture of real brokers."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...harness import registry
from ...harness.commands import options, output
from ...harness.commands.helping import example
from ...harness.errors import UsageError, joined
from ...harness.judging.deviations import FAIL
from ...harness.texts import invocation
from ...harness.texts.plain import without_secrets
from ...harness.texts.wording import counted

if TYPE_CHECKING:
    from ...harness.runs.reader import RunReader
    from ..capture_judging import JudgedCapture
    from ..rejudging import JudgedRun

MAX_LINES = 20
"""Violations shown to people; ``--json`` has all that were kept."""
NOTHING = 'it holds no history to judge; record a run with keep = "all" in [check] of pairproof.toml'

Row = tuple[str, str, int, int]
"""Of a law or a check: its name, verdict, how often it judged, and how often it was broken."""


@click.command("judge", epilog=example("judge --ha-capture capture/"))
@click.argument("runs", nargs=-1)
@click.option("--ha-capture", "capture", type=click.Path(path_type=Path), help="Judge a folder of captured HA streams.")
@options.configuration_files
@options.known_deviations
@options.law
@output.json_option
def command(
    runs: tuple[str, ...], capture: Path | None, master_conf: Path | None, slave_conf: Path | None,
    known_deviations: str | None, law_ids: tuple[str, ...], json_to: str | None,
) -> int:  # fmt: skip
    """Judge the kept histories of RUNS (folders, ids, or latest) again, or a capture of real brokers.

    Without --law a capture's streams are also replayed, cut in several ways, into the reference slave, whose commit
    log must come out equal to the real slave's. Lines of run.json that are not understood are named. A fault that
    never ends makes laws unknown. docs/capture-folder.md describes a capture folder. --master-conf and --slave-conf
    stand in place of its configuration files; a run's histories say themselves how their brokers were set.

    Exit codes: 0 every law holds, 1 one is violated, or broken as it is known of the version (of a run: if the run
    fails by that), 2 usage, 3 unknown.
    """
    if bool(runs) == (capture is not None):
        raise UsageError("judge either run folders or one --ha-capture folder")
    files = options.files(master_conf, slave_conf)
    if files and capture is None:
        raise UsageError(
            "--master-conf and --slave-conf go with --ha-capture: a run's histories say how their brokers were set; to "
            "test another configuration run pairproof check with these files"
        )
    if capture is not None:
        return _capture(capture, files, law_ids, json_to, known_deviations or FAIL)
    if known_deviations is not None:
        raise UsageError("--known-deviations goes with --ha-capture: a run has recorded what they do to it")
    return _runs(runs, law_ids, json_to)


def _laws(ids: tuple[str, ...]) -> Any:
    from ...harness.judging import judge as judging

    return judging.laws(ids) if ids else judging.all_laws()


def _capture(folder: Path, files: dict[str, Path], law_ids: tuple[str, ...], json_to: str | None, does: str) -> int:
    from ..capture_judging import judge_capture
    from ..rocketmq import configuration

    configuration.check(files)
    found = judge_capture(folder, _laws(law_ids), checks=not law_ids, brought=files, does=does)
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
    from ...harness.judging.verdict import Verdict

    rows = [(each.law, str(each.verdict), each.judged, each.broken) for each in found.laws]
    rows += [(each.id, str(each.verdict), each.judged, len(each.why)) for each in found.checks]
    texts = [f"{each.law} at {one.t / 1e9:.6f} s: {one.text}" for each in found.laws for one in each.violations]
    texts += [f"{each.id}: {why}" for each in found.checks for why in each.why]
    texts += [f"{each.law}: {each.doubt}" for each in found.laws if each.doubt]
    left_out = ", ".join(f"{count} {what}" for what, count in sorted(found.history.left_out.items()))
    _say(rows, texts, found.deviations)
    if left_out:
        output.echo(f"not judged: {left_out}")
    version, told = found.history.version, found.history.told
    output.echo(f"judged as RocketMQ {version.name}: {version.source}")
    _listed("concluded", told.notes)
    _listed("never ended, so nothing is known to hold", told.unended)
    _listed("not understood in run.json's events, and left out", told.unread)
    held = sum(each.verdict == Verdict.HOLDS for each in found.checks)
    checks = f"; {held} of {counted(len(found.checks), 'check')} of the log hold" if found.checks else ""
    events = counted(len(found.history.events), "event")
    again = without_secrets(f"{invocation.program()} {shlex.join(sys.argv[1:])}")
    _close(str(folder), f"{events}{checks}", rows, [again, _explaining(rows)], found.known_fails)


def _listed(what: str, lines: list[str]) -> None:
    if lines:
        output.echo(f"{what}:")
    for line in lines[:MAX_LINES]:
        output.echo(f"  {line}")
    if len(lines) > MAX_LINES:
        output.echo(f"  ... and {len(lines) - MAX_LINES} more: --json has them")


def _say(rows: list[Row], texts: list[str], deviations: list[dict[str, Any]]) -> None:
    """Laws that need a look, counts of all, and why."""
    from ...harness.commands.closing import LOOK, by_group
    from ...harness.commands.findings import say_deviations

    if look := [row for row in rows if row[1] in LOOK]:
        output.table("", ("law", "verdict", "judged", "violations"), look)
    for line in by_group(_of_laws(rows)):
        output.say(line)
    for text in texts[:MAX_LINES]:
        output.echo(text)
    if len(texts) > MAX_LINES:
        output.echo(f"... and {len(texts) - MAX_LINES} more: --json has them")
    say_deviations(deviations)


def _close(what: str, amount: str, rows: list[Row], commands: list[str], known_fails: bool) -> None:
    """The last three lines: the verdict, the command again, and the next one."""
    from ...harness.commands.closing import of_laws
    from ...harness.judging.verdict import Standing, Verdict, conclusion

    verdict = str(conclusion([Standing(Verdict(row[1])) for row in rows], known_fails=known_fails))
    said = f"{what}: {verdict}; {of_laws(_of_laws(rows).values())}; {amount}"
    output.say(said, output.COLOURS.get(verdict, "bold"))
    for word, command in zip(("again", "next"), commands, strict=True):
        output.say(f"{word}: {command}")


def _of_laws(rows: list[Row]) -> dict[str, str]:
    """The verdicts of laws, without those of checks."""
    known = registry.names("laws")
    return {name: verdict for name, verdict, _, _ in rows if name in known}


def _explaining(rows: list[Row]) -> str:
    """The command that explains what needs a look, or that searches where nothing does."""
    from ...harness.commands.closing import LOOK

    known = _of_laws(rows)
    law = next((law for verdict in LOOK for law, each in known.items() if each == verdict), None)
    return f"{invocation.program()} {f'laws {law}' if law else 'check --report'}"


def _runs(names: tuple[str, ...], law_ids: tuple[str, ...], json_to: str | None) -> int:
    from ...harness.commands.check import recorded
    from ...harness.judging.verdict import Standing, exit_code
    from ...harness.runs.reader import RunReader, resolve_run
    from ..rejudging import judge_run

    laws = _laws(law_ids)
    readers = [RunReader(resolve_run(name)) for name in names]
    found = [judge_run(reader, laws) for reader in readers]
    if json_to is not None:
        output.write_json([each.to_json() for each in found], json_to)
    codes = []
    for reader, each in zip(readers, found, strict=True):
        now = exit_code(map(Standing, each.verdicts.values()), known_fails=_fails(reader, each))
        # What a run's own tables and findings say counts as much, unless one law was asked for.
        then = recorded(reader.folder) if reader.facts.get("laws") and not law_ids else now
        codes += [now, then]
        if json_to != output.STDOUT:
            _say_run(reader, each, f"; recorded with exit code {then}" if then != now else "")
    return joined(*codes)


def _fails(reader: RunReader, found: JudgedRun) -> bool:
    """Whether a run fails by what is known, as it is judged now."""
    from ...harness.judging import deviations

    return deviations.fails({**reader.facts, "deviations": found.deviations})


def _say_run(reader: RunReader, found: JudgedRun, recorded: str) -> None:
    from ...harness.trials import resolve

    texts: dict[str, str] = {}
    for trial, law, text in found.texts:
        texts.setdefault(law, f"trial {trial}, {law}: {text}")
    _say(found.rows(), list(texts.values()), found.deviations)
    if not any(found.judged.values()):
        output.echo(f"{found.run} says nothing: {'no law found anything to judge' if found.trials else NOTHING}")
    then = invocation.line("report", reader.folder)
    if found.texts and resolve.system(str(reader.facts.get("system", ""))).has_autopsy:
        then = f"{invocation.line('autopsy', reader.folder)} --trial {found.texts[0][0]}"
    amount = f"{counted(found.trials, 'kept trial')}, {counted(found.events, 'event')}{recorded}"
    _close(found.run, amount, found.rows(), [invocation.line("judge", reader.folder), then], _fails(reader, found))
