"""A message's properties: their text form in the record, and the tags code.

``name \\x01 value`` pairs joined by ``\\x02``. RocketMQ up to 4.9.0 and from 5.2.0 on also writes a final ``\\x02``;
4.9.1 to 5.1 do not, and neither do we; both are read. Source: MessageDecoder.messageProperties2String and
string2messageProperties, MessageExtBrokerInner.tagsString2tagsCode.
"""

from collections.abc import Mapping
from functools import lru_cache

from ..errors import CodecError

NAME_VALUE = "\x01"
BETWEEN = "\x02"
TAGS = "TAGS"
DELAY = "DELAY"
_RESERVED = frozenset("\x01\x02")


def properties_of(raw: bytes) -> dict[str, str]:
    """Names and values in stored order.

    Never fails: entries without a name, a value or a separator are omitted and bytes that are not UTF-8 become U+FFFD,
    as in Java.
    """
    found = {}
    for entry in raw.decode("utf-8", "replace").split(BETWEEN):
        name, separator, value = entry.partition(NAME_VALUE)
        if name and separator and value:
            found[name] = value
    return found


def properties_to(properties: Mapping[str, str]) -> bytes:
    """The stored text, without a trailing separator; CodecError for a name or value that holds a separator."""
    for name, value in properties.items():
        if not _RESERVED.isdisjoint(name) or not _RESERVED.isdisjoint(value):
            raise CodecError(f"property {name!r} holds one of the characters 1 and 2, which separate properties")
    try:
        return BETWEEN.join(f"{name}{NAME_VALUE}{value}" for name, value in properties.items()).encode()
    except UnicodeEncodeError as why:
        raise CodecError("properties cannot be written as UTF-8") from why


@lru_cache(maxsize=1024)
def java_hash(text: str) -> int:
    """Java's ``String.hashCode``: over UTF-16 units, a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def tags_code(properties: Mapping[str, str]) -> int:
    """The filter value in the consume queue: the hash of TAGS, 0 without tags."""
    tags = properties.get(TAGS)
    return java_hash(tags) if tags else 0
