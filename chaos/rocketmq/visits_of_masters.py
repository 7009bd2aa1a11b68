"""Visits that masters alone are paid: messages sent and read again, transactions, progress, topics, groups, settings.

Each makes its own topic first. No time passes while simulated brokers are visited. What is to be answered, see
``pairproof.harness.rocketmq.visits``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.rocketmq.questions import FOREVER
from pairproof.chaos.rocketmq.steps_of_masters import (
    BORN_MS,
    COMMIT,
    HALF,
    PRODUCERS,
    ROLLBACK,
    asks_progress,
    at_time,
    by_id,
    commits,
    decides,
    deletes_group,
    deletes_topic,
    earliest,
    ends,
    group_of,
    makes_group,
    makes_topic,
    of_key,
    of_queue,
    pulls,
    readers_of,
    sends,
    sends_back,
    sends_batch,
    sets,
    shown_group,
    shown_queues,
    shown_settings,
    shown_system_topics,
    shown_topic,
    version_of,
)
from pairproof.chaos.rocketmq.visits import Step, comes, leaves

Visit = Sequence[Step]
MADE = "visitor"
"""The topic that visitors make at a master. Visitors of a name server register another one, which the master does not
have: where time passes in a visit the master may register its own."""


def made(topic: str) -> Visit:
    """A topic is made, and a group."""
    return makes_topic("a topic is made", topic, 2, 2), makes_group("a group is made", group_of(topic))


def deleted(topic: str) -> Visit:
    """Both are deleted."""
    return deletes_topic("the topic is deleted", topic), deletes_group("the group is deleted", group_of(topic))


def _messages(topic: str) -> Visit:
    figures = shown_queues("minOffset", "maxOffset")
    return (
        *made(topic),
        sends("a message is sent", topic, 1, b"one", KEYS="k1 k2", TAGS="red", colour="b"),
        by_id("the message by its id"),
        sends("a second one is sent", topic, 1, b"two", short=False, TAGS="blue", KEYS="k3"),
        sends_batch("three are sent at once", topic, 0, b"x", b"yy", b"zzz"),
        sends("a message is sent to a queue that is not there", topic, 2, b"no"),
        ends("where the queue ends", topic, 1),
        of_queue("where the queue begins", Request.GET_MIN_OFFSET, topic, 1),
        Step("how far the topic goes", Request.GET_TOPIC_STATS_INFO, {"topic": topic}, read=figures),
        pulls("both are read", topic, 1, 0),
        pulls("one of them is read", topic, 1, 0, most=1),
        pulls("the blue one is read", topic, 1, 0, "blue"),
        pulls("nothing green is read", topic, 1, 0, "green || black"),
        pulls("nothing is behind the end", topic, 1, 2),
        pulls("nothing is far behind the end", topic, 1, 9),
        pulls("the three are read", topic, 0, 0),
        pulls("the last of three is read", topic, 0, 2),
        of_key("the message by its second key", topic, "k2"),
        of_key("one of three by its key", topic, "yy"),
        of_key("nothing has such a key", topic, "k4"),
        *deleted(topic),
    )  # fmt: skip


def _transactions(topic: str) -> Visit:
    return (
        *made(topic),
        sends("a half message is sent", topic, 0, b"half", flags=HALF, TAGS="red", TRAN_MSG="true", PGROUP=PRODUCERS),
        ends("nothing is in its queue", topic, 0),
        decides("another group's producer decides", COMMIT, "strangers"),
        decides("the producer commits", COMMIT),
        pulls("what was committed is read", topic, 0, 0),
        sends("another half message is sent", topic, 0, b"gone", flags=HALF, TRAN_MSG="true", PGROUP=PRODUCERS),
        decides("the producer takes it back", ROLLBACK),
        ends("the queue has what was committed", topic, 0),
        *deleted(topic),
    )  # fmt: skip


def _sent_back(topic: str) -> Visit:
    retry, dead = f"%RETRY%{group_of(topic)}", f"%DLQ%{group_of(topic)}"
    return (
        *made(topic),
        sends("a message is sent that is delayed", topic, 0, b"later", DELAY="1"),
        ends("nothing comes before its time", topic, 0),
        sends("a message is sent to be sent back", topic, 1, b"back", TAGS="red"),
        sends_back("it is sent back for ever", -1, topic),
        ends("it is among the dead letters", dead, 0),
        sends_back("it is sent back for a while", 0, topic),
        ends("it is not to be tried again yet", retry, 0),
        sends("a message is sent to be tried again", retry, 0, b"again", times=2),
        ends("it is to be tried again", retry, 0),
        sends("it is sent once too often", retry, 0, b"again", times=4),
        ends("it is to be tried again no more", retry, 0),
        ends("it is a dead letter, too", dead, 0),
        *deleted(topic),
    )  # fmt: skip


def _progress(topic: str) -> Visit:
    asked = {"consumerGroup": group_of(topic), "topic": topic}
    figures = shown_queues("brokerOffset", "consumerOffset")
    return (
        *made(topic),
        sends("a message is sent to be read", topic, 1, b"read"),
        commits("progress is told", topic, 1, 7),
        asks_progress("the progress", topic, 1),
        commits("progress goes back", topic, 1, 0),
        asks_progress("the progress then", topic, 1),
        pulls("a pull tells progress", topic, 1, 0, commits=1),
        asks_progress("the progress that it told", topic, 1),
        Step("how far the group is", Request.GET_CONSUME_STATS, asked, read=figures),
        deletes_group("the group is deleted", group_of(topic)), makes_group("a group is made", group_of(topic)),
        asks_progress("no progress is left", topic, 1),
        deletes_topic("the topic is deleted", topic),
    )  # fmt: skip


def _tables(topic: str) -> Visit:
    group = group_of(topic)
    topics = Step("which topic there is", Request.GET_ALL_TOPIC_CONFIG, read=shown_topic(topic))
    groups = Step("which group there is", Request.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, read=shown_group(group))
    return (
        makes_topic("a topic is made", topic, 2, 2), topics,
        makes_topic("the topic is changed", topic, 3, 1, 4, "MULTI_TAG", 3),
        version_of("the topics' version has grown", Request.GET_ALL_TOPIC_CONFIG),
        topics._replace(name="which topic there is then"),
        version_of("the topics' version stays", Request.GET_ALL_TOPIC_CONFIG),
        deletes_topic("the topic is deleted", topic), topics._replace(name="which topic is left"),
        makes_group("a group is made in its own way", group, retryQueueNums=2, retryMaxTimes=3, brokerId=1,
                     whichBrokerWhenConsumeSlowly=2, consumeEnable=False, consumeFromMinEnable=False),
        groups,
        pulls("the group may not read", topic, 0, 0),
        makes_group("the group is changed", group, retryMaxTimes=4, consumeBroadcastEnable=False,
                    notifyConsumerIdsChangedEnable=False),
        version_of("the groups' version has grown", Request.GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
        groups._replace(name="which group there is then"),
        version_of("the groups' version stays", Request.GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
        deletes_group("the group is deleted", group), groups._replace(name="which group is left"),
    )  # fmt: skip


def _empty(topic: str) -> Visit:
    figures = shown_queues("minOffset", "maxOffset")
    return (
        Step("which topics every broker has", Request.GET_ALL_TOPIC_CONFIG, read=shown_system_topics),
        *made(topic),
        ends("an empty queue ends", topic, 0),
        of_queue("an empty queue begins", Request.GET_MIN_OFFSET, topic, 0),
        at_time("nothing is in it since any time", topic, 0, BORN_MS),
        earliest("nothing was ever stored in it", topic, 0),
        Step("how far an empty topic goes", Request.GET_TOPIC_STATS_INFO, {"topic": topic}, read=figures),
        pulls("nothing is at its begin", topic, 0, 0),
        pulls("nothing is behind its begin", topic, 0, 1),
        readers_of("nobody reads it", topic),
        *deleted(topic),
    )  # fmt: skip


def _subscribed(topic: str) -> Visit:
    group = group_of(topic)
    retry = f"%RETRY%{group}"
    figures = shown_queues("brokerOffset", "consumerOffset")
    far = Step("how far the group is everywhere", Request.GET_CONSUME_STATS, {"consumerGroup": group}, read=figures)
    return (
        *made(topic),
        sends("a red message is sent", topic, 0, b"one", TAGS="r"),
        sends("a blue message is sent", topic, 0, b"two", TAGS="b"),
        pulls("a group that nobody has joined reads", topic, 0, 0, version=1),
        comes("a consumer of red ones comes", (topic, "r", 1), group=group),
        Step("where its tries again go", Request.GET_ALL_TOPIC_CONFIG, read=shown_topic(retry)),
        pulls("it reads what it has subscribed to", topic, 0, 0, version=1),
        pulls("it reads what it has not subscribed to yet", topic, 0, 0, version=2),
        pulls("it reads what it has not subscribed to", retry, 0, 0, version=1, group=group),
        comes("the consumer wants blue ones", (topic, "b", 2), group=group),
        pulls("it reads what it has subscribed to then", topic, 0, 0, version=2),
        pulls("it reads by an older subscription", topic, 0, 0, version=1),
        commits("its progress is told", topic, 0, 1),
        far,
        readers_of("who reads the topic", topic),
        comes("the consumer wants another topic", (retry, "*", 3), group=group),
        far._replace(name="how far the group is where it still reads"),
        leaves("the consumer of the topic leaves", consumerGroup=group),
        pulls("a group that nobody is in any more reads", topic, 0, 0, version=1),
        readers_of("who has read the topic", topic),
        far._replace(name="how far the group was"),
        deletes_topic("the topic is deleted", topic), deletes_topic("the topic is deleted", retry),
        deletes_group("the group is deleted", group),
    )  # fmt: skip


def _by_keys(topic: str) -> Visit:
    return (
        *made(topic),
        sends("a message with a key is sent", topic, 0, b"1", KEYS="k"),
        sends("another message with the key is sent", topic, 0, b"2", KEYS="k j"),
        sends("a third message with the key is sent", topic, 1, b"3", KEYS="j k"),
        of_key("all that have the key", topic, "k"),
        of_key("the last two that have the key", topic, "k", most=2),
        of_key("both that have the other key", topic, "j"),
        of_key("nothing was stored so early", topic, "k", until=BORN_MS),
        of_key("nothing was stored so late", topic, "k", since=FOREVER - 1),
        of_key("nothing has another topic's key", f"{topic}s", "k"),
        sends("a message with a client's own id is sent", topic, 1, b"4", UNIQ_KEY="u"),
        of_key("the message by its client's id", topic, "u", unique=True),
        of_key("the message by its client's id as a key", topic, "u"),
        *deleted(topic),
    )  # fmt: skip


def _permitted(topic: str) -> Visit:
    return (
        sets("sends may make topics", b"autoCreateTopicEnable=true"),
        sends("a message is sent to a topic that is not there", topic, 3, b"first"),
        Step("which topic was made", Request.GET_ALL_TOPIC_CONFIG, read=shown_topic(topic)),
        sends("a message is sent to a queue that was not made", topic, 4, b"no"),
        makes_group("a group is made", group_of(topic)),
        pulls("what made the topic is read", topic, 3, 0),
        makes_topic("nobody may read the topic", topic, 4, 4, 2),
        pulls("the topic may not be read", topic, 3, 0),
        makes_topic("the topic has fewer queues to read", topic, 3, 4),
        pulls("a queue that may not be read", topic, 3, 0),
        sends("a message is sent to it all the same", topic, 3, b"second"),
        makes_topic("the topic has them again", topic, 4, 4),
        pulls("both were kept", topic, 3, 0),
        *deleted(topic),
        pulls("what is deleted cannot be read", topic, 3, 0),
    )  # fmt: skip


def _settings(topic: str) -> Visit:
    asks = Step("how long pulls wait", Request.GET_BROKER_CONFIG, read=shown_settings)
    return (
        # In all forms that Java's properties files may have; of a key that comes twice the last one counts.
        sets("pulls are to wait shortly", b"# a\n\n  ! b\nlongPolling\\\n   Enable : f\\u0061lse\n"),
        asks,
        sets("pulls are to wait long", b"longPollingEnable = false\r\n\t\\u006congPollingEnable\ttrue"),
        asks._replace(name="how long pulls wait then"),
        # Not topics: a send that finds them forbidden takes them from TBW102 for good, whatever is set later.
        sets("no group is to be made by itself", b"autoCreateSubscriptionGroup=false"),
        makes_topic("a topic is made", topic, 2, 2),
        pulls("a group reads that may not be made", topic, 0, 0),
        sets("groups are to be made by themselves", b"autoCreateSubscriptionGroup=true"),
        pulls("a group reads that is made", topic, 0, 0),
        *deleted(topic),
    )  # fmt: skip


VISITS: Sequence[Callable[[str], Visit]] = (
    _messages, _transactions, _sent_back, _progress, _tables, _settings, _empty, _subscribed, _by_keys, _permitted,
)  # fmt: skip
"""Each is given the topic that it makes; its group is named after that. Neither may be there before."""
OF_MASTERS = tuple(each(MADE) for each in VISITS)
LEAST_QUEUES = 4
"""A topic that a send makes has no more queues than TBW102, whose number is the master's defaultTopicQueueNums."""
OF_FEW_QUEUES = tuple(each(MADE) for each in VISITS if each is not _permitted)
"""The visits to a master with fewer."""
