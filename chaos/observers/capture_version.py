"""Which RocketMQ a capture is of: what its run.json says, else what its master's answers say, else 4.9.7.

Version lines differ in how long a send waits and for whom (:mod:`pairproof.harness.rocketmq.settings`), so a capture
that is judged as another version's accuses correct brokers. Answers carry the number of their version in the
enumeration MQVersion, in which from 4.0.0 on each version has two places, its snapshot's and its own.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from ...harness.errors import UsageError
from ...harness.rocketmq.settings import VERSION

FIRST, FIRST_MAJOR = 213, 4
"""The place of 4.0.0."""
LAST = 611
"""The place of 5.9.9, the last that there is."""
VALID = re.compile(r"[45](\.\d{1,3}){1,2}")
RENAMED = {"haMaxGapNotInSync": "haSlaveFallbehindMax"}
"""Settings that are called otherwise in 5.x."""


class Version(NamedTuple):
    """``source`` says how it is known."""

    name: str
    source: str
    is_known: bool = True


def find_version(said: str | None, numbers: Collection[int], where: str) -> Version:
    """``said``: by run.json, ``numbers``: by the master's answers. UsageError, naming ``where``, if they cannot be."""
    if said is not None and not VALID.fullmatch(said):
        raise UsageError(f"{where}: rocketmq must be a version of RocketMQ 4 or 5 such as {VERSION}, not {said[:40]!r}")
    answered = sorted({name for each in numbers if (name := _name(each)) is not None})
    if said is not None:
        if answered and not any(_same_line(said, each) for each in answered):
            raise UsageError(f"{where}: rocketmq is {said}, but the master's answers are of {', '.join(answered)}")
        return Version(said, "run.json says so")
    if len(answered) == 1:
        return Version(answered[0], "the master's answers say so")
    if answered:
        several = ", ".join(answered)
        raise UsageError(f'{where}: the master\'s answers are of {several}; name one as "rocketmq"')
    return Version(VERSION, "nothing says which it is", False)


def settings(config: dict[str, str | int], version: Version) -> dict[str, str | int]:
    """A broker's settings with its version, by the names that laws know."""
    # What the file says stands in place of the default under the old name.
    told = {old: config[new] for new, old in RENAMED.items() if new in config and version.name.startswith("5")}
    return {**config, **told, "rocketmqVersion": version.name}


def _name(number: int) -> str | None:
    if not FIRST <= number <= LAST:
        return None
    index = (number - FIRST + 1) // 2
    return f"{FIRST_MAJOR + index // 100}.{index // 10 % 10}.{index % 10}"


def _same_line(one: str, other: str) -> bool:
    return one.split(".")[:2] == other.split(".")[:2]
