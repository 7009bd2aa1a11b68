"""Checks of names and numbers that several processors share.

RocketMQ accepts most of these values unchecked, and leaves the checks to its clients and tools. Source: TopicValidator,
Validators.
"""

from ...errors import CodecError
from ...wire.headers import RequestCode
from ...wire.remoting import Command
from .. import subscription_groups, topics

MAX_BODY = 1024 * 1024
"""Bytes of a request's body, except for messages and registrations, which may fill a frame."""
LARGE_BODIES = frozenset(
    [
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.REGISTER_BROKER,
    ]
)
MAX_TEXT = 512


def check_body(command: Command) -> None:
    """CodecError for a body beyond the limit."""
    if len(command.body) > MAX_BODY and command.code not in LARGE_BODIES:
        raise CodecError(f"body of {len(command.body)} bytes: at most {MAX_BODY} are allowed for code {command.code}")


def check_texts(*texts: str) -> None:
    """CodecError for a text beyond the limit."""
    for text in texts:
        if len(text) > MAX_TEXT:
            raise CodecError(f"{text:.40}... has {len(text)} characters: at most {MAX_TEXT} are allowed")


def check_topic(name: str) -> None:
    """CodecError for an illegal topic name."""
    if not topics.NAME.fullmatch(name):
        raise CodecError(f"topic {name!r:.40}: 1 to 127 of the characters %|a-zA-Z0-9_- are allowed")


def check_group(name: str) -> None:
    """CodecError for an illegal group name."""
    if not subscription_groups.NAME.fullmatch(name):
        raise CodecError(f"group {name!r:.40}: 1 to 255 of the characters %|a-zA-Z0-9_- are allowed")


def check_range(what: str, value: int, least: int, most: int) -> None:
    """CodecError for a number outside [least, most]."""
    if not least <= value <= most:
        raise CodecError(f"{what} is {value}: from {least} to {most} are allowed")
