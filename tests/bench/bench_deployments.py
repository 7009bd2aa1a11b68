"""What slaves cost in throughput: a master alone, with an asynchronous slave, and with a synchronous one.

    .venv/bin/python tests/bench/bench_deployments.py [--seconds 1.5] [--turns 5] [--only java,ours]

Of each kind three masters are up, warmed up, and take turns, the first of them in turn; a turn ends when the slave, if
there is one, has everything. A row's figures are medians of the turns' ratios to the master alone, with the lowest and
highest in brackets. Claimed: masters without slaves have the highest throughput, asynchronous slaves cost hardly any of
it (claims C-17 and C-24).

The conditions are printed first. All processes share this machine's cores, which a slave needs some of: on machines of
their own slaves cost less. Asserts nothing; Java needs what tests/java needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from statistics import median

import turns
from bench_java import ASYNC, SEND_TO, SETTINGS, SYNC, Pair
from load_client import client
from processes import REFERENCE, Broker, Kind, NameServer

IN_FLIGHT = (1, 64)
BODIES = (100, 1_024)


class Alone:
    """An ASYNC_MASTER without a slave, and a connection to it."""

    def __init__(self, folder: Path, kind: Kind, stack: ExitStack) -> None:
        self.namesrv = NameServer(folder / "namesrv", REFERENCE)
        named = {"namesrvAddr": self.namesrv.address, **SETTINGS}
        self.master = Broker(folder / "master", kind, brokerRole=ASYNC, brokerId=0, **named)
        for each in (self.namesrv, self.master):
            stack.callback(each.kill)
            each.start()
        self.client = stack.enter_context(client(self.master.address))

    def catch_up(self) -> None:
        """There is no slave to wait for."""


def deployed(folder: Path, kind: Kind, stack: ExitStack) -> dict[str, Alone | Pair]:
    """The three of a kind, by name, joined."""
    found: dict[str, Alone | Pair] = {"alone": Alone(folder / f"{kind.name}-alone", kind, stack)}
    for name, role in (("async slave", ASYNC), ("sync slave", SYNC)):
        found[name] = pair = Pair(folder / f"{kind.name}-{role}", kind, role, stack)
        pair.join()
    return found


def rates(masters: dict[str, Alone | Pair], body: int, in_flight: int, seconds: float, first: int) -> dict[str, float]:
    """Messages a second of one turn of each."""
    names = list(masters)
    found = {}
    for name in names[first % len(names) :] + names[: first % len(names)]:
        turn = masters[name].client.send(body, SEND_TO, in_flight, seconds)
        masters[name].catch_up()
        found[name] = turn.messages / turn.elapsed_s
    return found


def main() -> None:
    """Print a Markdown table."""
    given = turns.arguments("What slaves cost in throughput.").parse_args()

    def rows(kind: Kind, folder: Path, stack: ExitStack) -> Iterator[tuple[str, ...]]:
        masters = deployed(folder, kind, stack)
        for body in BODIES:
            rates(masters, body, IN_FLIGHT[-1], given.seconds, 0)
        for body, in_flight in product(BODIES, IN_FLIGHT):
            found = [rates(masters, body, in_flight, given.seconds, first) for first in range(given.turns)]
            shares = [turns.told(each[name] / each["alone"] for each in found) for name in list(masters)[1:]]
            yield f"{body:,}", str(in_flight), f"{median(each['alone'] for each in found):,.0f}", *shares

    turns.print_table(given, ("bytes", "in flight", "alone, msg/s", "async slave", "sync slave"), rows)


if __name__ == "__main__":
    main()
