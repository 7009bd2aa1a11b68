"""The oldest files of a broker's log are deleted at once, as retention does; its end changes nothing."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.ports import CanExpire
from pairproof.harness.schedule import Args


class Retention:
    """The fault ``retention``."""

    name = "retention"
    needs = CanExpire
    arguments = {"node": places.NODES, "keep_files": (1,)}

    def start(self, session: CanExpire, args: Args) -> Any:
        """Begin."""
        return session.expire(str(args["node"]), int(args["keep_files"]))

    def stop(self, session: CanExpire, handle: Any) -> Effect:
        """End; what it did."""
        return dict(handle)


FAULT = Retention()
