"""Open connections become half-open: one end is notified that they ended, the other receives nothing more.

New connections work, so a slave or a client may exist twice: as it is now, and as its peer remembers it.
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
