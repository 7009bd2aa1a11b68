"""Delay levels, and the tags code in the consume queue: the delivery time of a delayed message, else a hash.

A delayed message waits in SCHEDULE_TOPIC_XXXX, one queue per level, until its delivery time. Left out: delivery. A
level that is not a number means none (RocketMQ would stop dispatch for good); delivery times are bounded by a long.
Source: ScheduleMessageService.parseDelayLevel and computeDeliverTimestamp, CommitLog.checkMessageAndReturnSize.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from ..errors import ConfigError
from ..wire.properties import DELAY, tags_code

SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
DEFAULT_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

_MAX_LONG = (1 << 63) - 1
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LEVEL = re.compile(r"([0-9]{1,9})([smhd])")
_NUMBER = re.compile(r"[0-9]{1,9}")


@lru_cache(maxsize=16)
def parse_levels(text: str) -> tuple[int, ...]:
    """Delays in ms, level 1 first; ConfigError unless the text is numbers with s, m, h or d, separated by one space."""
    found = [_LEVEL.fullmatch(each) for each in text.split(" ")]
    if None in found:
        raise ConfigError(f"messageDelayLevel must be like '1s 5s 1m 2h 1d', not {text!r}")
    return tuple(int(each[1]) * _UNIT_MS[each[2]] for each in found if each)


DEFAULT_DELAYS_MS = parse_levels(DEFAULT_LEVELS)


def level_of(properties: Mapping[str, str], delays_ms: tuple[int, ...]) -> int:
    """The delay level that a message asks for, at most the highest one; 0 for none."""
    text = properties.get(DELAY, "")
    return min(int(text), len(delays_ms)) if _NUMBER.fullmatch(text) else 0


def queue_of_level(level: int) -> int:
    """The queue of SCHEDULE_TOPIC_XXXX for this level."""
    return level - 1


def queue_tags_code(topic: str, properties: Mapping[str, str], store_ms: int, delays_ms: tuple[int, ...]) -> int:
    """The tags code of an entry: the delivery time (ms) of a waiting message, else the hash of the tags."""
    if topic == SCHEDULE_TOPIC:
        level = level_of(properties, delays_ms)
        if level > 0:
            return min(store_ms + delays_ms[level - 1], _MAX_LONG)
    return tags_code(properties)
