"""The JSON dialect of RocketMQ's bodies and config files: fastjson 1.2's output, and the needed part of its input.

Beyond JSON, an object's keys may be integers (``{0:5}``), objects (``{{"topic":"t"}:{..}}``) or bare names, and texts
may have single quotes. Time and memory are linear in the text, nesting is at most 64 deep and integers have 64 bits;
everything else is a CodecError. An object key becomes a tuple of its (name, value) pairs in the order of the names, and
is written as an object again.

Left out, because no body needs it: comments, stray commas, ``$ref`` and ``@type``, typed numbers (``1L``), dates.
Source: fastjson's JSONLexerBase, MapSerializer, ListSerializer and SerializeWriter, and captured files.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

from ..errors import CodecError

MAX_DEPTH = 64
_LONG = 1 << 63

# strict=False permits unescaped control characters.
_scan_text: Callable[[str, int, bool], tuple[str, int]] = vars(json.decoder)["scanstring"]
_space = re.compile(r"[ \t\r\n\f\b]*+")
# No possessive groups: before 3.11.5 Python matches what they gave up ("1e").
_number = re.compile(r"(-?[0-9]++)((?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)")
_name = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*+")
_single_quoted = re.compile(r"'((?:[^'\\]++|\\.)*)'", re.DOTALL)
_to_double_quoted = re.compile(r'\\.|"', re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}
_SHORT_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_escaped = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029]')

Key = str | int | tuple[tuple[str, Any], ...]


def loads(text: str | bytes) -> Any:
    """The one value in ``text``; CodecError, with the position, for anything else."""
    try:
        source = text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError as why:
        raise CodecError(f"body is not UTF-8 at byte {why.start}") from why
    if source.count("{") + source.count("[") <= MAX_DEPTH:
        try:
            return _standard.decode(source)
        except (ValueError, CodecError):
            # The dialect, or an error whose position the parser below reports.
            pass
    value, at = _value(source, _skip(source, 0), 0)
    at = _skip(source, at)
    if at != len(source):
        raise _wrong(source, at, "the end")
    return value


def _skip(text: str, at: int) -> int:
    found = _space.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int, wanted: str) -> CodecError:
    return CodecError(f"body at {at}: {wanted} expected, not {text[at : at + 20]!r}")


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    first = text[at : at + 1]
    if first in ('"', "'"):
        return _text(text, at)
    if first == "{":
        return _object(text, at + 1, depth + 1)
    if first == "[":
        return _list(text, at + 1, depth + 1)
    number = _number.match(text, at)
    if number:
        return _to_number(number), number.end()
    word = _name.match(text, at)
    if word and word[0] in _WORDS:
        return _WORDS[word[0]], word.end()
    raise _wrong(text, at, "a value")


def _to_number(found: re.Match[str]) -> int | float:
    digits, fraction = found.groups()
    if fraction:
        value = float(found[0])
        if not isfinite(value):
            raise CodecError(f"body at {found.start()}: a number too large for a double")
        return value
    # Check the length first: converting a million digits takes more than linear time.
    if len(digits) > 20 or not -_LONG <= int(digits) < _LONG:
        raise CodecError(f"body at {found.start()}: {digits[:24]} is not a 64-bit integer")
    return int(digits)


def _strict(number: str) -> int | float:
    found = _number.fullmatch(number)
    if not found:
        raise ValueError(number)
    return _to_number(found)


_standard = json.JSONDecoder(parse_float=_strict, parse_int=_strict, parse_constant=_strict, strict=False)
"""For standard JSON: the same values ten times as fast."""


def _text(text: str, at: int) -> tuple[str, int]:
    try:
        if text[at] == '"':
            return _scan_text(text, at + 1, False)
        found = _single_quoted.match(text, at)
        if not found:
            raise _wrong(text, at, "a text that ends")
        inner = _to_double_quoted.sub(lambda part: {"\\'": "'", '"': '\\"'}.get(part[0], part[0]), found[1])
        return _scan_text(f'{inner}"', 0, False)[0], found.end()
    except ValueError as why:
        raise CodecError(f"body at {at}: a text that cannot be read") from why


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    values: list[Any] = []

    def take(at: int) -> int:
        value, at = _value(text, at, depth)
        values.append(value)
        return at

    return values, _each(text, at, depth, "]", take)


def _object(text: str, at: int, depth: int) -> tuple[dict[Key, Any], int]:
    values: dict[Key, Any] = {}

    def take(at: int) -> int:
        key, at = _key(text, at, depth)
        at = _skip(text, at)
        if not text.startswith(":", at):
            raise _wrong(text, at, ":")
        values[key], at = _value(text, _skip(text, at + 1), depth)
        return at

    return values, _each(text, at, depth, "}", take)


def _each(text: str, at: int, depth: int, end: str, take: Callable[[int], int]) -> int:
    """Take the elements, with commas between them, up to ``end``; returns the position behind it."""
    if depth > MAX_DEPTH:
        raise CodecError(f"body at {at}: nested deeper than {MAX_DEPTH}")
    at = _skip(text, at)
    if text.startswith(end, at):
        return at + 1
    while True:
        at = _skip(text, take(_skip(text, at)))
        if text.startswith(end, at):
            return at + 1
        if not text.startswith(",", at):
            raise _wrong(text, at, f", or {end}")
        at += 1


def _key(text: str, at: int, depth: int) -> tuple[Key, int]:
    name = _name.match(text, at)
    if name:
        return name[0], name.end()
    key, end = _value(text, at, depth)
    if isinstance(key, dict):
        return _frozen(key, at), end
    if not isinstance(key, str | int):
        raise _wrong(text, at, "a key")
    return key, end


def _frozen(key: Mapping[Any, Any], at: int) -> tuple[tuple[str, Any], ...]:
    for name, value in key.items():
        if not isinstance(name, str) or not isinstance(value, str | int | float | None):
            raise CodecError(f"body at {at}: a key that is an object of more than texts and numbers")
    return tuple(sorted(key.items()))


def dumps(value: Any, *, pretty: bool = False, standard: bool = False) -> bytes:
    """``value`` as fastjson writes it: no spaces, keys in the given order, None entries omitted.

    ``pretty``: with newlines and tabs, as in RocketMQ's config files. ``standard``: quoted integer keys, as a name
    server answers clients that want standard JSON. CodecError for values that JSON cannot hold.
    """
    # As in Java: a lone surrogate becomes a question mark.
    return text(value, "\n" if pretty else "", standard).encode("utf-8", "replace")


def text(value: Any, line: str, standard: bool) -> str:
    """``value`` as text. ``line``: what begins a line at its depth, empty without lines."""
    parts: list[str] = []
    _write(value, parts, line, standard)
    return "".join(parts)


class Text(str):
    """JSON text, which is written as it is."""

    __slots__ = ()


def _write(value: Any, parts: list[str], line: str, standard: bool) -> None:
    # The plain types first: nearly all values have one.
    kind = type(value)
    if kind is int:
        parts.append(repr(value))
    elif isinstance(value, str):
        parts.append(value if kind is Text else _quote(value))
    elif kind is dict:
        _write_object(value.items(), parts, line, standard)
    elif value is None or kind is bool:
        parts.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
        parts.append(repr(value))
    elif isinstance(value, Mapping):
        _write_object(value.items(), parts, line, standard)
    elif isinstance(value, list | tuple):
        _write_list(value, parts, line, standard)
    else:
        raise CodecError(f"{value!r:.40} cannot be in a JSON body")


def _write_list(values: Iterable[Any], parts: list[str], line: str, standard: bool) -> None:
    inner, start = line and f"{line}\t", "["
    for value in values:
        parts += (start, inner)
        _write(value, parts, inner, standard)
        start = ","
    parts.append(f"{line}]" if start == "," else "[]")


def _write_object(items: Iterable[tuple[Any, Any]], parts: list[str], line: str, standard: bool) -> None:
    inner, start = line and f"{line}\t", "{"
    for key, value in items:
        if value is None:
            continue
        # Only names have their own lines, as in the config files.
        if isinstance(key, str):
            parts += (start, inner, _quote(key), ":")
        elif type(key) is int:
            parts += (start, f'"{key}":' if standard else f"{key}:")
        elif isinstance(key, tuple):
            parts.append(start)
            _write_object(key, parts, "", standard)
            parts.append(":")
        else:
            raise CodecError(f"{key!r:.40} cannot be a key in a JSON body")
        _write(value, parts, inner, standard)
        start = ","
    parts.append(f"{line}}}" if start == "," else "{}")


def _quote(text: str) -> str:
    return f'"{_escaped.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"
