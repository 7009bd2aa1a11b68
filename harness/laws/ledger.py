"""What a history has said so far, kept once for all laws: settings, log ends, connections, crashes, rollbacks.

The judge tells the ledger of an event after the laws have seen it, so laws read the state *before* the event.
"""

from __future__ import annotations

from collections.abc import Callable

from pairproof.harness.history import Event


class Ledger:
    """Bounded by the number of nodes, connections and crashes of one trial."""

    def handlers(self) -> dict[str, Callable[[Event], None]]:
        """The kinds that the ledger follows."""
        return {}
