"""What it costs a waiting sender that a slave is sent flushed bytes only: latencies in the simulation's own time.

    .venv/bin/python tests/bench/bench_push_modes.py [sends]

A SYNC_MASTER and one slave; 0.5 ms a way on every link, 0.8 ms a flush (the lab's defaults). Virtual time, so the
figures are the protocol's and the same on every machine. Each ratio is against ``written`` with the same flush type
and number in flight. What it buys, ``tests/chaos/test_push_modes.py`` shows.
"""

from __future__ import annotations

import sys
from itertools import product
from statistics import quantiles

from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Args

MS = 1_000_000
IN_FLIGHT = (1, 16, 64)


def latencies(settings: Args, in_flight: int, sends: int) -> list[float]:
    """Latencies of ``sends`` waiting sends, ms, always ``in_flight`` of them at once."""
    target = resolve.target("reference")
    complete = target.settings({"mappedFileSizeCommitLog": 1 << 20, "haTransferBatchSize": 32_768, **settings})
    session = resolve.lab("sim").open(target, complete, "bench")
    session.warm_up()
    first = len(session.recorder.events)
    begun: dict[int | None, int] = {}
    took: list[float] = []
    seen = first
    started = 0
    while len(took) < sends:
        while started < sends and started - len(took) < in_flight:
            session.driver.clients.send(started % in_flight, 200, True, 0)
            started += 1
        session.step(1, 10_000)  # type: ignore[attr-defined]
        events = session.recorder.events
        for event in events[seen:]:
            if event.kind == "invoke":
                begun[event.op] = event.t
            elif event.kind == "ok":
                assert event.status == "PUT_OK", event
                took.append((event.t - begun[event.op]) / MS)
        seen = len(events)
    session.close()
    return took


def main() -> None:
    """Print the table."""
    sends = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"{'flush':12} {'in flight':>9} {'pushes':8} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>6}")
    for flush, in_flight in product(("ASYNC_FLUSH", "SYNC_FLUSH"), IN_FLIGHT):
        base = 0.0
        for pushes in ("written", "flushed"):
            took = latencies({"flushDiskType": flush, "haPushes": pushes}, in_flight, sends)
            cuts = quantiles(took, n=100)
            base = base or cuts[49]
            p50, p99 = cuts[49], cuts[98]
            print(f"{flush:12} {in_flight:9} {pushes:8} {p50:8.2f} {p99:8.2f} {p50 / base:6.2f}")


if __name__ == "__main__":
    main()
