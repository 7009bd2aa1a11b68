"""Something that is no broker connects to the master's HA port: silent, over-claiming (reports far above
the log), two-faced (does so after an honest first report), sending junk, acknowledging (reports what it is sent and
stores nothing), log-end (its first report is the log's end, on one connection after the other), or a crowd of those."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.rocketmq.ports import CanImpersonate
from pairproof.harness.schedule import Args


class Hostile:
    """The fault ``hostile``."""

    name = "hostile"
    needs = CanImpersonate
    arguments = {"character": ("over-claiming", "two-faced", "silent", "junk", "acknowledging", "log-end", "crowd")}

    def start(self, session: CanImpersonate, args: Args) -> Any:
        """Begin."""
        return session.impersonate(str(args["character"]))

    def stop(self, session: CanImpersonate, handle: Any) -> Effect:
        """End; what it did."""
        return session.dismiss(handle)


FAULT = Hostile()
