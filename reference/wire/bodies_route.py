"""Bodies of the name server: routes, clusters, and a broker's registration in both its forms.

Plain JSON goes through :mod:`pairproof.reference.wire.beans`. A compressed registration is a zlib stream of
length-prefixed parts, without a topic's system flag and order, as in Java. Left out: writing one. Source:
TopicRouteData, BrokerData, QueueData, ClusterInfo, RegisterBrokerBody, TopicConfig.encode, DefaultRequestProcessor.
"""

import zlib
from collections.abc import Mapping
from struct import Struct
from typing import NamedTuple

from ..errors import CodecError
from . import beans
from .bodies import DataVersion, TopicConfig, TopicConfigs
from .remoting import MAX_FRAME

STANDARD_JSON_VERSION = 401
"""First version of clients (4.9.4) that get quoted integer keys in a route."""

_INT = Struct(">i")


class BrokerData(NamedTuple):
    broker_name: str
    cluster: str
    broker_addrs: dict[int, str]
    """Broker id (0: the master) to ``host:port``."""


class QueueData(NamedTuple):
    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0


class TopicRouteData(NamedTuple):
    """GET_ROUTEINFO_BY_TOPIC (105)."""

    broker_datas: tuple[BrokerData, ...]
    queue_datas: tuple[QueueData, ...]
    filter_server_table: dict[str, tuple[str, ...]] = {}
    order_topic_conf: str | None = None


class ClusterInfo(NamedTuple):
    """GET_BROKER_CLUSTER_INFO (106)."""

    broker_addr_table: dict[str, BrokerData]
    cluster_addr_table: dict[str, tuple[str, ...]]


class RegisterBrokerBody(NamedTuple):
    """REGISTER_BROKER (103)."""

    topic_config_serialize_wrapper: TopicConfigs
    filter_server_list: tuple[str, ...] = ()


def encode_route(route: TopicRouteData, request_version: int, accept_standard_json_only: bool = False) -> bytes:
    """The route in the form for this client's version; new clients get quoted broker ids."""
    return beans.encode(route, standard=accept_standard_json_only or request_version >= STANDARD_JSON_VERSION)


def body_crc(body: bytes) -> int:
    """``bodyCrc32`` of a registration: over the bytes as sent."""
    return zlib.crc32(body) & 0x7FFFFFFF


def decode_registration(body: bytes, header: Mapping[str, int | bool | str]) -> RegisterBrokerBody:
    """The body of a REGISTER_BROKER with this decoded header.

    CodecError also for a body that does not match a CRC other than 0.
    """
    crc = header.get("bodyCrc32", 0)
    if crc and crc != body_crc(body):
        raise CodecError(f"crc32 not match: the header says {crc}, the body has {body_crc(body)}")
    if not header.get("compressed", False):
        return beans.decode(RegisterBrokerBody, body)
    parts = _Parts(_inflate(body))
    version = beans.decode(DataVersion, parts.take())
    topics = [_decode_topic(parts.take()) for _ in range(parts.number())]
    filters = beans.decode(tuple[str, ...], parts.take())
    if parts.left:
        raise CodecError(f"registration has {parts.left} bytes too many")
    table = {topic.topic_name: topic for topic in topics}
    return RegisterBrokerBody(TopicConfigs(table, version), filters)


class _Parts:
    """Splits a compressed registration into its length-prefixed parts."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def number(self) -> int:
        if self.left < _INT.size:
            raise CodecError(f"registration ends at {len(self._data)}, where a number should be")
        (number,) = _INT.unpack_from(self._data, self._at)
        if not 0 <= number <= self.left:
            raise CodecError(f"registration claims {number} at {self._at}, with {self.left} bytes left")
        self._at += _INT.size
        return int(number)

    def take(self) -> bytes:
        size = self.number()
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise CodecError(f"registration claims {size} bytes at {start}: it ends at {len(self._data)}")
        return self._data[start : self._at]


def _inflate(body: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(body, MAX_FRAME)
    except zlib.error as why:
        raise CodecError("registration is not a zlib stream") from why
    if not stream.eof or stream.unused_data:
        raise CodecError(f"registration is not a whole zlib stream of at most {MAX_FRAME} bytes")
    return data


def _decode_topic(line: bytes) -> TopicConfig:
    try:
        name, readers, writers, perm, filter_type = line.decode().split(" ")
        return TopicConfig(name, int(readers), int(writers), int(perm), filter_type)
    except ValueError as why:
        raise CodecError(f"registration has a topic that cannot be read: {line[:80]!r}") from why
