"""The links of a process trial: each with its proxy and the taps at both ends of that.

A link's proxy listens only while its server does, so that whoever connects to a dead one is refused, as without a
proxy; toxiproxy would accept, and hang up.
"""

from __future__ import annotations

from collections.abc import Callable

from pairproof.chaos.labs.process.bench import FAST_BELOW, HA_ABOVE, HOST, Bench, LinkPorts
from pairproof.chaos.labs.process.evidence import Evidence
from pairproof.chaos.labs.process.ha_passage import HaPassage
from pairproof.chaos.labs.process.taps import Tap
from pairproof.chaos.labs.process.wires import Passage
from pairproof.harness import places

CLIENT = "client"


class Link:
    """One link of one trial. ``client``, ``server``: whose it is."""

    def __init__(self, name: str, client: str, server: str, ports: LinkPorts, tap: Tap) -> None:
        self.name = name
        self.client = client
        self.server = server
        self.ports = ports
        self.tap = tap
        self.cuts: list[object] = []
        self.is_open = False
        self.impostor: int | None = None
        """The port of whoever has taken the master's place."""

    @property
    def address(self) -> str:
        """Where its client connects."""
        return f"{HOST}:{self.ports.near}"


class Links:
    """All links of a trial with these brokers.

    ``names``: whether it has a name server. ``buffer``: bytes of the buffers of the sockets of HA links.
    """

    def __init__(
        self, bench: Bench, evidence: Evidence, pair: tuple[str, ...], other: bool, names: bool, buffer: int
    ) -> None:
        self.bench = bench
        self.buffer = buffer
        self.evidence = evidence
        self.by_name: dict[str, Link] = {}
        brokers = (*pair, places.OTHER) if other else pair
        for number, slave in enumerate(pair[1:]):
            self._join(places.HA_LINKS[number], slave, places.MASTER, bench.broker(places.MASTER) + HA_ABOVE)
            if names:
                main = bench.broker(places.MASTER)
                self._join(places.META_LINKS[number], slave, places.MASTER, main)
                self._join(places.FAST_LINKS[number], slave, places.MASTER, main - FAST_BELOW)
        for broker in brokers:
            self._join(f"client-{broker}", CLIENT, broker, bench.broker(broker))
            if names:
                self._join(f"names-{broker}", broker, places.NAMES, bench.asker(broker))
        if names:
            self._join(places.NAMES_CLIENT, CLIENT, places.NAMES, bench.asker(CLIENT))

    def _join(self, name: str, client: str, server: str, to: int) -> None:
        ports = self.bench.link(name)

        def leads_to(passage: Passage) -> int:
            taken = self.by_name[name].impostor
            if isinstance(passage, HaPassage):
                passage.tapped = taken is None
            return to if taken is None else taken

        make: Callable[[], Passage] = Passage
        buffer = 0
        if name in places.HA_LINKS:
            make = lambda: HaPassage(client, self.evidence)  # noqa: E731 - it has a type
            buffer = self.buffer
        tap = Tap(ports.near, ports.proxy, ports.far, leads_to, make, buffer)
        self.by_name[name] = Link(name, client, server, ports, tap)
        self.evidence.addresses[f"{HOST}:{ports.near}"] = server

    async def start(self) -> None:
        """The taps listen for their proxies."""
        for link in self.by_name.values():
            await link.tap.start()

    async def refresh(self, up: frozenset[str]) -> None:
        """Open the links whose server is up and that nothing cuts; shut the others."""
        for link in self.by_name.values():
            wanted = not link.cuts and (link.server in up or link.impostor is not None)
            was, link.is_open = link.is_open, wanted
            if wanted and not was:
                self.bench.proxies.enable(link.name)
                # Another refresh may come in between, and finds it open.
                await link.tap.open()
            elif was and not wanted:
                link.tap.shut()
                self.bench.proxies.disable(link.name)

    def stop(self) -> None:
        """End every connection."""
        for link in self.by_name.values():
            link.tap.stop()
