"""Pulls: PULL_MESSAGE (11), with long polling, the commit that a pull may carry, and the broker to ask next.

A pull that finds nothing may wait until a message arrives for it (on a master), until the broker's next check (every 5
s), or until its own timeout; then it is answered. A slave stores no commits. Whether a slave with slaveReadEnable off
serves pulls depends on the version (:attr:`pairproof.reference.core.versions.Version`): up to 4.9.8 it does, since the
result's code overwrites the refusal's, 20.

Where this differs from RocketMQ, on purpose: an offset outside the queue writes no OFFSET_MOVED_EVENT, so that no pull
changes the log. Left out: SQL92 filters, class filters. Source: PullMessageProcessor, PullRequestHoldService,
FilterAPI, DefaultMessageFilter.
"""

from collections.abc import Hashable
from typing import ClassVar, NamedTuple

from ...errors import CodecError
from ...ports import MS, Conn
from ...wire import remoting
from ...wire.bodies import READ, SubscriptionGroupConfig
from ...wire.properties import java_hash
from ..consume_queue import Entry
from ..parts import Parts
from ..reading import Found, Reader, Takes
from ..requests import Refused, Request

COMMITS, SUSPENDS, SUBSCRIBES = 0x1, 0x2, 0x4
"""PullSysFlag."""
LOOK_NS = 5_000 * MS
SHORT_POLL_MS = 1_000
MAX_HELD = 100_000
MAX_TAGS = 1_000
HOLD = ("hold", None)
BUSY = "[REJECTREQUEST]system busy, start flow control for a while: a slave with slaveReadEnable=false serves no reads"
"""RocketMQ's text up to the colon."""
CODES = {
    "FOUND": remoting.SUCCESS,
    "NO_MATCHED_MESSAGE": remoting.PULL_RETRY_IMMEDIATELY,
    "OFFSET_OVERFLOW_ONE": remoting.PULL_NOT_FOUND,
    "OFFSET_OVERFLOW_BADLY": remoting.PULL_OFFSET_MOVED,
    "OFFSET_TOO_SMALL": remoting.PULL_OFFSET_MOVED,
}


class Held(NamedTuple):
    request: Request
    group: SubscriptionGroupConfig
    takes: Takes | None
    until: int
    """Its timeout, ns."""


class Pulling:
    reader_class: ClassVar[type[Reader]] = Reader

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.reader = self.reader_class(parts.config, parts.store)
        self.held: dict[tuple[str, int], list[Held]] = {}
        self._count = 0
        self._looking = False

    def suggestion(self, group: SubscriptionGroupConfig, found: Found) -> int:
        config = self.parts.config
        if not config.slaveReadEnable:
            return 0
        if found.slow:
            return group.which_broker_when_consume_slowly
        return 0 if config.is_slave and config.version.sends_home else group.broker_id

    def refuses(self) -> bool:
        """Whether this broker serves no pulls: a slave since 5.0 without slaveReadEnable."""
        config = self.parts.config
        return config.is_slave and not config.slaveReadEnable and config.version.refuses_reads

    def stores_commits(self) -> bool:
        return not self.parts.config.is_slave

    def code_for(self, found: Found, offset: int) -> int:
        code = CODES.get(found.status)
        if code is None:
            code = remoting.PULL_OFFSET_MOVED if offset else remoting.PULL_NOT_FOUND
        if code == remoting.PULL_OFFSET_MOVED and not self.reader.moves:
            # A slave does not move a reader: it may only be behind. The same holds for queues that lack disk room.
            return remoting.PULL_RETRY_IMMEDIATELY
        return code

    def on_pull(self, request: Request) -> None:
        if self.refuses():
            raise Refused(remoting.SYSTEM_BUSY, BUSY)
        if self._forbids():
            raise Refused(remoting.NO_PERMISSION, "this broker may not be read (brokerPermission)")
        header = request.header
        group = self.parts.groups.find(header["consumerGroup"])
        if group is None:
            raise Refused(
                remoting.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group [{header['consumerGroup']}] does not exist, and is not made by itself",
            )
        self._check(group, header["topic"], header["queueId"])
        takes = self._filter(request)
        flags = header["sysFlag"]
        waits = bool(flags & SUSPENDS)
        wait_ms = header["suspendTimeoutMillis"] if self.parts.config.longPollingEnable else SHORT_POLL_MS
        if waits:
            request = request.kept("topic", "queueId", "queueOffset", "maxMsgNums")
        held = Held(request, group, takes, self.parts.io.now() + max(0, wait_ms) * MS)
        self._answer(held, may_hold=waits)
        if flags & COMMITS and self.stores_commits():
            offsets = self.parts.offsets
            offsets.commit(header["consumerGroup"], header["topic"], header["queueId"], header["commitOffset"])

    def _forbids(self) -> bool:
        return not self.parts.config.brokerPermission & READ

    def _check(self, group: SubscriptionGroupConfig, name: str, queue_id: int) -> None:
        """Refused if the group may not read this queue."""
        topic = self.parts.topics.get(name)
        if not group.consume_enable:
            raise Refused(remoting.NO_PERMISSION, f"subscription group [{group.group_name}] may not consume")
        if topic is None:
            raise Refused(remoting.TOPIC_NOT_EXIST, f"topic[{name}] not exist: create it first")
        if not topic.perm & READ:
            raise Refused(remoting.NO_PERMISSION, f"the topic {name} may not be read")
        if not 0 <= queue_id < topic.read_queue_nums:
            remark = f"queueId[{queue_id}] is illegal: {name} has {topic.read_queue_nums} queues"
            raise Refused(remoting.SYSTEM_ERROR, remark)

    def _filter(self, request: Request) -> Takes | None:
        """The filter of a pull, None without one. Refused without a valid subscription."""
        header = request.header
        if header["sysFlag"] & SUBSCRIBES:
            if header.get("expressionType", "TAG") not in ("TAG", ""):
                raise Refused(remoting.SUBSCRIPTION_PARSE_FAILED, "only subscriptions by tag are supported")
            subscription = header.get("subscription", "")
            if subscription and not any(subscription.split("||")):
                raise Refused(remoting.SUBSCRIPTION_PARSE_FAILED, "the subscription has nothing between its ||")
            return _by_tags(subscription)
        clients = self.parts.clients
        if not clients.consumer_ids(header["consumerGroup"]):
            raise Refused(remoting.SUBSCRIPTION_NOT_EXIST, "the consumer's group has no live member")
        group = self.parts.groups.get(header["consumerGroup"])
        broadcasts = clients.consumers[header["consumerGroup"]].message_model == "BROADCASTING"
        if broadcasts and group is not None and not group.consume_broadcast_enable:
            raise Refused(remoting.NO_PERMISSION, f"subscription group [{group.group_name}] may not broadcast")
        found = clients.subscription(header["consumerGroup"], header["topic"])
        if found is None:
            raise Refused(remoting.SUBSCRIPTION_NOT_EXIST, "the consumer's group does not subscribe to this topic")
        if found.sub_version < header["subVersion"]:
            raise Refused(remoting.SUBSCRIPTION_NOT_LATEST, "the group's heartbeat with this subscription has not come")
        return _by_tags(found.sub_string)

    def _answer(self, held: Held, may_hold: bool) -> None:
        header = held.request.header
        offset = header["queueOffset"]
        limit = max(1, header["maxMsgNums"])
        found = self.reader.read(header["topic"], header["queueId"], offset, limit, held.takes)
        code = self.code_for(found, offset)
        if code == remoting.PULL_NOT_FOUND and may_hold and self._hold(held):
            return
        values = {
            # The current configuration: the group may have changed while the pull waited.
            "suggestWhichBrokerId": self.suggestion(self.parts.groups.get(held.group.group_name) or held.group, found),
            "nextBeginOffset": found.next_offset,
            "minOffset": found.low,
            "maxOffset": found.high,
        }
        held.request.answer(code, values, b"".join(found.messages), found.status)

    def _hold(self, held: Held) -> bool:
        if self._count >= MAX_HELD:
            return False
        header = held.request.header
        self.held.setdefault((header["topic"], header["queueId"]), []).append(held)
        self._count += 1
        if not self._looking:
            self._looking = True
            self.parts.io.timer(HOLD, min(held.until, self.parts.io.now() + LOOK_NS))
        return True

    def arrived(self, topic: str, queue_id: int, next_offset: int, tags_code: int) -> None:
        if not self._count or (topic, queue_id) not in self.held:
            return
        for each in self._taken(topic, queue_id):
            offset = each.request.header["queueOffset"]
            entry = Entry(0, 0, tags_code)
            if offset < next_offset and (each.takes is None or each.takes(entry)):
                self._answer(each, may_hold=False)
            else:
                self._hold(each)

    def on_timer(self, key: Hashable) -> None:
        self._looking = False
        now = self.parts.io.now()
        for topic, queue_id in list(self.held):
            for each in self._taken(topic, queue_id):
                self._answer(each, may_hold=now < each.until)
        if self._count and not self._looking:
            self._looking = True
            self.parts.io.timer(HOLD, now + LOOK_NS)

    def gone(self, conn: Conn) -> None:
        for queue in list(self.held) if self._count else ():
            remaining = [each for each in self._taken(*queue) if each.request.conn is not conn]
            if remaining:
                self.held[queue] = remaining
                self._count += len(remaining)

    def _taken(self, topic: str, queue_id: int) -> list[Held]:
        found = self.held.pop((topic, queue_id), [])
        self._count -= len(found)
        return found


def _by_tags(subscription: str) -> Takes | None:
    """A filter by the tags' hashes; None if all entries match. CodecError for too many tags."""
    if subscription in ("", "*"):
        return None
    tags = subscription.split("||")
    if len(tags) > MAX_TAGS:
        raise CodecError(f"a subscription to {len(tags)} tags: at most {MAX_TAGS} are allowed")
    codes = {java_hash(tag.strip()) for tag in tags if tag.strip()}
    return lambda entry: entry.tags_code in codes
