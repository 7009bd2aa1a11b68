"""The machines of a simulated trial, the links between them, and the link for each address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ...plan import CLIENT, Plan
from .host import Host
from .network import Link

ROGUE_SLAVE, ROGUE_MASTER = "rogue_slave", "rogue_master"
"""Machines outside the plan: rogue peers that reach every port of every node, and a rogue master in a node's place."""

Ways = dict[str, Link]


class Topology(NamedTuple):
    hosts: dict[str, Host]
    clients: Ways
    """As seen from clients."""
    addresses: Mapping[str, str]
    """By address: its node."""


def build(
    plan: Plan, latency_ns: int, links: dict[str, Link], machine: Callable[[str, Mapping[str, Link]], Host]
) -> Topology:
    """Machines by ``machine`` (name, ways), and links into ``links``."""
    ways: dict[str, Ways] = {
        name: {} for name in (*(each.name for each in plan.nodes), CLIENT, ROGUE_SLAVE, ROGUE_MASTER)
    }
    hosts = {name: machine(name, its) for name, its in ways.items()}
    addresses: dict[str, str] = {}
    for each in plan.links:
        link = links[each.name] = Link(each.name, hosts[each.far], each.port, latency_ns)
        for address in (each.name, *each.addresses):
            ways[each.near][address] = link
        addresses |= dict.fromkeys(each.addresses, each.far)
    for node in plan.nodes:
        for port in node.ports:
            # No fault affects these, so they have no names.
            ways[ROGUE_SLAVE][f"{node.name}-{port}"] = Link(ROGUE_SLAVE, hosts[node.name], port, latency_ns)
    return Topology(hosts, ways[CLIENT], addresses)
