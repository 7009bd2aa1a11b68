"""When the fault ends a broker is killed and restarts on a copy of its store from the fault's begin.

The image is a copy of a running broker's files: the page cache's view, with the trace of a running broker.
"""

from ...harness.ports.nodes import CanReplaceStore
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "older_image",
    CanReplaceStore,
    {"node": (*topology.SLAVES[:1], topology.MASTER, *topology.SLAVES[1:])},
    CanReplaceStore.take_image,
    CanReplaceStore.restore_image,
)
