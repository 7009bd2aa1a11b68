"""What searches draw for Redis."""

from __future__ import annotations

from pairproof import Op
from pairproof.harness.system import System
from pairproof_redis.target import VALUES


class RedisSystem(System):
    """Settings; all else is as for any pair."""

    name = "redis"
    settings = (VALUES,)
    starts = ((), tuple(Op("write", {"client": 0, "copies": 1}) for _ in range(3)))


SYSTEM = RedisSystem()
