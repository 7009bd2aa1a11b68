"""``ack-prompt``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class AckPrompt(Law):
    """See the module."""

    id = "ack-prompt"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
