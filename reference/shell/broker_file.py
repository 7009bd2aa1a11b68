"""The one reader of brokers' properties files, for every command.

It refuses files that are not a broker's (JSON, YAML, prose) and, with their line, settings that RocketMQ would ignore
or misread: a mistyped key that affects message loss, a value in quotes, in other letter case, with a trailing blank, or
of another type. It also refuses what pairproof does not model and what changes the kind of system: DLedger, controller
mode, several folders for one log.

Left out: the use of the keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from ..core.config import ROLES, BrokerConfig
from ..errors import ConfigError
from . import catalogue, properties
from .properties import Entry, plain, quoted

OTHER_STARTS = ("{", "[", "<")
"""First characters of JSON and XML."""
LEAST_SHARE = 10
"""At least one key in so many must be a broker's."""
MAX_COMPARED = 200
"""Keys compared with the real ones; a file with more unknown ones is not a broker's."""
OWN = ("storePathRootDir", "storePathCommitLog", "bindAddress", "serverChannelMaxIdleTimeSeconds")
OTHER_SYSTEMS = {
    "enableDLegerCommitLog": "DLedger replicates by a quorum",
    "enableControllerMode": "controller mode elects its masters",
}
SPLITTER = ","
"""RocketMQ's separator between the folders of one log (MessageStoreConfig.MULTI_PATH_SPLITTER)."""
_NUMBER = re.compile(r"[+-]?[0-9]+")
_YAML = re.compile(r"(---|\s*(- )?[\w.\"'-]+:(\s.*)?|\s*- .*|\s*#.*|\s*)")
_WHAT = {int: "a whole number", float: "a number", bool: "true or false"}


def read(path: Path, more: Mapping[str, type] | None = None) -> dict[str, Entry]:
    """Keys, their values and lines. ``more``: a program's keys beside those of RocketMQ's releases, with types.

    ConfigError, one line with the remedy, for the cases in the module's docstring.
    """
    text = properties.text(path)
    where = plain(str(path))
    found = properties.entries(text, f"{where}:")
    known = {**_own(), **{key: each.kind for key, each in catalogue.settings().items()}, **(more or {})}
    is_other = sum(key in known for key in found) * LEAST_SHARE < len(found)
    if is_other and text.lstrip().startswith(OTHER_STARTS):
        raise ConfigError(f"{where}: {_other(text, found, known)}")
    if wrong := catalogue.misspelt(list(found)[:MAX_COMPARED], known):
        key, meant = wrong
        raise ConfigError(
            f"{where}:{found[key].line}: RocketMQ has no key {plain(key)}, and would ignore "
            f"{quoted(found[key].value)}; did you mean {meant}?"
        )
    if is_other:
        raise ConfigError(f"{where}: {_other(text, found, known)}")
    for key, each in found.items():
        if key in known:
            _check(f"{where}:{each.line}: {key}", key, each, known[key])
    if "brokerRole" in found and found["brokerRole"].value == ROLES[-1]:
        check_slave_id(where, found)
    return found


def check_slave_id(where: str, found: Mapping[str, Entry]) -> None:
    """ConfigError if a slave's file has a master's id."""
    number = found.get("brokerId")
    if number is not None and int(number.value) <= 0:
        raise ConfigError(
            f"{where}:{number.line}: brokerId={plain(number.value, properties.MAX_SHOWN)}: a slave needs a brokerId "
            "above 0, or RocketMQ does not start it; set brokerId=1"
        )


def values(path: Path) -> dict[str, str]:
    """Keys and values only; errors as :func:`read`."""
    return {key: each.value for key, each in read(path).items()}


def value(where: str, text: str, kind: type, choices: tuple[str, ...] = ()) -> int | bool | str:
    """The value as RocketMQ reads it; ConfigError if it cannot. A number with a point stays text."""
    if choices and text not in choices:
        hint = "; RocketMQ ignores any other spelling" if text.upper() in choices else ""
        raise ConfigError(f"{where} must be one of {', '.join(choices)}, not {quoted(text)}{hint}")
    try:
        if kind is int:
            return int(_NUMBER.fullmatch(text)[0])  # type: ignore[index]
        if kind is float:
            return str(float(text))
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
    except (TypeError, ValueError, KeyError):
        raise ConfigError(f"{where} must be {_WHAT[kind]}, not {quoted(text)}") from None
    return text


def _own() -> dict[str, type]:
    return {**{each.name: type(each.default) for each in fields(BrokerConfig)}, **dict.fromkeys(OWN, str)}


def _check(where: str, key: str, entry: Entry, kind: type) -> None:
    text, choices = entry.value, catalogue.CHOICES.get(key, ())
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        raise ConfigError(f"{where}={plain(text, properties.MAX_SHOWN)}: RocketMQ takes the quotes for a part of the "
                          f"value; delete them")  # fmt: skip
    if entry.ends_with_blank and (choices or kind is not str):
        raise ConfigError(f"{where} ends with a blank, which changes the value that RocketMQ reads; delete the blank")
    found = value(where, text, kind, choices)
    if key in OTHER_SYSTEMS and found is True:
        raise ConfigError(f"{where}=true: {OTHER_SYSTEMS[key]}, and pairproof only has a master with its slaves, so a "
                          f"run would say nothing about this broker; give it the files of a plain pair")  # fmt: skip
    if (key == "storePathCommitLog" and SPLITTER in text) or (key == "readOnlyCommitLogStorePaths" and text):
        raise ConfigError(f"{where}={plain(text, properties.MAX_SHOWN)}: pairproof keeps a log in one folder, so a run "
                          f"would say nothing about several; name one folder")  # fmt: skip


def _other(text: str, found: Mapping[str, Entry], known: Mapping[str, type]) -> str:
    first, theirs = next(iter(found)), sum(key in known for key in found)
    meant = catalogue.close(first)
    hint = f"; did you mean {meant}?" if meant else ""
    return (
        f"{f'only {theirs}' if theirs else 'none'} of the {len(found)} keys in this file is a broker's setting (first: "
        f"{quoted(first)}{hint}): {_kind(text)}give a broker's properties file"
    )


def _kind(text: str) -> str:
    """The file's obvious format, if not properties."""
    start = text.lstrip()[:1]
    if start in "{[":
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "it looks like JSON; "
        return "it is JSON; "
    if start == "<":
        return "it looks like XML; "
    lines = text.splitlines()
    return "it looks like YAML; " if all(map(_YAML.fullmatch, lines)) else ""
