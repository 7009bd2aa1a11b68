"""The coverage minimums of searches over RocketMQ pairs."""

from __future__ import annotations

from ..exploration.minimums import Family, Minimums

MINIMUMS = Minimums(
    trials={"machine": 20},
    operations={"send": 25, "pull": 10, "advance": 40, "heal": 3},
    events={"ok send": 60, "ok pull": 10, "deliver": 3},
    faults={
        "partition": Family(("down", "stall", "timeout", "disconnect"), 1),
        "latency or partial writes": Family(("latency", "jitter", "slicer", "limit_data", "bandwidth"), 2),
        "nodes and disks": Family(
            ("kill", "restart", "pause", "power_loss", "promotion", "wipe", "older_image", "disk_full", "disk_stall",
             "slow_disk", "read_only"), 1,
        ),
    },
    states={"behind": 200, "caught-up": 400, "unconnected": 50},
    laws=45,
    # Both states are derived from the ends of both logs.
    shown_by={"behind": "append", "caught-up": "append"},
)  # fmt: skip
"""A quarter of the average or less, which any working machine reaches with any seed: docs/decisions/0037."""
