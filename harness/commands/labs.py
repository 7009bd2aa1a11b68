"""``pairproof labs``: list the labs, the targets with the labs that run them, the faults and the tools.

Abilities of labs are read without starting a lab (:mod:`harness.trials.abilities`). The text output describes them; the
JSON has the names of abilities and of the event types that labs record. ``install`` installs the programs that labs
need (entry points ``pairproof.tools``, each a :class:`Tool`). ``clean`` removes the remains of labs whose harness was
killed.
"""

from __future__ import annotations

import typing
from pathlib import Path

import click

from .. import ports, registry
from ..errors import LabError, UsageError
from ..texts import extras
from ..trials.abilities import abilities
from .helping import Group, completes, example, sentence
from .output import json_option, say, table, write_json

MAX_VALUES = 6
"""Values of a fault's argument in the table; the JSON has all."""


class Tool(typing.Protocol):
    """A program that labs need and that does not come with pairproof."""

    name: str
    about: str

    def find(self) -> Path | str:
        """Its path, or the installed versions; LabError, with the remedy, if there is none. Executes nothing, as the
        list and ``doctor`` only check.
        """

    def install(self) -> Path | str:
        """Install it if needed and return its path. LabError, with the remedy, if that fails."""


@typing.runtime_checkable
class CanClean(typing.Protocol):
    """A lab that may leave something behind when its harness is killed."""

    def clean(self) -> list[str]:
        """Remove everything that no running harness uses; returns a line for each thing removed."""


@click.group("labs", cls=Group, epilog=example("labs"), invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, json_to: str | None) -> None:
    """List labs, targets with the labs that run them, faults with their arguments, and tools.

    --json also names the abilities and the event types of each lab.
    """
    if ctx.invoked_subcommand is not None:
        if json_to is not None:
            raise UsageError(f"--json is for the list only, not with {ctx.invoked_subcommand}; leave it out")
        return
    found = describe()
    if json_to is not None:
        write_json(found, json_to)
        return
    seen = {lab["id"]: judgeable(lab) for lab in found["labs"]}
    table(
        "Labs",
        ("lab", "what it is", "faults it cannot inject"),
        [(x["id"], x.get("lacks") or _about("labs", x["id"]), _words(x["cannot_inject"])) for x in found["labs"]],
    )
    table(
        "Targets",
        ("target", "labs that run it, each with the laws that can be judged there"),
        [(x["id"], _where(x["id"], seen)) for x in found["targets"]],
    )
    table(
        "Faults",
        ("fault", "what happens", "labs that can inject it", "arguments (the first value is the default)"),
        [_fault_row(x, found["labs"]) for x in found["faults"]],
    )
    tools = [(x["id"], x["about"], x["path"] or x["missing"]) for x in found["tools"]]
    table("Tools", ("tool", "what it is", "where"), tools)


@command.command("install", epilog=example("labs install rocketmq@5.3.1"))
@click.argument("name", shell_complete=completes("tools"))
def install(name: str) -> None:
    """Install a program that labs need; pairproof labs lists them."""
    say(f"{name}: {tool(name).install()}")


@command.command("clean", epilog=example("labs clean"))
def clean() -> None:
    """Remove what a killed pairproof left behind: processes, containers, mounts, folders."""
    from ..trials import resolve

    nothing = True
    for name in registry.names("labs"):
        try:
            with extras.reported():
                lab = resolve.lab(name)
                lines = lab.clean() if isinstance(lab, CanClean) else []
        except extras.Lacking as why:
            lines = [f"not checked: {why}"]
        for line in lines:
            say(f"{name}: {line}")
            nothing = False
    if nothing:
        say("nothing was left behind")


def tool(name: str) -> Tool:
    """A tool by name; ``family@version`` for one of a family."""
    from ..trials import resolve

    if (known := resolve.family(name, "tools")) is not None:
        return typing.cast(Tool, known.tool(name.partition("@")[2]))
    return typing.cast(Tool, registry.find("tools", name))


def describe() -> dict[str, list[dict[str, typing.Any]]]:
    """``labs`` (id, can, cannot_inject, observes by target that it runs, or lacks: a package), ``targets`` (id),
    ``faults`` (id, needs, arguments), ``tools`` (id, about, path or None, missing: the reason).
    """
    from ..trials import resolve

    targets = registry.names("targets")
    faults = dict(sorted(resolve.faults().items()))
    labs: list[dict[str, typing.Any]] = []
    for name in registry.names("labs"):
        try:
            with extras.reported():
                lab = resolve.lab(name)
        except extras.Lacking as why:
            labs.append({"id": name, "can": None, "cannot_inject": None, "observes": {}, "lacks": str(why)})
            continue
        can = abilities(lab, faults, resolve.operations())
        labs.append({
            "id": name,
            "can": can,
            "cannot_inject": _missing(faults, can),
            "observes": {target: sorted(lab.observes(resolve.target(target))) for target in _taken(lab, targets)},
        })  # fmt: skip
    return {
        "labs": labs,
        "targets": [{"id": each} for each in targets],
        "faults": [
            {"id": name, "needs": each.needs.__name__, "arguments": {k: list(v) for k, v in each.arguments.items()}}
            for name, each in faults.items()
        ],
        "tools": [where(name) for name in registry.names("tools")],
    }


def _taken(lab: ports.Lab, names: list[str]) -> list[str]:
    from ..trials import resolve

    return [name for name in names if resolve.takes(lab, resolve.target(name))]


def where(name: str) -> dict[str, str | None]:
    """A tool's id, about, and path or the reason why it is missing."""
    about = ""
    try:
        with extras.reported():
            found = tool(name)
            about = found.about
            path, missing = str(found.find()), None
    except LabError as why:
        path, missing = None, str(why)
    return {"id": name, "about": about, "path": path, "missing": missing}


def _missing(faults: ports.Faults, can: list[str] | None) -> list[str] | None:
    return None if can is None else [name for name, each in faults.items() if each.needs.__name__ not in can]


def judgeable(lab: dict[str, typing.Any]) -> dict[str, str]:
    """By target that a lab runs: the number of its laws that the lab can judge, as ``119 of 120``."""
    from ..judging import judge
    from ..trials import resolve

    found = {}
    for target, kinds in lab["observes"].items():
        laws = judge.laws_for(resolve.target(target))
        found[target] = f"{sum(law.needs <= set(kinds) for law in laws)} of {len(laws)}"
    return found


def _where(target: str, seen: dict[str, dict[str, str]]) -> str:
    return ", ".join(f"{lab} ({laws[target]})" for lab, laws in seen.items() if target in laws) or "none here"


def _fault_row(fault: dict[str, typing.Any], labs: list[dict[str, typing.Any]]) -> tuple[str, ...]:
    arguments = "; ".join(f"{name}: {_values(values)}" for name, values in fault["arguments"].items())
    able = [lab["id"] for lab in labs if fault["id"] not in (lab["cannot_inject"] or ())]
    where = "all" if len(able) == len(labs) else ", ".join(able) or "none"
    return fault["id"], _about("faults", fault["id"]), where, arguments


def _values(values: list[object]) -> str:
    more = f" and {len(values) - MAX_VALUES} more" if len(values) > MAX_VALUES else ""
    return ", ".join(map(str, values[:MAX_VALUES])) + more


def _about(group: str, name: str) -> str:
    return sentence(registry.described(group, name))


def _words(names: list[str] | None) -> str:
    return "not declared" if names is None else ", ".join(names) or "none"
