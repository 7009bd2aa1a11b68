"""When the fault ends a broker is killed and starts again on its store as that was when the fault began.

The image is what a copy of a running broker's files holds: the page cache's view, and the trace of a broker that runs.
"""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.nodes import CanReplaceStore
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class OlderImage:
    """The fault ``older_image``."""

    name = "older_image"
    needs = CanReplaceStore
    arguments = {"node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:])}

    def start(self, session: CanReplaceStore, args: Args) -> Any:
        """Begin."""
        return session.take_image(str(args["node"]))

    def stop(self, session: CanReplaceStore, handle: Any) -> Effect:
        """End; what it did."""
        return session.restore_image(handle)


FAULT = OlderImage()
