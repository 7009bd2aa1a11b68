"""The guarantees of a brought configuration: a run's fact ``configuration``, and the output of ``advise``.

A JSON object, so that a report needs neither the files nor this module:

    sides        for each side: side, file, version, values (keys and values as read, without secrets)
    set          single settings, as typed
    deployment   the deployment, and the guarantee of PUT_OK, in sentences
    faults       a row for each class of faults: fault, of, and the lost, single-copy and unavailable messages
    changes      the most useful changes: change, avoids, costs, sets
    keys         remarks on keys that are missing, mistyped, or not tested
    deviations   known deviations that the settings do not avoid
    avoided      ids of those that the settings avoid

Without a file the settings override drawn ones, so there is no single deployment: only ``set`` is filled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...harness.judging import deviations
from ...harness.rocketmq import advice, outlook
from ...harness.rocketmq.settings import VERSION
from ...harness.texts.plain import hidden, without_secrets
from ...reference.shell import broker_file
from . import configuration
from .configuration import SIDES, Given, Program

Told = dict[str, Any]
LISTS = ("sides", "set", "deployment", "faults", "changes", "keys", "deviations", "avoided")
CELLS = ("lost", "single", "unavailable")
OF_THE_LAB = "the lab replaces "
"""Prefix of the reader's lines that only apply to runs."""


def brought(
    files: Mapping[str, Path], typed: Sequence[str], runs: Callable[[str], Program], releases: Mapping[str, str]
) -> tuple[Given, list[str]]:
    """See :func:`.configuration.brought`; adds the guarantees. ``releases``: by side, empty for a model."""
    given, lines = configuration.brought(files, typed, runs)
    return given._replace(description=describe(files, typed, lines, releases)), lines


def describe(
    files: Mapping[str, Path], typed: Sequence[str], lines: Sequence[str], releases: Mapping[str, str]
) -> dict[str, Any]:
    """The object described above. ``lines``: the reader's."""
    found = Told({name: [] for name in LISTS}, set=[_typed(each) for each in typed])
    if not files:
        return found
    values = {side: broker_file.values(files[side]) if side in files else {} for side in SIDES}
    _lay(typed, values)
    own = next((each["rocketmqVersion"] for each in values.values() if "rocketmqVersion" in each), VERSION)
    # The reference has no release: it behaves as the default one, or as the files say.
    versions = {side: each if (each := releases.get(side, own))[:1].isdigit() else VERSION for side in values}
    found["sides"] = [
        {"side": side, "file": without_secrets(str(files.get(side, ""))), "version": versions[side],
         "values": {key: hidden(key, each) for key, each in sorted(values[side].items())}}
        for side in values
    ]  # fmt: skip
    if "slave" not in files:
        values["slave"] |= {"brokerRole": "SLAVE", "brokerId": "1", "namesrvAddr": "assumed"}
        lines = [*lines, "no --slave-conf: a slave with RocketMQ's defaults is assumed"]
    pair = outlook.Pair(*({**values[side], "rocketmqVersion": versions[side]} for side in values))
    known = advice.unavoided(pair, releases)
    rows = outlook.table(pair, {each.id for each in known})
    return found | {
        "deployment": outlook.words(pair),
        "faults": [
            {"fault": row.fault, "of": row.of} | {name: getattr(row, name)._asdict() for name in CELLS} for row in rows
        ],
        "changes": [
            {**each._asdict(), "sets": dict(each.sets), "text": str(each)} for each in advice.recommended(pair, known)
        ],
        "keys": [*advice.missing(pair), *(each for each in lines if not each.startswith(OF_THE_LAB))],
        "deviations": [each.to_json() for each in known],
        "avoided": [each.id for each in deviations.every().values() if not advice.applies(each, pair)],
    }


def _lay(typed: Sequence[str], values: Mapping[str, dict[str, str]]) -> None:
    """Apply single settings on top of the files'."""
    for each in typed:
        key, _, value = (part.strip() for part in each.partition("="))
        side, dot, name = key.partition(".")
        for own in [side] if dot and side in values else list(values):
            if (name if own == side else key) != "brokerRole" or own == SIDES[0]:
                values[own][name if own == side else key] = value


def _typed(text: str) -> str:
    key, _, value = text.partition("=")
    return f"{key}={hidden(key, value)}"
