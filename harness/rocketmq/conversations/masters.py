"""Conformance conversations with masters alone: messages sent and read, transactions, progress, topics, groups,
settings.

Each creates its own topic first. No time passes during conversations with simulated brokers.
"""

from __future__ import annotations

from collections.abc import Sequence

from .asks import (
    BORN_MS,
    COMMIT,
    DEAD,
    DELETES,
    FOREVER,
    GROUP,
    GROUP_OF,
    GROUPS,
    HALF,
    MAKES,
    PRODUCERS,
    RETRY,
    ROLLBACK,
    TOPICS,
    asks_progress,
    at_time,
    begins,
    by_id,
    comes,
    commits,
    decides,
    deletes_group,
    deletes_topic,
    earliest,
    ends,
    figures,
    leaves,
    makes_group,
    makes_topic,
    of_key,
    progress,
    pulls,
    readers_of,
    sends,
    sends_back,
    sends_batch,
    sets,
    topic_of,
)
from .served import (
    ELSEWHERE_STORED,
    MOVED,
    NO_KEY,
    NOTHING_NEW,
    REFUSED,
    WAITS,
    Served,
    as_text,
    at,
    expects,
    found,
    message,
    only,
    pulled,
    queues,
    stored,
    topic,
)
from .steps import TOPIC, Ask, Conversation, Step

_ONE = message(1, 0, "one", KEYS="k1 k2", TAGS="red", colour="b")
_TWO = message(1, 1, "two", KEYS="k3", TAGS="blue")
_THREE = [message(0, offset, body, 7, KEYS=body) for offset, body in enumerate(("x", "yy", "zzz"))]
_MESSAGES = (
    *MAKES,
    Step("a message is sent", sends(1, "one", KEYS="k1 k2", TAGS="red", colour="b"), stored(0, 1)),
    Step("the message by its id", by_id("<place>", "found"), found(_ONE)),
    Step("a second one is sent", sends(1, "two", short=False, TAGS="blue", KEYS="k3"), stored(1, 1)),
    Step("three are sent at once", sends_batch(0, "x", "yy", "zzz"), stored(0, 0, 3)),
    Step("a message is sent to a queue that is not there", sends(2, "no"), REFUSED),
    Step("where the queue ends", ends(1), at(2)),
    Step("where the queue begins", begins(1), at(0)),
    Step("how far the topic goes", figures(), queues([0, 3], [0, 2])),
    Step("both are read", pulls(1, 0), pulled(2, 2, _ONE, _TWO)),
    Step("one of them is read", pulls(1, 0, most=1), pulled(2, 1, _ONE)),
    Step("the blue one is read", pulls(1, 0, "blue"), pulled(2, 2, _TWO)),
    Step("nothing green is read", pulls(1, 0, "green || black"), only("PULL_RETRY_IMMEDIATELY")),
    Step("nothing is behind the end", pulls(1, 2), NOTHING_NEW),
    Step("nothing is far behind the end", pulls(1, 9), MOVED),
    Step("the three are read", pulls(0, 0), pulled(3, 3, *_THREE)),
    Step("the last of three is read", pulls(0, 2), pulled(3, 3, _THREE[2])),
    Step("the message by its second key", of_key("k2"), found(_ONE)),
    Step("one of three by its key", of_key("yy"), found(_THREE[1])),
    Step("nothing has such a key", of_key("k4"), NO_KEY),
    *DELETES,
)
HALF_SENT = Step(
    "a half message is sent", sends(0, "half", flags=HALF, TAGS="red", TRAN_MSG="true", PGROUP=PRODUCERS),
    ELSEWHERE_STORED,
)  # fmt: skip
COMMITTED = pulled(1, 1, message(0, 0, "half", flags=8, TAGS="red", TRAN_MSG="true"))
_TRANSACTIONS = (
    *MAKES,
    HALF_SENT,
    Step("nothing is in its queue", ends(0), at(0)),
    Step("another group's producer decides", decides(COMMIT, "strangers"), REFUSED),
    Step("the producer commits", decides(COMMIT), WAITS),
    Step("what was committed is read", pulls(0, 0), COMMITTED),
    Step(
        "another half message is sent", sends(0, "gone", flags=HALF, TRAN_MSG="true", PGROUP=PRODUCERS),
        ELSEWHERE_STORED,
    ),
    Step("the producer takes it back", decides(ROLLBACK), WAITS),
    Step("the queue has what was committed", ends(0), at(1)),
    *DELETES,
)  # fmt: skip
SENT_TO_GO_BACK = Step("a message is sent to be sent back", sends(1, "back", TAGS="red"), stored(0, 1))
_SENT_BACK = (
    *MAKES,
    Step("a message is sent that is delayed", sends(0, "later", DELAY="1"), ELSEWHERE_STORED),
    Step("nothing comes before its time", ends(0), at(0)),
    SENT_TO_GO_BACK,
    Step("it is sent back for ever", sends_back(-1), WAITS),
    Step("it is among the dead letters", ends(0, DEAD), at(1)),
    Step("it is sent back for a while", sends_back(0), WAITS),
    Step("it is not to be tried again yet", ends(0, RETRY), at(0)),
    Step("a message is sent to be tried again", sends(0, "again", topic=RETRY, times=2), stored(0)),
    Step("it is to be tried again", ends(0, RETRY), at(1)),
    Step("it is sent once too often", sends(0, "again", topic=RETRY, times=4)),
    Step("it is to be tried again no more", ends(0, RETRY), at(1)),
    Step("it is a dead letter, too", ends(0, DEAD), at(2)),
    *DELETES,
)
FIRST = Served(frozenset({"PUT_OK", "QUERY_NOT_FOUND"}), as_text(offset=0))
"""A group without progress begins at the queue's first message if that counts as being in memory."""
_PROGRESS = (
    *MAKES,
    Step("a message is sent to be read", sends(1, "read"), stored(0, 1)),
    Step("progress is told", commits(1, 7)),
    Step("the progress", asks_progress(1), at(7)),
    Step("progress goes back", commits(1, 0)),
    Step("the progress then", asks_progress(1), at(0)),
    Step("a pull tells progress", pulls(1, 0, commits=1), pulled(1, 1, message(1, 0, "read"))),
    Step("the progress that it told", asks_progress(1), at(1)),
    Step("how far the group is", progress(topic=TOPIC), queues([0, 0], [1, 1])),
    DELETES[1],
    MAKES[1],
    Step("no progress is left", asks_progress(1), FIRST),
    DELETES[0],
)
_TOPICS_VERSION, _GROUPS_VERSION = Ask(TOPICS, reads=("version",)), Ask(GROUPS, reads=("version",))
_GROWN, _STAYS = expects(grown=True, later=True), expects(grown=False, later=True)
_TABLES = (
    MAKES[0],
    Step("which topic there is", topic_of(), topic(2, 2, 6)),
    Step("the topic is changed", makes_topic(3, 1, 4, "MULTI_TAG", 3)),
    Step("the topics' version has grown", _TOPICS_VERSION, _GROWN),
    Step("which topic there is then", topic_of(), topic(3, 1, 4, "MULTI_TAG", 3)),
    Step("the topics' version stays", _TOPICS_VERSION, _STAYS),
    DELETES[0],
    Step("which topic is left", topic_of(), expects(topic=None)),
    Step("a group is made in its own way", makes_group(
        retryQueueNums=2, retryMaxTimes=3, brokerId=1, whichBrokerWhenConsumeSlowly=2, consumeEnable=False,
        consumeFromMinEnable=False,
    )),
    Step("which group there is", GROUP_OF, expects(group=[1, True, False, False, True, 3, 2, 2])),
    Step("the group may not read", pulls(0, 0), only("NO_PERMISSION")),
    Step("the group is changed", makes_group(
        retryMaxTimes=4, consumeBroadcastEnable=False, notifyConsumerIdsChangedEnable=False
    )),
    Step("the groups' version has grown", _GROUPS_VERSION, _GROWN),
    Step("which group there is then", GROUP_OF, expects(group=[0, False, True, True, False, 4, 1, 1])),
    Step("the groups' version stays", _GROUPS_VERSION, _STAYS),
    DELETES[1],
    Step("which group is left", GROUP_OF, expects(group=None)),
)  # fmt: skip
_SYSTEM_TOPICS = {
    "BenchmarkTest": [1_024, 1_024], "OFFSET_MOVED_EVENT": [1, 1], "SCHEDULE_TOPIC_XXXX": [18, 18],
    "SELF_TEST_TOPIC": [1, 1], "_REPLY_TOPIC": [1, 1],
}  # fmt: skip
_EMPTY = (
    Step("which topics every broker has", Ask(TOPICS, reads=("system topics",)), expects(topics=_SYSTEM_TOPICS)),
    *MAKES,
    Step("an empty queue ends", ends(0), at(0)),
    Step("an empty queue begins", begins(0), at(0)),
    Step("nothing is in it since any time", at_time(0, BORN_MS), at(0)),
    Step("nothing was ever stored in it", earliest(0), expects(ms=-1)),
    Step("how far an empty topic goes", figures(), queues([0, 0], [0, 0])),
    Step("nothing is at its begin", pulls(0, 0), NOTHING_NEW),
    Step("nothing is behind its begin", pulls(0, 1), MOVED),
    Step("nobody reads it", readers_of(), expects(groups=[])),
    *DELETES,
)
_NOT_SUBSCRIBED = only("SUBSCRIPTION_NOT_EXIST")
_BLUE = pulled(2, 2, message(0, 1, "two", TAGS="b"))
_FAR = progress()
_SUBSCRIBED = (
    *MAKES,
    Step("a red message is sent", sends(0, "one", TAGS="r"), stored(0)),
    Step("a blue message is sent", sends(0, "two", TAGS="b"), stored(1)),
    Step("a group that nobody has joined reads", pulls(0, 0, version=1), _NOT_SUBSCRIBED),
    Step("a consumer of red ones comes", comes(GROUP, (TOPIC, "r", 1))),
    Step("where its tries again go", topic_of(RETRY), topic(1, 1, 6)),
    Step("it reads what it has subscribed to", pulls(0, 0, version=1), pulled(2, 2, message(0, 0, "one", TAGS="r"))),
    Step("it reads what it has not subscribed to yet", pulls(0, 0, version=2), only("SUBSCRIPTION_NOT_LATEST")),
    Step("it reads what it has not subscribed to", pulls(0, 0, version=1, topic=RETRY, group=GROUP), _NOT_SUBSCRIBED),
    Step("the consumer wants blue ones", comes(GROUP, (TOPIC, "b", 2))),
    Step("it reads what it has subscribed to then", pulls(0, 0, version=2), _BLUE),
    Step("it reads by an older subscription", pulls(0, 0, version=1), _BLUE),
    Step("its progress is told", commits(0, 1)),
    Step("how far the group is everywhere", _FAR, queues([2, 1], [0, 0])),
    Step("who reads the topic", readers_of(), expects(groups=["-group"])),
    Step("the consumer wants another topic", comes(GROUP, (RETRY, "*", 3))),
    Step("how far the group is where it still reads", _FAR, expects(queues={})),
    Step("the consumer of the topic leaves", leaves(consumerGroup=GROUP)),
    Step("a group that nobody is in any more reads", pulls(0, 0, version=1), _NOT_SUBSCRIBED),
    Step("who has read the topic", readers_of(), expects(groups=["-group"])),
    Step("how far the group was", _FAR, queues([2, 1], [0, 0])),
    DELETES[0],
    Step("the topic is deleted", deletes_topic(RETRY)),
    Step("the group is deleted", deletes_group()),
)
_KEYED = [message(0, 0, "1", KEYS="k"), message(0, 1, "2", KEYS="k j"), message(1, 0, "3", KEYS="j k")]
_WITH_ID = found(message(1, 1, "4"))
_BY_KEYS = (
    *MAKES,
    Step("a message with a key is sent", sends(0, "1", KEYS="k"), stored(0)),
    Step("another message with the key is sent", sends(0, "2", KEYS="k j"), stored(1)),
    Step("a third message with the key is sent", sends(1, "3", KEYS="j k"), stored(0, 1)),
    Step("all that have the key", of_key("k"), found(*_KEYED)),
    Step("the last two that have the key", of_key("k", most=2), found(*_KEYED[1:])),
    Step("both that have the other key", of_key("j"), found(*_KEYED[1:])),
    Step("nothing was stored so early", of_key("k", until=BORN_MS), NO_KEY),
    Step("nothing was stored so late", of_key("k", since=FOREVER - 1), NO_KEY),
    Step("nothing has another topic's key", of_key("k", topic=f"{TOPIC}s"), NO_KEY),
    Step("a message with a client's own id is sent", sends(1, "4", UNIQ_KEY="u"), stored(1, 1)),
    Step("the message by its client's id", of_key("u", _UNIQUE_KEY_QUERY="true"), _WITH_ID),
    Step("the message by its client's id as a key", of_key("u"), _WITH_ID),
    *DELETES,
)
_KEPT = [message(3, 0, "first"), message(3, 1, "second")]
PERMITTED = (
    Step("sends may make topics", sets("autoCreateTopicEnable=true")),
    Step("a message is sent to a topic that is not there", sends(3, "first"), stored(0, 3)),
    Step("which topic was made", topic_of(), topic(4, 4, 6)),
    Step("a message is sent to a queue that was not made", sends(4, "no"), REFUSED),
    MAKES[1],
    Step("what made the topic is read", pulls(3, 0), pulled(1, 1, _KEPT[0])),
    Step("nobody may read the topic", makes_topic(4, 4, 2)),
    Step("the topic may not be read", pulls(3, 0), only("NO_PERMISSION")),
    Step("the topic has fewer queues to read", makes_topic(3, 4)),
    Step("a queue that may not be read", pulls(3, 0), REFUSED),
    Step("a message is sent to it all the same", sends(3, "second"), stored(1, 3)),
    Step("the topic has them again", makes_topic(4, 4)),
    Step("both were kept", pulls(3, 0), pulled(2, 2, *_KEPT)),
    *DELETES,
    Step("what is deleted cannot be read", pulls(3, 0), only("TOPIC_NOT_EXIST", "SUBSCRIPTION_GROUP_NOT_EXIST")),
)
"""For a master that creates topics of four queues."""
_LONG_POLLING = Ask("GET_BROKER_CONFIG", reads=("settings", "longPollingEnable"))
_SETTINGS = (
    # In all forms of Java's properties files; the last value of a repeated key counts.
    Step("pulls are to wait shortly", sets("# a\n\n  ! b\nlongPolling\\\n   Enable : f\\u0061lse\n")),
    Step("how long pulls wait", _LONG_POLLING, expects(longPollingEnable="false")),
    Step("pulls are to wait long", sets("longPollingEnable = false\r\n\t\\u006congPollingEnable\ttrue")),
    Step("how long pulls wait then", _LONG_POLLING, expects(longPollingEnable="true")),
    # Not topics: a send that finds them forbidden takes them from TBW102 permanently, in any later setting.
    Step("no group is to be made by itself", sets("autoCreateSubscriptionGroup=false")),
    MAKES[0],
    Step("a group reads that may not be made", pulls(0, 0), only("SUBSCRIPTION_GROUP_NOT_EXIST")),
    Step("groups are to be made by themselves", sets("autoCreateSubscriptionGroup=true")),
    Step("a group reads that is made", pulls(0, 0), NOTHING_NEW),
    Step("the broker may only be read", sets("brokerPermission=4")),
    Step("a message is sent although it may only be read", sends(0, "in"), stored(0)),
    Step("the message that was sent comes back", sends_back(0), only("NO_PERMISSION")),
    Step("what was sent is read", pulls(0, 0), pulled(1, 1, message(0, 0, "in"))),
    Step("the broker may only be written", sets("brokerPermission=2")),
    Step("nothing may be read from it", pulls(0, 0), only("NO_PERMISSION")),
    Step("the broker may do everything", sets("brokerPermission=6")),
    Step("the message that was sent comes back then", sends_back(-1), WAITS),
    *DELETES,
)
OF_MASTERS: Sequence[Conversation] = (
    _MESSAGES, _TRANSACTIONS, _SENT_BACK, _PROGRESS, _TABLES, _SETTINGS, _EMPTY, _SUBSCRIBED, _BY_KEYS, PERMITTED,
)  # fmt: skip
