"""The least that the searches of RocketMQ pairs must have met where a profile has floors."""

from __future__ import annotations

from pairproof.harness.floors import Family, Floors

FLOORS = Floors(
    trials={"machine": 20},
    operations={"send": 60, "pull": 20, "advance": 40, "heal": 20, "join": 1},
    events={"ok send": 60, "ok pull": 20, "deliver": 3},
    faults={
        "latency": Family(("latency", "jitter"), 2),
        "partition": Family(("down", "stall", "timeout", "disconnect"), 4),
        "partial writes": Family(("slicer", "limit_data", "bandwidth"), 3),
        "nodes and disks": Family(
            ("kill", "restart", "pause", "power_loss", "promotion", "wipe", "older_image", "disk_full", "disk_stall",
             "slow_disk", "read_only"), 1,
        ),
    },
    states={"behind": 200, "caught-up": 1_000, "unconnected": 50, "readers at the master": 10},
    laws=45,
    # Both are known from the ends of both logs.
    shown_by={"behind": "append", "caught-up": "append"},
)  # fmt: skip
"""What a working machine meets whatever its seed, a quarter of the average and less: docs/decisions/0037."""
