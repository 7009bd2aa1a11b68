"""The tested versions, and each node's settings, first those that differ from its version's defaults."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence

from pairproof import __version__

from ..errors import LabError
from ..ports import DescribesItself, Lab, Target
from ..system import System
from ..trials.schedule import Args, as_text
from ..trials.trial import Trial
from .blocks import Block, Table, Text, Verbatim

IN_VIRTUAL_TIME = "a simulation in virtual time; no process, disk or network was involved"
IN_REAL_TIME = (
    "processes on one machine; each link passes through a proxy, for faults, and a recorder, which changes nothing"
)


def versions(target: Target, lab: Lab, settings: Args) -> Sequence[Block]:
    """The tested programs, and the lab."""
    own = target.programs(settings) if isinstance(target, DescribesItself) else {}
    rows = [("target", target.name), *own.items()]
    if not own:
        rows.append(("version", "unknown: the target does not say which version it is"))
    rows.append((f"lab {lab.name}", IN_VIRTUAL_TIME if lab.deterministic else IN_REAL_TIME))
    rows.append(("tested with", f"pairproof {__version__}, Python {platform.python_version()}"))
    if not lab.deterministic:
        # The suffix of the kernel's version may contain the name of its builder.
        release = platform.release().partition("-")[0]
        rows.append(("operating system", f"{platform.system()} {release}, {platform.machine()}"))
    return [Table(("what", "which"), rows)]


def product(target: Target, settings: Args) -> str:
    """The target's name in a sentence."""
    own = list(target.programs(settings).items()) if isinstance(target, DescribesItself) else []
    return own[0][1] if own else target.name


def configurations(target: Target, system: System, trial: Trial, settings: Args) -> Sequence[Block]:
    """What differs from the defaults, of nodes with the same defaults in one table; the rest is counted."""
    found = dict(_given(trial))
    if not found:
        return [Text("Unknown: the settings of no node were recorded.")]
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    unknown: list[Block] = []
    for node, given in found.items():
        try:
            usual = target.defaults(node, settings) if isinstance(target, DescribesItself) else None
            why = "the target does not say what its defaults are"
        except LabError as failed:
            usual, why = None, str(failed)
        if usual is not None:
            alike.setdefault(tuple(sorted(usual.items())), []).append(node)
        else:
            unknown.append(Text(f"Which settings of {system.the(node)} differ from its defaults is unknown: {why}."))
            unknown.append(Verbatim([f"{key}={value}" for key, value in given.items()]))
    known = [block for usual, nodes in alike.items() for block in _compared(dict(usual), {n: found[n] for n in nodes})]
    return [*known, *unknown]


def _given(trial: Trial) -> Iterator[tuple[str, Mapping[str, str]]]:
    """By node, from its file, or from the history without a file."""
    for event in trial.events:
        if event.kind == "config" and event.node is not None:
            file = trial.configurations.get(event.node)
            yield event.node, _parsed(file) if file is not None else _recorded(event.detail)


def _parsed(file: str) -> Mapping[str, str]:
    pairs = (line.partition("=") for line in file.splitlines() if "=" in line and not line.lstrip().startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _recorded(detail: str | None) -> Mapping[str, str]:
    return {key: as_text(value) for key, value in json.loads(detail or "{}").items()}


def _compared(usual: Mapping[str, str], given: Mapping[str, Mapping[str, str]]) -> Iterator[Block]:
    """One table for nodes with the same defaults, and their other settings."""
    keys = sorted({key for own in given.values() for key, value in own.items() if usual.get(key) != value})
    yield Text("Settings that differ from the version's defaults:")
    rows = [(key, *(_cell(own, usual, key) for own in given.values()), _shown(usual.get(key))) for key in keys]
    yield Table(("setting", *given, "default"), rows)
    for node, own in given.items():
        if rest := own.keys() - set(keys):
            yield Text(f"The file of the {node} sets {len(rest)} more keys, each to its default.")


def _cell(own: Mapping[str, str], usual: Mapping[str, str], key: str) -> str:
    return "(default)" if key not in own or own[key] == usual.get(key) else own[key]


def _shown(value: str | None) -> str:
    return "(none)" if value is None else value or "(empty)"
