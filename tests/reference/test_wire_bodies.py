"""Bodies beyond what was captured: missing and wrong fields, compressed registration, batches, configuration text."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from registrations import encode_registration

from pairproof.reference.errors import CodecError
from pairproof.reference.wire import beans, bodies_client, bodies_route, config_text
from pairproof.reference.wire.bodies import (
    ConsumerOffsets,
    DataVersion,
    DelayOffsets,
    KVTable,
    SubscriptionGroupConfig,
    TopicConfig,
    TopicConfigs,
)
from pairproof.reference.wire.bodies_client import (
    BatchItem,
    ConsumerData,
    ConsumeStats,
    HeartbeatData,
    LockBatchRequest,
    LockBatchResponse,
    MessageQueue,
    OffsetWrapper,
    ProducerData,
    SubscriptionData,
    TopicOffset,
    TopicStatsTable,
)
from pairproof.reference.wire.bodies_route import BrokerData, QueueData, RegisterBrokerBody, TopicRouteData

QUEUE = MessageQueue("t", "b", 0)
SAMPLES: list[tuple[Any, bytes]] = [
    (DataVersion(7, 1), b'{"counter":1,"timestamp":7}'),
    (ConsumerOffsets({"t@g": {0: 5, 1: 7}}), b'{"offsetTable":{"t@g":{0:5,1:7}}}'),
    (DelayOffsets({}), b'{"offsetTable":{}}'),
    (LockBatchResponse((QUEUE,)), b'{"lockOKMQSet":[{"brokerName":"b","queueId":0,"topic":"t"}]}'),
    (LockBatchRequest("g", "c"), b'{"clientId":"c","consumerGroup":"g","mqSet":[]}'),
    (
        TopicStatsTable({QUEUE: TopicOffset(0, 9, 8)}),
        b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"t"}:'
        b'{"lastUpdateTimestamp":8,"maxOffset":9,"minOffset":0}}}',
    ),
    (
        ConsumeStats({QUEUE: OffsetWrapper(9, 4, 8)}, 0.0),
        b'{"consumeTps":0.0,"offsetTable":{{"brokerName":"b","queueId":0,"topic":"t"}:'
        b'{"brokerOffset":9,"consumerOffset":4,"lastTimestamp":8}}}',
    ),
    (
        HeartbeatData("c", (ProducerData("p"),), (ConsumerData("g", subscription_data_set=(SubscriptionData("t"),)),)),
        b'{"clientID":"c","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":'
        b'"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":'
        b'false,"codeSet":[],"expressionType":"TAG","subString":"*","subVersion":0,"tagsSet":[],"topic":"t"}],'
        b'"unitMode":false}],"producerDataSet":[{"groupName":"p"}]}',
    ),
]


@pytest.mark.parametrize(("bean", "body"), SAMPLES, ids=[type(bean).__name__ for bean, _ in SAMPLES])
def test_a_body_is_written_in_javas_words_and_read_back(bean: Any, body: bytes) -> None:
    assert beans.encode(bean) == body
    assert beans.decode(type(bean), body) == bean


def test_reading_is_as_lenient_as_java() -> None:
    text = "{ 'topicName' : 't', perm: 6, attributes: {'+a': 'b'}, order: null }"
    assert beans.decode(TopicConfig, text) == TopicConfig("t")
    assert beans.decode(ConsumerOffsets, '{"offsetTable":{"t@g":{"0":5,"-1":7}}}').offset_table == {
        "t@g": {0: 5, -1: 7}
    }
    assert beans.decode(KVTable, '{"table":{7:"x"}}').table == {"7": "x"}
    assert beans.decode(ConsumeStats, '{"offsetTable":{},"consumeTps":3}').consume_tps == 3.0
    assert beans.decode(SubscriptionGroupConfig, '{"groupName":"g"}').retry_max_times == 16


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        (TopicConfig, "{}", "TopicConfig: topicName is missing"),
        (TopicConfig, '{"topicName":null}', "topicName is missing"),
        (TopicConfig, '{"topicName":"t","perm":"6"}', "TopicConfig: perm: an integer expected, not '6'"),
        (TopicConfig, '{"topicName":"t","perm":true}', "perm: an integer expected"),
        (TopicConfig, '{"topicName":"t","order":1}', "order: true or false expected"),
        (TopicConfig, "[]", "an object expected"),
        (
            TopicConfigs,
            '{"dataVersion":{},"topicConfigTable":{"t":{"topicName":5}}}',
            "TopicConfigs: topicConfigTable: 't': topicName: a text expected, not 5",
        ),
        (ConsumerOffsets, '{"offsetTable":{"t@g":{"x":5}}}', "offsetTable: 't@g': 'x': an integer key expected"),
        (ConsumerOffsets, '{"offsetTable":[]}', "offsetTable: an object expected"),
        (ConsumeStats, '{"offsetTable":{},"consumeTps":"x"}', "consumeTps: a number expected"),
        (TopicStatsTable, '{"offsetTable":{"t":{}}}', "'t': an object expected"),
        (TopicStatsTable, '{"offsetTable":{{"topic":"t"}:{}}}', "brokerName is missing"),
        (KVTable, '{"table":{{"a":1}:"x"}}', "a text expected"),
        (LockBatchResponse, '{"lockOKMQSet":{}}', "lockOKMQSet: a list expected"),
    ],
)
def test_a_wrong_body_is_refused_with_the_path_to_it(kind: type, text: str, why: str) -> None:
    with pytest.raises(CodecError, match=why):
        beans.decode(kind, text)


def test_a_type_that_no_body_has_is_a_programmers_error() -> None:
    class Odd(NamedTuple):
        when: complex

    with pytest.raises((AssertionError, NameError)):
        beans.decode(Odd, "{}")


ROUTE = TopicRouteData((BrokerData("b", "c", {0: "h:1", 1: "h:2"}),), (QueueData("b", 4, 4, 6),))


@pytest.mark.parametrize(
    ("version", "asked", "addresses"),
    [
        (401, False, b'{"0":"h:1","1":"h:2"}'),
        (400, True, b'{"0":"h:1","1":"h:2"}'),
        (400, False, b'{0:"h:1",1:"h:2"}'),
    ],
)
def test_broker_ids_are_quoted_for_clients_that_ask_or_are_new(version: int, asked: bool, addresses: bytes) -> None:
    body = bodies_route.encode_route(ROUTE, version, asked)
    assert body == (
        b'{"brokerDatas":[{"brokerAddrs":%b,"brokerName":"b","cluster":"c"}],"filterServerTable":{},'
        b'"queueDatas":[{"brokerName":"b","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}' % addresses
    )
    assert beans.decode(TopicRouteData, body) == ROUTE


TOPICS = TopicConfigs({"t": TopicConfig("t", 4, 8, 6), "%RETRY%g": TopicConfig("%RETRY%g", 1, 1, 6)}, DataVersion(9, 2))
REGISTRATION = RegisterBrokerBody(TOPICS, ("f:1",))


def register(body: bytes, compressed: bool) -> RegisterBrokerBody:
    header = {"compressed": compressed, "bodyCrc32": bodies_route.body_crc(body)}
    return bodies_route.decode_registration(body, header)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_registration_comes_back_in_both_forms(compressed: bool) -> None:
    assert register(encode_registration(REGISTRATION, compressed), compressed) == REGISTRATION


def test_a_compressed_registration_has_javas_parts() -> None:
    body = encode_registration(REGISTRATION, compressed=True)
    assert body[:2] == b"\x78\xda", "a zlib stream of level 9"
    assert zlib.decompress(body) == (
        b'\0\0\0\x1b{"counter":2,"timestamp":9}\0\0\0\2'
        b"\0\0\0\x12t 4 8 6 SINGLE_TAG\0\0\0\x19%RETRY%g 1 1 6 SINGLE_TAG"
        b'\0\0\0\x07["f:1"]'
    )


def test_a_compressed_registration_loses_flag_and_order() -> None:
    odd = TopicConfig("t", topic_sys_flag=2, order=True)
    sent = RegisterBrokerBody(TopicConfigs({"t": odd}, DataVersion()))
    found = register(encode_registration(sent, True), True)
    assert found.topic_config_serialize_wrapper.topic_config_table == {"t": TopicConfig("t")}


@pytest.mark.parametrize("compressed", [False, True])
def test_a_registration_with_another_crc_is_refused(compressed: bool) -> None:
    body = encode_registration(REGISTRATION, compressed)
    header = {"compressed": compressed, "bodyCrc32": bodies_route.body_crc(body) ^ 1}
    with pytest.raises(CodecError, match="crc32 not match"):
        bodies_route.decode_registration(body, header)
    assert bodies_route.decode_registration(body, {**header, "bodyCrc32": 0}) == REGISTRATION
    assert bodies_route.decode_registration(body, {"compressed": compressed}) == REGISTRATION


def test_no_damage_to_a_compressed_registration_goes_unnoticed() -> None:
    good = zlib.decompress(encode_registration(REGISTRATION, True))
    damaged = [good[:end] for end in range(len(good))] + [good + b"\0", good.replace(b"t 4 8", b"t 4 x")]
    damaged += [good.replace(b"\0\0\0\2\0", lengths + b"\0") for lengths in (b"\0\0\0\1", b"\0\0\0\3", b"\xff" * 4)]
    for raw in damaged:
        with pytest.raises(CodecError):
            register(zlib.compress(raw), True)
    for body in (b"", b"no zlib", zlib.compress(good)[:-1], zlib.compress(good) + b"x"):
        with pytest.raises(CodecError, match="registration"):
            register(body, True)


def test_a_registration_that_inflates_beyond_a_frame_is_refused() -> None:
    with pytest.raises(CodecError, match="is not a whole zlib stream of at most 16777216 bytes"):
        register(zlib.compress(bytes(17 * 1024 * 1024)), True)


ITEMS = st.builds(BatchItem, st.binary(max_size=20), st.binary(max_size=20), st.integers(-(2**31), 2**31 - 1))


@given(st.lists(ITEMS, max_size=4))
def test_a_batch_comes_back(items: list[BatchItem]) -> None:
    assert bodies_client.decode_batch(bodies_client.encode_batch(items)) == items


def test_a_batch_that_does_not_add_up_is_refused() -> None:
    whole = bodies_client.encode_batch([BatchItem(b"body", b"A\x01b", 7)])
    assert bodies_client.decode_batch(whole[:4] + b"MAGI" + b"CRC " + whole[12:]) == [BatchItem(b"body", b"A\x01b", 7)]
    broken = [whole[:end] for end in range(1, len(whole))]
    # The lengths of the message, of its body and of its properties, each one off and negative.
    for at, size in ((0, 4), (16, 4), (24, 2)):
        length = int.from_bytes(whole[at : at + size], "big")
        wrong = [each.to_bytes(size, "big") for each in (0, length - 1, length + 1, (1 << 8 * size) - 1)]
        broken += [whole[:at] + each + whole[at + size :] for each in wrong]
    for data in broken:
        with pytest.raises(CodecError, match="batch"):
            bodies_client.decode_batch(data)


def test_a_batch_item_that_does_not_fit_is_not_written() -> None:
    with pytest.raises(CodecError, match="batch"):
        bodies_client.encode_batch([BatchItem(b"", bytes(32768))])


def test_configuration_is_read_as_java_reads_it() -> None:
    text = (
        b"# a comment\n! another\n\n  brokerRole = SYNC_MASTER\r\nbrokerId:0\nlistenPort 10911\n"
        b"brokerName=a\\\n   #b\nstorePath=C:\\\\store\\u00e4\nempty=\nalone\nkey\\ with\\=signs=x=y\\t z \n"
        b"brokerId=1\nend=\\"
    )
    assert config_text.decode(text) == {
        "brokerRole": "SYNC_MASTER",
        "brokerId": "1",
        "listenPort": "10911",
        "brokerName": "a#b",
        "storePath": "C:\\storeä",
        "empty": "",
        "alone": "",
        "key with=signs": "x=y\t z ",
        "end": "",
    }
    with pytest.raises(CodecError, match="UTF-8"):
        config_text.decode(b"a=\xff")


def test_captured_configurations_are_read(golden: Path) -> None:
    found = config_text.decode((golden / "conf" / "master.properties").read_bytes())
    assert (found["brokerRole"], found["brokerId"], found["listenPort"]) == ("SYNC_MASTER", "0", "20911")
    assert config_text.decode(config_text.encode(found)) == found


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z0-9_.-]{1,8}", fullmatch=True),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=8).filter(
            lambda text: text[:1] not in (" ", "\t", "\f")
        ),
        max_size=4,
    )
)
def test_configuration_comes_back(values: dict[str, str]) -> None:
    assert config_text.decode(config_text.encode(values)) == values


@pytest.mark.parametrize(("key", "value"), [("a b", ""), ("", ""), ("#a", ""), ("a=", ""), ("a", "x\ny"), ("a", " x")])
def test_configuration_that_fits_no_line_is_not_written(key: str, value: str) -> None:
    with pytest.raises(CodecError, match="does not fit one line"):
        config_text.encode({key: value})


@given(st.binary(max_size=40))
def test_no_bytes_raise_anything_but_codec_error(data: bytes) -> None:
    calls: list[Any] = [
        bodies_client.decode_batch,
        config_text.decode,
        lambda body: beans.decode(HeartbeatData, body),
        lambda body: bodies_route.decode_registration(zlib.compress(body), {"compressed": True}),
        lambda body: bodies_route.decode_registration(body, {}),
    ]
    for call in calls:
        try:
            call(data)
        except CodecError:
            pass
