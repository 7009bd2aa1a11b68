"""``conversation-answered``: who comes, changes its mind and goes is served as it said last, and nobody is served for
it then.

At a trial's end a visitor asks each broker of the reference, and a simulated name server, a few steps in turn: a
consumer, a producer, two members that lock queues, or a master and its slave that register. A simulated master may also
be sent messages, which are read again in every way, be told progress, and be made to change a topic, a group or a
setting. In some simulated trials time passes in a visit, or it uses several connections: locks that grow old, clients
and brokers that are silent or whose connections end, pulls that wait, delayed messages. What is to be answered, or
heard, stands in ``conversations``.

Left out: no answer, which says nothing; brokers of RocketMQ, whom a visit would change; diverged brokers,
whose queues may never get past what is broken in their log.
Source: ClientManageProcessor, ConsumerManager, ProducerManager, RebalanceLockManager, RouteInfoManager,
PullRequestHoldService, ScheduleMessageService.
"""

from ...conversations import BY_KEY, SERVED
from ...conversations.served import NO_KEY, READ
from ...event_types.conversations import Conversation
from ...known.circumstances import DIVERGED
from ...law import Law
from ...settings import keeps_index
from .asked import SILENT


class ConversationAnswered(Law):
    id = "conversation-answered"
    promise = "Brokers and name servers serve a client, or a broker, by what it said last, and forget one that goes."
    source = "ClientManageProcessor; ConsumerManager; RebalanceLockManager; RouteInfoManager"
    needs = frozenset({"conversation"})

    def on_conversation(self, event: Conversation) -> None:
        served = SERVED.get(event.f)
        # A broker of the reference is never too busy for what visitors ask.
        if served is None or event.status in SILENT or self.abstains(event, DIVERGED):
            return
        if event.f in BY_KEY and not keeps_index(self.known.config.get(event.node, {})):
            served = NO_KEY
        self.judged += 1
        told = f"{event.status}{f', {event.detail}' if event.detail else ''}"
        if event.status not in served.statuses:
            allowed = ", ".join(sorted(served.statuses))
            self.violate(event, f"{event.node}, asked {event.f}, answered {told}; allowed: {allowed}")
        elif event.status in READ and served.right and event.detail not in served.right:
            right = " or ".join(served.right)
            self.violate(event, f"{event.node}, asked {event.f}, answered {told}; right is {right}")
