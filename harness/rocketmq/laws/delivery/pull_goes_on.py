"""``pull-goes-on``: a pull's next offset follows the messages that it brings, without a gap. At the queue's end it is
the offset asked for, and outside the queue it is RocketMQ's correction.

A is the offset asked for, and [m, M) the queue's range in the answer.

Checks:
- Found: m <= A < M, and the next offset is above A. A pull for all tags brings every message from A up to the next
  offset, a pull by tags only messages between.
- Nothing new: A and the next offset are M.
- No match: the next offset is above A. If A is outside the queue, it is A, since a slave may only lag.
- Moved: to m if A < m, to M if A > M. Slaves move no reader, unless offsetCheckInSlave is on. Up to 4.9.3, a reader
  above a queue that begins at 0 is moved to 0.
Abstains when:
- A black box deletes files: it may find nothing at A (OFFSET_FOUND_NULL, MESSAGE_WAS_REMOVING) or a later message.
- A 5.x slave that moves a reader answers "no match".
- For the messages: the broker is a diverged slave, or has longer queues than a promoted slave. Its records carry other
  offsets than its queues.
- For the rest of an answer: the consumer gave the queue up.
Source: DefaultMessageStore.getMessage, nextOffsetCorrection; PullMessageProcessor.
"""

from __future__ import annotations

from ...settings import DEFAULTS, Settings, is_on, version
from .pulled import FOUND, MOVED, NOT_FOUND, RETRY, Answer, Pulled

SENT_TO_END = (4, 9, 4)
"""The first version that moves a reader above any queue to its end."""


class PullGoesOn(Pulled):
    def judge(self, answer: Answer) -> None:
        rule = {FOUND: self._found, NOT_FOUND: self._nothing_new, RETRY: self._no_match, MOVED: self._moved}
        if answer.ok.status not in rule:
            return
        self.judged += 1
        wrong = rule[answer.ok.status](answer)
        if wrong:
            ok = answer.ok
            held = f"of [{answer.low}, {answer.high})"
            self.violate(ok, f"{ok.node}, asked for {answer.asked} of {ok.queue}, answers {ok.status} {held}: {wrong}")

    def _found(self, answer: Answer) -> str:
        if not answer.holds:
            return "the queue does not hold that offset"
        if answer.following <= answer.asked:
            return f"it goes on at {answer.following}, and would bring the same again"
        return self._brought(answer) if self.is_a_copy(answer.ok.node) else ""

    def _brought(self, answer: Answer) -> str:
        got = [each.queue_offset for each in answer.brought]
        due = list(range(answer.asked, answer.following))
        if answer.by_tag:
            outside = [each for each in got if each not in due]
            what = f"it brings {_shown(outside)}, which it does not pass, and goes on at {answer.following}"
            return what if outside else ""
        if answer.call.group is not None:
            # The consumer may have given the queue up during the answer.
            due = due[: len(got)]
        if got and self._is_a_black_box(answer):
            due = list(range(max(answer.asked, got[0]), answer.following))
        return "" if got == due else f"it brings {_shown(got)} and goes on at {answer.following}"

    def _nothing_new(self, answer: Answer) -> str:
        if answer.holds:
            return "" if self._is_a_black_box(answer) else "the queue has messages from there on"
        if answer.asked != answer.high:
            return "the queue does not end there"
        return "" if answer.following == answer.asked else f"it goes on at {answer.following}"

    def _no_match(self, answer: Answer) -> str:
        if answer.holds:
            if self._is_a_black_box(answer):
                return ""
            if not answer.by_tag:
                return "it gives no message, and all tags match"
            passed = answer.asked < answer.following <= answer.high
            return "" if passed else f"it goes on at {answer.following}, and nothing between matches"
        due = {answer.asked}
        if self._is_a_black_box(answer) and is_on(self._settings(answer), "offsetCheckInSlave"):
            due |= _nearer_end(answer, self._settings(answer))
        return "" if answer.following in due else f"it goes on at {answer.following}, not where it was asked"

    def _moved(self, answer: Answer) -> str:
        settings = self._settings(answer)
        if settings.get("brokerRole") == "SLAVE" and not is_on(settings, "offsetCheckInSlave"):
            return "a slave may only be behind, and offsetCheckInSlave is off"
        if answer.low <= answer.asked <= answer.high:
            return "" if self._is_a_black_box(answer) else "the queue holds that offset, or ends there"
        due = _nearer_end(answer, settings)
        return "" if answer.following in due else f"it goes on at {answer.following}, not at {_shown(sorted(due))}"

    def _settings(self, answer: Answer) -> Settings:
        return self.known.config.get(answer.ok.node, DEFAULTS)

    def _is_a_black_box(self, answer: Answer) -> bool:
        return self.known.is_a_black_box(answer.ok.node)


def _nearer_end(answer: Answer, settings: Settings) -> set[int]:
    if answer.asked < answer.low:
        return {answer.low}
    return {answer.high, 0} if not answer.low and version(settings) < SENT_TO_END else {answer.high}


def _shown(offsets: list[int]) -> str:
    return ", ".join(map(str, offsets)) or "nothing"
