"""A producer against scripted brokers: which queue, how many tries, what is told when nobody knows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from client_peers import SILENCE, TOPIC, Answer, Names, Scripted
from client_world import MS, World

from pairproof.reference.client import producer as module
from pairproof.reference.client.producer import Outgoing, Producer, ProducerSettings, Sent
from pairproof.reference.errors import CodecError, ConfigError
from pairproof.reference.wire import beans, remoting
from pairproof.reference.wire.bodies_client import BatchItem, HeartbeatData, MessageQueue, decode_batch
from pairproof.reference.wire.headers import RequestCode

SEND = RequestCode.SEND_MESSAGE_V2
STORED = Answer(values={"msgId": "7F00000100002A9F0000000000000000", "queueId": 0, "queueOffset": 5})


class Shop:
    """A producer, a name server, and the masters of broker names ``a`` and ``b`` with two queues each."""

    def __init__(self, *names: str, **settings: Any) -> None:
        self.world = World()
        self.brokers = {name: self.world.host(name).start(Scripted) for name in names or ("a", "b")}
        for broker in self.brokers.values():
            broker.scripts[RequestCode.HEART_BEAT] = lambda request: Answer()
            broker.scripts[RequestCode.SEND_BATCH_MESSAGE] = broker.scripts[SEND] = lambda request: STORED
        routes = {name: {0: name, 1: f"{name}-slave"} for name in self.brokers}
        self.names = self.world.host("names").start(lambda host: Names(host, 2, **routes))
        self.host = self.world.host("p")
        self.learned: list[Any] = []
        what = ProducerSettings("p1", "producers", ("names",), **settings)
        self.producer: Producer = self.host.start(
            lambda host: Producer(host, what, lambda *each: self.learned.append(each))
        )
        self.sent: list[Sent] = []

    def fails(self, name: str, answer: Any) -> None:
        self.brokers[name].scripts[SEND] = lambda request: answer

    def send(self, count: int = 1, seconds: float = 1, **where: Any) -> Sent:
        for _ in range(count):
            self.producer.send(Outgoing(TOPIC, b"body", {"KEYS": "k"}), self.sent.append, **where)
        self.world.run(seconds)
        return self.sent[-1]

    def asked(self, code: int = SEND) -> list[tuple[str, int]]:
        found = [(request.time, name, request.header["queueId"])
                 for name, broker in self.brokers.items() for request in broker.seen(code)]  # fmt: skip
        return [(name, queue_id) for _, name, queue_id in sorted(found)]


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_queues_take_turns_over_all_masters(shop: Shop) -> None:
    for _ in range(8):
        sent = shop.send(seconds=0.1)
    assert shop.asked() == [("a", 0), ("a", 1), ("b", 0), ("b", 1)] * 2
    assert sent[:4] == ("ok", "PUT_OK", 1, MessageQueue(TOPIC, "b", 1))
    assert (sent.queue_offset, sent.message_id) == (5, "7F00000100002A9F0000000000000000")
    assert [topic for topic, _ in shop.learned] == [TOPIC]


def test_a_send_says_what_rocketmq_s_say(shop: Shop) -> None:
    shop.send()
    request = shop.brokers["a"].seen(SEND)[0]
    assert request.header == {
        "producerGroup": "producers", "topic": TOPIC, "defaultTopic": "TBW102", "defaultTopicQueueNums": 4,
        "queueId": 0, "sysFlag": 0, "bornTimestamp": request.header["bornTimestamp"], "flag": 0,
        "properties": "KEYS\x01k", "reconsumeTimes": 0, "unitMode": False, "batch": False,
    }  # fmt: skip
    assert request.body == b"body" and request.header["bornTimestamp"] >= 1_700_000_000_000


@pytest.mark.parametrize("code", sorted(module.RETRIED_CODES))
def test_what_a_broker_refuses_is_tried_at_another_one_at_once(shop: Shop, code: int) -> None:
    shop.fails("a", Answer(code))
    sent = shop.send(seconds=0.1)
    assert (sent.phase, sent.tries, sent.queue) == ("ok", 2, MessageQueue(TOPIC, "b", 0))
    assert shop.asked() == [("a", 0), ("b", 0)]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (remoting.FLUSH_DISK_TIMEOUT, "FLUSH_DISK_TIMEOUT"),
        (remoting.SLAVE_NOT_AVAILABLE, "SLAVE_NOT_AVAILABLE"),
        (remoting.FLUSH_SLAVE_TIMEOUT, "FLUSH_SLAVE_TIMEOUT"),
    ],
)
def test_a_stored_message_is_never_sent_again(shop: Shop, code: int, status: str) -> None:
    shop.fails("a", STORED._replace(code=code))
    sent = shop.send()
    assert sent[:3] == ("ok", status, 1) and shop.asked() == [("a", 0)]


def test_an_illegal_message_is_not_tried_again(shop: Shop) -> None:
    shop.fails("a", Answer(remoting.MESSAGE_ILLEGAL))
    sent = shop.send()
    assert sent[:3] == ("fail", "MESSAGE_ILLEGAL", 1) and sent.answer is not None


@pytest.mark.parametrize(("retries", "tries"), [(0, 1), (2, 3), (5, 6)])
def test_tries_end_and_the_last_failure_is_told(retries: int, tries: int) -> None:
    shop = Shop("a", retries=retries)
    shop.fails("a", Answer(remoting.SYSTEM_ERROR))
    sent = shop.send()
    assert sent[:3] == ("fail", "SYSTEM_ERROR", tries) and len(shop.asked()) == tries


def test_nobody_knows_about_a_send_that_was_cut_off_unless_a_later_try_is_stored(shop: Shop) -> None:
    for name in ("a", "b"):
        shop.fails(name, SILENCE)
    shop.producer.send(Outgoing(TOPIC, b"x"), shop.sent.append)
    shop.world.run(0.5)
    shop.world.hosts["a"].kill()
    shop.world.run(0.5)
    shop.world.hosts["b"].kill()
    shop.world.run(1)
    # The third try finds nobody, which does not undo what the first ones may have done.
    assert shop.sent[0][:3] == ("info", "refused", 3)
    shop = Shop()
    shop.fails("a", SILENCE)
    shop.producer.send(Outgoing(TOPIC, b"x"), shop.sent.append)
    shop.world.run(0.5)
    shop.world.hosts["a"].kill()
    shop.world.run(1)
    assert shop.sent[0][:3] == ("ok", "PUT_OK", 2)


def test_what_certainly_never_left_is_a_failure(shop: Shop) -> None:
    for name in ("a", "b"):
        shop.world.hosts[name].kill()
    assert shop.send()[:3] == ("fail", "refused", 3)


def test_all_tries_of_a_send_share_one_time_limit(shop: Shop) -> None:
    shop.fails("a", SILENCE)
    began = shop.world.time
    shop.producer.send(Outgoing(TOPIC, b"x"), shop.sent.append)
    shop.world.until(lambda: bool(shop.sent), 5)
    assert shop.sent[0][:3] == ("info", "timeout", 1) and shop.world.time - began <= 3_200 * MS


def test_a_send_with_its_queue_goes_there_once(shop: Shop) -> None:
    queue = MessageQueue(TOPIC, "b", 1)
    for _ in range(3):
        assert shop.send(seconds=0.1, queue=queue).queue == queue
    shop.fails("b", Answer(remoting.SYSTEM_ERROR))
    assert shop.send(queue=queue)[:3] == ("fail", "SYSTEM_ERROR", 1)
    assert shop.send(queue=MessageQueue(TOPIC, "nobody", 0))[:4] == ("fail", "no route", 0, None)


def test_messages_of_one_order_go_to_one_queue_and_orders_spread(shop: Shop) -> None:
    for key in "abcdefgh" * 2:
        shop.send(seconds=0.01, order_key=f"order {key}")
    by_key = [sent.queue for sent in shop.sent]
    assert by_key[:8] == by_key[8:] and len(set(by_key)) > 2
    # Java's hash of this text is negative.
    assert shop.send(order_key="polygenelubricants").phase == "ok"


def test_only_masters_are_sent_to_and_without_one_nothing_is(shop: Shop) -> None:
    shop.names.brokers = {"a": {1: "b"}, "b": {0: "b"}}
    shop.send(6)
    assert {name for name, _ in shop.asked()} == {"b"}
    shop = Shop()
    shop.names.brokers = {"a": {1: "a"}}
    assert shop.send()[:4] == ("fail", "no route", 0, None) and len(shop.names.requests) == 1
    shop.names.brokers = {}
    assert shop.send().status == "no route"


def test_a_route_that_lost_its_master_is_refreshed_before_a_send_gives_up() -> None:
    shop = Shop("a")
    shop.names.brokers = {"a": {1: "elsewhere"}}
    shop.send()
    shop.names.brokers = {"a": {0: "a"}}
    assert shop.send().phase == "ok"


def test_a_batch_travels_whole_and_into_one_queue(shop: Shop) -> None:
    items = [BatchItem(f"b{n}".encode(), b"KEYS\x01k") for n in range(3)]
    shop.producer.send_batch(TOPIC, items, shop.sent.append)
    shop.world.run(1)
    (request,) = shop.brokers["a"].seen(RequestCode.SEND_BATCH_MESSAGE)
    assert decode_batch(request.body) == items and request.header["batch"] is True and shop.sent[0].phase == "ok"


def test_an_answer_that_is_none_to_a_send_leaves_it_unknown(shop: Shop) -> None:
    for answer in (Answer(remoting.PULL_NOT_FOUND), Answer(remoting.SUCCESS, {})):
        shop.fails("a", answer)
        assert shop.send(queue=MessageQueue(TOPIC, "a", 0))[:2] == ("info", "unreadable answer")


def test_masters_hear_of_the_group_every_thirty_seconds(shop: Shop) -> None:
    shop.send(seconds=70)
    beats = shop.brokers["a"].seen(RequestCode.HEART_BEAT)
    assert len(beats) == 3
    data = beans.decode(HeartbeatData, beats[0].body)
    assert data.client_id == "p1" and [each.group_name for each in data.producer_data_set] == ["producers"]


def test_stopping_says_goodbye_and_ends_every_send(shop: Shop) -> None:
    shop.send()
    shop.fails("a", SILENCE)
    shop.producer.send(Outgoing(TOPIC, b"x"), shop.sent.append, MessageQueue(TOPIC, "a", 0))
    shop.world.run(0.5)
    shop.producer.send(Outgoing("new", b"x"), shop.sent.append)
    shop.producer.on_stop()
    assert {sent.phase for sent in shop.sent[1:]} == {"info", "fail"} and len(shop.sent) == 3
    shop.producer.send(Outgoing(TOPIC, b"x"), shop.sent.append)
    assert shop.sent[-1][:2] == ("fail", "closed")
    shop.world.run(60)
    assert len(shop.sent) == 4 and shop.host.timers == {} and shop.host.ends == []
    (goodbye,) = shop.brokers["a"].seen(RequestCode.UNREGISTER_CLIENT)
    assert goodbye.header == {"clientID": "p1", "producerGroup": "producers"}


def test_sends_and_topics_have_limits(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SENDING", 2)
    monkeypatch.setattr(module, "MAX_TOPICS", 1)
    shop.send(3)
    assert Counter(sent.status for sent in shop.sent) == {"PUT_OK": 2, "too many sends or topics": 1}
    shop.producer.send(Outgoing("another", b"x"), shop.sent.append)
    assert shop.sent[-1].status == "too many sends or topics"
    assert shop.send().phase == "ok"


def test_properties_that_cannot_be_written_are_refused_before_anything_is_sent(shop: Shop) -> None:
    with pytest.raises(CodecError, match="KEYS"):
        shop.producer.send(Outgoing(TOPIC, b"x", {"KEYS": "a\x01b"}), shop.sent.append)
    assert shop.sent == [] and shop.send().phase == "ok"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"group": ""}, "group"), ({"retries": -1}, "retries"), ({"send_timeout_ms": 0}, "send_timeout_ms")],
)
def test_settings_that_cannot_work_are_refused_in_one_line(wrong: dict[str, Any], says: str) -> None:
    good: dict[str, Any] = {"client_id": "p", "group": "g", "name_servers": ("n",)}
    with pytest.raises(ConfigError, match=says):
        Producer(World().host("p"), ProducerSettings(**{**good, **wrong}))
