"""YAML as a tree whose values have their lines, so that every error can name its position.

Guarantees: only plain data (mappings with text keys, lists, text, numbers, truth values), no constructors, no key that
a duplicate overwrites, and one line for a malicious file. Left out: anchors, aliases and tags, by which a small file
could become endless.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, NoReturn

import yaml

from ...harness.errors import UsageError

MAX_FILE_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_NUMBER = 10**30
"""More than any scenario needs; Python refuses to print numbers of thousands of digits."""
MAX_SHOWN = 60

Plain = str | int | float | bool | None
_PLAIN_TAGS = {f"tag:yaml.org,2002:{each}" for each in ("str", "int", "float", "bool", "null")}


class Spot(NamedTuple):
    """A value and its position: ``file`` for people, ``line`` from 1."""

    value: dict[str, Spot] | list[Spot] | Plain
    file: str
    line: int

    def fail(self, text: str) -> NoReturn:
        """UsageError that names the position."""
        raise UsageError(f"{self.file}, line {self.line}: {text}")

    def shown(self) -> str:
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return "a list"
        text = repr(self.value)
        return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def read(path: Path) -> Spot:
    """A file's tree; UsageError if it is unreadable or not plain YAML."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as why:
        raise UsageError(f"{path}: {why.strerror}; name a scenario's file") from None
    try:
        return parse(data.decode(), path.name)
    except UnicodeDecodeError as why:
        line = data[: why.start].count(b"\n") + 1
        raise UsageError(f"{path.name}, line {line}: not UTF-8; save the file as UTF-8") from None


def parse(text: str, file: str) -> Spot:
    """A text's tree; ``file`` is its name in errors."""
    if len(text.encode()) > MAX_FILE_BYTES:
        raise UsageError(f"{file} is larger than {MAX_FILE_BYTES // 1024} KiB, which no scenario needs")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            raise UsageError(f"{file} is empty; a scenario is a mapping with name, about, settings, ...")
        return _Tree(file).spot(node, 0)
    except yaml.MarkedYAMLError as why:
        mark = why.problem_mark or why.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"{file}{line}: not YAML: {why.problem or why.context}") from None
    except yaml.reader.ReaderError as why:
        line = str(text[: int(why.position)].count("\n") + 1)
        raise UsageError(f"{file}, line {line}: not YAML: a character that it does not allow") from None
    except RecursionError:
        raise UsageError(f"{file} is nested deeper than {MAX_DEPTH} levels") from None


class _Tree:
    def __init__(self, file: str) -> None:
        self.file = file
        self.plain = yaml.SafeLoader("")
        self.seen: set[int] = set()

    def spot(self, node: yaml.Node, depth: int) -> Spot:
        here = Spot(None, self.file, node.start_mark.line + 1)
        if id(node) in self.seen:
            here.fail("anchors and aliases are not taken here; write the value out")
        self.seen.add(id(node))
        if depth > MAX_DEPTH:
            here.fail(f"nested deeper than {MAX_DEPTH} levels")
        match node:
            case yaml.MappingNode():
                return here._replace(value=self._mapping(node, depth))
            case yaml.SequenceNode():
                return here._replace(value=[self.spot(each, depth + 1) for each in node.value])
        return here._replace(value=self._scalar(node, here))

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Spot]:
        found: dict[str, Spot] = {}
        for key, value in node.value:
            name = self.spot(key, depth + 1)
            if not isinstance(name.value, str):
                name.fail(f"a key must be text, not {name.shown()}; put it in quotes")
            if name.value in found:
                name.fail(f"{name.value!r} is there twice, first in line {found[name.value].line}")
            found[name.value] = self.spot(value, depth + 1)
        return found

    def _scalar(self, node: yaml.Node, here: Spot) -> Plain:
        if node.tag not in _PLAIN_TAGS:
            kind = node.tag.rpartition(":")[2]
            here.fail(f"{node.value[:MAX_SHOWN]!r} is a {kind} to YAML; put it in quotes if it is text")
        try:
            value: Plain = self.plain.construct_object(node)
            if isinstance(value, int) and abs(value) > MAX_NUMBER:
                raise OverflowError
        except (ValueError, OverflowError):
            here.fail(f"{node.value[:MAX_SHOWN]!r} cannot be read; put it in quotes if it is text")
        return value
