"""``ha-role-independent``: to be written."""

from __future__ import annotations

from pairproof.harness.laws.base import Law


class HaRoleIndependent(Law):
    """See the module."""

    id = "ha-role-independent"
    promise = "To be written."
    source = "to be written"
    needs = frozenset({"mark"})
