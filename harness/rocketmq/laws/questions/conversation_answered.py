"""``conversation-answered``: brokers and name servers serve a client or broker by its last request, and forget one that
leaves.

Conformance conversations follow a trial, with the reference's brokers and a simulated name server: as consumer,
producer, lock holders or registering pair; with a simulated master also about messages, progress and administration.
Some take minutes or several connections (expiring locks, silent peers, long polls, delayed messages).

Checks:
- Each answer, and each notification, has a status and a content that ``conversations`` allows.
Abstains when:
- There is no answer.
- It is a broker's, and a broker may not be read or written (brokerPermission).
- The broker is RocketMQ's, as conversations would change its state.
- The broker has a transient store pool, which hides new messages for a while.
- The broker diverged: its queues may end at a broken record.
Source: ClientManageProcessor, ConsumerManager, ProducerManager, RebalanceLockManager, RouteInfoManager,
PullRequestHoldService, ScheduleMessageService.
"""

from ...conversations import BY_KEY, SERVED
from ...conversations.served import NO_KEY, READ
from ...event_types.conversations import Conversation
from ...known.circumstances import DIVERGED
from ...law import Law
from ...settings import has_pool, keeps_index
from .asked import SILENT


class ConversationAnswered(Law):
    needs = frozenset({"conversation"})

    def on_conversation(self, event: Conversation) -> None:
        served = SERVED.get(event.f)
        # A broker of the reference is never too busy for a conversation.
        if served is None or event.status in SILENT or self.abstains(event, DIVERGED):
            return
        config = self.known.config.get(event.node, {})
        if config and (not self.known.is_allowed() or has_pool(config)):
            return
        if event.f in BY_KEY and not keeps_index(config):
            served = NO_KEY
        self.judged += 1
        answered = f"{event.status}{f', {event.detail}' if event.detail else ''}"
        if event.status not in served.statuses:
            allowed = ", ".join(sorted(served.statuses))
            self.violate(event, f"{event.node}, asked {event.f}, answered {answered}; allowed: {allowed}")
        elif event.status in READ and served.right and event.detail not in served.right:
            right = " or ".join(served.right)
            self.violate(event, f"{event.node}, asked {event.f}, answered {answered}; right is {right}")
