"""Log messages of RocketMQ's broker that laws use.

- It refuses a slave which is ahead of it. Only 4.9.3 to 4.9.x log this, at each connection of the slave; 5.x logs
  nothing, and serves the slave. Source: HAConnection.ReadSocketService.processReadEvent of 4.9.7.
- It failed to fetch one of its master's tables, for any reason. Source: SlaveSynchronize of 4.9.7 and 5.5.0. Except a
  5.x slave of a 4.x master, which fails after it took the offsets over, because its master sends no data version, and
  5.0.0 and 5.1.0, which log the groups' words when they fail to fetch the timer's checkpoint (syncTimerCheckPoint).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

MAX_READ = 1 << 20
_REFUSED = re.compile(
    rb"slave\[/?([0-9.]+:[0-9]+)\] request offset=(-?[0-9]+) greater than local commitLog offset=(-?[0-9]+)"
)
_FAILED = re.compile(
    rb"^[0-9-]+ [0-9]{2}:([0-9]{2}):([0-9]{2})[,.]([0-9]{3}) [^\n]* "
    rb"Sync(TopicConfig|ConsumerOffset|DelayOffset|SubscriptionGroup) Exception"
    rb"(?![^\n]*\n[^\n]*\n\s+at \S*DataVersion\.assignNewOne\()"
    rb"(?![^\n]*\n(?:[^0-9\n][^\n]*\n){1,30}?\s+at \S*SlaveSynchronize\.syncTimerCheckPoint\()",
    re.MULTILINE,
)
_TABLES = {
    b"TopicConfig": "topics", b"ConsumerOffset": "offsets", b"DelayOffset": "delays", b"SubscriptionGroup": "groups",
}  # fmt: skip
QUARTER_MS = 15 * 60 * 1_000
"""Time zones differ by quarters of an hour, and 5.x uses its own: a line's time is known modulo a quarter."""


class Refusal(NamedTuple):
    peer: str
    """``ip:port`` of its connection, as the master sees it."""
    reported: int
    end: int


class Failure(NamedTuple):
    table: str
    at_ms: int
    """Time of its line, since the last quarter of an hour."""


class OutputFollower:
    """Reads a broker's growing output from now on. An incomplete line is kept until its end arrives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = path.stat().st_size if path.exists() else 0

    def poll(self) -> tuple[list[Refusal], list[Failure]]:
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(self._at)
                data = file.read(MAX_READ)
        except OSError:
            return [], []
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == MAX_READ:
            # No line of a broker is as long.
            whole = len(data)
        self._at += whole
        said = data[:whole]
        refusals = [Refusal(each[1].decode(), int(each[2]), int(each[3])) for each in _REFUSED.finditer(said)]
        return refusals, [_failure(each) for each in _FAILED.finditer(said)]


def _failure(line: re.Match[bytes]) -> Failure:
    minutes, seconds, ms = (int(line[number]) for number in (1, 2, 3))
    return Failure(_TABLES[line[4]], ((minutes * 60 + seconds) * 1_000 + ms) % QUARTER_MS)
