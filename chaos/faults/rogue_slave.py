"""A rogue slave connects to the master's HA port: silent, over-claiming (reports far above the log), two-faced (does so
after an honest first report), sending junk, acknowledging (reports received bytes and stores nothing), log-end (its
first report is the log's end, on consecutive connections), or a crowd of those.
"""

from ...harness.rocketmq.ports import CanImpersonate
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "rogue_slave",
    CanImpersonate,
    {"character": ("over-claiming", "two-faced", "silent", "junk", "acknowledging", "log-end", "crowd")},
    CanImpersonate.impersonate,
    CanImpersonate.dismiss,
)
