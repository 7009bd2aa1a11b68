"""The HA link leads to something that is no master: frames at the wrong offset (``misplaced``), or ``junk``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.rocketmq.ports import CanImpersonateMaster
from pairproof.harness.schedule import Args


class Impostor:
    """The fault ``impostor``."""

    name = "impostor"
    needs = CanImpersonateMaster
    arguments = {"character": ("misplaced", "junk")}

    def start(self, session: CanImpersonateMaster, args: Args) -> Any:
        """Begin."""
        return session.take_place(str(args["character"]))

    def stop(self, session: CanImpersonateMaster, handle: Any) -> Effect:
        """End; what it did."""
        return session.give_back(handle)


FAULT = Impostor()
