"""A node is stopped in an orderly way, and another program replaces it on the same store.

``image`` is the name of one of the target's programs or images, such as ``other``, or an image's full name. When the
fault ends the node's own program returns, also in an orderly way; ``upgrade`` leaves the other one there.
"""

from ...harness.ports import AnyText
from ...harness.ports.nodes import CanReplaceImage
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "replace",
    CanReplaceImage,
    {
        "node": (*topology.SLAVES[:1], topology.MASTER, *topology.SLAVES[1:], topology.NAMES, topology.OTHER),
        "image": (AnyText("other"),),
    },
    CanReplaceImage.replace_image,
    CanReplaceImage.restore_own_image,
)
