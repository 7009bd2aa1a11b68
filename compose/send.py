"""Sends messages to the containers' pair from outside, and reports each result: ``send.py [--count N]``.

A line for each send: its result (PUT_OK, FLUSH_SLAVE_TIMEOUT, ...), its time, and the number of messages of its queue
at master and slave, ``-`` without an answer. Until Ctrl-C or ``--count``. All traffic goes through toxiproxy.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from pairproof.reference.client import admin
from pairproof.reference.client.client import Client
from pairproof.reference.shell.disk import RealDisk
from pairproof.reference.shell.log import Log
from pairproof.reference.shell.shell import Limits, Shell
from pairproof.reference.wire.bodies_client import MessageQueue
from pairproof.reference.wire.bodies_route import ClusterInfo

TOPIC = "play"
QUEUES = 4
BROKER_NAME = "pair"
MASTER_ID, SLAVE_ID = 0, 1
ANSWER_S = 6.0
"""Longer than a master waits for its slave, 3 s."""


async def ask(function: Callable[..., None], *arguments: Any) -> tuple[str, Any]:
    """A call's result and its answer; ``no answer`` at the time limit."""
    ended: asyncio.Future[tuple[str, Any]] = asyncio.get_running_loop().create_future()

    def done(outcome: Any, value: Any = None) -> None:
        if not ended.done():
            ended.set_result((outcome.status, value))

    function(*arguments, done)
    try:
        return await asyncio.wait_for(ended, ANSWER_S)
    except TimeoutError:
        return "no answer", None


async def addresses(client: Client, names: str) -> dict[int, str]:
    """The brokers' addresses by broker id, from the name server; empty without an answer."""
    _, cluster = await ask(admin.table, client.calls, names, ClusterInfo)
    data = cluster.broker_addr_table.get(BROKER_NAME) if cluster is not None else None
    return dict(data.broker_addrs) if data is not None else {}


async def holds(client: Client, address: str | None, queue: MessageQueue) -> str:
    """A broker's number of messages in a queue."""
    found = (await ask(admin.max_offset, client.calls, address, queue))[1] if address else None
    return "-" if found is None else str(found)


@contextmanager
def connected() -> Iterator[Client]:
    """A client on real sockets."""
    shell = Shell(RealDisk(Path("/nonexistent")), Log(fd=-1), Limits(anywhere=True))
    client = Client(shell)
    shell.start(client)
    try:
        yield client
    finally:
        shell.stop()


async def play(names: str, every_s: float, most: int | None) -> None:
    """Send, and print the results."""
    with connected() as client:
        for number in count() if most is None else range(most):
            at = await addresses(client, names)
            queue = MessageQueue(TOPIC, BROKER_NAME, number % QUEUES)
            began = time.monotonic()
            status = "no master is known"
            if MASTER_ID in at:
                body = f"message {number}".encode()
                status, _ = await ask(client.send, at[MASTER_ID], TOPIC, queue.queue_id, body, "")
            took_ms = (time.monotonic() - began) * 1_000
            master, slave = [await holds(client, at.get(broker_id), queue) for broker_id in (MASTER_ID, SLAVE_ID)]
            print(
                f"{time.strftime('%H:%M:%S')}  {status:<20} {took_ms:6.0f} ms   queue {queue.queue_id}: "
                f"master has {master}, slave {slave}",
                flush=True,
            )
            await asyncio.sleep(every_s)


def main() -> None:
    """Read the arguments and play."""
    parser = argparse.ArgumentParser(description="Send messages to the pair in containers, and report each result.")
    parser.add_argument("--names", default="127.0.0.1:9876", help="published address of the name server's proxy")
    parser.add_argument("--every", type=float, default=1.0, metavar="S", help="seconds between two sends")
    parser.add_argument("--count", type=int, help="number of messages; default: until Ctrl-C")
    given = parser.parse_args()
    try:
        asyncio.run(play(given.names, given.every, given.count))
    except KeyboardInterrupt:
        print("stopped")


if __name__ == "__main__":
    main()
