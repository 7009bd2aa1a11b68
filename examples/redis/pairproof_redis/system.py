"""The searches' settings for Redis."""

from __future__ import annotations

from pairproof import Op
from pairproof.harness.system import System
from pairproof_redis.target import VALUES

WRITES = tuple(Op("write", {"client": 0, "copies": 1}) for _ in range(3))


class RedisSystem(System):
    """Its settings; everything else is as for any pair."""

    name = "redis"
    settings = (VALUES,)
    # Real-time trials wait a second and a half at most, and everysec guarantees only data older than two seconds.
    starts = ((), WRITES, (*WRITES, Op("advance", {"ms": 1_500}), Op("advance", {"ms": 1_500})))


SYSTEM = RedisSystem()
