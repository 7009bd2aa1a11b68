"""Output that commands share: the option ``--json [FILE]``, tables on standard output, progress on standard error.

Standard output carries only the answer: when ``--json`` writes there, text for people goes to standard error. Progress
is always shown: a bar on a terminal, a line now and then elsewhere. Its description may be ``work: step``. All output
passes through :func:`plain <pairproof.harness.texts.plain.plain>` here.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

import click

from .. import registry
from ..errors import UsageError
from ..ports import Progress
from ..runs import atomic
from ..texts.plain import plain, without_secrets

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment
    from rich.text import Text


STDOUT = "-"
STDOUT_NAMES = (STDOUT, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
JSON_OPTION = "--json"
JSON_TO = "pairproof.json_to"
NARROW = 60
"""Columns of a terminal below which tables are stacked: their words would be broken letter by letter."""
PLAIN_WIDTH = 140
STEP = ": "
"""Separates work and step in a progress description."""
QUIET_S = 10.0
"""Seconds between two progress lines without a terminal."""

COLOURS = {
    "violated": "bold red",
    "unknown": "bold magenta",
    "known-deviation": "yellow",
    "vacuous": "yellow",
    "holds": "green",
}

AMBER = "yellow"
"""For verdicts without a violation that rest on too little."""

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def json_option(command: Decorated) -> Decorated:
    """Add ``--json [FILE]``, passed on as ``json_to``: None, ``-`` for standard output, or a file name."""
    return click.option(
        JSON_OPTION,
        "json_to",
        is_flag=False,
        flag_value=STDOUT,
        default=None,
        metavar="[FILE]",
        callback=_remember,
        help="Answer in JSON: on standard output, or into FILE. Give it after the command's arguments.",
    )(command)


def _remember(ctx: click.Context, param: click.Parameter, json_to: str | None) -> str | None:
    if json_to in STDOUT_NAMES:
        json_to = STDOUT
    elif json_to is not None:
        # Check before the command's work, which may take minutes.
        _writable(json_to)
    ctx.meta[JSON_TO] = json_to
    return json_to


def _people() -> TextIO:
    ctx = click.get_current_context(silent=True)
    return sys.stderr if ctx is not None and ctx.meta.get(JSON_TO) == STDOUT else sys.stdout


def write_json(data: object, where: str) -> None:
    """Write one JSON value to a file, or to standard output for ``-``.

    Pipes and devices are written directly; the target of a symbolic link is replaced. UsageError or PairproofError if
    that fails.
    """
    _write(json.dumps(data, indent=2) + "\n", where)


def write_json_lines(rows: Iterable[object], where: str) -> None:
    """Write JSON values, one per line, to a file at once, or to standard output (``-``) as they come."""
    if where == STDOUT:
        for row in rows:
            sys.stdout.write(json.dumps(row) + "\n")
        return
    path = _writable(where)

    def write(hidden: Path) -> None:
        with hidden.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    atomic.replace(path, write, JSON_OPTION)


def _write(text: str, where: str) -> None:
    if where == STDOUT:
        sys.stdout.write(without_secrets(text))
    else:
        atomic.write_text(_writable(where), text, JSON_OPTION)


def _writable(where: str) -> Path:
    return writable(Path(where), JSON_OPTION)


def writable(path: Path, option: str) -> Path:
    """The path of an output file; UsageError if its folder does not exist."""
    try:
        if path.is_dir():
            raise UsageError(f"{option} {path}: that is a folder; give {option} last, or a file's name")
        if not path.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no folder {path.parent}; create it first")
    except OSError as why:
        raise UsageError(f"{option} {path}: {why.strerror}; name another file") from None
    return path


def console(file: TextIO | None = None) -> Console:
    """A rich console for people, or on ``file``: no markup, and a fixed width without a terminal."""
    import rich.console

    class Piped(rich.console.Console):
        def on_broken_pipe(self) -> NoReturn:
            # Rich ends the process with 1, which means "violated" here.
            raise BrokenPipeError

        def render_str(self, text: str, **kwargs: Any) -> Text:
            # Rich drops some control characters silently.
            return super().render_str(plain(text), **kwargs)

        def render(self, *args: Any, **kwargs: Any) -> Iterator[Segment]:
            for each in super().render(*args, **kwargs):
                yield each if each.control else each._replace(text=plain(each.text))

    found = Piped(
        file=file or _people(), highlight=False, markup=False, emoji=False, soft_wrap=False,
        # Without this rich leaves bold and italics.
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )  # fmt: skip
    if not found.is_terminal:
        found.width = PLAIN_WIDTH
    return found


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], to: Console | None = None) -> None:
    """Print a table; verdicts in cells are coloured."""
    import rich.box
    from rich.table import Table
    from rich.text import Text

    shown = to or console()
    if shown.is_terminal and shown.width < NARROW:
        _stacked(shown, title, rows)
        return
    made = Table(
        title=title or None, title_justify="left", title_style="bold", box=rich.box.SIMPLE_HEAD, pad_edge=False
    )
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text(plain(str(cell)), style=COLOURS.get(str(cell), "")) for cell in row))
    shown.print(made)


def _stacked(to: Console, title: str, rows: Iterable[Sequence[object]]) -> None:
    if title:
        to.print(title, style="bold")
    for first, *others in rows:
        to.print(str(first), style="bold")
        for cell in filter(None, map(str, others)):
            to.print(cell, style=COLOURS.get(cell))


def say(line: str, style: str = "") -> None:
    """Print one line for people, without line breaks."""
    console().print(line, style=style or None, soft_wrap=True)


def say_plugins() -> None:
    """Print the plug-ins that take part in a run, whose laws judge it and whose faults its searches draw."""
    if found := registry.plugins("laws", "faults", "labs", "targets"):
        say(f"with plug-ins: {', '.join(found)}")


def colour(verdict: str, amber: bool) -> str:
    """The style of a verdict; ``amber``: no violation, but too little was tried."""
    return AMBER if amber else COLOURS.get(verdict, "bold")


def echo(line: object, err: bool = False) -> None:
    """Print one line on standard output or error, without a width or a style."""
    click.echo(plain(str(line)), err=err)


def say_remarks(remarks: Sequence[str]) -> None:
    """Print the remarks on a configuration again, beside the verdict."""
    for line in remarks:
        say(line, "bold yellow")


@contextlib.contextmanager
def progress(file: TextIO | None = None) -> Iterator[Progress]:
    """A :class:`~pairproof.harness.ports.Progress` on standard error (or ``file``) for the ``with`` block."""
    shown = console(file or sys.stderr)
    if not shown.is_terminal:
        yield Lines(file or sys.stderr)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )  # fmt: skip
    # Rich may redirect standard output only if it is a terminal: piped output must reach its pipe.
    carried = sys.stdout.isatty()
    with Progress(*columns, console=shown, transient=True, refresh_per_second=5, redirect_stdout=carried) as bars:
        yield Bars(bars)


class Bars:
    """One bar for each work. Rich limits the redraws, so a call costs microseconds."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._tasks: dict[str, Any] = {}

    def __call__(self, done: int, total: int | None, doing: str, note: str = "") -> None:
        work = doing.partition(STEP)[0]
        if work not in self._tasks:
            self._tasks[work] = self._bars.add_task(doing, total=total, note=note)
        self._bars.update(self._tasks[work], completed=done, total=total, description=doing, note=note)


class Lines:
    """A line when a work or a step of it begins, then one every :data:`QUIET_S` seconds."""

    def __init__(self, file: TextIO, clock: Callable[[], float] = monotonic) -> None:
        self._file = file
        self._clock = clock
        self._doing: str | None = None
        self._due = 0.0

    def __call__(self, done: int, total: int | None, doing: str, note: str = "") -> None:
        now = self._clock()
        if doing == self._doing and now < self._due:
            return
        self._doing = doing
        self._due = now + QUIET_S
        work, _, step = doing.partition(STEP)
        line = f"{work}: {done}{'' if total is None else f' of {total}'}{note}{f', {step}' if step else ''}"
        # Standard error may be closed; the work goes on.
        with contextlib.suppress(OSError):
            print(plain(line), file=self._file, flush=True)
