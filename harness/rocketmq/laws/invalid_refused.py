"""``invalid-refused``: a request that makes no sense is refused, with a code that tells the client so.

Each broker, and a simulated name server, is sent one such request at a trial's end; what it may answer stands in
``invalid_requests``. Any other answer is a violation: success, say, or a code on which clients try again. Bytes that
are not a frame must end the connection: nothing says which request an answer would be for. Left out: SYSTEM_BUSY, and
no answer in time, which say nothing about the request; RocketMQ before 4.9, which takes topics of any name and of no
size, and deletes its own: what was measured begins with 4.9.
Source: SendMessageProcessor, PullMessageProcessor, AdminBrokerProcessor, TopicValidator.
"""

from pairproof.harness.rocketmq.invalid_requests import REFUSALS
from pairproof.harness.rocketmq.kinds.invalid import Invalid
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.laws.asked import NOT_ANSWERED

SINCE = (4, 9)
"""The first version that is known to refuse all of them."""


class InvalidRefused(Law):
    id = "invalid-refused"
    promise = "A request that makes no sense is refused with a code that says so."
    source = "SendMessageProcessor; PullMessageProcessor; AdminBrokerProcessor; TopicValidator"
    needs = frozenset({"invalid"})

    def on_invalid(self, event: Invalid) -> None:
        allowed = REFUSALS.get(event.f)
        if allowed is None or event.status in NOT_ANSWERED or self.ledger.is_older(event.node, SINCE):
            return
        self.judged += 1
        if event.status not in allowed:
            told = f": {event.detail}" if event.detail else ""
            self.violate(
                event,
                f"{event.node}, sent {event.f}, answered {event.status}{told}; allowed: {', '.join(sorted(allowed))}",
            )
