"""The observer: a container with the taps of all links, both ends of each, and a read-only view of all stores.

It writes its observations of HA connections to a trace, as nodes do, with the clock that all containers of a machine
share. It serves requests one at a time, a JSON line each; an answer is a JSON line, followed by as many bytes as it
states. All requests come from the harness: no one else is on a lab's network.

Started as ``python3 -m pairproof.chaos.labs.docker.observer HOST PORT``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from pathlib import Path
from typing import Any

from ....harness.errors import PairproofError
from ...plan import Address, LinkPlan, load
from ..real.addresses import LinkPorts
from ..real.stalls import LEAST_NS, NO_TURN, STEP_S
from ..real.stores import copy_files
from ..real.taps import Listener, Tap, forwarders
from ..real.trace import Trace

MAX_LINE = 1 << 20
DRAIN_S = 0.004
REACH_S = 5.0
LABEL = "ha"
COLUMNS = ("node", "incarnation", "link", "side")
"""An event's columns that its position determines."""


class TraceWriter:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.add: Callable[..., None] = self._add

    def now(self) -> int:
        return time.monotonic_ns()

    def _add(self, t: int, kind: str, *columns: object, **more: object) -> None:
        fields = {**dict(zip(COLUMNS, columns, strict=False)), **more}
        told = {key: value for key, value in fields.items() if value is not None}
        self.trace.write(json.dumps([t, "seen", kind, told], separators=(",", ":")))

    def note(self, kind: str, *columns: object) -> None:
        self.trace.note(kind, *columns)


class Observer:
    def __init__(self) -> None:
        self.taps: dict[str, Tap] = {}
        self.listener: Listener | None = None
        self.trace: Trace | None = None
        self.wrong = ""
        """The first failure that no caller could raise."""

    def went_wrong(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        why = context.get("exception")
        self.wrong = self.wrong or (f"{type(why).__name__}: {why}" if why is not None else str(context["message"]))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                answer, data = await self.answer(line)
                writer.write(json.dumps({**answer, "bytes": len(data)}).encode() + b"\n" + data)
                await writer.drain()
        except (OSError, ValueError):
            # ValueError: a line that is too long.
            pass
        finally:
            writer.close()

    async def answer(self, line: bytes) -> tuple[dict[str, Any], bytes]:
        try:
            request = json.loads(line)
            done: Any = getattr(self, f"do_{request.pop('do')}")(**request)
            if isawaitable(done):
                done = await done
            return done or ({}, b"")
        except (PairproofError, OSError, KeyError, TypeError, ValueError, AttributeError) as why:
            return {"why": f"{type(why).__name__}: {why}"}, b""

    async def watch_itself(self) -> None:
        """Report each time at which its loop was late: late taps delay others."""
        while True:
            before = time.monotonic_ns()
            await asyncio.sleep(STEP_S)
            late = time.monotonic_ns() - before
            if late >= LEAST_NS + STEP_S * 1e9 and self.trace is not None:
                TraceWriter(self.trace).add(before, "stall", f="tap", value=late, detail=NO_TURN)

    # Requests.

    async def do_reach(self, host: str, port: int) -> None:
        """Check that another container can be reached; an error otherwise."""
        async with asyncio.timeout(REACH_S):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()

    def do_begin(self, trace: str, stores: Mapping[str, str], listener: str, notes: Mapping[str, Any]) -> None:
        """Start a trial, discarding the last one. ``listener``, ``notes``: see :class:`pairproof.chaos.plan.Plan`."""
        for tap in self.taps.values():
            tap.stop()
        self.taps.clear()
        if self.trace is not None:
            self.trace.close()
        self.wrong = ""
        self.trace = Trace(Path(trace))
        paths = {node: Path(path) for node, path in stores.items()}
        self.listener = load(listener)(TraceWriter(self.trace), paths, LABEL, notes) if listener else None

    def do_start(
        self, link: list[Any], way: list[tuple[str, int]], to: tuple[str, int], replaced: Mapping[str, str]
    ) -> Awaitable[None]:
        plan = LinkPlan(*link)
        near, proxy, far = (Address(*each) for each in way)
        tap = self.taps[plan.name] = Tap(
            LinkPorts(near, proxy, far), Address(*to), forwarders(plan, self.listener, replaced), plan.buffer
        )
        return tap.start()

    def do_lead(self, name: str, to: tuple[str, int], is_rogue_master: bool) -> None:
        self.taps[name].lead(Address(*to), is_rogue_master)

    async def do_tap(self, name: str, value: str, given: list[Any]) -> tuple[dict[str, Any], bytes]:
        """A value of a link's tap, or the result of its method."""
        found = getattr(self.taps[name], value)
        result = found(*given) if callable(found) else found
        return {"result": await result if isawaitable(result) else result}, b""

    async def do_drain(self) -> tuple[dict[str, Any], bytes]:
        """Receive all bytes sent so far; returns the first failure, if any."""
        await asyncio.sleep(DRAIN_S)
        return {"wrong": self.wrong}, b""

    def do_check(self) -> tuple[dict[str, Any], bytes]:
        return {"wrong": self.wrong}, b""

    def do_read(self, store: str, prefixes: list[str]) -> tuple[dict[str, Any], bytes]:
        found = copy_files(Path(store), prefixes)
        return {"files": [(name, len(data)) for name, data in found.items()]}, b"".join(found.values())


async def main(host: str, port: int) -> None:
    """Serve until killed."""
    observer = Observer()
    asyncio.get_running_loop().set_exception_handler(observer.went_wrong)
    watching = asyncio.create_task(observer.watch_itself())
    server = await asyncio.start_server(observer.serve, host, port, limit=MAX_LINE)
    await asyncio.gather(server.serve_forever(), watching)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
