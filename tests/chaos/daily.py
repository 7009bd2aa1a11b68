"""Which scenarios the tests of each commit play in real time; ``make nightly`` plays all of them, and more cases.

All of them are played in the simulation on every commit, and a machine draws its own programs for both labs in
``make prove``. Between them these two lists have every fault that a scenario has, a name server, a group that loses its
master, and more than one slave (decision 56).
"""

from __future__ import annotations

IN_CONTAINERS = (
    "network-disconnect", "memory-limit", "image-replaced", "master-power-async-flush", "disk-full-on-either-side",
    "ha-latency-around-ack-wait", "rogue-slave-on-ha-port", "slave-promoted-by-operator",
)  # fmt: skip
IN_PROCESSES = (
    "clock-jumps", "consumer-lives-through-master-loss", "cut-header-at-every-byte", "delayed-messages-over-restart",
    "disk-read-only", "disk-stalls-under-sync-flush", "dispatch-lags-over-kill", "ha-master-address-absent",
    "rogue-master", "lying-disk", "master-pause", "master-power-sync-flush", "metadata-change-during-partition",
    "retention-outruns-slave", "slave-wiped", "rogue-clients-at-client-ports", "stream-in-single-bytes",
    "two-slaves-one-slow", "unsteady-ha-link",
)  # fmt: skip
