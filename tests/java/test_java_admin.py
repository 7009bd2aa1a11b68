"""Real mqadmin against a name server, a master and its slave. What it prints is read as an operator would read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from clients import Clients, Driver, JavaError, Sent, all_keys, messages
from pairs import Pair, groups_on_disk, topics_on_disk
from processes import BROKER, CLUSTER, mqadmin, until

pytestmark = pytest.mark.slow
BODIES = Path("/tmp/rocketmq/msgbodys")


def rows(printed: str) -> list[list[str]]:
    """The columns of a printed table's lines, without its heading."""
    return [line.split() for line in printed.splitlines() if line.strip() and not line.startswith("#")]


def settings(printed: str, separator: str = ":") -> dict[str, str]:
    """``name: value`` lines."""
    lines = [line.partition(separator) for line in printed.splitlines() if separator in line]
    return {name.strip(): value.strip() for name, _, value in lines}


@pytest.fixture(autouse=True, scope="module")
def told(pair: Pair, driver: Driver) -> None:
    """A Java broker cannot say its status in its first second."""
    clients = Clients(driver, pair.namesrv.address)

    def tell() -> bool:
        try:
            return all(clients.admin("brokerStatus", "-b", each.address) for each in (pair.master, pair.slave))
        except JavaError:
            return False

    until(tell)


@pytest.fixture
def topic(clients: Clients, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own with four queues."""
    return clients.make_topic(re.sub(r"\W+", "-", request.node.name)[:60])


def send(clients: Clients, topic: str, count: int) -> list[Sent]:
    """Send messages with keys ``k0``, ``k1``, …, one queue after the other, and the tag ``tag``."""
    with clients.producer() as sender:
        wanted = [{**each, "shard": n, "tag": "tag"} for n, each in enumerate(messages(count, "k"))]
        return sender("ordered", topic, wanted)


def test_cluster_list_shows_both_brokers(clients: Clients, pair: Pair) -> None:
    printed = rows(clients.admin("clusterList"))
    assert [row[:5] for row in printed] == [
        [CLUSTER, BROKER, "0", pair.master.address, "V4_9_7"],
        [CLUSTER, BROKER, "1", pair.slave.address, "V4_9_7"],
    ]


def test_mqadmin_as_a_process_of_its_own_says_the_same(clients: Clients, pair: Pair, tmp_path: Path) -> None:
    printed = rows(mqadmin(tmp_path, "clusterList", "-n", pair.namesrv.address))
    assert [row[:5] for row in printed] == [row[:5] for row in rows(clients.admin("clusterList"))]


def test_broker_status_counts_what_is_stored(clients: Clients, pair: Pair, topic: str) -> None:
    def log_end(address: str) -> int:
        return int(settings(clients.admin("brokerStatus", "-b", address))["commitLogMaxOffset"])

    before = settings(clients.admin("brokerStatus", "-b", pair.master.address))
    send(clients, topic, 4)
    after = settings(clients.admin("brokerStatus", "-b", pair.master.address))
    assert (after["brokerVersionDesc"], after["commitLogMinOffset"]) == ("V4_9_7", "0")
    assert int(after["commitLogMaxOffset"]) > int(before["commitLogMaxOffset"])
    assert int(after["msgPutTotalTodayNow"]) - int(before["msgPutTotalTodayNow"]) == 4
    until(lambda: log_end(pair.slave.address) == log_end(pair.master.address))


def test_topic_list_shows_the_topic_its_cluster_and_its_groups(clients: Clients, topic: str) -> None:
    assert [topic] in rows(clients.admin("topicList"))
    assert [CLUSTER, topic] in rows(clients.admin("topicList", "-c"))
    send(clients, topic, 4)
    with clients.push(topic, f"of-{topic}") as consumer:
        clients.driver.wait([consumer], lambda got: len(got) == 4)
    assert [CLUSTER, topic, f"of-{topic}"] in rows(clients.admin("topicList", "-c"))


def test_topic_status_shows_each_queue_s_offsets(clients: Clients, topic: str) -> None:
    send(clients, topic, 6)
    printed = rows(clients.admin("topicStatus", "-t", topic))
    assert [row[:4] for row in printed] == [[BROKER, str(n), "0", str(2 - n // 2)] for n in range(4)]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", " ".join(row[4:])) for row in printed)


def test_topic_status_of_an_unknown_topic_is_refused(clients: Clients) -> None:
    with pytest.raises(JavaError, match="CODE: 17"):
        clients.admin("topicStatus", "-t", "nobody-has-this")


def test_topic_route_names_both_brokers_and_the_queues(clients: Clients, pair: Pair, topic: str) -> None:
    route = clients.route(topic)
    assert route["brokerDatas"] == [
        {"brokerAddrs": {0: pair.master.address, 1: pair.slave.address}, "brokerName": BROKER, "cluster": CLUSTER}
    ]
    assert route["queueDatas"] == [
        {"brokerName": BROKER, "perm": 6, "readQueueNums": 4, "topicSysFlag": 0, "writeQueueNums": 4}
    ]


def test_update_topic_makes_and_changes_a_topic_and_the_slave_follows(clients: Clients, pair: Pair) -> None:
    def has(*expected: int) -> bool:
        queues = clients.route("updated")["queueDatas"]
        return [(each["readQueueNums"], each["writeQueueNums"], each["perm"]) for each in queues] == [expected]

    update = ("updateTopic", "-b", pair.master.address, "-t", "updated")
    for more, expected in ((["-r", "6", "-w", "5"], (6, 5, 6)), (["-r", "8", "-w", "8", "-p", "4"], (8, 8, 4))):
        assert f"create topic to {pair.master.address} success." in clients.admin(*update, *more)
        until(partial(has, *expected))
    until(lambda: topics_on_disk(pair.slave).get("updated", {}).get("perm") == 4)


def test_a_slave_refuses_topics_and_groups(clients: Clients, pair: Pair) -> None:
    with pytest.raises(JavaError, match="CODE: 1 "):
        clients.admin("updateTopic", "-b", pair.slave.address, "-t", "not-here", "-r", "4", "-w", "4")
    with pytest.raises(JavaError, match="CODE: 1 "):
        clients.admin("updateSubGroup", "-b", pair.slave.address, "-g", "not-here")


def test_update_sub_group_reaches_the_slave(clients: Clients, pair: Pair) -> None:
    printed = clients.admin("updateSubGroup", "-b", pair.master.address, "-g", "updated-group", "-r", "3", "-w", "1")
    assert f"create subscription group to {pair.master.address} success." in printed
    until(lambda: "updated-group" in groups_on_disk(pair.slave))
    for broker in (pair.master, pair.slave):
        group = groups_on_disk(broker)["updated-group"]
        assert (group["retryMaxTimes"], group["whichBrokerWhenConsumeSlowly"], group["retryQueueNums"]) == (3, 1, 1)


def test_consumer_progress_shows_what_is_left(clients: Clients, topic: str) -> None:
    group = f"of-{topic}"
    send(clients, topic, 4)
    with clients.push(topic, group) as consumer:
        clients.driver.wait([consumer], lambda got: len(got) == 4)
        clients.commit(consumer, topic, group)
        online = rows(clients.admin("consumerProgress"))
        assert ["1", "V4_9_7", "PUSH", "CLUSTERING"] in [row[1:5] for row in online if row[0] == group]
    send(clients, topic, 2)
    printed = clients.admin("consumerProgress", "-g", group)
    mine = [row[1:6] for row in rows(printed) if row[0] == topic]
    assert mine == [[BROKER, str(n), str(2 - n // 2), "1", str(1 - n // 2)] for n in range(4)]
    assert settings(printed)["Diff Total"] == "2"


def test_consumer_progress_of_an_unknown_group_is_refused(clients: Clients) -> None:
    with pytest.raises(JavaError, match=r"CODE: (17|206) "):
        clients.admin("consumerProgress", "-g", "nobody-is-this")


@pytest.fixture
def bodies() -> Iterator[list[str]]:
    """Names of the files that queryMsgById leaves in its own folder; they are removed."""
    names: list[str] = []
    yield names
    for name in names:
        (BODIES / name).unlink(missing_ok=True)


def test_a_message_is_found_by_its_offset_id(clients: Clients, topic: str, pair: Pair, bodies: list[str]) -> None:
    sent = send(clients, topic, 3)[2]
    bodies.append(sent.msgId)
    found = settings(clients.admin("queryMsgById", "-i", sent.offsetMsgId))
    assert found["OffsetID"] == sent.offsetMsgId
    assert (found["Topic"], found["Tags"], found["Keys"]) == (topic, "[tag]", "[k2]")
    assert (found["Queue ID"], found["Queue Offset"]) == (str(sent.queue), str(sent.offset))
    assert found["Store Host"] == pair.master.address
    assert Path(found["Message Body Path"]).read_text() == "body of k2"


def test_an_offset_id_of_no_message_is_refused(clients: Clients, topic: str) -> None:
    sent = send(clients, topic, 1)[0]
    inside = sent.offsetMsgId[:16] + f"{int(sent.offsetMsgId[16:], 16) + 1:016X}"
    with pytest.raises(JavaError, match="CODE: 1 "):
        clients.admin("queryMsgById", "-i", inside)


def test_messages_are_found_by_key(clients: Clients, topic: str) -> None:
    sent = send(clients, topic, 3)
    again = send(clients, topic, 3)
    for n in range(3):
        found = {tuple(row) for row in rows(clients.admin("queryMsgByKey", "-t", topic, "-k", f"k{n}"))}
        assert found == {(each.msgId, str(each.queue), str(each.offset)) for each in (sent[n], again[n])}
    with pytest.raises(JavaError, match="CODE: 208"):
        clients.admin("queryMsgByKey", "-t", topic, "-k", "k9")


def test_what_send_message_sends_print_msg_prints(clients: Clients, topic: str) -> None:
    ((broker, queue, status, id_),) = rows(
        clients.admin("sendMessage", "-t", topic, "-p", "hello", "-k", "key-1", "-c", "tag", "-b", BROKER, "-i", "3")
    )
    assert (broker, queue, status) == (BROKER, "3", "SEND_OK")
    with clients.push(topic, f"of-{topic}") as consumer:
        (message,) = clients.driver.wait([consumer], all_keys([{"key": "key-1"}]))
    assert (message.msgId, message.tag, message.body, message.queue) == (id_, "tag", "hello", 3)
    printed = [line for line in clients.admin("printMsg", "-t", topic).splitlines() if line.startswith("MSGID")]
    assert len(printed) == 1 and id_ in printed[0] and printed[0].endswith("BODY: hello")
