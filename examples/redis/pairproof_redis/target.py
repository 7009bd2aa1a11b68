"""The target ``redis``: two nodes, the link between them, and the clients' links."""

from __future__ import annotations

from pairproof import Args, UsageError
from pairproof.chaos.labs.real.world import World
from pairproof.chaos.plan import CLIENT, Image, LinkPlan, NodePlan, Plan
from pairproof_redis.driver import RedisDriver
from pairproof_redis.server import RedisServer

DEFAULTS: Args = {"appendfsync": "everysec", "min-replicas-to-write": 0}
VALUES = {"appendfsync": ("everysec", "always", "no"), "min-replicas-to-write": (0, 1)}
IMAGE = Image(("redis-server",))


class Redis:
    """Debian's Redis 7.0."""

    name = "redis"
    system = "redis"
    abilities = (RedisDriver,)

    def settings(self, schedule: Args) -> Args:
        for key, value in schedule.items():
            if value not in VALUES.get(key, ()):
                known = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in VALUES.items())
                raise UsageError(f"redis has no setting {key}={value}; valid: {known}")
        return {**DEFAULTS, **schedule}

    def plan(self, settings: Args) -> Plan:
        nodes = (
            NodePlan("master", (RedisServer(False, settings), IMAGE)),
            NodePlan("slave", (RedisServer(True, settings), IMAGE)),
        )
        links = (
            LinkPlan("ha", "slave", "master"),
            LinkPlan("client-master", CLIENT, "master"),
            LinkPlan("client-slave", CLIENT, "slave"),
        )
        return Plan(nodes, links)

    def observes(self) -> frozenset[str]:
        """Event types that labs observe of any program, those of the driver, and the version of a node's data."""
        of_driver = "config invoke ok fail info promise held scanned version"
        of_labs = "lab fault mark stall pause resume start crash abort stop wipe"
        return frozenset(f"{of_driver} {of_labs}".split())

    def driver(self, world: World) -> RedisDriver:
        return RedisDriver(world)


TARGET = Redis()
