"""Visits that masters alone are paid: messages sent and read again, transactions, progress, topics, groups, settings.

Each makes its own topic first. No time passes while simulated brokers are visited. What is to be answered, see
``pairproof.harness.rocketmq.visits``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.rocketmq.steps_of_masters import (
    COMMIT,
    HALF,
    PRODUCERS,
    ROLLBACK,
    asks_progress,
    by_id,
    commits,
    decides,
    deletes_group,
    deletes_topic,
    ends,
    group_of,
    makes_group,
    makes_topic,
    of_key,
    of_queue,
    pulls,
    sends,
    sends_back,
    sends_batch,
    sets,
    shown_group,
    shown_queues,
    shown_settings,
    shown_topic,
)
from pairproof.chaos.rocketmq.visits import Step

Visit = Sequence[Step]


def _made(topic: str) -> Visit:
    return makes_topic("a topic is made", topic, 2, 2), makes_group("a group is made", group_of(topic))


def _deleted(topic: str) -> Visit:
    return deletes_topic("the topic is deleted", topic), deletes_group("the group is deleted", group_of(topic))


def _messages(topic: str) -> Visit:
    figures = shown_queues("minOffset", "maxOffset")
    return (
        *_made(topic),
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
        *_deleted(topic),
    )  # fmt: skip


def _transactions(topic: str) -> Visit:
    return (
        *_made(topic),
        sends("a half message is sent", topic, 0, b"half", flags=HALF, TAGS="red", TRAN_MSG="true", PGROUP=PRODUCERS),
        ends("nothing is in its queue", topic, 0),
        decides("another group's producer decides", COMMIT, "strangers"),
        decides("the producer commits", COMMIT),
        pulls("what was committed is read", topic, 0, 0),
        sends("another half message is sent", topic, 0, b"gone", flags=HALF, TRAN_MSG="true", PGROUP=PRODUCERS),
        decides("the producer takes it back", ROLLBACK),
        ends("the queue has what was committed", topic, 0),
        *_deleted(topic),
    )  # fmt: skip


def _sent_back(topic: str) -> Visit:
    retry, dead = f"%RETRY%{group_of(topic)}", f"%DLQ%{group_of(topic)}"
    return (
        *_made(topic),
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
        *_deleted(topic),
    )  # fmt: skip


def _progress(topic: str) -> Visit:
    asked = {"consumerGroup": group_of(topic), "topic": topic}
    figures = shown_queues("brokerOffset", "consumerOffset")
    return (
        *_made(topic),
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
        makes_topic("the topic is changed", topic, 3, 1, 4),
        topics._replace(name="which topic there is then"),
        deletes_topic("the topic is deleted", topic), topics._replace(name="which topic is left"),
        makes_group("a group is made in its own way", group, retryQueueNums=2, retryMaxTimes=3, brokerId=1,
                     whichBrokerWhenConsumeSlowly=2, consumeEnable=False),
        groups,
        pulls("the group may not read", topic, 0, 0),
        makes_group("the group is changed", group, retryMaxTimes=4),
        groups._replace(name="which group there is then"),
        deletes_group("the group is deleted", group), groups._replace(name="which group is left"),
    )  # fmt: skip


def _settings(_: str) -> Visit:
    asks = Step("how long pulls wait", Request.GET_BROKER_CONFIG, read=shown_settings)
    return (
        # In all forms that Java's properties files may have; of a key that comes twice the last one counts.
        sets("pulls are to wait shortly", b"# a\n\n  ! b\nlongPolling\\\n   Enable : f\\u0061lse\n"),
        asks,
        sets("pulls are to wait long", b"longPollingEnable = false\r\n\t\\u006congPollingEnable\ttrue"),
        asks._replace(name="how long pulls wait then"),
    )  # fmt: skip


VISITS: Sequence[Callable[[str], Visit]] = (_messages, _transactions, _sent_back, _progress, _tables, _settings)
"""Each is given the topic that it makes; its group is named after that. Neither may be there before."""
OF_MASTERS = tuple(each("visited") for each in VISITS)
