"""The connections that are open now end with RST; what was on the way is lost. New ones are fine."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanCutLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Reset:
    """The fault ``reset``."""

    name = "reset"
    needs = CanCutLink
    arguments = {"link": places.LINKS}

    def start(self, session: CanCutLink, args: Args) -> Any:
        """Begin."""
        return session.reset_link(str(args["link"]))

    def stop(self, session: CanCutLink, handle: Any) -> Effect:
        """End; what it did."""
        effect: Effect = handle
        return effect


FAULT = Reset()
