"""Operations and script queries for Redis: clients that write with WAIT, and read.

A write appends its name to one list, so data have an order, and a node's whole data is one reply. Each call has its own
connection, because WAIT covers its connection's writes. The script queries nodes past the links, so that link faults do
not hide their progress.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as NoAnswer

from pairproof.chaos.driver import Driver
from pairproof.chaos.labs.real.world import World
from pairproof.chaos.plan import Address
from pairproof.harness.history import MS, digest
from pairproof_redis.server import LOG

CALL_S = 4.0
"""A call's timeout."""
WAIT_MS = 1_000
"""The timeout of WAIT."""
ASKED_EVERY_S, CLOSE_S = 0.1, 2.0
SURVIVES = {"always": "machine", "everysec": "stop", "no": "stop"}
"""The worst end of a node that its acknowledged writes survive, by appendfsync: everysec may lose a second in a
disaster (``redis-everysec``), no as much as the kernel decides.
"""
REPLICA_SURVIVES = "stop"
"""WAIT confirms that replicas have received a write. It guarantees nothing about their disks."""

Info = dict[str, Any]


class RedisDriver(Driver):
    """Clients of one trial, and a poll of its nodes every :data:`ASKED_EVERY_S`."""

    call_ns = int(CALL_S * 1_000) * MS

    def __init__(self, world: World) -> None:
        self.world = world
        self.survives = SURVIVES[str(world.settings["appendfsync"])]
        self.parts = (self,)
        self.clients = self
        self.phase_of: dict[int, str] = {}
        self.calls: set[asyncio.Task[None]] = set()
        self.info: dict[str, Info] = {}
        """By node: its latest INFO; absent without an answer."""
        self.ops, self.closed = 0, False
        self.asking = world.loop.create_task(self._poll_all())

    # Abilities for operations: see pairproof.harness.ports.clients, and rewrite.py.

    def write_one(self, client: int, copies: int) -> None:
        self._begin("write", "master", client, lambda op: self._write(op, client, copies), f"w{self.ops}")

    def read_all(self, client: int, node: str) -> None:
        self._begin("read", node, client, lambda op: self._read(op, client, node))

    def rewrite(self, node: str) -> None:
        self._begin("rewrite", node, 0, lambda op: self._rewrite(op, node))

    def _begin(
        self, f: str, node: str, client: int, act: Callable[[int], Coroutine[Any, Any, None]], name: str | None = None
    ) -> int:
        op, self.ops = self.ops, self.ops + 1
        self._add("invoke", node=node, process=client, op=op, f=f, message=name)
        task = self.world.loop.create_task(self._guarded(op, f, node, client, name, act))
        self.calls.add(task)
        task.add_done_callback(self.calls.discard)
        return op

    async def _guarded(
        self, op: int, f: str, node: str, client: int, name: str | None, act: Callable[[int], Awaitable[None]]
    ) -> None:
        """Record the result of a call that fails."""
        call = {"node": node, "process": client, "op": op, "f": f, "message": name}
        try:
            async with asyncio.timeout(CALL_S):
                await act(op)
        except ResponseError as why:
            # An error reply means that Redis did nothing.
            self._end("fail", call, str(why).partition(" ")[0], str(why))
        except NotThere:
            self._end("fail", call, "refused", None)
        except (TimeoutError, NoAnswer):
            self._end("info", call, "timeout", None)
        except (RedisError, OSError) as why:
            self._end("info", call, "disconnected", str(why))

    def _end(self, phase: str, call: Info, status: str, detail: str | None, **more: object) -> None:
        self.phase_of[call["op"]] = phase
        self._add(phase, **{**call, "status": status, "detail": detail, **more})

    async def _write(self, op: int, client: int, copies: int) -> None:
        name = f"w{op}"
        call = {"node": "master", "process": client, "op": op, "f": "write", "message": name}
        async with to(self.world.links.dials("client-master")) as connection:
            await connected(connection)
            await connection.rpush(LOG, name)
            # From here on the write is acknowledged, whatever the result of WAIT.
            held = await self._waited(connection, copies) if copies else 0
            self._end("ok", call, "OK", None, value=held)
        for node, survives in (("master", self.survives), ("slave", REPLICA_SURVIVES))[: 1 + min(held, 1)]:
            self._add("promise", node=node, process=client, op=op, message=name, status=survives)

    async def _waited(self, connection: Redis, copies: int) -> int:
        try:
            return int(await connection.wait(copies, WAIT_MS))
        except (RedisError, OSError):
            return 0

    async def _read(self, op: int, client: int, node: str) -> None:
        call = {"node": node, "process": client, "op": op, "f": "read"}
        async with to(self.world.links.dials(f"client-{node}")) as connection:
            await connected(connection)
            found = await self._all(connection)
        self._end("ok", call, "OK", None, value=len(found[1]))
        self._poll(op, node, "read", *found)

    async def _rewrite(self, op: int, node: str) -> None:
        call = {"node": node, "process": 0, "op": op, "f": "rewrite"}
        async with to(self.world.links.dials(f"client-{node}")) as connection:
            await connected(connection)
            await connection.bgrewriteaof()
        self._end("ok", call, "OK", None)

    # A node's data and its version, in one transaction.

    async def _all(self, connection: Redis) -> tuple[Info, list[str]]:
        async with connection.pipeline(transaction=True) as both:
            both.info("replication")
            both.lrange(LOG, 0, -1)
            info, found = await both.execute()
        return info, found

    def _poll(self, op: int, node: str, f: str, info: Info, found: list[str]) -> None:
        version = {"message": info["master_replid"], "value": offset(info)}
        self._add("version", node=node, digest=digest("\n".join(found).encode()), **version)
        for place, write in enumerate(found):
            self._add("held", node=node, op=op, message=write, queue_offset=place)
        self._add("scanned", node=node, op=op, f=f, status="source" if node == "master" else "copy")

    # Queries of the script, see pairproof.chaos.driver.

    def config(self, node: str) -> str:
        return json.dumps(dict(self.world.settings))

    def probe(self) -> int:
        return self._begin("write", "master", 0, lambda op: self._write(op, 0, 1), f"w{self.ops}")

    def answered(self) -> bool:
        return not self.calls

    def linked(self) -> bool:
        """Whether the replica follows, and has written its received file: before that it ignores SIGTERM."""
        info = self.info.get("slave", {})
        return info.get("master_link_status") == "up" and not info["aof_rewrite_in_progress"]

    def ends(self) -> set[int | None]:
        """Replication offsets, which are equal once the replica has everything; pings of the source advance them."""
        if not self.linked():
            return {None}
        return {offset(self.info[node]) if node in self.info else None for node in self.world.nodes}

    def audit(self, f: str, *nodes: str) -> None:
        op, self.ops = self.ops, self.ops + 1
        for node in nodes:
            self.world.run(self._audit(op, node, f))

    async def _audit(self, op: int, node: str, f: str) -> None:
        try:
            async with asyncio.timeout(CALL_S), to(self.world.links.address(node)) as connection:
                found = await self._all(connection)
        except (RedisError, OSError):
            return
        self._poll(op, node, f, *found)

    def close(self) -> None:
        self.closed = True
        tasks = (self.asking, *self.calls)
        for task in tasks:
            task.cancel()
        self.world.loop.run_until_complete(asyncio.wait(tasks, timeout=CLOSE_S))

    # Connections.

    async def _poll_all(self) -> None:
        """Poll every node repeatedly, past the links."""
        # The library may swallow that this task is cancelled.
        while not self.closed:
            for node in self.world.nodes:
                try:
                    async with asyncio.timeout(1), to(self.world.links.address(node)) as connection:
                        self.info[node] = await connection.info()
                except (RedisError, OSError):
                    self.info.pop(node, None)
            await asyncio.sleep(ASKED_EVERY_S)

    def _add(self, kind: str, **columns: object) -> None:
        self.world.recorder.add(self.world.now(), kind, **columns)


@asynccontextmanager
async def to(address: Address) -> AsyncIterator[Redis]:
    """A client with one connection, which is not open yet."""
    client = Redis(
        host=address.host, port=address.port, socket_timeout=CALL_S, socket_connect_timeout=CALL_S,
        retry=Retry(NoBackoff(), 0), decode_responses=True, single_connection_client=True,
    )  # fmt: skip
    try:
        yield client
    finally:
        await client.aclose()


class NotThere(RedisError):
    """The connection failed, so nothing can have happened."""


async def connected(connection: Redis) -> None:
    """Connect, or raise NotThere."""
    try:
        await connection.initialize()
    except (RedisError, OSError) as why:
        raise NotThere(str(why)) from why


def offset(info: Info) -> int:
    """A node's replication offset: for a replica, of its processed data."""
    return int(info["slave_repl_offset"] if info["role"] == "slave" else info["master_repl_offset"])
