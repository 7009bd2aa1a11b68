"""A broker's disk calls durable what it only caches, until the fault ends. It shows when the machine loses power."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.disks import CanLieAboutFlushes
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class LyingFlush:
    """The fault ``lying_flush``."""

    name = "lying_flush"
    needs = CanLieAboutFlushes
    arguments = {"node": places.NODES}

    def start(self, session: CanLieAboutFlushes, args: Args) -> Any:
        """Begin."""
        return session.lie_about_flushes(str(args["node"]))

    def stop(self, session: CanLieAboutFlushes, handle: Any) -> Effect:
        """End; what it did."""
        return session.flush_honestly(handle)


FAULT = LyingFlush()
