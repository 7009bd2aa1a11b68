"""When the fault ends a broker is killed and starts again on its store as that was when the fault began.

The image is what a copy of a running broker's files holds: the page cache's view, and the trace of a broker that runs.
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
