"""The command ``pairproof``: find commands by name, and turn every error into one line and an exit code.

Commands are entry points of the group ``pairproof.commands``. A command is imported only when it is run: ``--help``
reads the first sentence of its module docstring from the source, so it needs none of its libraries. That sentence has
the form ````pairproof NAME``: summary.``

Exit codes: 0 holds, 1 violated, 2 usage, 3 unknown, 4 the lab or pairproof failed, or a file or standard output could
not be used, 130 interrupted, 141 the reader of standard output closed it. A command returns its code, or None for 0.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click
from click.shell_completion import CompletionItem

from pairproof import __version__

from .. import registry
from ..errors import (
    EXIT_HOLDS,
    EXIT_INTERRUPTED,
    EXIT_LAB,
    EXIT_USAGE,
    PairproofError,
    UsageError,
    meant,
)
from ..texts import extras
from ..texts.plain import plain
from . import file, helping

EXIT_BROKEN_PIPE = 141
DEBUG = "--debug"
TYPED = "pairproof.typed"
"""Key of a context's ``meta``: the command and its arguments."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return registry.names("commands")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in registry.names("commands"):
            return None
        found = registry.find("commands", cmd_name)
        assert isinstance(found, click.Command), f"command {cmd_name!r} is not a click command"
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = registry.names("commands")
        if args and args[0] not in known and not args[0].startswith("-"):
            raise click.UsageError(f"unknown command {args[0]!r}{meant(args[0], known)}", ctx)
        name, found, rest = super().resolve_command(ctx, args)
        if name is not None and found is not None and not {"-h", "--help"} & set(rest):
            ctx.default_map = {name: file.defaults(name, found, known)}
            ctx.meta[TYPED] = name, tuple(rest)
        return name, found, rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as why:
            raise file.located(why, *ctx.meta.get(TYPED, ("", ()))) from None
        except BrokenPipeError:
            # Without an errno: click handles EPIPE itself and exits with 1, which means "violated".
            raise BrokenPipeError from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in helping.grouped(registry.names("commands")):
            with formatter.section(title):
                formatter.write_dl([(name, helping.summary(name)) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Without importing every command, as click does."""
        names = [each for each in registry.names("commands") if each.startswith(incomplete)]
        found = [CompletionItem(each, help=helping.summary(each)) for each in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


def _version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"pairproof {__version__}")
        ctx.exit()


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    invoke_without_command=False,
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
@click.option(DEBUG, is_flag=True, expose_value=False, help="Print the traceback of an error. Allowed anywhere.")
def pairproof() -> None:
    """Property-based conformance and chaos tests for RocketMQ-style master/slave replication.

    Begin with: pairproof check --report

    Each command has its own --help, with an example.

    Exit codes: 0 every law holds; 1 a law is violated; 2 wrong usage; 3 unknown, or nothing was judged where the
    profile demands it; 4 the lab failed; 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own), print errors, and return the exit code; never raises."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = DEBUG in given
    _prepare_streams()
    try:
        with _terminable():
            result = _run([each for each in given if each != DEBUG])
            # Here a full disk or a broken pipe is still caught; at the interpreter's exit it is not.
            sys.stdout.flush()
            return result
    except BaseException as error:
        return _ended(error, debug)


def _run(arguments: list[str]) -> int:
    try:
        result = pairproof.main(arguments, prog_name="pairproof", standalone_mode=False)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            raise PairproofError(ended.code) from None
        result = ended.code
    return result if isinstance(result, int) else EXIT_HOLDS


def _ended(error: BaseException, debug: bool) -> int:
    if debug and not isinstance(error, BrokenPipeError):
        sys.stderr.write(plain("".join(traceback.format_exception(error))))
    _drop_what_cannot_be_written()
    match error:
        case BrokenPipeError():
            return EXIT_BROKEN_PIPE
        case PairproofError():
            return _fail(str(error), error.exit_code)
        case click.exceptions.NoArgsIsHelpError():
            error.show()
            return EXIT_USAGE
        case click.ClickException():
            where = (
                f" (see {error.ctx.command_path} --help)" if isinstance(error, click.UsageError) and error.ctx else ""
            )
            return _fail(f"{error.format_message()}{where}", EXIT_USAGE)
        case KeyboardInterrupt() | click.Abort():
            return _fail("interrupted", EXIT_INTERRUPTED)
        case OSError():
            return _fail(_os_error(error), EXIT_LAB)
        case ModuleNotFoundError() if (why := extras.lacking(error)) is not None:
            return _fail(str(why), why.exit_code)
        case _:
            reason = " ".join(str(error).split())[:300]
            return _fail(
                f"unexpected {type(error).__name__}: {reason}; run again with {DEBUG} for the traceback", EXIT_LAB
            )


def _fail(line: str, code: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        # One line, even if a file name contains line breaks.
        print(f"pairproof: {plain(' '.join(line.splitlines()))}", file=sys.stderr)
    return code


def _os_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
        return f"cannot read or write {path}: {reason}"
    if error.errno in FULL:
        # Errors of our own files have a file name; an error without one is about a stream, nearly always standard
        # output.
        return f"cannot write the output: {reason}; make room or send it elsewhere"
    return f"cannot read or write: {reason}; run again with {DEBUG} for the traceback"


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by the parent process. The next opened file would get its number.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            # A path may contain bytes that are not UTF-8: print them escaped.
            stream.reconfigure(errors="backslashreplace")


def _drop_what_cannot_be_written() -> None:
    """Discard pending standard output if it cannot be written: the interpreter would try again at exit, and fail."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def _terminable() -> Any:
    """SIGTERM and SIGHUP end a command as Ctrl-C does, so an interrupted run keeps its records. A signal that was
    ignored at the start (nohup) stays ignored.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")

    before = {}
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, interrupt)
    except ValueError:
        # Only the main thread may set signal handlers.
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
