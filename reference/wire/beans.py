"""Converts a JSON body to a named tuple and back, by the tuple's type hints.

Fields have Java's names in snake case, and are written in the order of Java's names, as fastjson does. Types are
``bool``, ``int``, ``float``, ``str``, other named tuples, ``X | None``, ``tuple[X, ...]`` and ``dict[K, V]``, where K
is ``str``, ``int`` (quoted or not) or a named tuple. A missing or null field takes its default, an unknown one is
ignored; a wrong type, or a missing field without a default, is a CodecError that names its path.

The bodies are in ``bodies.py``, ``bodies_client.py`` and ``bodies_route.py``.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ..errors import CodecError
from . import fastjson

_Bean = TypeVar("_Bean")
_Reader = Callable[[Any], Any]

# Java names other than the camel case of ours.
_SPELLED = {("HeartbeatData", "client_id"): "clientID", ("LockBatchResponse", "lock_ok_mq_set"): "lockOKMQSet"}
_integer = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_PLAIN = frozenset((str, int, bool, float, type(None)))
"""Types written unchanged: nearly all values have one."""
_WORDS = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}


def decode(kind: type[_Bean], body: str | bytes) -> _Bean:
    """The body as a ``kind``, a named tuple."""
    wanted: Any = kind
    value = fastjson.loads(body)
    try:
        bean: _Bean = _reader(wanted)(value)
    except CodecError as why:
        raise CodecError(f"{wanted.__name__}: {why}") from why
    return bean


def encode(bean: Any, *, pretty: bool = False, standard: bool = False) -> bytes:
    """The body of a named tuple. The options are those of :func:`fastjson.dumps`."""
    return fastjson.dumps(to_json(bean, "\n" if pretty else "", standard), pretty=pretty, standard=standard)


def to_json(value: Any, line: str = "", standard: bool = False) -> Any:
    """The argument of :func:`fastjson.text` for ``value``: named tuples become objects, also as keys."""
    if type(value) in _PLAIN:
        return value
    inner = line and f"{line}\t"
    if hasattr(value, "_fields"):
        return {name: to_json(getattr(value, field), inner, standard) for name, field in _names(value.__class__)}
    if isinstance(value, Mapping):
        return {_to_key(key): _entry(each, inner, standard) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each, inner, standard) for each in value]
    return value


def _entry(value: Any, line: str, standard: bool) -> Any:
    # A table is written as often as one of its entries changes.
    try:
        if hasattr(value, "_fields"):
            return _written(value.__class__, value, line, standard)
    except TypeError:
        # It holds a dict.
        pass
    return to_json(value, line, standard)


@lru_cache(maxsize=1_024)
def _written(kind: type, bean: Any, line: str, standard: bool) -> fastjson.Text:
    return fastjson.Text(fastjson.text(to_json(bean, line, standard), line, standard))


def _to_key(key: Any) -> Any:
    if type(key) not in _PLAIN and hasattr(key, "_fields"):
        return tuple((name, getattr(key, field)) for name, field in _names(key.__class__))
    return key


@lru_cache(maxsize=256)
def _names(kind: Any) -> list[tuple[str, str]]:
    return sorted((_java_name(kind.__name__, field), field) for field in kind._fields)


def _java_name(kind: str, field: str) -> str:
    first, *rest = field.split("_")
    return _SPELLED.get((kind, field)) or first + "".join(part.capitalize() for part in rest)


@lru_cache(maxsize=256)
def _reader(kind: Any) -> _Reader:
    if kind in _WORDS:
        return _scalar(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin is types.UnionType:
        return _reader(args[0])
    if origin is tuple:
        return _items(_reader(args[0]))
    if origin is dict:
        return _entries(_key_reader(args[0]), _reader(args[1]))
    assert hasattr(kind, "_fields"), f"{kind} is not a type of a body's field"
    return _bean(kind)


def _scalar(kind: type) -> _Reader:
    def read(value: Any) -> Any:
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            raise CodecError(f"{_WORDS[kind]} expected, not {value!r:.40}")
        return value

    return read


def _items(item: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise CodecError(f"a list expected, not {value!r:.40}")
        return tuple([item(each) for each in value])

    return read


def _entries(key: _Reader, item: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise CodecError(f"an object expected, not {value!r:.40}")
        found = {}
        for name, each in value.items():
            try:
                wanted = key(name)
                found[wanted] = item(each)
            except CodecError as why:
                raise CodecError(f"{name!r:.40}: {why}") from why
        return found

    return read


def _key_reader(kind: Any) -> _Reader:
    if kind is str:
        return lambda key: str(key) if type(key) is int else _reader(str)(key)
    if kind is int:
        return _integer_key
    return lambda key: _reader(kind)(dict(key) if isinstance(key, tuple) else key)


def _integer_key(key: Any) -> int:
    if type(key) is int:
        return key
    if not isinstance(key, str) or not _integer.fullmatch(key):
        raise CodecError(f"an integer key expected, not {key!r:.40}")
    return int(key)


def _bean(kind: Any) -> _Reader:
    hints, defaults = get_type_hints(kind), kind._field_defaults
    fields = [(_java_name(kind.__name__, field), field, _reader(hints[field])) for field in kind._fields]

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise CodecError(f"an object expected, not {value!r:.40}")
        found = {}
        for name, field, reader in fields:
            each = value.get(name)
            if each is None:
                if field not in defaults:
                    raise CodecError(f"{name} is missing")
                continue
            try:
                found[field] = reader(each)
            except CodecError as why:
                raise CodecError(f"{name}: {why}") from why
        return kind(**found)

    return read
