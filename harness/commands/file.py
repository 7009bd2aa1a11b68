"""``pairproof.toml``, or the table ``[tool.pairproof]`` of ``pyproject.toml``: a project's default options.

    [check]
    target = "rocketmq@4.9.7"
    trials = 2000
    law = ["log-prefix", "contract"]

The file has a table for each command (``[check]``, ``[chaos.run]``) with its options' names without the dashes. The
command line overrides it. The file is read from the working directory only; an error names the file and the line.

The file comes with a checkout, so it must not choose which programs run (:class:`Typed`, targets that name a path), nor
paths outside of its folder. Only the command line may do so.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from ..errors import UsageError, meant
from ..runs.locations import Place, is_remote
from ..texts.plain import plain
from ..trials import resolve

FILE = Path("pairproof.toml")
PYPROJECT = Path("pyproject.toml")
MAX_BYTES = 1 << 20
TARGET = "target"
ONLY_TYPED = "only the command line may give it, since this file comes with a checkout"
MAX_ABOVE = 20
"""Parent folders that are searched for a file, to warn that it is not read."""


class Typed(click.Option):
    """An option for the command line only: it decides which code runs, or on which machines."""


class FileOnly(click.Option):
    """A rarely needed option, for the file only."""

    def __init__(self, *names: Any, **settings: Any) -> None:
        super().__init__(*names, **settings | {"hidden": True})

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """Raises UsageError with the line for the file if the option was typed."""
        value, source = super().consume_value(ctx, opts)
        if source == ParameterSource.COMMANDLINE:
            table = ".".join(each.info_name or "" for each in _path(ctx))
            line = f'{self.opts[0].lstrip("-")} = "{value}"'
            raise click.UsageError(f"{self.opts[0]} stands in {FILE}, in a table [{table}]: {line}", ctx)
        return value, source


def _path(ctx: click.Context) -> list[click.Context]:
    """The typed commands, from the first."""
    return [*(_path(ctx.parent) if ctx.parent is not None and ctx.parent.parent is not None else []), ctx]


class Found(NamedTuple):
    """The content and the text of a file. ``prefix``: of the names of its tables."""

    path: Path
    prefix: str
    text: str
    tables: Mapping[str, Any]

    def line(self, table: str, key: str = "") -> int:
        """The line of a table or of its key; 1 if it cannot be found."""
        inside, lines = "", self.text.splitlines()
        for number, line in enumerate(lines, 1):
            if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
                inside = header[1].replace('"', "").replace(" ", "")
                if not key and inside == self.prefix + table:
                    return number
            elif key and inside == self.prefix + table and re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line):
                return number
        return next((n for n, line in enumerate(lines, 1) if re.search(rf"\b{re.escape(key or table)}\b", line)), 1)

    def refused(self, why: str, table: str, key: str = "") -> UsageError:
        return UsageError(f"{self.path}:{self.line(table, key)}: {why}")


def read() -> Found | None:
    """The file of this folder; None if there is none. UsageError if it is not TOML, or if there are two."""
    own = _parsed(FILE)
    project = _parsed(PYPROJECT)
    tool = project.tables.get("tool") if project is not None else None
    table = tool.get("pairproof") if isinstance(tool, dict) else None
    if project is None or table is None:
        return own
    if own is not None:
        raise UsageError(f"{FILE} and [tool.pairproof] of {PYPROJECT} both set options; remove one of them")
    if not isinstance(table, dict):
        raise project.refused("tool.pairproof must be a table", "tool", "pairproof")
    return Found(PYPROJECT, "tool.pairproof.", project.text, table)


def _parsed(path: Path) -> Found | None:
    try:
        if not path.is_file():
            return None
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes; options alone take less")
        # Some editors write a byte order mark, which TOML does not allow.
        text = path.read_text(encoding="utf-8-sig")
        return Found(path, "", text, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as why:
        if path == PYPROJECT and "tool.pairproof" not in path.read_text(encoding="utf-8", errors="replace"):
            # pyproject.toml has other readers, which report the error.
            return None
        raise UsageError(f"{path} is not TOML: {why}") from None
    except OSError as why:
        raise UsageError(f"{path} cannot be read: {why.strerror or why}") from None


def defaults(name: str, command: click.Command, commands: Iterable[str]) -> dict[str, Any]:
    """The file's options for this command, by parameter; UsageError for an error in any table."""
    found = read()
    if found is None:
        _warn_of_file_above()
        return {}
    for table, values in found.tables.items():
        if table not in commands:
            raise found.refused(f"unknown command {table!r}{meant(table, commands)}", table)
        if not isinstance(values, dict):
            raise found.refused(f"{table} must be a table of options, [{found.prefix}{table}]", "", table)
    return _options(found, name, command, found.tables.get(name, {}))


def options_of(command: click.Command) -> dict[str, click.Option]:
    """The options that a file may set, by their names without the dashes."""
    return {
        flag.lstrip("-"): each
        for each in command.params
        if isinstance(each, click.Option) and not isinstance(each, Typed) and each.name not in ("json_to", "help")
        for flag in each.opts
        if flag.startswith("--")
    }


def located(why: UsageError, command: str, typed: Sequence[str]) -> UsageError:
    """The error with the line of the value that caused it, if the value comes from the file."""
    found = read()
    values = found.tables.get(command) if found is not None else None
    if found is None or not isinstance(values, dict):
        return why
    for key, value in values.items():
        blamed = isinstance(value, str) and len(value) > 1 and value in str(why)
        if blamed and not any(each.startswith(f"--{key}") for each in typed):
            return found.refused(str(why), command, key)
    return why


def _warn_of_file_above() -> None:
    for folder in Path.cwd().parents[:MAX_ABOVE]:
        if (folder / FILE).is_file():
            warning = f"{folder / FILE} is not read: options are those of the working directory's {FILE}"
            click.echo(plain(warning), err=True)
            return


def _options(found: Found, table: str, command: click.Command, values: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(command, click.Group):
        return {sub: _of_part(found, table, command, sub, inner) for sub, inner in values.items()}
    options = options_of(command)
    options_by_name: dict[str, Any] = {}
    for key, value in values.items():
        option, words = options.get(key), table.replace(".", " ")
        if any(isinstance(each, Typed) and f"--{key}" in each.opts for each in command.params):
            raise found.refused(f"{key}: {ONLY_TYPED}: pairproof {words} --{key} ...", table, key)
        if option is None or option.name is None:
            raise found.refused(f"{words} has no option {key!r}{meant(key, options)}", table, key)
        try:
            options_by_name[option.name] = _converted(option, value)
            _check_reach(key, option, value)
        except click.BadParameter as why:
            raise found.refused(f"{key}: {why.message}", table, key) from None
    return options_by_name


def _of_part(found: Found, table: str, group: click.Group, name: str, values: Any) -> dict[str, Any]:
    if name not in group.commands:
        raise found.refused(f"{table} has no command {name!r}{meant(name, group.commands)}", table, name)
    if not isinstance(values, dict):
        raise found.refused(f"{name} must be a table of options, [{found.prefix}{table}.{name}]", table, name)
    return _options(found, f"{table}.{name}", group.commands[name], values)


def _check_reach(key: str, option: click.Option, value: Any) -> None:
    """BadParameter for a path outside of the file's folder, or for programs there."""
    for each in map(str, value if isinstance(value, list) else [value]):
        if key == TARGET and resolve.leads_to_files(each):
            raise click.BadParameter(f"{each!r} runs programs from a path; {ONLY_TYPED}")
        if isinstance(option.type, (click.Path, Place)):
            path = option.type.convert(each, option, None)
            if is_remote(path) or not Path(path).resolve().is_relative_to(Path.cwd().resolve()):
                raise click.BadParameter(f"{each!r} leads out of this folder; {ONLY_TYPED}")


def _converted(option: click.Option, value: Any) -> Any:
    if option.is_flag or isinstance(option.type, click.types.BoolParamType):
        if not isinstance(value, bool):
            raise click.BadParameter("expected true or false")
        return value
    many = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not option.multiple:
        raise click.BadParameter("expected one value, not a list")
    for each in many:
        if isinstance(each, bool) or not isinstance(each, (str, int, float)):
            raise click.BadParameter("expected a text or a number")
        if isinstance(option.type, click.types.IntParamType) and not str(each).strip().lstrip("-").isdigit():
            raise click.BadParameter(f"expected a whole number, not {each!r}")
        option.type.convert(
            each if not isinstance(option.type, click.types.StringParamType) else str(each), option, None
        )
    return many if option.multiple else value
