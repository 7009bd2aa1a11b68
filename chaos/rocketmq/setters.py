"""The settings of a RocketMQ, read from its jars: all for which BrokerStartup finds a setter.

A properties file's key ``haMaxGapNotInSync`` is set if one of the classes below has ``setHaMaxGapNotInSync`` with one
parameter of a type that MixAll.properties2Object reads. RocketMQ silently ignores other keys, and values that it cannot
read. Source: the class files' own tables of methods (JVM specification, chapter 4).
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from struct import unpack_from

from ...harness.errors import LabError

CLASSES = ("BrokerConfig", "BrokerIdentity", "MessageStoreConfig", "NettyServerConfig", "NettyClientConfig")
"""Without their packages, which differ between versions."""
TYPES: Mapping[str, type] = {
    "(I)V": int, "(J)V": int, "(Z)V": bool, "(D)V": float, "(F)V": float, "(Ljava/lang/String;)V": str,
}  # fmt: skip
"""A setter's parameter types, as properties2Object reads them."""
JARS_OF_CONFIGS = ("common", "store", "remoting", "broker")
CONSTANT_BYTES = {
    3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2,
}  # fmt: skip
"""Size of a constant behind its tag, by tag; text (1) has its own length."""
TEXT, TWO_PLACES = 1, (5, 6)


@cache
def known(jars: Path) -> Mapping[str, type]:
    """Its settings and their types. LabError if these are not RocketMQ's jars."""
    found: dict[str, type] = {}
    for part in JARS_OF_CONFIGS:
        for jar in jars.glob(f"rocketmq-{part}-[0-9]*.jar"):
            with zipfile.ZipFile(jar) as classes:
                for name in classes.namelist():
                    if name.endswith(tuple(f"/{each}.class" for each in CLASSES)):
                        found |= of_class(classes.read(name))
    if "brokerName" not in found:
        raise LabError(f"no settings of a RocketMQ broker in the jars of {jars}: is that an unpacked distribution?")
    return found


def of_class(data: bytes) -> dict[str, type]:
    """The settings of one class file."""
    texts: dict[int, str] = {}
    (count,), at, number = unpack_from(">H", data, 8), 10, 1
    while number < count:
        tag, at = data[at], at + 1
        if tag == TEXT:
            (size,) = unpack_from(">H", data, at)
            texts[number] = data[at + 2 : at + 2 + size].decode("utf-8", "replace")
            at += 2 + size
        else:
            at += CONSTANT_BYTES[tag]
        number += 2 if tag in TWO_PLACES else 1
    # Behind the pool: its access, itself, its parent, and the interfaces.
    at += 8 + 2 * unpack_from(">H", data, at + 6)[0]
    _, at = _members(data, at)
    methods, _ = _members(data, at)
    setters = [(texts[name], TYPES.get(texts[kind])) for name, kind in methods]
    return {name[3].lower() + name[4:]: kind for name, kind in setters if kind and name[:3] == "set" and name[3:]}


def _members(data: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
    """For fields or methods: positions of their names and types, and the end of the table."""
    found: list[tuple[int, int]] = []
    (count,), at = unpack_from(">H", data, at), at + 2
    for _ in range(count):
        _, name, kind, attributes = unpack_from(">4H", data, at)
        found.append((name, kind))
        at += 8
        for _ in range(attributes):
            at += 6 + unpack_from(">I", data, at + 2)[0]
    return found, at
