"""The effects of faults, in words: the meaning of each count, and the kinds of power loss.

Labs count what they can observe, so the same fault has other counts in another lab. Counts of unknown labs are shown by
name only.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..harness.runs.schema import Row

SHUT_DOWN, CUT = "file_systems_shut_down", "log_tails_cut"

MEANINGS = {
    "bytes_delayed": "came later than they were sent",
    "bytes_deleted": "of the log files that were deleted as expired",
    "bytes_feigned": "were reported as flushed, and were not",
    "bytes_filled": "taken from the disk, so that nothing more fits",
    "bytes_held": "waited, on the link or before a pulled cable, until the fault ended, or were still waiting",
    "bytes_lost": "were on the way, or not flushed, and are gone",
    "bytes_received": "by a rogue peer",
    "bytes_sent": "by a rogue peer",
    "bytes_sliced": "arrived in smaller pieces than they were sent",
    "closes_delayed": "closes of connections that reached the peer later",
    "connections": "of a rogue peer with a broker",
    "connections_closed": "ended because of the fault",
    "connections_refused": "attempts to connect that failed",
    "connections_reset": "ended with a RST",
    "connects_unanswered": "unanswered attempts to connect while a cable was pulled",
    "dispatches_held": "into queues and index that waited until the fault or the broker's process ended",
    "events_held": "deliveries and timers that waited while the process was paused",
    SHUT_DOWN: "the ext4 file system of the machine's disk was shut down under the running broker, without a flush",
    "files_deleted": "log files that were deleted as expired",
    "files_feigned": "were reported as flushed, and were not",
    "files_refused": "there was no room to create or extend them",
    "flushes_held": "did not end before the fault did",
    "flushes_slowed": "took longer",
    "images_replaced": "how often a node was replaced by one of another image, or put back",
    "limits_hit": "how often a node was killed because it exceeded its memory limit",
    "log_bytes_gone": "by which a node's log was shorter after the fault",
    CUT: "the broker's process was killed, and the end of its log that it had not flushed was cut off afterwards",
    "machines_crashed": "lost power while the broker ran",
    "pieces": "that a stream was cut into",
    "processes_ended": "ended because of the fault, and were restarted",
    "processes_killed": "by SIGKILL",
    "processes_paused": "paused by SIGSTOP",
    "processes_stopped": "stopped by SIGTERM",
    "readings_skewed": "wrong readings of a clock",
    "seen_through": "how often a slave disconnected a rogue master",
    "slaves_promoted": "became master with the data that they had",
    "masters_added": "were started on a slave's data as a second master of the name",
    "thrown_out": "how often a broker disconnected a rogue peer",
    "writes_refused": "refused by a read-only disk",
}
"""By the name of a count. Counts of 0 are not shown."""

REAL = "real: the disk's file system was shut down without a flush, so what the kernel had not written is gone"
IMITATED = (
    "imitated: the broker was killed and its log cut off where it had last flushed; queues, indexes and other files "
    "kept what the kernel had of them (a real one needs root and a loop device)"
)
SIMULATED = "simulated: the lab's own disk, which knows what was flushed"
UNSAID = "not recorded by the lab"


class PowerLoss(NamedTuple):
    """The kind of power loss in one lab, and its number."""

    lab: str
    how: str
    times: int
    imitated: bool


def shown(found: dict[str, int]) -> dict[str, int]:
    """The counts above 0."""
    return {name: amount for name, amount in found.items() if amount}


def glossary(faults: Iterable[Row]) -> list[tuple[str, str]]:
    """The counts that occur, and their meaning; by name."""
    seen = {name for row in faults for name in shown(row["effect"])}
    return [(name, MEANINGS[name]) for name in sorted(seen) if name in MEANINGS]


def power_losses(faults: Iterable[Row]) -> list[PowerLoss]:
    """By lab and kind; a fault that makes a disk read-only with a reboot counts, too."""
    found: dict[tuple[str, str], int] = {}
    for row in faults:
        counts = shown(row["effect"])
        ways = {how: counts[name] for name, how in ((SHUT_DOWN, REAL), (CUT, IMITATED)) if name in counts}
        if not ways and "machines_crashed" in counts:
            ways = {SIMULATED if row["lab"] == "sim" else UNSAID: counts["machines_crashed"]}
        for how, times in ways.items():
            found[row["lab"], how] = found.get((row["lab"], how), 0) + times
    return [PowerLoss(lab, how, times, how == IMITATED) for (lab, how), times in sorted(found.items())]
