"""``pull-goes-on``: what a pull's answer says, where to go on included, follows from what was asked and what it holds.

With A the offset asked for, and [m, M) the queue's range as the answer tells it:

- found: m <= A < M. The answer goes on behind A; of all tags, it brings every message from A on, and goes on right
  behind the last of them. By tags it brings only what lies between A and where it goes on.
- nothing new: A is M, and so is where to go on.
- nothing matches: it goes on behind A. Outside the queue: it goes on at A, since a slave may only be behind.
- moved: to m where A < m, to M where A > M. Slaves move nobody unless offsetCheckInSlave is on. Up to 4.9.3 who was
  ahead of a queue that begins at 0 was sent to 0.

A black box may also answer what RocketMQ does while it deletes files: that it found nothing in a queue that has A
(OFFSET_FOUND_NULL, MESSAGE_WAS_REMOVING), or something from a later offset on. And a slave of 5.x says that nothing
matches where it moves a reader.

Left out: which messages are brought by diverged slaves (see ``logs``), or after a promotion by brokers with
longer queues, since the records of both carry other offsets than their queues; the rest of an answer whose queue the
consumer no longer holds.
Source: DefaultMessageStore.getMessage, nextOffsetCorrection; PullMessageProcessor.
"""

from __future__ import annotations

from ...settings import DEFAULTS, Settings, is_on, version
from .pulled import FOUND, MOVED, NOT_FOUND, RETRY, Answer, Pulled

SENT_TO_END = (4, 9, 4)
"""The first version that sends who is ahead of any queue to its end."""


class PullGoesOn(Pulled):
    id = "pull-goes-on"
    promise = (
        "A pull's answer goes on behind the messages that it brings, without leaving one out; at the same offset if "
        "the queue ends there; and if the offset lies outside the queue, where RocketMQ sends such readers."
    )
    source = "DefaultMessageStore.getMessage, nextOffsetCorrection; PullMessageProcessor"

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
            # It may have lost the queue by then, or in the middle of the answer.
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
    """Where a reader from outside the queue is sent."""
    if answer.asked < answer.low:
        return {answer.low}
    return {answer.high, 0} if not answer.low and version(settings) < SENT_TO_END else {answer.high}


def _shown(offsets: list[int]) -> str:
    return ", ".join(map(str, offsets)) or "nothing"
