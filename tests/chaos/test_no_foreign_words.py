"""Nothing that a history keeps quotes another library: its digest would depend on the interpreter's version."""

from __future__ import annotations

import ast
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pairproof
from pairproof.chaos.labs import blame
from pairproof.chaos.observers import table_reader
from pairproof.chaos.observers.remoting_tap import RemotingTap
from pairproof.chaos.rocketmq import invalid_requests
from pairproof.harness.rocketmq.invalid_requests import REQUESTS
from pairproof.harness.texts.quoting import quoted
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule
from pairproof.reference.errors import CodecError
from pairproof.reference.wire import config_text, fastjson, remoting

ROOT = Path(pairproof.__file__).parent
IN_HISTORIES = ("reference/wire", "reference/core", "reference/client", "chaos/observers", "chaos/rocketmq",
                "chaos/labs/sim", "chaos/labs/blame.py")  # fmt: skip
OURS = {"BrokerError", "CodecError", "ConfigError", "LabError", "Refused", "StoreError", "StoreFull", "StoreRefused",
        "UsageError", "PairproofError", "Unable", "CorruptRun"}  # fmt: skip
TOLD_ON_THE_TERMINAL = OURS - {"CodecError", "Refused", "StoreError", "StoreFull", "StoreRefused"}
"""What a command ends with, in one line, and no history quotes."""


# What raises by itself.


def raises(why: Exception) -> Callable[[], None]:
    def function() -> None:
        raise why

    return function


@pytest.mark.parametrize(("fails", "said"), [
    (lambda: json.loads("{"), "JSONDecodeError"),
    (lambda: struct.unpack(">i", b""), "struct.error"),
    (lambda: zlib.decompress(b"x"), "zlib.error"),
    (lambda: b"\xff".decode(), "UnicodeDecodeError"),
    (lambda: int("x"), "ValueError"),
    (lambda: [][1], "IndexError"),
    (lambda: {}["gone"], "KeyError: 'gone'"),
    (lambda: Path("/nobody/has/this").read_text(), "FileNotFoundError: ENOENT"),
    (raises(ValueError("no table")), "ValueError: no table"),
    (raises(ValueError()), "ValueError"),
])  # fmt: skip
def test_only_words_that_we_raise_are_quoted(fails: Callable[[], Any], said: str) -> None:
    with pytest.raises(Exception) as raised:
        fails()
    assert quoted(raised.value) == said
    assert blame.described(raised.value).startswith(f"{said} (")


# What is played, or read.


PINNED = {
    "a registration that is not JSON": "body at 1: a text that cannot be read",
    "a compressed registration that is not compressed": "registration is not a zlib stream",
}


def test_answers_to_what_makes_no_sense_have_the_references_words(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = lambda seed, node, requests, illegal: (*requests, *illegal)  # noqa: E731
    monkeypatch.setattr(invalid_requests, "chosen", everything)
    events = run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule({"lab.nameServer": 1}, "s", ())).events
    said = {str(each.f): str(each.detail) for each in events if each.kind == "invalid"}
    assert said.keys() == REQUESTS.keys()
    assert {name: said[name] for name in PINNED} == PINNED


FRAME = struct.pack(">ii", 5, 1) + b"{"
BINARY = struct.pack(">ii", 6, (1 << 24) | 2) + bytes(2)


@pytest.mark.parametrize(("read", "words"), [
    (lambda: remoting.CommandReader().feed(FRAME), "header is not JSON"),
    (lambda: remoting.CommandReader().feed(BINARY), "binary header of 2 bytes ends within a number"),
    (lambda: fastjson.loads(b"{\xff}"), "body is not UTF-8 at byte 1"),
    (lambda: fastjson.loads('{"a": "\\u12"}'), "body at 6: a text that cannot be read"),
    (lambda: config_text.decode(b"a=\xff"), "configuration is not UTF-8 at byte 2"),
])  # fmt: skip
def test_codecs_say_in_their_own_words_what_is_wrong(read: Callable[[], Any], words: str) -> None:
    with pytest.raises(CodecError) as raised:
        for _ in read() or ():
            pass
    assert str(raised.value) == words


def test_readers_of_what_nodes_send_have_words_of_their_own() -> None:
    tap = RemotingTap()
    tap.feed(FRAME)
    assert tap.broken == "a header that cannot be read"
    said: list[dict[str, Any]] = []
    add = lambda *columns, **named: said.append(named)  # noqa: E731
    table_reader.record(add, lambda: 0, "slave", 1, "topics", lambda: table_reader.read("topics", b"{"))
    assert [each["detail"] for each in said] == ["no table"]


# The code.


def caught(handler: ast.ExceptHandler) -> set[str]:
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(each).rpartition(".")[2] for each in names if each is not None}


def quotes(tree: ast.AST, name: str) -> Iterator[ast.AST]:
    """Where the exception of that name becomes a text, but for what a command ends with."""
    told = tree.exc if isinstance(tree, ast.Raise) else None
    if isinstance(told, ast.Call) and ast.unparse(told.func) in TOLD_ON_THE_TERMINAL:
        return
    if isinstance(tree, ast.FormattedValue) and ast.unparse(tree.value) in (name, f"{name}.strerror"):
        yield tree
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) in ("str", "repr") and ast.unparse(tree.args[0]) == name:
        yield tree
    for each in ast.iter_child_nodes(tree):
        yield from quotes(each, name)


def test_no_code_whose_words_reach_a_history_quotes_what_others_raised() -> None:
    wrong = []
    for place in IN_HISTORIES:
        found = ROOT / place
        for path in sorted(found.rglob("*.py")) if found.is_dir() else [found]:
            for each in ast.walk(ast.parse(path.read_text())):
                if isinstance(each, ast.ExceptHandler) and each.name and not caught(each) <= {*OURS, "KeyError"}:
                    wrong += [f"{path.relative_to(ROOT)}:{where.lineno}" for where in quotes(each, each.name)]  # type: ignore[attr-defined]
    assert not wrong
