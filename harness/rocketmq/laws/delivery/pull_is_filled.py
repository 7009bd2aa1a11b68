"""``pull-is-filled``: an answer with messages ends at a limit of count or bytes, no later, or at its queue's end.

The limits are the number of messages asked for, and the broker's own for messages and bytes. These are smaller for
messages on disk (``read-split``), and wherever the memory is unknown. After a restart the earlier log's limits may
count.

Checks:
- No message of an answer exceeds a limit, except the first one, by the log's end at the pull's start.
- The first message left out would have exceeded a limit. Only for plain readers of all tags, if its size is known.
Abstains when:
- A black box ends the answer with a file of the queue.
- For the second check: the reader is a consumer, or pulls by tags: brokers then examine a limited number of entries.
- The broker is a diverged slave, or has longer queues than a promoted slave: its records carry other offsets.
Source: DefaultMessageStore.getMessage, isTheBatchFull, checkInDiskByCommitOffset.
"""

from __future__ import annotations

from typing import NamedTuple

from ....history import Event
from ....judging.law import CONVENTION
from ....texts.content import payload
from ...known.positions import Content
from ...settings import DEFAULTS, Settings, memory
from .pulled import FOUND, Answer, Pulled

IN_MEMORY = (("maxTransferCountOnMessageInMemory", 32), ("maxTransferBytesOnMessageInMemory", 262_144))
ON_DISK = (("maxTransferCountOnMessageInDisk", 8), ("maxTransferBytesOnMessageInDisk", 65_536))
"""Settings and RocketMQ's defaults: messages and bytes of one answer."""
MOST = 32
"""The messages that our readers ask for by default."""
QUEUE_FILE, ENTRY = "mappedFileSizeConsumeQueue", 20
"""The setting for the bytes of a queue's file, and an entry's bytes."""


class Short(NamedTuple):
    answer: Answer
    end: int | None
    """The broker's log end at that time, if known."""
    settings: Settings
    content: Content


class PullIsFilled(Pulled):
    kind = CONVENTION

    def begin(self) -> None:
        self.short: list[Short] = []

    def judge(self, answer: Answer) -> None:
        ok = answer.ok
        self._judge_brought(answer)
        if ok.status != FOUND or answer.call.f != "pull" or answer.call.group is not None:
            return
        if not answer.brought or not self.is_a_copy(ok.node):
            return
        if answer.following >= answer.high:
            self.judged += 1
            return
        known = self.known
        settings = known.config.get(ok.node, DEFAULTS)
        if not (known.is_a_black_box(ok.node) and answer.following % _entries(settings) == 0):
            end = known.logs.log_end(ok.node) if known.calls.is_current(ok) else None
            self.short.append(Short(answer, end, settings, known.positions.content(ok.node)))

    def _judge_brought(self, answer: Answer) -> None:
        ok, known = answer.ok, self.known
        if len(answer.brought) < 2 or not self.is_a_copy(ok.node):
            return
        self.judged += 1
        settings = known.config.get(ok.node, DEFAULTS)
        # The time of a black box's append is not exact.
        end = None if known.is_a_black_box(ok.node) else known.calls.end_before(ok)
        held, brought = memory(settings), 0
        for count, each in enumerate(answer.brought):
            is_slow = held is not None and end is not None and end - each.lo > held
            most, most_bytes = _limits(answer, settings, not is_slow)
            brought += each.hi - each.lo
            if count and (count >= most or brought > most_bytes):
                what = f"{_asked(answer)}, brings {count + 1} messages of {brought} bytes and more"
                self.violate(ok, f"{what}; the limits are {most} messages and {most_bytes} bytes")
                return

    def end(self, last: Event) -> None:
        for each in self.short:
            left = each.content.get((each.answer.ok.queue, each.answer.following))
            if left:
                self.judged += 1
                self._judge_short(each, min(left).lo, max(hi - lo for lo, hi in left))

    def _judge_short(self, short: Short, lo: int, size: int) -> None:
        answer, ok = short.answer, short.answer.ok
        held = memory(short.settings)
        in_memory = held is not None and short.end is not None and short.end - lo <= held
        most, most_bytes = _limits(answer, short.settings, in_memory)
        count, brought = len(answer.brought), sum(each.hi - each.lo for each in answer.brought)
        if count < most and brought + size <= most_bytes:
            what = f"{_asked(answer)}, brings {count} messages of {brought} bytes"
            why = f"although the queue goes on with one of {size} bytes at {answer.following}"
            self.violate(ok, f"{what}, {why}; the limits are {most} messages and {most_bytes} bytes")


def _asked(answer: Answer) -> str:
    return f"{answer.ok.node}, asked for {answer.asked} of {answer.ok.queue}"


def _limits(answer: Answer, settings: Settings, in_memory: bool) -> tuple[int, int]:
    """The most messages and bytes of an answer, by the broker and the request."""
    most, most_bytes = (int(settings.get(*each)) for each in (IN_MEMORY if in_memory else ON_DISK))
    return min(most, int(payload(answer.call.detail).get("most", MOST))), most_bytes


def _entries(settings: Settings) -> int:
    return max(1, -(-int(settings.get(QUEUE_FILE, DEFAULTS[QUEUE_FILE])) // ENTRY))
