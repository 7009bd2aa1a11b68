"""Read schedules from JSON. Anything else, and a schedule that would run for days, is refused in one line."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as short

from .. import renamed
from ..errors import UsageError, meant
from . import resolve
from .operation import Argument, Operation
from .schedule import FORMAT, READS, Args, Op, Schedule

MAX_OPS = 10_000
MAX_SETTINGS = 1_000
MAX_SEED_CHARS = 1_000


def from_json(data: object) -> Schedule:
    """Read a schedule; :class:`UsageError` in one line for anything else."""
    if not isinstance(data, dict) or data.get("format") not in READS:
        found = data.get("format") if isinstance(data, dict) else None
        raise UsageError(
            f"not a schedule of format {FORMAT} (found {short(found)}); was it written by another version?"
        )
    settings, seed, ops = data.get("settings"), data.get("seed"), data.get("ops")
    if not isinstance(settings, dict) or not isinstance(seed, str) or not isinstance(ops, list):
        raise UsageError("a schedule needs settings (object), seed (text) and ops (list)")
    if len(ops) > MAX_OPS:
        raise UsageError(f"a schedule has at most {MAX_OPS} operations, not {len(ops)}")
    check_text(seed, "a schedule's seed", MAX_SEED_CHARS)
    _check_settings(settings)
    if data["format"] != FORMAT:
        settings, ops = renamed.schedule(settings, ops)
    return Schedule(settings, seed, tuple(_numbered(number, each) for number, each in enumerate(ops, 1)))


def check_op(do: str, args: Args) -> None:
    """UsageError in one line for an unknown operation or a missing argument."""
    _op("a program", do, args)


def check_text(text: str, what: str, limit_chars: int) -> None:
    """UsageError, naming the purpose ``what``, unless the text can be encoded, hashed and recorded."""
    if not _is_utf8(text):
        raise UsageError(f"{what} must be text in UTF-8, not {short(text)}")
    if len(text) > limit_chars:
        raise UsageError(f"{what} may have {limit_chars} characters at most, not {len(text)}")


def _is_utf8(text: str) -> bool:
    # Bytes that are not UTF-8 come as lone surrogates, from a command line or escaped in JSON.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_settings(settings: Mapping[object, object]) -> None:
    if len(settings) > MAX_SETTINGS:
        raise UsageError(f"a schedule has at most {MAX_SETTINGS} settings, not {len(settings)}")
    for key, value in settings.items():
        if not isinstance(key, str) or not _is_utf8(key) or not _is_scalar(value):
            raise UsageError(f"setting {short(key)} must be a whole number, text, true or false, not {short(value)}")


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return _is_utf8(value)
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _numbered(number: int, data: object) -> Op:
    """``number``: its position in the program, from 1."""
    match data:
        case [str(do), dict(args)]:
            return _op(f"operation {number}", do, args)
        case _:
            raise UsageError(f"operation {number} is not [name, arguments]: {short(data)}")


def _op(where: str, do: str, args: Args) -> Op:
    operation = resolve.operations().get(do)
    if operation is None:
        raise UsageError(f"{where}: unknown {short(do)}{meant(do, resolve.operations())}")
    for name, argument in operation.arguments.items():
        if name in args or not argument.optional:
            _check_own(f"{where} ({do})", name, argument, args.get(name))
    for name in args.keys() - operation.arguments.keys():
        _check_other(f"{where} ({do})", operation, name, args[name])
    return Op(do, args)


def _check_own(where: str, name: str, argument: Argument, value: object) -> None:
    # isinstance would accept true as a number: bool is a subclass of int.
    if type(value) is not argument.kind:
        raise UsageError(f"{where} needs {name} as {argument.kind.__name__}, not {short(value)}")
    if type(value) is int:
        if value < 0:
            raise UsageError(f"{where}: {name} must not be negative, not {short(value)}")
        if value > argument.most:
            raise UsageError(f"{where}: {name} must be {argument.most} at most, not {short(value)}")
    if argument.check is not None:
        argument.check(value)


def _check_other(where: str, operation: Operation, name: object, value: object) -> None:
    if not operation.carries_fault:
        raise UsageError(f"{where} has no argument {short(name)}{meant(name, operation.arguments)}")
    if not isinstance(name, str) or not _is_scalar(value):
        raise UsageError(f"{where}: {short(name)} must be a whole number, text, true or false, not {short(value)}")
