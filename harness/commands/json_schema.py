"""JSON schemas for editors: of pairproof.toml (``docs/pairproof.schema.json``) and of cases
(``docs/case.schema.json``).

``python -m pairproof.harness.commands.json_schema [FOLDER]`` writes them; a test compares. A schema proposes
pairproof's own names and accepts others, which plug-ins may have registered: the readers are stricter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from .. import registry
from ..exploration import profiles
from ..runs.schema import READS
from ..trials.schedule import READS as OF_SCHEDULES
from . import file

DOCS = Path("docs")
DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
CATALOGUES = {"target": "targets", "lab": "labs", "law": "laws"}
"""By option, the registry group of its values."""
SCALAR = {"type": ["integer", "string", "boolean"]}


def named(names: Iterable[str]) -> Schema:
    """Names that an editor proposes; others are accepted, as plug-ins may have registered them."""
    return {"anyOf": [{"enum": sorted(names)}, TEXT]}


def whole(title: str, properties: Mapping[str, Schema], required: Iterable[str] = (), others: object = False) -> Schema:
    """An object, as a complete schema."""
    return {"$schema": DRAFT, "title": title} | keys(properties, required, others)


def keys(properties: Mapping[str, Schema], required: Iterable[str] = (), others: object = False) -> Schema:
    """An object with these keys; ``others``: the schema of further keys."""
    found: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": others}
    return found | ({"required": sorted(required)} if list(required) else {})


def options() -> Schema:
    """The schema of pairproof.toml: a table for each command, its options without the dashes."""
    tables = {name: keys(_options(registry.find("commands", name))) for name in sorted(registry.own("commands"))}
    return whole("pairproof.toml", tables, others={"type": "object"})


def _options(command: object) -> dict[str, Schema]:
    assert isinstance(command, click.Command)
    if isinstance(command, click.Group):
        return {name: keys(_options(each)) for name, each in sorted(command.commands.items())}
    return {name: _option(name, each) for name, each in file.options_of(command).items()}


def _option(name: str, option: click.Option) -> Schema:
    one = {"enum": list(profiles.PROFILES)} if name == "profile" else _value(name, option)
    schema = {"anyOf": [one, {"type": "array", "items": one}]} if option.multiple else one
    return schema | ({"description": option.help} if option.help else {})


def _value(name: str, option: click.Option) -> Schema:
    match option.type:
        case _ if option.is_flag:
            return FLAG
        case click.types.BoolParamType():
            return FLAG
        case click.Choice() as choice:
            return {"enum": list(choice.choices)}
        case click.types.IntParamType() as number:
            limits = {"minimum": getattr(number, "min", None), "maximum": getattr(number, "max", None)}
            return NUMBER | {name: limit for name, limit in limits.items() if limit is not None}
    if name in CATALOGUES:
        return named(registry.own(CATALOGUES[name]))
    return {"type": ["string", "number"]}


def schedule() -> Schema:
    """A schedule, as data."""
    return keys(
        {
            "format": {"enum": list(OF_SCHEDULES)},
            "settings": {"type": "object", "additionalProperties": SCALAR},
            "seed": TEXT,
            "ops": {
                "type": "array",
                "items": {
                    "type": "array",
                    "prefixItems": [
                        named(registry.own("operations")),
                        {"type": "object", "additionalProperties": SCALAR},
                    ],
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
        },
        ("format", "settings", "seed", "ops"),
    )


def finding() -> Schema:
    """A finding's or a case's file; a case lacks the fields of its run."""
    texts = ("text", "target", "lab", "shrunk_in", "cause", "search", "source", "replay")
    properties: dict[str, Schema] = {
        "format": {"enum": list(READS)},
        "law": named(registry.own("laws")),
        "schedule": schedule(),
        "program": {"type": "array", "items": TEXT},
        **dict.fromkeys(("trial", "shrunk_trial", "original_ops"), NUMBER),
        **dict.fromkeys(texts, TEXT),
    }
    return whole("a finding, or a case", properties, ("format", "law", "target", "lab", "schedule"))


def text(schema: Schema) -> str:
    """The text of a schema's file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def files() -> dict[str, str]:
    """The files' texts by name."""
    return {"pairproof.schema.json": text(options()), "case.schema.json": text(finding())}


if __name__ == "__main__":
    for each, content in files().items():
        (Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS).joinpath(each).write_text(content, encoding="utf-8")
