"""A node is stopped in an orderly way, and another program replaces it on the same store, permanently.

``image`` is as for ``replace``; ``own`` reverts to the node's own program.
"""

from ...harness.ports.nodes import CanReplaceImage
from ...harness.trials.fault import HeldFault
from . import replace

FAULT = HeldFault(
    "upgrade",
    CanReplaceImage,
    replace.FAULT.arguments,
    CanReplaceImage.replace_image,
    CanReplaceImage.keep_image,
)
