"""The link is down: open connections close orderly (both peers see FIN), new ones are refused; toxiproxy's ``down``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanCutLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Down:
    """The fault ``down``."""

    name = "down"
    needs = CanCutLink
    arguments = {"link": places.LINKS}

    def start(self, session: CanCutLink, args: Args) -> Any:
        """Begin."""
        return session.cut_link(str(args["link"]))

    def stop(self, session: CanCutLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.mend_link(handle)


FAULT = Down()
