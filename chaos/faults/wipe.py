"""A broker is killed and loses its whole store; it starts again, with nothing, when the fault ends."""

from ...harness.ports.nodes import CanReplaceStore
from ...harness.rocketmq import topology
from ...harness.trials.fault import DownFault

FAULT = DownFault(
    "wipe",
    CanReplaceStore,
    {"node": (*topology.SLAVES[:1], topology.MASTER, *topology.SLAVES[1:])},
    CanReplaceStore.wipe_store,
)
