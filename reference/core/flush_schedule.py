"""When RocketMQ's flush services look, and how much must have gathered for a look to flush: for log and queues alike.

A service looks every interval from its start on. Most looks flush a file only if it is full, or if the write position
is at least so many pages of 4 KiB ahead of what is durable; a thorough look flushes whatever there is. The first look
is thorough, then one each thorough interval. A look flushes one file, the one with the first bytes that are not
durable; the next look goes on with the next. Source: FlushRealTimeService and FlushConsumeQueueService of 4.9.7,
MappedFileQueue.flush, MappedFile.isAbleToFlush.
"""

from typing import NamedTuple

PAGE = 4_096


class Look(NamedTuple):
    """A look that is to come: when, ns, and how many pages it wants; 0: whatever there is."""

    at: int
    least_pages: int


class FlushSchedule:
    """The looks of one service. ``began``: when it started, ns."""

    def __init__(self, interval_ns: int, least_pages: int, thorough_ns: int, began: int) -> None:
        self.interval_ns = interval_ns
        self.least_pages = least_pages
        self.began = began
        self._every = max(1, -(-thorough_ns // interval_ns))
        """How many looks apart the thorough ones are."""

    def following(self, now: int, flushed: int, end: int, file_size: int) -> Look:
        """The next look after ``now`` that will flush something if nothing more is written."""
        return self.next_ripe(now, flush_to(flushed, end, file_size, self.least_pages) is not None)

    def next_ripe(self, now: int, ripe: bool) -> Look:
        """The next look after ``now``, if enough has gathered for any of them; otherwise the next thorough one."""
        number = (now - self.began) // self.interval_ns + 1
        rest = (1 - number) % self._every
        if rest and ripe:
            return Look(self.began + number * self.interval_ns, self.least_pages)
        return Look(self.began + (number + rest) * self.interval_ns, 0)


def flush_to(flushed: int, end: int, file_size: int, least_pages: int) -> int | None:
    """Up to where a look flushes what is written up to ``end`` and durable up to ``flushed``; None if it does not."""
    if flushed >= end:
        return None
    begin = flushed - flushed % file_size
    if end >= begin + file_size:
        return begin + file_size
    gathered = (end - begin) // PAGE - (flushed - begin) // PAGE
    return end if not least_pages or gathered >= least_pages else None
