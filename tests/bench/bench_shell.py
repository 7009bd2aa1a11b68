"""How many waiting sends a second a real pair takes: two broker processes on loopback, one client, files on disk.

A send is answered when the slave holds it. Run as a program; prints figures and asserts nothing:
``python tests/bench/bench_shell.py``. Brokers and client share this machine's cores.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "reference" / "shell"))

from real_brokers import BrokerProcess, Caller, caller, free_port

FLUSHES = ("ASYNC_FLUSH", "SYNC_FLUSH")
IN_FLIGHT = (1, 64, 256)
SECONDS = 2.0
BODY = b"x" * 128


async def rate(call: Caller, address: str, in_flight: int) -> tuple[float, float]:
    """Sends a second, and the share of them that ended in PUT_OK."""
    ended = good = 0
    began = perf_counter()

    async def producer(number: int) -> None:
        nonlocal ended, good
        while perf_counter() - began < SECONDS:
            outcome = await call.send(address, BODY, number % 4)
            ended += 1
            good += outcome.status == "PUT_OK"

    await asyncio.gather(*map(producer, range(in_flight)))
    return ended / (perf_counter() - began), good / ended


async def measure(address: str, flush: str) -> None:
    async with caller() as call:
        await call.replicated(address)
        for in_flight in IN_FLIGHT:
            sends, good = await rate(call, address, in_flight)
            print(f"{flush:>11}, {in_flight:>3} in flight: {sends:>8,.0f} sends/s, {good:.1%} PUT_OK")


def main() -> None:
    """Print the figures."""
    for flush in FLUSHES:
        with tempfile.TemporaryDirectory() as folder:
            big = {"mappedFileSizeCommitLog": 64 * 1024 * 1024, "flushDiskType": flush}
            master = BrokerProcess(Path(folder) / "m", {"listenPort": free_port(), "brokerRole": "SYNC_MASTER", **big})
            copies = {"brokerRole": "SLAVE", "brokerId": 1, "haMasterAddress": f"127.0.0.1:{master.port + 1}"}
            slave = BrokerProcess(Path(folder) / "s", {"listenPort": free_port(), **copies, **big})
            try:
                master.start()
                slave.start()
                asyncio.run(measure(master.address, flush))
            finally:
                master.kill()
                slave.kill()


if __name__ == "__main__":
    main()
