"""The RocketMQ version of a capture: from its run.json, else from its master's answers, else 4.9.7.

Version lines differ in the wait of a send (:mod:`pairproof.harness.rocketmq.settings`), so a wrong version would accuse
correct brokers. Answers contain their version's number in the enumeration MQVersion, in which from 4.0.0 on each
version has two entries: its snapshot and itself.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from ...harness.errors import UsageError
from ...harness.rocketmq.settings import VERSION

FIRST, FIRST_MAJOR = 213, 4
"""The number of 4.0.0."""
LAST = 611
"""The number of 5.9.9, the last entry."""
VALID = re.compile(r"[45](\.\d{1,3}){1,2}")
RENAMED = {"haMaxGapNotInSync": "haSlaveFallbehindMax"}
"""Settings with another name in 5.x."""


class Version(NamedTuple):
    name: str
    source: str
    is_known: bool = True


def find_version(named: str | None, numbers: Collection[int], where: str) -> Version:
    """``named``: in run.json, ``numbers``: in the master's answers. UsageError, naming ``where``, for invalid ones."""
    if named is not None and not VALID.fullmatch(named):
        raise UsageError(
            f"{where}: rocketmq must be a version of RocketMQ 4 or 5 such as {VERSION}, not {named[:40]!r}"
        )
    answered = sorted({name for each in numbers if (name := _name(each)) is not None})
    if named is not None:
        if answered and not any(_same_line(named, each) for each in answered):
            raise UsageError(f"{where}: rocketmq is {named}, but the master's answers are of {', '.join(answered)}")
        return Version(named, "run.json says so")
    if len(answered) == 1:
        return Version(answered[0], "the master's answers say so")
    if answered:
        several = ", ".join(answered)
        raise UsageError(f'{where}: the master\'s answers are of {several}; name one as "rocketmq"')
    return Version(VERSION, "nothing says which it is", False)


def settings(config: dict[str, str | int], version: Version) -> dict[str, str | int]:
    """A broker's settings with its version, by the names that laws use."""
    # The file's value replaces the default under the old name.
    told = {old: config[new] for new, old in RENAMED.items() if new in config and version.name.startswith("5")}
    return {**config, **told, "rocketmqVersion": version.name}


def _name(number: int) -> str | None:
    if not FIRST <= number <= LAST:
        return None
    index = (number - FIRST + 1) // 2
    return f"{FIRST_MAJOR + index // 100}.{index // 10 % 10}.{index % 10}"


def _same_line(one: str, other: str) -> bool:
    return one.split(".")[:2] == other.split(".")[:2]
