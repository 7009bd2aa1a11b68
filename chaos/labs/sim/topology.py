"""Which machines a simulated trial has, which links join them, and which address leads over which link from where.

A link belongs to whoever connects over it, so that a fault on ``meta`` touches no client. Brokers register addresses
that look real, and clients learn them from the name server; here they lead over each one's own links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.labs.sim.network import Link
from pairproof.chaos.targets.reference import HA_ADDRESS, NAME_SERVER, ReferenceTarget
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args

CLIENT, HOSTILE, IMPOSTOR = "client", "hostile", "impostor"
FAST_BELOW = 2
"""How far a broker's fast port is below its main one."""

Ways = dict[str, Link]
"""From an address, or a link's name, to the link."""


class Topology(NamedTuple):
    """A trial's machines and links."""

    pair: tuple[str, ...]
    """The pair's brokers, the master first."""
    brokers: tuple[str, ...]
    """And the master of another broker name, if there is one."""
    servers: tuple[str, ...]
    """The name server, if there is one."""
    hosts: dict[str, Host]
    clients: Ways
    """From where clients are, consumers too."""
    addresses: Mapping[str, str]
    """Which node an address belongs to."""


def build(
    target: ReferenceTarget, settings: Args, links: dict[str, Link], machine: Callable[[str, Mapping[str, Link]], Host]
) -> Topology:
    """Machines by ``machine`` (name, ways), and links into ``links``, for a trial with these settings."""
    latency_ns = int(settings.get("lab.latencyMicros", 500)) * 1_000
    pair = places.nodes(places.slaves(settings))
    brokers = (*pair, places.OTHER) if places.has_other(settings) else pair
    servers = (places.NAMES,) if places.has_names(settings) else ()
    ways: dict[str, Ways] = {name: {} for name in (*brokers, *servers, CLIENT, HOSTILE, IMPOSTOR)}
    hosts = {name: machine(name, its) for name, its in ways.items()}

    def join(name: str, near: str, far: str, port: str, address: str = "") -> None:
        link = links[name] = Link(name, hosts[far], port, latency_ns)
        ways[near][name] = link
        if address:
            ways[near][address] = link

    config = target.config(places.MASTER, settings)
    main, log = config.address, config.ha_address
    fast = f"{config.brokerIP1}:{config.listenPort - FAST_BELOW}"
    for number, slave in enumerate(pair[1:]):
        join(places.HA_LINKS[number], slave, places.MASTER, "ha", log)
        # Where a haMasterAddress leads: the master listens there, whatever brokerIP2 it registers.
        ways[slave][HA_ADDRESS] = links[places.HA_LINKS[number]]
        if servers:
            join(places.META_LINKS[number], slave, places.MASTER, "main", main)
            join(places.FAST_LINKS[number], slave, places.MASTER, "fast", fast)
    join(HOSTILE, HOSTILE, places.MASTER, "ha")
    for node in (*brokers, *servers):
        for port in ("main",) if node in servers else ("main", "fast"):
            # No fault touches these, so they have no names.
            ways[HOSTILE][f"{node}-{port}"] = Link(HOSTILE, hosts[node], port, latency_ns)
    addresses = {main: places.MASTER, log: places.MASTER, NAME_SERVER: places.NAMES}
    for broker in brokers:
        at = target.config(broker, settings).address
        addresses[at] = broker
        join(client_link(broker), CLIENT, broker, "main", at)
        for server in servers:
            join(f"names-{broker}", broker, server, "main", NAME_SERVER)
    for server in servers:
        join(places.NAMES_CLIENT, CLIENT, server, "main", NAME_SERVER)
    return Topology(pair, brokers, servers, hosts, ways[CLIENT], addresses)


def client_link(broker: str) -> str:
    """The link from clients to a broker, which they connect to by this name."""
    return f"client-{broker}"
