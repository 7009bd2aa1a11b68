"""A configuration that somebody brings: real ``broker.conf`` files and single settings, as settings of every trial.

A setting of both nodes is written plainly, one of a side as ``slave.flushDiskType``; settings that only Java brokers
have always name a side. They become part of every schedule, so a recorded finding is replayed without the files.

With files a trial's settings are theirs: what a search or a scenario would set of a broker is left out, and a key that
a file does not name has RocketMQ's default, ``ASYNC_MASTER`` for the master's role included; only what keeps a trial
short stays as the lab has it (``haSendHeartbeatInterval``, ``maxMessageSize``, file sizes). Without files, single
settings are laid over what is drawn. A key that a broker does not know is named and left out where a file has it, as
RocketMQ passes over it, and refused where it was typed; a value that cannot be read, which RocketMQ passes over too, is
refused in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from pairproof.chaos.properties import parsed
from pairproof.chaos.rocketmq.settings import RENAMED
from pairproof.harness.errors import UsageError
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args, Scalar
from pairproof.reference.core.config import BrokerConfig

SIDES = (places.MASTER, places.SLAVES[0])
LAB = "lab."
KEPT = ("haCutReports", "totalMemory")
"""Of what only the reference has: how its sockets and its machine are, which no broker's file says."""
FIELDS: Args = asdict(BrokerConfig())
"""What the reference knows, with RocketMQ's defaults."""
REPLACED = re.compile(
    r"brokerIP[12]|bindAddress|listenPort|haListenPort|haMasterAddress|namesrvAddr|brokerName|brokerClusterName|brokerId"
    r"|rocketmqHome|storePath\w*|mappedFileSize\w*|max(HashSlotNum|IndexNum)|enableControllerMode|enableDLegerCommitLog"
)
"""What the lab sets itself: addresses, ports, names, paths, the files' sizes, and that this is a pair."""
MAX_BYTES = 1_000_000
ROLES, SLAVE = ("ASYNC_MASTER", "SYNC_MASTER"), "SLAVE"
_CANONICAL = {new: old for old, new in RENAMED.items()}

Known = Callable[[str], Mapping[str, type]]
"""The settings of a side's program and their types."""


class Given(NamedTuple):
    """What somebody brought."""

    settings: Args
    is_whole: bool
    """Whether it came as files, and stands for all that trials would set of a broker."""

    def over(self, settings: Args) -> Args:
        own = {key: value for key, value in settings.items() if not self.is_whole or key.startswith((LAB, *KEPT))}
        return {**own, **self.settings}


def brought(files: Mapping[str, Path], typed: Sequence[str], known: Known) -> tuple[Given, list[str]]:
    """The configuration, and lines that say what of it does not apply. ``files``: by side.

    UsageError, with the remedy, for a value that cannot be read, a typed key that nobody knows, a master that is none.
    """
    lines: list[str] = []
    own: dict[str, dict[str, Scalar]] = {side: {} for side in SIDES}
    replaced: dict[str, None] = {}
    for side, path in files.items():
        said = _read(path)
        if side != SIDES[0] and said.pop("brokerRole", SLAVE) != SLAVE:
            raise UsageError(f"{path}: the slave's brokerRole must be {SLAVE}; are the two files the right way round?")
        theirs = [key for key in said if REPLACED.fullmatch(key)]
        replaced |= dict.fromkeys(theirs)
        unknown = [key for key in said if key not in known(side) and key not in theirs]
        if unknown:
            lines.append(f"{path}: the {side} does not know {', '.join(unknown)}, and passes over it; mistyped?")
        kept = {key: value for key, value in said.items() if key not in (*theirs, *unknown)}
        own[side] = {key: _value(f"{path}: {key}", value, known(side)[key]) for key, value in kept.items()}
    if replaced:
        lines.append(f"the lab replaces {', '.join(replaced)}: addresses, names, paths and file sizes are its own")
    lab: dict[str, Scalar] = {}
    for each in typed:
        _type(each, own, lab, known)
    return Given({**lab, **_together(own, bool(files))}, bool(files)), lines


def of_side(side: str, settings: Args) -> dict[str, Scalar]:
    """What is set of one side only, without its prefix."""
    return {key.removeprefix(f"{side}."): value for key, value in settings.items() if key.startswith(f"{side}.")}


def side_of(node: str) -> str:
    """The side that a node is on: every broker that is not a slave is on the master's."""
    return SIDES[1] if node in places.SLAVES else SIDES[0]


def is_of_a_side(key: str) -> bool:
    """Whether a setting is one side's."""
    return key.startswith(tuple(f"{side}." for side in SIDES))


def _together(own: Mapping[str, Mapping[str, Scalar]], is_whole: bool) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {"brokerRole": ROLES[0]} if is_whole else {}
    for key, value in own[SIDES[0]].items():
        called = _CANONICAL.get(key, key)
        found[called if called in FIELDS else f"{SIDES[0]}.{key}"] = value
    if found.get("brokerRole", ROLES[0]) not in ROLES:
        raise UsageError(
            f"the master's brokerRole must be {' or '.join(ROLES)}; are the two files the right way round?"
        )
    slave = {_CANONICAL.get(key, key): value for key, value in own[SIDES[1]].items()}
    # A key that only the master's file names is the slave's default, not the master's value.
    rest = (
        {key: FIELDS[key] for key in found if key in FIELDS and key not in (*slave, "brokerRole")} if is_whole else {}
    )
    return {**found, **{f"{SIDES[1]}.{key}": value for key, value in {**rest, **slave}.items()}}


def _type(text: str, own: Mapping[str, dict[str, Scalar]], lab: dict[str, Scalar], known: Known) -> None:
    key, equals, value = (each.strip() for each in text.partition("="))
    if not equals or not key:
        raise UsageError(f"--set wants key=value, such as flushDiskType=SYNC_FLUSH, not {text[:80]!r}")
    if key.startswith(LAB):
        lab[key] = _value(f"--set {key}", value, int)
        return
    sides = [side for side in SIDES if key.startswith(f"{side}.")] or list(SIDES)
    key = key.removeprefix(f"{sides[0]}.")
    if REPLACED.fullmatch(key):
        raise UsageError(f"--set {key}: the lab sets that itself; leave it out")
    knowing = [side for side in sides if key in known(side)]
    if not knowing:
        every = sorted({each for side in sides for each in known(side)})
        close = get_close_matches(key, every, 1)
        hint = f"did you mean {close[0]}?" if close else "RocketMQ's documentation lists them"
        raise UsageError(f"--set {key[:80]}: no broker of this target knows it; {hint}")
    for side in knowing:
        if key != "brokerRole" or side == SIDES[0]:
            own[side][key] = _value(f"--set {key}", value, known(side)[key])


def _read(path: Path) -> dict[str, str]:
    try:
        data = path.read_bytes()
    except OSError as why:
        raise UsageError(f"cannot read {path}: {why.strerror}; give the path of a broker's properties file") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} has {len(data):,} bytes, which no broker reads; give the path of its properties file")
    return parsed(data)


def _value(where: str, text: str, kind: type) -> Scalar:
    """As RocketMQ reads it; a number with a point stays text, which is how schedules hold it."""
    try:
        if kind is int:
            return int(text)
        if kind is float:
            return str(float(text))
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        what = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise UsageError(f"{where} must be {what}, not {text[:60]!r}") from None
    return text
