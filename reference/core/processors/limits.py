"""What a client may name and number: the checks that several processors share.

RocketMQ takes most of these values as they come, and leaves the checks to its own clients and tools.
Source: TopicValidator, Validators.
"""

from __future__ import annotations

import re

from pairproof.reference.core import topics
from pairproof.reference.errors import CodecError

GROUP = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")


def check_topic(name: str) -> None:
    """CodecError for a topic that cannot be."""
    if not topics.NAME.fullmatch(name):
        raise CodecError(f"topic {name!r:.40}: 1 to 127 of the characters %|a-zA-Z0-9_- are allowed")


def check_group(name: str) -> None:
    """CodecError for a group that cannot be."""
    if not GROUP.fullmatch(name):
        raise CodecError(f"group {name!r:.40}: 1 to 255 of the characters %|a-zA-Z0-9_- are allowed")


def check_range(what: str, value: int, least: int, most: int) -> None:
    """CodecError for a number outside [least, most]."""
    if not least <= value <= most:
        raise CodecError(f"{what} is {value}: from {least} to {most} are allowed")
