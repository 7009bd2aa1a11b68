"""A broker's process stands still, as under SIGSTOP, until the fault ends; its sockets and its disk live on."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.nodes import CanPause
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Pause:
    """The fault ``pause``."""

    name = "pause"
    needs = CanPause
    arguments = {"node": places.PROCESSES}

    def start(self, session: CanPause, args: Args) -> Any:
        """Begin."""
        return session.pause(str(args["node"]))

    def stop(self, session: CanPause, handle: Any) -> Effect:
        """End; what it did."""
        return session.resume(handle)


FAULT = Pause()
