"""The body of REGISTER_BROKER in both forms. The reference writes only the plain one."""

from __future__ import annotations

import zlib
from struct import Struct

from pairproof.reference.wire import beans, fastjson
from pairproof.reference.wire.bodies_route import RegisterBrokerBody

_INT = Struct(">i")


def encode_registration(registration: RegisterBrokerBody, compressed: bool = False) -> bytes:
    if not compressed:
        return beans.encode(registration)
    (topics, version), filters = registration
    lines = [" ".join(map(str, topic[:5])).encode() for topic in topics.values()]
    parts = [sized(beans.encode(version)), _INT.pack(len(lines)), *map(sized, lines)]
    return zlib.compress(b"".join([*parts, sized(fastjson.dumps(filters))]), zlib.Z_BEST_COMPRESSION)


def sized(part: bytes) -> bytes:
    return _INT.pack(len(part)) + part
