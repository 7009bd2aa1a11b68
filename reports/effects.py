"""What faults did, in words: what each count of an effect means, and how machines lost their power.

Labs count what they can see, so the same fault counts other things in another lab. Counts of this version's labs are
explained; those of other labs are shown by their names alone.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

Row = dict[str, Any]

SHUT_DOWN, CUT = "file_systems_shut_down", "log_tails_cut"

MEANINGS = {
    "bytes_delayed": "came later than they were sent",
    "bytes_deleted": "of the log files that were deleted as expired",
    "bytes_feigned": "were reported as flushed, and were not",
    "bytes_filled": "taken from the disk, so that nothing more fits",
    "bytes_held": "waited, on the link or before a pulled cable, until the fault ended, or were still waiting",
    "bytes_lost": "were on the way, or not flushed, and are gone",
    "bytes_received": "by a stranger",
    "bytes_sent": "by a stranger",
    "bytes_sliced": "arrived in smaller pieces than they were sent",
    "closes_delayed": "ends of connections that the peer learnt of later",
    "connections": "of a stranger with a broker",
    "connections_closed": "ended because of the fault",
    "connections_refused": "attempts to connect that failed",
    "connections_reset": "ended with a RST",
    "connects_unanswered": "unanswered attempts to connect while a cable was pulled",
    "dispatches_held": "of new messages into queues and index, that waited until the fault or the broker's life ended",
    "events_held": "deliveries and timers that waited while the process stood still",
    SHUT_DOWN: "the ext4 file system of the machine's disk was shut down under the running broker, without a flush",
    "files_deleted": "log files that were deleted as expired",
    "files_feigned": "were reported as flushed, and were not",
    "files_refused": "there was no room to create or extend them",
    "flushes_held": "did not end before the fault did",
    "flushes_slowed": "took longer",
    "images_replaced": "how often a node of another image took a node's place, also to give it back",
    "limits_hit": "how often a node was killed because it needed more memory than it was to have",
    "log_bytes_gone": "by which a node's log was shorter afterwards",
    CUT: "the broker's process was killed, and the end of its log that it had not flushed was cut off afterwards",
    "machines_crashed": "lost power while the broker ran",
    "pieces": "that a stream was cut into",
    "processes_ended": "ended because of the fault, and were started again",
    "processes_killed": "by SIGKILL",
    "processes_paused": "stood still, by SIGSTOP",
    "processes_stopped": "in an orderly way, by SIGTERM",
    "readings_skewed": "of a clock, that were wrong",
    "seen_through": "how often a slave hung up on a stranger that posed as its master",
    "slaves_promoted": "became master of what they had",
    "thrown_out": "how often a broker hung up on a stranger",
    "writes_refused": "by a disk that could only be read",
}
"""By the name of a count. Of some faults one count says more than another; a count of 0 is not shown."""

REAL = "real: the disk's file system was shut down without a flush, so what the kernel had not written is gone"
IMITATED = (
    "imitated: the broker was killed and its log cut off where it had last flushed; queues, indexes and other files "
    "kept what the kernel had of them (a real one needs root and a loop device)"
)
SIMULATED = "simulated: the lab's own disk, which knows what was flushed"
UNSAID = "not told by the lab"


class PowerLoss(NamedTuple):
    """How machines lost their power in one lab, and how often it was done so."""

    lab: str
    how: str
    times: int
    imitated: bool


def shown(found: dict[str, int]) -> dict[str, int]:
    """The counts that say something."""
    return {name: amount for name, amount in found.items() if amount}


def glossary(faults: Iterable[Row]) -> list[tuple[str, str]]:
    """The counts that occur, and what they mean; by name."""
    seen = {name for row in faults for name in shown(row["effect"])}
    return [(name, MEANINGS[name]) for name in sorted(seen) if name in MEANINGS]


def power_losses(faults: Iterable[Row]) -> list[PowerLoss]:
    """By lab and way; a fault that makes a disk read-only with a reboot is one, too."""
    found: dict[tuple[str, str], int] = {}
    for row in faults:
        counts = shown(row["effect"])
        ways = {how: counts[name] for name, how in ((SHUT_DOWN, REAL), (CUT, IMITATED)) if name in counts}
        if not ways and "machines_crashed" in counts:
            ways = {SIMULATED if row["lab"] == "sim" else UNSAID: counts["machines_crashed"]}
        for how, times in ways.items():
            found[row["lab"], how] = found.get((row["lab"], how), 0) + times
    return [PowerLoss(lab, how, times, how == IMITATED) for (lab, how), times in sorted(found.items())]
