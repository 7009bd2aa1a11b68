"""When RocketMQ's flush services wake up, and how many dirty pages a wake-up needs to flush: for log and queues.

A service wakes up each interval after its start. Most wake-ups flush a file only if it is full, or if the write
position is at least ``least_pages`` of 4 KiB ahead of the durable end; a thorough one flushes everything. The first
wake-up is thorough, then one per thorough interval. A wake-up flushes one file, the first with dirty bytes; the next
one continues. Source: FlushRealTimeService and FlushConsumeQueueService of 4.9.7, MappedFileQueue.flush,
MappedFile.isAbleToFlush.
"""

from typing import NamedTuple

PAGE = 4_096


class Look(NamedTuple):
    """A scheduled wake-up: time, ns, and the dirty pages needed (0: any)."""

    at: int
    least_pages: int


class FlushSchedule:
    """The wake-ups of one service. ``began``: its start, ns."""

    def __init__(self, interval_ns: int, least_pages: int, thorough_ns: int, began: int) -> None:
        self.interval_ns = interval_ns
        self.least_pages = least_pages
        self.began = began
        self._every = max(1, -(-thorough_ns // interval_ns))

    def next_ripe(self, now: int, ripe: bool) -> Look:
        """The next wake-up after ``now`` if ``ripe`` (enough dirty pages for any); otherwise the next thorough one."""
        number = (now - self.began) // self.interval_ns + 1
        rest = (1 - number) % self._every
        if rest and ripe:
            return Look(self.began + number * self.interval_ns, self.least_pages)
        return Look(self.began + (number + rest) * self.interval_ns, 0)


def flush_to(flushed: int, end: int, file_size: int, least_pages: int) -> int | None:
    """The end of what a wake-up flushes, given the written ``end`` and the durable ``flushed``; None if it flushes
    nothing.
    """
    if flushed >= end:
        return None
    begin = flushed - flushed % file_size
    if end >= begin + file_size:
        return begin + file_size
    gathered = (end - begin) // PAGE - (flushed - begin) // PAGE
    return end if not least_pages or gathered >= least_pages else None
