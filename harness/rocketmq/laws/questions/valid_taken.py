"""``valid-taken``: what a correct client asks of a healthy master, the master does not refuse.

Sends, each try of a producer, pulls, commits, questions and what administrators ask. Refused is what was answered
with a code that is not success; a code needs a reason that the history shows. Topics and groups that an administrator
has changed, or that a machine's crash may have taken, may be refused as unknown; groups also where the master is not
to make them, and by commits and questions, which make none, and topics to which nobody has sent yet, where it makes no
topics; a message as illegal if it has no body, as RocketMQ's own clients send none, or if a record cannot hold it or
may be larger than maxMessageSize or a file of the log; so may one for a queue that a topic need not have which is made
with defaultTopicQueueNums.

Left out: slaves; masters that started less than 3 s before the call, that a fault touched since then (a full disk,
say), or that were a diverged slave (see ``logs``); in labs with real time, what a busy broker answers.
Source: SendMessageProcessor, PullMessageProcessor, ConsumerManageProcessor, AdminBrokerProcessor.
"""

from ....event_types.client import SENDS, Fail, Invoke, Ok, Try
from ....history import MS, digest
from ....judging.law import only
from ....texts.content import LARGE, payload
from ...event_types.metadata import Persist
from ...known.metadata import CHANGES
from ...law import Law
from ...settings import creates_groups, creates_topics
from ..acks.ack_refused_is_absent import leaves_open

SETTLED_NS = 3_000 * MS
"""A broker that has just started may still be busy with that; and so after a fault."""
NO_BODY = digest(b"")
ILLEGAL = ("MESSAGE_ILLEGAL", "SYSTEM_ERROR")
EMPTY = ("MESSAGE_ILLEGAL",)
ROOM = 300
"""Bytes that a record may take besides its body, with what the lab's clients say of a message."""
QUEUES, QUEUES_MADE = "defaultTopicQueueNums", 8
"""How many queues a topic has at most that a send makes."""
NO_TOPIC = "TOPIC_NOT_EXIST"
UNKNOWN_NAMES = frozenset({NO_TOPIC, "NO_PERMISSION", "SUBSCRIPTION_NOT_EXIST"})
NO_GROUP = "SUBSCRIPTION_GROUP_NOT_EXIST"
COMMITS = ("commit", "query")
"""What makes no group: a consumer's heartbeat and its pulls do. RocketMQ 5 refuses it while there is none."""
BUSY = ("busy", "flow control")


class ValidTaken(Law):
    id = "valid-taken"
    promise = "A healthy master refuses nothing that a correct client asks."
    source = "SendMessageProcessor; PullMessageProcessor; ConsumerManageProcessor; AdminBrokerProcessor"
    needs = frozenset({"config", "invoke", "ok", "fail"})

    def begin(self) -> None:
        self.changed: set[str] = set()
        """Topics and groups that an administrator may have changed."""
        self.touched: set[str] = set()
        """Brokers whose topics or groups were written, perhaps since somebody unseen deleted one."""
        self.sent_to: set[str] = set()
        """Topics that a message was taken for."""

    @only(*CHANGES)
    def on_invoke(self, event: Invoke) -> None:
        if event.message is not None:
            self.changed.add(event.message)

    def _may_be(self, event: Invoke) -> tuple[str, ...]:
        """As what a call may be refused for what it sends, or for its queue."""
        queue = (event.queue or "").rpartition("/")[2]
        if queue.isdecimal() and int(queue) >= int(self.known.config.get(event.node, {}).get(QUEUES, QUEUES_MADE)):
            return ILLEGAL
        if event.f not in SENDS:
            return ()
        said = payload(event.detail)
        size = said.get("size", LARGE)
        most = (self.known.setting(event.node, key) for key in ("maxMessageSize", "mappedFileSizeCommitLog"))
        if "body" not in said or size + ROOM > min(most) or said.get("illegal"):
            return ILLEGAL
        return EMPTY if said["body"] == NO_BODY else ()

    def on_ok(self, event: Ok) -> None:
        if self.known.calls.begun(event) is not None:
            self.judged += 1
            if event.f in SENDS and event.queue:
                self.sent_to.add(event.queue.rpartition("/")[0])

    def on_fail(self, event: Fail | Try) -> None:
        begun = self.known.calls.begun(event)
        if begun is not None:
            began = next((each.t for each in reversed(begun.tries) if each.f == "began"), begun.call.t)
            self._judge(event, began, self._may_be(begun.call))

    @only("fail")
    def on_try(self, event: Try) -> None:
        self.on_fail(event)

    @only("topics", "groups")
    def on_persist(self, event: Persist) -> None:
        self.touched.add(event.node)

    def _judge(self, event: Fail | Try, began: int, illegal: tuple[str, ...]) -> None:
        status = event.status or ""
        # What a client itself says, as of a connection, is no code.
        settled = event.node not in self.known.logs.diverged and self._is_settled(event.node, began)
        if not status.isupper() or not settled:
            return
        self.judged += 1
        if not self._has_reason(event, illegal, status):
            asked = "a try" if isinstance(event, Try) else event.f
            what = f"{asked} of {event.message or event.queue or 'something'}{' without a body' * (illegal == EMPTY)}"
            self.violate(event, f"{event.node} refuses {what} ({status}: {event.detail or '':.100})")

    def _is_settled(self, node: str, began: int) -> bool:
        role = str(self.known.config.get(node, {}).get("brokerRole", ""))
        since = began - SETTLED_NS
        is_up = role.endswith("_MASTER") and self.known.nodes.started_at.get(node, began) < since
        return is_up and self.known.disturbances.is_unaffected(node, since)

    def _has_reason(self, event: Fail | Try, illegal: tuple[str, ...], status: str) -> bool:
        if leaves_open(event):
            return True
        if self.known.instant_ns and any(each in f"{status} {event.detail or ''}".lower() for each in BUSY):
            return True
        if status in illegal:
            return True
        settings = self.known.config.get(event.node, {})
        makes = event.f not in COMMITS and creates_groups(settings)
        if status == NO_GROUP and not makes:
            return True
        if status in UNKNOWN_NAMES or status == NO_GROUP:
            topic = event.queue.rpartition("/")[0] if event.queue else ""
            if status == NO_TOPIC and topic not in self.sent_to and not creates_topics(settings):
                return True
            names = {topic, event.group or "", event.message or ""}
            may_be_gone = event.node in self.touched or self.known.stores.may_lack_files(event.node)
            return may_be_gone or not self.changed.isdisjoint(names)
        return False
