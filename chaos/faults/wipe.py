"""A broker is killed and loses its whole store; it starts again, with nothing, when the fault ends."""

from pairproof.harness.ports.nodes import CanReplaceStore
from pairproof.harness.rocketmq import places
from pairproof.harness.trials.fault import DownFault

FAULT = DownFault(
    "wipe",
    CanReplaceStore,
    {"node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:])},
    CanReplaceStore.wipe_store,
)
