"""RocketMQ's settings as a history's ``config`` events carry them, completed by the defaults of 4.9.

Left out: every setting that no law asks for; it stays in the event as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

DEFAULTS: Mapping[str, int] = {
    "mappedFileSizeCommitLog": 1_073_741_824,
    "haTransferBatchSize": 32_768,
    "haSendHeartbeatInterval": 5_000,
    "haHousekeepingInterval": 20_000,
    "haSlaveFallbehindMax": 268_435_456,
    "slaveTimeout": 3_000,
    "syncFlushTimeout": 5_000,
}
"""RocketMQ 4.9's values for settings that a history does not name: bytes, and milliseconds."""

Settings = Mapping[str, int | str]


@lru_cache(maxsize=256)
def parse(detail: str) -> Settings:
    """The settings of a ``config`` event's JSON text; numbers may be written as text, as properties files do.

    ValueError for text that is not a JSON object or a number that is none. Cached: the same few texts come back in
    thousands of trials.
    """
    said = json.loads(detail)
    if not isinstance(said, dict):
        raise ValueError(f"settings are a JSON object, not {detail[:40]!r}")
    return {**DEFAULTS, **said, **{key: int(said[key]) for key in DEFAULTS if key in said}}
