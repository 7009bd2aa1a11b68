"""The nodes and links of a RocketMQ trial, independent of the nodes' forms.

A link belongs to the node that connects over it, so a fault on ``meta`` affects no client. Brokers register addresses
that look real, and clients get them from the name server: in simulated labs, each client reaches them over its own
links.
"""

from __future__ import annotations

from collections.abc import Callable

from ...harness.ports.timing import POINTS
from ...harness.rocketmq import moments, topology
from ...harness.trials.schedule import Args
from ...reference.core.config import BrokerConfig
from ..plan import CLIENT, OTHER, LinkPlan, NodePlan, Plan
from . import provision

NAME_SERVER, NOBODY = "127.0.0.1:9876", "127.0.0.1:9875"
"""With ``lab.nameServer``: the name server's address for brokers and clients, and the address of one that never
runs.
"""
HA_ABOVE = 3
"""Where the lab's brokers listen for slaves if haListenPort is set, counted from listenPort."""
OTHER_NAME = "broker-b"
FAST_BELOW = 2
LISTENER = "pairproof.chaos.rocketmq.ha_listener:HaListener"

Config = Callable[[str], BrokerConfig]
Forms = Callable[[str], tuple[object, ...]]


def plan(settings: Args, config: Config, forms: Forms, other: Forms = lambda node: ()) -> Plan:
    """The plan of a trial; ``config`` and ``forms`` return a node's by its name, ``other`` the forms of its replacement
    program.
    """
    has_names = topology.has_names(settings)
    # A slave with a name server fetches all from its master.
    nodes = [
        NodePlan(
            name, forms(name), _ports(config(name)),
            fresh={} if has_names and name in topology.SLAVES else provision.FILES,
            others={OTHER: found} if (found := other(name)) else {}, stage=2 if name in topology.SLAVES else 1,
            waits=name == topology.OTHER and topology.has_second_master(settings),
        )
        for name in brokers(settings)
    ]  # fmt: skip
    if has_names:
        # The name server first, so that brokers find it when they register.
        nodes.insert(0, NodePlan(topology.NAMES, forms(topology.NAMES), has_store=False))
    pair = topology.nodes(topology.slaves(settings))
    sizes = {name: config(name).mappedFileSizeCommitLog for name in brokers(settings)}
    links = (*_pair_links(settings, config), *_client_links(settings, config))
    return Plan(tuple(nodes), links, pair, LISTENER, {"sizes": sizes}, (*POINTS, *moments.POINTS))


def _ports(config: BrokerConfig) -> dict[str, int]:
    return {"main": 0, "fast": -FAST_BELOW, "ha": config.ha_port - config.listenPort}


def brokers(settings: Args) -> tuple[str, ...]:
    """A trial's brokers, the master first."""
    pair = topology.nodes(topology.slaves(settings))
    return (*pair, topology.OTHER) if topology.has_other(settings) else pair


def name_servers(settings: Args) -> tuple[str, ...]:
    """The addresses for brokers and clients of a simulated trial, in their order; of two, one is absent."""
    absent = int(settings.get("lab.absentNameServers", 0))
    both = {0: (NAME_SERVER,), 1: (NOBODY, NAME_SERVER), 2: (NAME_SERVER, NOBODY)}[absent]
    return both if topology.has_names(settings) else ()


def _pair_links(settings: Args, config: Config) -> list[LinkPlan]:
    pair = topology.nodes(topology.slaves(settings))
    master, buffer = config(topology.MASTER), int(settings["lab.bufferBytes"])
    fast = f"{master.brokerIP1}:{master.listenPort - FAST_BELOW}"
    found = []
    for ha, meta, quick, slave in zip(
        topology.HA_LINKS, topology.META_LINKS, topology.FAST_LINKS, pair[1:], strict=False
    ):
        # A user sets haMasterAddress where the registered address is out of the slave's reach.
        addresses = (config(slave).haMasterAddress or master.ha_address,)
        found.append(LinkPlan(ha, slave, topology.MASTER, "ha", addresses, is_overheard=True, buffer=buffer))
        if topology.has_names(settings):
            # A slave expects its master's fast port below the main one.
            found.append(LinkPlan(meta, slave, topology.MASTER, addresses=(master.address,), is_overheard=True))
            beside = (meta, -FAST_BELOW)
            found.append(LinkPlan(quick, slave, topology.MASTER, "fast", (fast,), is_overheard=True, beside=beside))
    return found


def _client_links(settings: Args, config: Config) -> list[LinkPlan]:
    master = config(topology.MASTER)
    found = [
        LinkPlan(f"client-{broker}", CLIENT, broker, addresses=(config(broker).address,))
        for broker in brokers(settings)
    ]
    if topology.has_names(settings):
        leads = {CLIENT: {each.name: "" for each in found}}
        for slave, meta, ha in zip(topology.SLAVES, topology.META_LINKS, topology.HA_LINKS, strict=True):
            leads[slave] = {meta: "", ha: "" if master.brokerIP2 == master.brokerIP1 else master.brokerIP2}
        for asker in (*brokers(settings), CLIENT):
            link = topology.NAMES_CLIENT if asker == CLIENT else f"names-{asker}"
            found.append(
                LinkPlan(
                    link, asker, topology.NAMES, addresses=(NAME_SERVER,), is_overheard=True,
                    leads=leads.get(asker, {}),
                )
            )  # fmt: skip
    return found
