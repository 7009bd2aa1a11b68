"""The JSON schema of scenarios, for editors: ``docs/scenario.schema.json``.

``python -m pairproof.chaos.scenarios.json_schema [FOLDER]`` writes it; a test compares it, and validates the scenarios.
It proposes the names that come with pairproof and accepts others; only operations are restricted to those installed
where it is written. Values may be variables (``${bytes}``). Only the reader detects contradictions.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ...harness import registry
from ...harness.commands.json_schema import DOCS, FLAG, NUMBER, SCALAR, TEXT, Schema, keys, named, text, whole
from ...harness.rocketmq import losses
from ...harness.trials import resolve
from ...harness.trials.operation import Argument
from . import expecting, reading
from .scenario import PHASES
from .steps import TIMING, WHEN, loads, steps

NAME = "scenario.schema.json"
TEXTS: Schema = {"type": "array", "items": TEXT}
SCALARS: Schema = {"type": "object", "additionalProperties": SCALAR}
TIME: Schema = {"type": "string", "description": "300ms, 2s or 1m"}
BOUND: Schema = {"type": ["integer", "string"], "description": '3, ">=1", "<=3" or "1..5"'}
BOUNDS: Schema = {"type": "object", "additionalProperties": BOUND}


def made() -> Schema:
    """The schema."""
    variables = {"type": "object", "additionalProperties": {"anyOf": [TEXT, {"type": "array", "items": SCALAR}]}}
    laws = {"type": "array", "items": named(registry.own("laws"))}
    known: dict[str, Schema] = {
        "name": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
        "target": named(registry.own("targets")),
        "settings": SCALARS,
        "workload": {"type": "array", "items": _load()},
        "timeline": {"type": "array", "items": _step()},
        "lasts": TIME,
        "each": {"anyOf": [variables, {"type": "array", "items": SCALARS}]},
        "repeat": NUMBER,
        "laws": {"anyOf": [{"const": "all"}, laws]},
        "expect": {"anyOf": [_expect(laws), {"type": "array", "items": _expect(laws, expecting.WHEN)}]},
        "about": TEXT,
        "promises": TEXTS,
        "differs": {},
        "catches": TEXTS,
    }
    return whole("a scenario of pairproof", {key: known[key] for key in reading.KEYS}, reading.REQUIRED)


def _arguments(do: str) -> dict[str, Schema]:
    return {name: _argument(each) for name, each in resolve.operations()[do].arguments.items()}


def _argument(argument: Argument) -> Schema:
    """Numbers may have a unit, and each may be a variable."""
    if argument.kind is str:
        return TEXT
    return {"type": ["boolean" if argument.kind is bool else "integer", "string"]}


def _load() -> Schema:
    """An object with one key: the operation."""
    by_name = {do: keys({**dict.fromkeys(TIMING, TIME), **_arguments(do)}, ("every", "for")) for do in loads()}
    return keys(by_name) | {"minProperties": 1, "maxProperties": 1}


def _step() -> Schema:
    timing: dict[str, Schema] = {"at": TIME, "after": TIME, "after_sends": {"type": ["integer", "string"]}}
    assert tuple(timing) == WHEN
    fault = {"fault": named(registry.own("faults")), "with": SCALARS, "for": TIME, "id": TEXT}
    does = {"heal": TEXT, **{do: keys(_arguments(do)) for do in steps()}}
    found = keys({**timing, **fault, **does})
    return found | {"oneOf": [{"required": [each]} for each in ("fault", *does)]}


def _expect(laws: Schema, *more: str) -> Schema:
    counts: dict[str, Schema] = dict.fromkeys(expecting.COUNTS, BOUNDS)
    known: dict[str, Schema] = {
        "judged": laws,
        "violated": laws,
        "bites": FLAG,
        "costs": keys(dict[str, Schema].fromkeys(losses.OUTCOMES, BOUND)),
        **counts,
        **{phase: {"type": "object", "additionalProperties": keys(counts)} for phase in PHASES},
        **{each: {"type": ["string", "number"]} for each in more},
    }
    return keys({key: known[key] for key in (*expecting.KEYS, *more)})


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    (place / NAME).write_text(text(made()), encoding="utf-8")
