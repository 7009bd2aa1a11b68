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
"""Violations that are printed; ``--json`` has all that were recorded."""
NOTHING = 'it holds no history to judge; record a run with keep = "all" in [check] of pairproof.toml'

Row = tuple[str, str, int, int]
"""Name of a law or check, its verdict, judgements, and violations."""


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
    """Judge the recorded histories of RUNS (folders, ids, or latest) again, or a capture of real brokers.

    Without --law a capture's streams are also split in several ways and replayed into the reference slave. Its commit
    log must equal the real slave's. Invalid lines of run.json are listed. A fault without an end makes laws unknown.
    docs/capture-folder.md describes a capture folder. --master-conf and --slave-conf replace its configuration files; a
    run's histories contain their brokers' configuration.

    Exit codes: 0 every law holds, 1 a law is violated, or a known deviation occurred (in a run: if that fails the run),
    2 usage, 3 unknown.
    """
    if bool(runs) == (capture is not None):
        raise UsageError("judge either run folders or one --ha-capture folder")
    files = options.files(master_conf, slave_conf)
    if files and capture is None:
        raise UsageError(
            "--master-conf and --slave-conf go with --ha-capture: a run's histories contain their configuration; to "
            "test another configuration run pairproof check with these files"
        )
    if capture is not None:
        return _capture(capture, files, law_ids, json_to, known_deviations or FAIL)
    if known_deviations is not None:
        raise UsageError("--known-deviations goes with --ha-capture: a run has recorded this option")
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
        "not_understood": found.history.lines.unread,
        "unended": found.history.lines.unended,
        "concluded": found.history.lines.notes,
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
    _print_verdicts(rows, texts, found.deviations)
    if left_out:
        output.echo(f"not judged: {left_out}")
    version, lines = found.history.version, found.history.lines
    output.echo(f"judged as RocketMQ {version.name}: {version.source}")
    _listed("concluded", lines.notes)
    _listed("never ended, so no law is known to hold", lines.unended)
    _listed("invalid events in run.json, left out", lines.unread)
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


def _print_verdicts(rows: list[Row], texts: list[str], deviations: list[dict[str, Any]]) -> None:
    """Laws that need attention, counts of all, and reasons."""
    from ...harness.commands.closing import LOOK, by_group
    from ...harness.commands.findings import say_deviations

    if look := [row for row in rows if row[1] in LOOK]:
        output.table("", ("law", "verdict", "judged", "violations"), look)
    for line in by_group(_law_verdicts(rows)):
        output.say(line)
    for text in texts[:MAX_LINES]:
        output.echo(text)
    if len(texts) > MAX_LINES:
        output.echo(f"... and {len(texts) - MAX_LINES} more: --json has them")
    say_deviations(deviations)


def _close(what: str, amount: str, rows: list[Row], commands: list[str], known_fails: bool) -> None:
    """The last three lines: the verdict, the command to repeat, and the next one."""
    from ...harness.commands.closing import of_laws
    from ...harness.judging.verdict import Standing, Verdict, conclusion

    verdict = str(conclusion([Standing(Verdict(row[1])) for row in rows], known_fails=known_fails))
    said = f"{what}: {verdict}; {of_laws(_law_verdicts(rows).values())}; {amount}"
    output.say(said, output.COLOURS.get(verdict, "bold"))
    for word, command in zip(("again", "next"), commands, strict=True):
        output.say(f"{word}: {command}")


def _law_verdicts(rows: list[Row]) -> dict[str, str]:
    known = registry.names("laws")
    return {name: verdict for name, verdict, _, _ in rows if name in known}


def _explaining(rows: list[Row]) -> str:
    """The command that explains the first verdict that needs attention, or else the one that searches."""
    from ...harness.commands.closing import LOOK

    known = _law_verdicts(rows)
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
        # A run's own tables and findings count as well, unless one law was requested.
        then = recorded(reader.folder) if reader.facts.get("laws") and not law_ids else now
        codes += [now, then]
        if json_to != output.STDOUT:
            _say_run(reader, each, f"; recorded with exit code {then}" if then != now else "")
    return joined(*codes)


def _fails(reader: RunReader, found: JudgedRun) -> bool:
    """Whether known deviations fail this run under the present verdicts."""
    from ...harness.judging import deviations

    return deviations.fails({**reader.facts, "deviations": found.deviations})


def _say_run(reader: RunReader, found: JudgedRun, recorded: str) -> None:
    from ...harness.trials import resolve

    texts: dict[str, str] = {}
    for trial, law, text in found.texts:
        texts.setdefault(law, f"trial {trial}, {law}: {text}")
    _print_verdicts(found.rows(), list(texts.values()), found.deviations)
    if not any(found.judged.values()):
        output.echo(f"{found.run} decides nothing: {'no law had anything to judge' if found.trials else NOTHING}")
    then = invocation.line("report", reader.folder)
    if found.texts and resolve.system(str(reader.facts.get("system", ""))).has_autopsy:
        then = f"{invocation.line('autopsy', reader.folder)} --trial {found.texts[0][0]}"
    amount = f"{counted(found.trials, 'kept trial')}, {counted(found.events, 'event')}{recorded}"
    _close(found.run, amount, found.rows(), [invocation.line("judge", reader.folder), then], _fails(reader, found))
