"""``pairproof labs``: where pairs can run, what each lab can do and observe, and which targets and faults exist.

A lab's abilities are those of the session class that its ``open`` is annotated to return: asking starts nothing.
"""

from __future__ import annotations

import typing

import click

from pairproof.harness import ports
from pairproof.harness.commands.output import json_option, table, write_json

ABILITIES: dict[str, type] = {name: ability for name, ability in vars(ports).items() if name.startswith("Can")}


def abilities(lab: ports.Lab) -> list[str] | None:
    """Names of the abilities of a lab's sessions; None where its ``open`` does not say what it returns."""
    try:
        session = typing.get_type_hints(lab.open)["return"]
    except (NameError, KeyError, TypeError):
        return None
    return [name for name, ability in ABILITIES.items() if _has(session, ability)]


def _has(session: object, ability: type) -> bool:
    return all(hasattr(session, name) for name in vars(ability) if not name.startswith("_"))


@click.command("labs")
@json_option
def command(json_to: str | None) -> None:
    """List labs with their abilities, targets, and faults with their arguments."""
    found = describe()
    if json_to is not None:
        write_json(found, json_to)
        return
    table(
        "Labs",
        ("lab", "can", "faults it cannot inject"),
        [(x["id"], _words(x["can"]), _words(x["cannot_inject"])) for x in found["labs"]],
    )
    seen = [(x["id"], target, _words(kinds)) for x in found["labs"] for target, kinds in x["observes"].items()]
    table("What is observed", ("lab", "target", "kinds of event"), seen)
    table(
        "Faults",
        ("fault", "needs", "arguments (the first value is the default)"),
        [_fault_row(x) for x in found["faults"]],
    )


def describe() -> dict[str, list[dict[str, typing.Any]]]:
    """``labs`` (id, can, cannot_inject, observes by target), ``targets`` (id), ``faults`` (id, needs, arguments)."""
    from pairproof.harness import registry, resolve

    targets = registry.names("targets")
    faults = resolve.faults()
    labs = []
    for name in registry.names("labs"):
        lab = resolve.lab(name)
        can = abilities(lab)
        labs.append({
            "id": name,
            "can": can,
            "cannot_inject": _missing(faults, can),
            "observes": {target: sorted(lab.observes(resolve.target(target))) for target in targets},
        })  # fmt: skip
    return {
        "labs": labs,
        "targets": [{"id": each} for each in targets],
        "faults": [
            {"id": name, "needs": each.needs.__name__, "arguments": {k: list(v) for k, v in each.arguments.items()}}
            for name, each in faults.items()
        ],
    }


def _missing(faults: ports.Faults, can: list[str] | None) -> list[str] | None:
    return None if can is None else [name for name, each in faults.items() if each.needs.__name__ not in can]


def _fault_row(fault: dict[str, typing.Any]) -> tuple[str, str, str]:
    arguments = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in fault["arguments"].items())
    return fault["id"], fault["needs"], arguments


def _words(names: list[str] | None) -> str:
    return "it does not say" if names is None else ", ".join(names) or "none"
