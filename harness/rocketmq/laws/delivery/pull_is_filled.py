"""``pull-is-filled``: an answer that brings messages ends at a limit and no later, or where its queue ends.

The limits are how many messages were asked for, and the broker's own of messages and bytes: those for messages in
memory, or the smaller ones for messages on disk, where more than the memory lies between the message that was left and
the log's end (see ``read-split``), and wherever the memory is not known. The message that was left would have passed
one of them. None that it brought does, but for the first one, as far as the log was known to reach when the pull began.
A broker that was started since may have another log: the smaller limits are those of what it left, too.

What was left is judged of plain readers that take all tags, and where somebody said how large the message is that was
left. A black box may also end an answer with a file of the queue. Left out: consumers; pulls by tags, whose brokers
look at a limited number of entries; diverged slaves, and brokers with longer queues than a promoted slave,
since the records of both carry other offsets than their queues.
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
"""How many messages our readers ask for where the history does not say."""
QUEUE_FILE, ENTRY = "mappedFileSizeConsumeQueue", 20
"""The setting for the bytes of a queue's file, and an entry's bytes."""


class Short(NamedTuple):
    """An answer that left messages."""

    answer: Answer
    end: int | None
    """Where the broker's log ended by then, as far as somebody knew."""
    settings: Settings
    content: Content


class PullIsFilled(Pulled):
    id = "pull-is-filled"
    kind = CONVENTION
    promise = "An answer that brings messages ends at a limit of count or bytes, no later, or where its queue ends."
    source = "DefaultMessageStore.getMessage, isTheBatchFull"

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
        # When a black box wrote a record is not known exactly.
        end = None if known.is_a_black_box(ok.node) else known.calls.end_before(ok)
        held, brought = memory(settings), 0
        for count, each in enumerate(answer.brought):
            is_slow = held is not None and end is not None and end - each.lo > held
            most, most_bytes = _limits(answer, settings, not is_slow)
            brought += each.hi - each.lo
            if count and (count >= most or brought > most_bytes):
                self.violate(
                    ok, f"{ok.node}, asked for {answer.asked} of {ok.queue}, brings {count + 1} messages of {brought} "
                    f"bytes and more; the limits are {most} messages and {most_bytes} bytes"
                )  # fmt: skip
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
            self.violate(
                ok, f"{ok.node}, asked for {answer.asked} of {ok.queue}, brings {count} messages of {brought} bytes, "
                f"although the queue goes on with one of {size} bytes at {answer.following}; the limits are {most} "
                f"messages and {most_bytes} bytes"
            )  # fmt: skip


def _limits(answer: Answer, settings: Settings, in_memory: bool) -> tuple[int, int]:
    """How many messages and bytes an answer may bring: the broker's limits, and how many messages were asked for."""
    most, most_bytes = (int(settings.get(*each)) for each in (IN_MEMORY if in_memory else ON_DISK))
    return min(most, int(payload(answer.call.detail).get("most", MOST))), most_bytes


def _entries(settings: Settings) -> int:
    """How many entries a file of a queue has."""
    return max(1, -(-int(settings.get(QUEUE_FILE, DEFAULTS[QUEUE_FILE])) // ENTRY))
