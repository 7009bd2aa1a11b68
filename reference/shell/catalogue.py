"""RocketMQ's broker settings by release, and suggestions for mistyped keys.

RocketMQ silently ignores unknown keys and unreadable values. So a mistyped ``flushDiskTyp=SYNC_FLUSH`` leaves a broker
with ASYNC_FLUSH. Source: the setters in the jars of five releases (``rocketmq_settings.txt``); other releases count as
the nearest older one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import NamedTuple

from ..core.config import FLUSH_TYPES, ROLES
from .properties import MAX_SHOWN, plain

RELEASES = ("4.4.0", "4.9.2", "4.9.7", "5.3.1", "5.5.0")
NAMES = "names"
TYPES: Mapping[str, type] = {"int": int, "bool": bool, "float": float, "str": str}
CHOICES: Mapping[str, tuple[str, ...]] = {"brokerRole": ROLES, "flushDiskType": FLUSH_TYPES}
"""Values of enumerations, which RocketMQ reads in this spelling only."""
DECIDES_LOSS = re.compile(
    r"flush\w+|brokerRole|\w*Replicas|transientStorePool\w+|allAckInSyncStateSet|duplicationEnable"
    r"|enable(DLegerCommitLog|ControllerMode|SlaveActingMaster)"
)
"""Keys that decide which messages a crash can lose."""
OF_LEGEND = ("storePathConsumeQueue", "storePathIndex", "storeCheckpoint", "abortFile")
"""Keys that many files have, and no release does: these paths follow from storePathRootDir."""
CLOSE, QUITE_CLOSE = 0.8, 0.85
"""Least similarity of a mistyped key to a real one. The second causes a refusal, so it is stricter."""
MAX_KEY = 60
"""Characters of a key that is worth a comparison: the longest real one has 49."""


class Setting(NamedTuple):
    """One key. ``since`` and ``until``: indexes into :data:`RELEASES`, inclusive."""

    kind: type
    since: int
    until: int


@cache
def settings() -> Mapping[str, Setting]:
    """All keys of brokers."""
    found = {}
    for key, kind, *span in _rows():
        if span != [NAMES]:
            since, _, until = (span or [".."])[0].partition("..")
            last = RELEASES.index(until or RELEASES[-1])
            found[key] = Setting(TYPES[kind], RELEASES.index(since or RELEASES[0]), last)
    return found


@cache
def names() -> frozenset[str]:
    """Keys that only name servers have."""
    return frozenset(key for key, _, *span in _rows() if span == [NAMES])


def _rows() -> list[list[str]]:
    text = resources.files(__package__).joinpath("rocketmq_settings.txt").read_text(encoding="ascii")
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


@cache
def of(release: str) -> Mapping[str, type]:
    """The keys of a release, and their types."""
    index = RELEASES.index(nearest(release))
    return {key: each.kind for key, each in settings().items() if each.since <= index <= each.until}


def nearest(release: str) -> str:
    """The newest of :data:`RELEASES` that is not newer; the oldest for older ones."""
    own = _numbers(release)
    return max((each for each in RELEASES if _numbers(each) <= own), key=_numbers, default=RELEASES[0])


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", release)[:3])


def close(key: str, more: Iterable[str] = (), cutoff: float = CLOSE) -> str:
    """The real key most similar to this one; empty if none is."""
    return like(key, (*settings(), *OF_LEGEND, *more), cutoff)


def like(key: str, keys: Iterable[str], cutoff: float) -> str:
    """The one of ``keys`` most similar to this one; empty if none is."""
    if len(key) > MAX_KEY:
        return ""
    # Letter case is the most frequent mistake, and never distinguishes two real keys.
    known = {each.lower(): each for each in keys}
    found = get_close_matches(key.lower(), known, 1, cutoff)
    return known[found[0]] if found else ""


def lacks(release: str, key: str, more: Iterable[str] = ()) -> str:
    """A message that a release lacks a key, with a suggestion or the releases that have it."""
    if key in OF_LEGEND:
        return f"RocketMQ ignores the key {key}, though many files name it: the path follows from storePathRootDir"
    if key in settings():
        other = like(key, of(release), QUITE_CLOSE)
        hint = f"; did you mean {other}?" if other else ""
        return f"RocketMQ {release} has no key {key} and ignores it, {_releases(settings()[key])}{hint}"
    meant = close(key, more)
    hint = f"; did you mean {meant}?" if meant else ""
    also = " (RocketMQ ignores that key, too)" if meant in OF_LEGEND else ""
    return f"RocketMQ {release} has no key {plain(key, MAX_SHOWN)} and ignores it{hint}{also}"


def misspelt(keys: Collection[str], known: Collection[str]) -> tuple[str, str] | None:
    """The first unknown key that is similar to a key that affects message loss, and that key."""
    for key in keys:
        if key not in known and DECIDES_LOSS.fullmatch(meant := close(key, known, QUITE_CLOSE)):
            return key, meant
    return None


def _releases(setting: Setting) -> str:
    first, last = RELEASES[setting.since], RELEASES[setting.until]
    return f"{first} has it" if first == last else f"{first} to {last} have it"
