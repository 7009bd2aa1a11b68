"""A node is stopped in an orderly way, and another program takes its place on the same store, and stays there.

``image`` is as for ``replace``; ``own`` is the way back.
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
