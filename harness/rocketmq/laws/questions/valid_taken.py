"""``valid-taken``: a healthy master refuses no valid request of a client.

Checks:
- Each request or producer try that was answered with an error code has a reason in the history.
- An unknown topic or group is a reason if an administrator changed it, if a machine crash may have taken it, and where
  the master does not create it automatically: groups also for commits and queries, which create none, topics before the
  first send.
- An administrator's setting is a reason: a queue beyond the topic's, no permission to read the topic, a group that may
  not consume. For NO_PERMISSION only brokerPermission is, too, except on a black box.
- An illegal message is a reason if it has no body (RocketMQ's clients send none), if it may exceed a record's limits or
  a log file, if its body (on a black box: its record) may exceed maxMessageSize, or if its queue is beyond
  defaultTopicQueueNums.
Abstains when:
- The broker is a slave, or was a diverged one (see ``logs``).
- The master started, or a fault affected it (a full disk, for example), less than 3 s before the call.
- In real-time labs: the broker answers that it is busy.
Source: SendMessageProcessor, PullMessageProcessor, ConsumerManageProcessor, AdminBrokerProcessor.
"""

from ....event_types.client import SENDS, Fail, Invoke, Ok, Try
from ....history import MS, digest
from ....judging.law import only
from ....texts.content import LARGE, payload
from ...known.metadata import CHANGES, GROUPS, TOPICS
from ...law import Law
from ...settings import creates_groups, creates_topics
from ..acks.ack_refused_is_absent import leaves_open

SETTLED_NS = 3_000 * MS
NO_BODY = digest(b"")
ILLEGAL = ("MESSAGE_ILLEGAL", "SYSTEM_ERROR")
EMPTY = ("MESSAGE_ILLEGAL",)
OVERHEAD_BYTES = 300
"""The most that a record of the lab's clients takes besides its body."""
QUEUES, DEFAULT_QUEUES = "defaultTopicQueueNums", 8
"""Limits the queues of a topic that a send creates."""
NO_TOPIC = "TOPIC_NOT_EXIST"
NO_PERMISSION = "NO_PERMISSION"
UNKNOWN_NAMES = frozenset({NO_TOPIC, NO_PERMISSION, "SUBSCRIPTION_NOT_EXIST"})
NO_GROUP = "SUBSCRIPTION_GROUP_NOT_EXIST"
COMMITS = ("commit", "query")
"""These create no group, unlike heartbeats and pulls; RocketMQ 5 refuses them before one exists."""
PULLS = ("pull", "select", "commit")
"""A pull may carry a commit, which then has its answer."""
BUSY = ("busy", "flow control")


class ValidTaken(Law):
    needs = frozenset({"config", "invoke", "ok", "fail"})

    def begin(self) -> None:
        self.changed: set[str] = set()
        self.sent_to: set[str] = set()

    @only(*CHANGES)
    def on_invoke(self, event: Invoke) -> None:
        if event.message is not None:
            self.changed.add(event.message)

    def _illegal_statuses(self, event: Invoke) -> tuple[str, ...]:
        """Statuses that may refuse a call because of its message or queue."""
        queue = (event.queue or "").rpartition("/")[2]
        if queue.isdecimal() and int(queue) >= int(self.known.config.get(event.node, {}).get(QUEUES, DEFAULT_QUEUES)):
            return ILLEGAL
        if event.f not in SENDS:
            return ()
        sent = payload(event.detail)
        size = sent.get("size", LARGE)
        most, file = (self.known.setting(event.node, key) for key in ("maxMessageSize", "mappedFileSizeCommitLog"))
        # Releases before 4.9.5, and batches of all, count the whole record.
        counted = size + OVERHEAD_BYTES if self.known.is_a_black_box(event.node) else size
        if "body" not in sent or counted > most or size + OVERHEAD_BYTES > file or sent.get("illegal"):
            return ILLEGAL
        return EMPTY if sent["body"] == NO_BODY else ()

    def on_ok(self, event: Ok) -> None:
        if self.known.calls.begun(event) is not None:
            self.judged += 1
            if event.f in SENDS and event.queue:
                self.sent_to.add(event.queue.rpartition("/")[0])

    def on_fail(self, event: Fail | Try) -> None:
        begun = self.known.calls.begun(event)
        if begun is not None:
            began = next((each.t for each in reversed(begun.tries) if each.f == "began"), begun.call.t)
            self._judge(event, began, self._illegal_statuses(begun.call))

    @only("fail")
    def on_try(self, event: Try) -> None:
        self.on_fail(event)

    def _judge(self, event: Fail | Try, began: int, illegal: tuple[str, ...]) -> None:
        status = event.status or ""
        # A status of the client itself, such as a failed connection, is not a code.
        settled = event.node not in self.known.logs.diverged and self._is_settled(event.node, began)
        if not status.isupper() or not settled:
            return
        self.judged += 1
        if not self._has_reason(event, illegal, status):
            asked = "a try" if isinstance(event, Try) else event.f
            what = f"{asked} of {event.message or event.queue or 'something'}{' without a body' * (illegal == EMPTY)}"
            self.violate(event, f"{event.node} refuses {what} ({status}: {event.detail or '':.100})")

    def _is_forbidden(self, event: Fail | Try) -> bool:
        """Whether an administrator may have taken the queue, or the permission to read it."""
        tables, begun = self.known.tables, self.known.calls.begun(event)
        topic, _, number = (event.queue or "").rpartition("/")
        if begun is None or not number.isdecimal():
            return False
        since = begun.call.seq
        if event.f in PULLS:
            return False in tables.reads(event.node, event.queue or "", event.group or "", since)
        return any(each is None or not each.takes(int(number)) for each in tables.topics(event.node, topic, since))

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
        if status in illegal or self._is_forbidden(event):
            return True
        settings = self.known.config.get(event.node, {})
        creates = event.f not in COMMITS and creates_groups(settings)
        if status == NO_GROUP and not creates:
            return True
        if status in UNKNOWN_NAMES or status == NO_GROUP:
            topic = event.queue.rpartition("/")[0] if event.queue else ""
            if status == NO_TOPIC and topic not in self.sent_to and not creates_topics(settings):
                return True
            names = {topic, event.group or "", event.message or ""}
            # A broker saves its topics or groups, perhaps after an unrecorded deletion.
            is_saved = any(self.known.tables.saved(event.node, each) for each in (TOPICS, GROUPS))
            may_be_gone = is_saved or self.known.stores.may_lack_files(event.node)
            if status == NO_PERMISSION and not self.known.is_allowed():
                return True
            if status == NO_PERMISSION and not self.known.is_a_black_box(event.node):
                # The history has all administrators, and a name that is missing takes no permission away.
                return False
            return may_be_gone or not self.changed.isdisjoint(names)
        return False
