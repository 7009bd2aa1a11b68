"""A node is stopped in an orderly way, and one of another image takes its place on the same store, as in an upgrade.

``image`` is a name from the target's list, such as ``other``, or an image's full name. When the fault ends the node's
own image takes its place again, also in an orderly way.
"""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import AnyText, Effect
from pairproof.harness.ports.nodes import CanReplaceImage
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Replace:
    """The fault ``replace``."""

    name = "replace"
    needs = CanReplaceImage
    arguments = {
        "node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:], places.NAMES, places.OTHER),
        "image": (AnyText("other"),),
    }

    def start(self, session: CanReplaceImage, args: Args) -> Any:
        """Begin."""
        return session.replace_image(str(args["node"]), str(args["image"]))

    def stop(self, session: CanReplaceImage, handle: Any) -> Effect:
        """End; what it did."""
        return session.restore_own_image(handle)


FAULT = Replace()
