"""A brought configuration: ``broker.conf`` files and single settings of a user, as settings of every trial.

A setting of both nodes is written plainly, one of a side as ``slave.flushDiskType``; settings that only Java brokers
have always name a side. They become part of every schedule, so a recorded finding is replayed without the files.

With files, they define all of a trial's broker settings: those of a search or scenario are ignored, and a missing key
has RocketMQ's default, including ``ASYNC_MASTER`` for the master's role. Only settings that keep a trial short remain
the lab's (``haSendHeartbeatInterval``, ``maxMessageSize``, file sizes). Without files, single settings override drawn
ones. :mod:`pairproof.reference.shell.broker_file` reads files and rejects invalid ones. A key of a file that RocketMQ
does not have, or that the model does not implement, is reported and ignored, as RocketMQ does; a typed one is rejected.
An ignored key that affects loss becomes a remark (:attr:`Given.remarks`), which is repeated beside the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ...harness.errors import UsageError
from ...harness.judging import versions
from ...harness.renamed import given
from ...harness.rocketmq import topology
from ...harness.trials.schedule import Args, Scalar
from ...reference.core.config import BrokerConfig
from ...reference.errors import ConfigError
from ...reference.shell import broker_file, catalogue
from ...reference.shell.properties import MAX_SHOWN, Entry, plain, quoted
from .hazards import hazards
from .planning import HA_ABOVE
from .settings import OURS, RENAMED

SIDES = (topology.MASTER, topology.SLAVES[0])
LAB = "lab."
KEPT = ("haCutReports", "totalMemory")
"""Settings that only the reference has: behaviour of its sockets and its machine, which no broker file defines."""
FIELDS: Args = asdict(BrokerConfig())
"""The reference's settings, with RocketMQ's defaults."""
REPLACED = re.compile(
    r"brokerIP1|bindAddress|listenPort|namesrvAddr|brokerName|brokerClusterName|brokerId"
    r"|rocketmqHome|storePath\w*|\w+Paths?|mappedFileSize\w*|max(HashSlotNum|IndexNum)|enableControllerMode|enableDLegerCommitLog"
)
"""Settings of the lab itself: addresses, ports, names, paths, file sizes, and the roles of the pair."""
HA_PORT, HA_MASTER = "haListenPort", "haMasterAddress"
REPLICAS = "it decides how many brokers hold a message before PUT_OK"
DECISIVE: Mapping[str, tuple[Scalar, str]] = {
    "flushCommitLogTimed": (True, "it decides when the log is flushed"),
    "totalReplicas": (1, REPLICAS),
    "inSyncReplicas": (1, REPLICAS),
    "duplicationEnable": (False, "it decides from which offset a log is served"),
    "enableSlaveActingMaster": (False, "it lets a slave act as the master, and the master wait for fewer slaves"),
}
"""Settings that affect loss and have no effect in the reference, or in some releases: RocketMQ's default, and the
effect.
"""
MAX_LINES, MAX_NAMED = 20, 100
"""Limits for a file's keys: with one line each, and in one common line."""
ROLES, SLAVE = ("ASYNC_MASTER", "SYNC_MASTER"), "SLAVE"
_CANONICAL = {new: old for old, new in RENAMED.items()}


class Program(NamedTuple):
    acts_on: Mapping[str, type]
    """The settings that have an effect, and their types."""
    release: str = ""
    """RocketMQ's version. A model's may be empty: then ``rocketmqVersion`` applies."""
    is_model: bool = True

    def has(self, key: str) -> bool:
        return key in (catalogue.of(self.release) if self.is_model else self.acts_on)

    def takes(self, key: str) -> bool:
        """Whether it has an effect in a file: a model ignores settings that its release lacks, as RocketMQ does."""
        return key in self.acts_on and (key in OURS or self.has(key))


class Given(NamedTuple):
    settings: Args
    is_whole: bool
    """Whether it came as files, which define all broker settings of trials."""
    remarks: tuple[str, ...] = ()
    """Untested settings that affect loss, and differences from production."""
    description: Mapping[str, Any] = {}
    """See :mod:`.advising`."""

    def over(self, settings: Args) -> Args:
        own = {key: value for key, value in settings.items() if not self.is_whole or key.startswith((LAB, *KEPT))}
        return {**own, **self.settings}


def reference(release: str = "") -> Program:
    """The reference; ``release``: the RocketMQ that it models."""
    kinds = {key: type(value) for key, value in FIELDS.items()}
    return Program({**kinds, **{new: kinds[old] for old, new in RENAMED.items()}}, release)


def brought(files: Mapping[str, Path], typed: Sequence[str], runs: Callable[[str], Program]) -> tuple[Given, list[str]]:
    """The configuration, and lines on its ignored parts. ``files``, ``runs``: by side.

    UsageError, with the remedy, for an unreadable value, a typed unknown key, or a file with the wrong role.
    """
    lines: list[str] = []
    remarks: list[str] = []
    by_side = {side: _read(path, runs(side)) for side, path in files.items()}
    programs = {side: _released(runs(side), by_side, typed) for side in SIDES}
    own: dict[str, dict[str, Scalar]] = {side: {} for side in SIDES}
    replaced: dict[str, None] = {}
    for side, entries in by_side.items():
        where, program = plain(str(files[side])), programs[side]
        remarks += _check_identity(where, side, entries)
        theirs = [key for key in entries if REPLACED.fullmatch(key) and _is_real(key, program)]
        replaced |= dict.fromkeys(theirs)
        rest = {key: each for key, each in entries.items() if key not in theirs}
        own[side] = {
            key: broker_file.value(f"{where}:{each.line}: {key}", each.value, program.acts_on[key])
            for key, each in rest.items()
            if program.takes(key) and (key != "brokerRole" or side == SIDES[0])
        }
        untested = {key: each for key, each in rest.items() if not program.takes(key)}
        grave = _remarks(where, untested, program)
        remarks += grave.values()
        lines += _left_out(where, {key: each for key, each in untested.items() if key not in grave}, program)
        if not entries:
            lines.append(f"{where} has no setting: the {side} has RocketMQ's defaults")
    addressed, played = _addresses(own, by_side, programs)
    remarks += addressed
    lines += played
    if replaced:
        lines.append(f"the lab replaces {', '.join(replaced)}: addresses, names, paths and file sizes are its own")
    lab: dict[str, Scalar] = {}
    for each in typed:
        _type(each, own, lab, programs)
    settings = {**lab, **_together(own, bool(files))}
    remarks += hazards(settings)
    return Given(settings, bool(files), tuple(remarks)), [*remarks, *lines]


def _addresses(
    own: Mapping[str, dict[str, Scalar]],
    by_side: Mapping[str, Mapping[str, Entry]],
    programs: Mapping[str, Program],
) -> tuple[list[str], list[str]]:
    """Remarks on the files' addresses for slaves, and lines on what the lab makes of them. Removes ``haMasterAddress``
    where it ends replication.
    """
    remarks, lines = [], []
    for side in by_side:
        port, release = own[side].get(HA_PORT), programs[side].release
        if port and _holds(">=5.1.1", release):
            lines.append(f"the lab replaces the {side}'s {HA_PORT}={port} by its own listenPort + {HA_ABOVE}")
        elif port:
            lines.append(f"no effect: {HA_PORT}={port}: a {side} of RocketMQ {release} always has listenPort + 1")
    master, slave = SIDES
    address, release = own[slave].get(HA_MASTER), programs[slave].release
    if address and _holds(">=5", release):
        del own[slave][HA_MASTER]
        remarks.append(
            f"not tested: {HA_MASTER}={address}: a slave of RocketMQ {release} connects neither there nor to the "
            f"address that the master registers, and replicates nothing; remove it"
        )
    elif address:
        listens = by_side.get(master, {}).get("listenPort")
        port = (own[master].get(HA_PORT) if _holds(">=5.1.1", programs[master].release) else 0) or (
            int(listens.value if listens else FIELDS["listenPort"]) + 1
        )
        lines.append(f"the lab replaces the slave's {HA_MASTER}={address} by its own master's")
        if master in by_side and str(address).rpartition(":")[2] != str(port):
            remarks.append(
                f"not tested: {HA_MASTER}={address}: the master listens for slaves on port {port}; is something in "
                f"between that forwards it?"
            )
    return remarks, lines


def _holds(span: str, release: str) -> bool:
    """Whether the first of some releases is in this range."""
    return versions.parse(span).holds(release.partition(" ")[0])


def check(files: Mapping[str, Path]) -> None:
    """UsageError for a file that is not a broker's, or that RocketMQ would read differently than intended."""
    for path in files.values():
        _read(path, reference())


def of_side(side: str, settings: Args) -> dict[str, Scalar]:
    """The settings of one side only, without prefix."""
    return {key.removeprefix(f"{side}."): value for key, value in settings.items() if key.startswith(f"{side}.")}


def side_of(node: str) -> str:
    """A node's side: every broker that is not a slave is on the master's."""
    return SIDES[1] if node in topology.SLAVES else SIDES[0]


def is_of_a_side(key: str) -> bool:
    """Whether the key names one side."""
    return key.startswith(tuple(f"{side}." for side in SIDES))


def check_setting(key: str, value: Scalar) -> None:
    """UsageError for a schedule's setting that must not be written to a broker's properties file: schedules may come
    from untrusted files.
    """
    if isinstance(value, str) and (not value.isprintable() or value.endswith("\\")):
        raise UsageError(f"{plain(key, MAX_SHOWN)} must be one line of printable text, not {quoted(value)}")
    own = key.partition(".")[2]
    if own and own not in FIELDS and is_of_a_side(key) and REPLACED.fullmatch(own):
        raise UsageError(f"{key}: the lab sets that itself; leave it out")


def _read(path: Path, program: Program) -> dict[str, Entry]:
    try:
        return broker_file.read(path, program.acts_on)
    except ConfigError as why:
        raise UsageError(str(why)) from None


def _released(program: Program, by_side: Mapping[str, Mapping[str, Entry]], typed: Sequence[str]) -> Program:
    key = "rocketmqVersion"
    named = [each.partition("=")[2].strip() for each in typed if each.partition("=")[0].strip() == key]
    named += [entries[key].value for entries in by_side.values() if key in entries]
    return program._replace(release=program.release or (named or [BrokerConfig.rocketmqVersion])[0])


def _is_real(key: str, program: Program) -> bool:
    return key in catalogue.settings() or key in program.acts_on or key in broker_file.OWN


def _check_identity(where: str, side: str, entries: Mapping[str, Entry]) -> Iterator[str]:
    """Remarks on role and id, which a lab sets itself; UsageError for values that RocketMQ rejects."""
    role, number = entries.get("brokerRole"), entries.get("brokerId")
    is_master, wanted = side == SIDES[0], " or ".join(ROLES) if side == SIDES[0] else SLAVE
    if role is not None and (role.value == SLAVE) == is_master:
        raise UsageError(
            f"{where}:{role.line}: the {side}'s brokerRole must be {wanted}, not {role.value}; are the two files the "
            f"right way round?"
        )
    if is_master:
        if number is not None and int(number.value) != 0:
            yield (
                f"{where}:{number.line}: brokerId={plain(number.value, MAX_SHOWN)} in the master's file, and RocketMQ "
                f"gives a master the id 0: is this the slave's file?"
            )
        return
    try:
        broker_file.check_slave_id(where, entries)
    except ConfigError as why:
        raise UsageError(str(why)) from None
    if role is None:
        yield (
            f"{where} names no brokerRole, so RocketMQ makes it a second {ROLES[0]}, and no slave; pairproof tests a "
            f"slave: add brokerRole={SLAVE}"
        )
    elif number is None:
        yield f"{where} names no brokerId, so RocketMQ starts no slave from it (its default is 0); add brokerId=1"


def _remarks(where: str, untested: Mapping[str, Entry], program: Program) -> dict[str, str]:
    """By key, a line for each setting that affects loss, differs from RocketMQ's default, and had no effect."""
    found = {}
    for key, each in untested.items():
        default, what = DECISIVE.get(key, (None, ""))
        if default is None:
            continue
        at = f"{where}:{each.line}"
        if broker_file.value(f"{at}: {key}", each.value, type(default)) == default:
            continue
        absent = "" if program.has(key) else catalogue.lacks(program.release, key)
        why = absent or f"the model does not implement it; {what}"
        found[key] = f"{'no effect' if absent else 'not tested'}: {key}={plain(each.value, MAX_SHOWN)} ({at}): {why}"
    return found


def _left_out(where: str, untested: Mapping[str, Entry], program: Program) -> list[str]:
    """A line for each key that RocketMQ does not have, and one for those that the model does not implement."""
    unreal = [key for key in untested if not program.has(key)]
    lines = [
        f"{where}:{untested[key].line}: {catalogue.lacks(program.release, key, program.acts_on)}"
        for key in unreal[:MAX_LINES]
    ]
    if len(unreal) > MAX_LINES:
        lines.append(f"{where}: RocketMQ {program.release} lacks {len(unreal) - MAX_LINES} keys more")
    ignored = [key for key in untested if program.has(key)]
    if ignored:
        more = f" and {len(ignored) - MAX_NAMED} more" if len(ignored) > MAX_NAMED else ""
        those = f"{', '.join(ignored[:MAX_NAMED])}{more}"
        lines.append(f"{where}: the model does not implement {those}, so their effect was not tested")
    return lines


def _together(own: Mapping[str, Mapping[str, Scalar]], is_whole: bool) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {"brokerRole": ROLES[0]} if is_whole else {}
    slave = {_CANONICAL.get(key, key): value for key, value in own[SIDES[1]].items()}
    for key, value in own[SIDES[0]].items():
        called = _CANONICAL.get(key, key)
        # Without files a plain key applies to both sides.
        is_common = called in FIELDS and (is_whole or called in ("brokerRole", *OURS, *slave))
        found[called if is_common else f"{SIDES[0]}.{called if called in FIELDS else key}"] = value
    # A key that only the master's file has gets the slave's default, not the master's value.
    rest = (
        {key: FIELDS[key] for key in found if key in FIELDS and key not in (*slave, "brokerRole")} if is_whole else {}
    )
    return {**found, **{f"{SIDES[1]}.{key}": value for key, value in {**rest, **slave}.items()}}


def _type(
    text: str, own: Mapping[str, dict[str, Scalar]], lab: dict[str, Scalar], programs: Mapping[str, Program]
) -> None:
    key, equals, value = (each.strip() for each in text.partition("="))
    if not equals or not key:
        raise UsageError(f"--set needs key=value, such as flushDiskType=SYNC_FLUSH, not {quoted(text)}")
    if key.startswith(LAB):
        key = given("settings", key)
        lab[key] = _value(key, value, int)
        return
    sides = [side for side in SIDES if key.startswith(f"{side}.")] or list(SIDES)
    key = key.removeprefix(f"{sides[0]}.")
    if REPLACED.fullmatch(key):
        raise UsageError(f"--set {key}: the lab sets that itself; leave it out")
    if key == "brokerRole":
        _value(key, value, str, (SLAVE,) if sides == [SIDES[1]] else ROLES)
        sides = sides[:1] if sides[0] == SIDES[0] else []
    elif not any(key in programs[side].acts_on for side in sides):
        raise UsageError(f"--set {plain(key, MAX_SHOWN)}: {_unknown(key, [programs[side] for side in sides])}")
    for side in sides:
        if key in programs[side].acts_on:
            own[side][key] = _value(key, value, programs[side].acts_on[key])


def _unknown(key: str, programs: Sequence[Program]) -> str:
    program = programs[0]
    if program.is_model and program.has(key):
        return (f"RocketMQ {program.release} has it, but the model does not implement it; test it with --target "
                f"rocketmq@{program.release} --lab process")  # fmt: skip
    if key in catalogue.settings():
        return f"{catalogue.lacks(program.release, key)}; leave it out, or test such a release"
    close = get_close_matches(key, sorted({each for one in programs for each in one.acts_on}), 1)
    hint = f"did you mean {close[0]}?" if close else "RocketMQ's documentation lists them"
    return f"no broker of this target has it; {hint}"


def _value(key: str, text: str, kind: type, choices: tuple[str, ...] = ()) -> Scalar:
    try:
        return broker_file.value(f"--set {key}", text, kind, choices or catalogue.CHOICES.get(key, ()))
    except ConfigError as why:
        raise UsageError(str(why)) from None
