"""Topics, groups, configuration: what a master takes, what it refuses and why, and that a slave changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from processor_play import SLAVE, Play

from pairproof.reference.core import versioned_table
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.processors.administration import CHANGEABLE, Administration
from pairproof.reference.wire import beans, config_text, headers, remoting
from pairproof.reference.wire.bodies import (
    DataVersion,
    SubscriptionGroupConfig,
    SubscriptionGroups,
    TopicConfig,
    TopicConfigs,
)
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command

TOPIC = {
    "topic": "T", "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 3, "perm": 6,
    "topicFilterType": "SINGLE_TAG", "order": False,
}  # fmt: skip


def put_topic(play: Play, **changes: Any) -> Command:
    return play.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, **{**TOPIC, **changes})


def put_group(play: Play, name: str = "G", **changes: Any) -> Command:
    body = beans.encode(SubscriptionGroupConfig(name, **changes))
    return play.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body)


def put_config(play: Play, text: bytes) -> Command:
    return play.ask(RequestCode.UPDATE_BROKER_CONFIG, text)


def refused(answer: Command) -> str:
    """Why; one clear line."""
    assert answer.code == remoting.SYSTEM_ERROR and answer.remark and "\n" not in answer.remark
    return answer.remark


# Topics.


def test_topic_is_created_changed_listed_saved_and_deleted() -> None:
    play = Play()
    before = play.parts.topics.version
    assert put_topic(play).code == remoting.SUCCESS
    assert put_topic(play, perm=4, topicSysFlag=1, topicFilterType="MULTI_TAG").code == remoting.SUCCESS
    table, version = beans.decode(TopicConfigs, play.ask(RequestCode.GET_ALL_TOPIC_CONFIG).body)
    assert table["T"] == TopicConfig("T", 4, 3, 4, "MULTI_TAG", 1)
    assert version.counter == before.counter + 2
    assert play.persists.count("topics") == 2
    assert play.ask(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T").code == remoting.SUCCESS
    table, _ = beans.decode(TopicConfigs, play.ask(RequestCode.GET_ALL_TOPIC_CONFIG).body)
    assert "T" not in table and play.persists.count("topics") == 3


def test_change_that_changes_nothing_makes_no_version_and_saves_nothing() -> None:
    play = Play()
    put_topic(play)
    put_group(play)
    before = play.parts.topics.version, play.parts.groups.version, list(play.persists)
    put_topic(play)
    put_group(play)
    play.ask(RequestCode.DELETE_TOPIC_IN_BROKER, topic="unknown")
    play.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName="unknown", removeOffset=True)
    assert (play.parts.topics.version, play.parts.groups.version, play.persists) == before


def test_deleted_topic_goes_on_at_the_offsets_that_it_had() -> None:
    play = Play()
    assert play.produce()["queueOffset"] == 0
    play.ask(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T")
    assert play.produce()["queueOffset"] == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"topic": ""}, "topic ''"),
        ({"topic": "white space"}, "topic 'white space'"),
        ({"topic": "line\n"}, "topic 'line"),
        ({"topic": "t" * 128}, "1 to 127"),
        ({"topic": "TBW102"}, "system topic"),
        ({"topic": "SCHEDULE_TOPIC_XXXX"}, "system topic"),
        ({"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}, "system topic"),
        ({"topic": "rmq_sys_mine"}, "system topic"),
        ({"topic": "broker-a"}, "system topic"),
        ({"topic": "DefaultCluster"}, "system topic"),
        ({"topic": "DefaultCluster_REPLY_TOPIC"}, "system topic"),
        ({"readQueueNums": -1}, "readQueueNums is -1"),
        ({"writeQueueNums": 10_001}, "writeQueueNums is 10001"),
        ({"perm": 8}, "perm is 8"),
        ({"perm": -1}, "perm is -1"),
        ({"topicFilterType": "ANY"}, "topicFilterType"),
    ],
)
def test_topic_that_cannot_be_is_refused_with_the_reason(changes: dict[str, Any], says: str) -> None:
    play = Play()
    before = play.parts.topics.entries
    assert says in refused(put_topic(play, **changes))
    if "topic" in changes:
        assert says in refused(play.ask(RequestCode.DELETE_TOPIC_IN_BROKER, topic=changes["topic"]))
    assert play.parts.topics.entries is before and play.persists == []


def test_topic_with_the_least_and_the_most_that_is_allowed_is_taken() -> None:
    play = Play()
    assert put_topic(play, topic="t" * 127, readQueueNums=0, writeQueueNums=10_000, perm=0).code == remoting.SUCCESS
    assert put_topic(play, topic="%RETRY%g|_-", perm=7).code == remoting.SUCCESS


def test_one_topic_or_group_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    monkeypatch.setattr(versioned_table, "MAX_ENTRIES", 0)
    assert "topics" in refused(put_topic(play))
    assert "groups" in refused(put_group(play))


def test_name_servers_hear_of_a_new_topic_and_of_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    play, heard = Play(), []
    monkeypatch.setattr(play.broker.registration, "topics_changed", lambda: heard.append(1))
    put_group(play)
    put_topic(play)
    put_topic(play)
    play.ask(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T")
    assert len(heard) == 2


# Groups.


def test_group_is_created_changed_listed_and_deleted() -> None:
    play = Play()
    assert put_group(play).code == remoting.SUCCESS
    assert put_group(play, retry_max_times=-1, broker_id=1, consume_enable=False).code == remoting.SUCCESS
    table, _ = beans.decode(SubscriptionGroups, play.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body)
    assert table["G"] == SubscriptionGroupConfig("G", retry_max_times=-1, broker_id=1, consume_enable=False)
    play.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName="G")
    assert play.parts.groups.get("G") is None and play.persists.count("groups") == 3


@pytest.mark.parametrize(("remove", "left"), [(True, {"T@H": {0: 5}}), (False, {"T@G": {0: 5}, "T@H": {0: 5}})])
def test_deleted_group_s_progress_goes_only_if_that_is_wanted(remove: bool, left: dict[str, Any]) -> None:
    play = Play()
    for group in "GH":
        play.parts.offsets.commit(group, "T", 0, 5)
    play.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName="G", removeOffset=remove)
    assert play.parts.offsets.table == left
    play.wait(5)
    assert play.persists.count("offsets") == 1


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b'{"groupName":1}', b"{}", beans.encode(SubscriptionGroupConfig("white space")),
        beans.encode(SubscriptionGroupConfig("g" * 256)),
        beans.encode(SubscriptionGroupConfig("G", retry_queue_nums=-1)),
        beans.encode(SubscriptionGroupConfig("G", broker_id=1 << 63)),
        beans.encode(SubscriptionGroupConfig("G", which_broker_when_consume_slowly=-1)),
        beans.encode(SubscriptionGroupConfig("G", retry_max_times=1 << 31)),
    ],
)  # fmt: skip
def test_group_that_cannot_be_is_refused(body: bytes) -> None:
    play = Play()
    before = play.parts.groups.entries
    refused(play.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body))
    assert play.parts.groups.entries is before


# Slaves.


class CareLess(Administration):
    def check_role(self) -> None: ...


class CareLessBroker(Broker):
    administration_class = CareLess


def changes_of(play: Play) -> list[int]:
    """The codes of all attempts to change a table that were taken."""
    answers = {
        RequestCode.UPDATE_AND_CREATE_TOPIC: put_topic(play),
        RequestCode.DELETE_TOPIC_IN_BROKER: play.ask(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T"),
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: put_group(play),
        RequestCode.DELETE_SUBSCRIPTIONGROUP: play.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName="G"),
    }
    assert all("master" in (answer.remark or "") for answer in answers.values() if answer.code == 1)
    return [code for code, answer in answers.items() if answer.code == remoting.SUCCESS]


def test_slave_refuses_every_change_of_topics_and_groups_and_says_who_takes_it() -> None:
    play = Play(**SLAVE)
    before = play.parts.topics.version, play.parts.groups.version
    assert changes_of(play) == []
    assert (play.parts.topics.version, play.parts.groups.version) == before and play.persists == []


def test_the_test_above_sees_a_slave_that_takes_changes() -> None:
    assert len(changes_of(Play(kind=CareLessBroker, **SLAVE))) == 4


@pytest.mark.parametrize("code", [RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG])
def test_slave_serves_its_tables(code: int) -> None:
    assert Play(**SLAVE).ask(code).body


# Configuration.


def settings(play: Play) -> tuple[DataVersion, dict[str, str]]:
    answer = play.ask(RequestCode.GET_BROKER_CONFIG)
    version = headers.decode_response(RequestCode.GET_BROKER_CONFIG, answer)["version"]
    return beans.decode(DataVersion, version), config_text.decode(answer.body)


def test_configuration_is_told_under_rocketmq_s_names() -> None:
    _, values = settings(Play(brokerName="b", slaveReadEnable=True))
    assert (values["brokerName"], values["slaveReadEnable"], values["brokerRole"]) == ("b", "true", "ASYNC_MASTER")
    assert values["messageDelayLevel"].startswith("1s 5s") and values["haMasterAddress"] == ""


@pytest.mark.parametrize("key", CHANGEABLE)
def test_setting_that_takes_effect_at_once_is_changed_and_told(key: str) -> None:
    play = Play()
    version, values = settings(play)
    other = {"true": "false", "false": "true"}.get(values[key], "4")
    assert put_config(play, f"{key}={other}\n".encode()).code == remoting.SUCCESS
    later, changed = settings(play)
    assert changed == {**values, key: other} and later.counter == version.counter + 1
    put_config(play, f"{key}={other}\n".encode())
    assert settings(play)[0] == later


def test_a_broker_that_may_only_be_read_takes_no_ordered_message() -> None:
    play = Play(brokerPermission=4)
    play.parts.topics.put("T", TopicConfig("T", 1, 1))
    assert play.produce("T")["queueOffset"] == 0
    play.parts.topics.put("T", TopicConfig("T", 1, 1, order=True))
    with pytest.raises(AssertionError, match="takes no sends"):
        play.produce("T")
    put_config(play, b"brokerPermission=6")
    assert play.produce("T")["queueOffset"] == 1


def test_automatic_creation_can_be_switched_off_and_on() -> None:
    play = Play(autoCreateTopicEnable=False, autoCreateSubscriptionGroup=False)
    put_config(play, b"autoCreateTopicEnable=true\nautoCreateSubscriptionGroup = true")
    assert play.parts.groups.find("G") is not None
    assert play.produce("T")["queueOffset"] == 0
    put_config(play, b"autoCreateTopicEnable=false\nautoCreateSubscriptionGroup=false")
    assert play.parts.groups.find("H") is None
    assert play.parts.topics.for_send("U", "TBW102", 4) is None


def test_slave_that_may_create_topics_makes_no_template() -> None:
    play = Play(autoCreateTopicEnable=False, **SLAVE)
    assert put_config(play, b"autoCreateTopicEnable=true").code == remoting.SUCCESS
    assert play.parts.topics.get("TBW102") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"slaveReadEnable=true\nbrokerRole=SLAVE", "brokerRole takes effect at a start"),
        (b"slaveReadEnable=true\nlistenPort=1", "listenPort takes effect at a start"),
        (b"slaveReadEnable=true\nslaveReadEnabled=true", "unknown setting 'slaveReadEnabled'"),
        (b"longPollingEnable=false\nslaveReadEnable=yes", "slaveReadEnable must be true or false"),
        (b"slaveReadEnable=\xff", "UTF-8"),
    ],
)
def test_configuration_is_changed_as_a_whole_or_not_at_all(text: bytes, says: str) -> None:
    play = Play()
    before = settings(play)
    assert says in refused(put_config(play, text))
    assert settings(play) == before
