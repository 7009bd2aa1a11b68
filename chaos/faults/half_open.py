"""The connections that are open now are left half-open: one end is told that they are over, the other hears nothing.

New connections are fine, so a slave or a client may be there twice: as it is now, and as its peer remembers it.
"""

from ...harness.ports.links import CanSeverLink
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "half_open",
    CanSeverLink,
    {"link": topology.LINKS, "keeps": ("server", "client")},
    CanSeverLink.sever_link,
    CanSeverLink.end_severed,
)
