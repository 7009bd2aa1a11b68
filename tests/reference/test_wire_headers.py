"""The table of typed headers: every row is walked, with every field present, missing and ill-typed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairproof.reference.errors import CodecError
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.headers import HEADERS, Field, RequestCode
from pairproof.reference.wire.remoting import Command

GOOD: dict[str, Any] = {"text": "ä text", "int": -(2**31), "long": 2**63 - 1, "bool": True}
CODES = sorted(RequestCode)


def values(fields: tuple[Field, ...], optional: bool = True) -> dict[str, Any]:
    return {field.name: GOOD[field.kind] for field in fields if optional or field.required}


def request(code: int, fields: dict[str, str]) -> Command:
    return Command(code, 1, 0, fields)


def on_wire(code: int, name: str) -> str:
    return headers.SHORT_NAMES[name] if code in (310, 320) else name


def test_the_table_has_a_row_for_every_code_and_only_known_kinds() -> None:
    assert set(HEADERS) == set(RequestCode)
    for row in HEADERS.values():
        fields = [*row.request, *row.response]
        assert {field.kind for field in fields} <= set(GOOD)
        assert len({field.name for field in row.request}) == len(row.request)


def test_a_name_has_the_same_kind_everywhere_as_in_javas_header_classes() -> None:
    kinds = {(field.kind, field.name) for row in HEADERS.values() for field in (*row.request, *row.response)}
    named = {kind: " ".join(sorted(name for each, name in kinds if each == kind)) for kind in GOOD}
    assert named["int"].split() == [
        *("bodyCrc32", "commitOrRollback", "defaultTopicQueueNums", "delayLevel", "flag", "maxMsgNums", "maxNum"),
        *("maxReconsumeTimes", "perm", "queueId", "readQueueNums", "reconsumeTimes", "sysFlag", "topicSysFlag"),
        "writeQueueNums",
    ]
    assert named["long"].split() == [
        *("beginTimestamp", "bornTimestamp", "brokerId", "commitLogOffset", "commitOffset", "endTimestamp"),
        *("indexLastUpdatePhyoffset", "indexLastUpdateTimestamp", "maxOffset", "minOffset", "nextBeginOffset"),
        *("offset", "queueOffset", "subVersion", "suggestWhichBrokerId", "suspendTimeoutMillis", "timestamp"),
        "tranStateTableOffset",
    ]
    assert named["bool"].split() == [
        *("TRACE_ON", "_UNIQUE_KEY_QUERY", "acceptStandardJsonOnly", "batch", "changed", "compressed"),
        *("fromTransactionCheck", "order", "removeOffset", "unitMode"),
    ]


OPTIONAL = {
    RequestCode.SEND_MESSAGE: "properties reconsumeTimes unitMode maxReconsumeTimes batch",
    RequestCode.PULL_MESSAGE: "subscription expressionType",
    RequestCode.QUERY_MESSAGE: "_UNIQUE_KEY_QUERY",
    RequestCode.UPDATE_AND_CREATE_TOPIC: "topicSysFlag",
    RequestCode.UNREGISTER_CLIENT: "producerGroup consumerGroup",
    RequestCode.CONSUMER_SEND_MSG_BACK: "originMsgId originTopic unitMode maxReconsumeTimes",
    RequestCode.END_TRANSACTION: "fromTransactionCheck transactionId",
    RequestCode.REGISTER_BROKER: "compressed bodyCrc32",
    RequestCode.GET_ROUTEINFO_BY_TOPIC: "acceptStandardJsonOnly",
    RequestCode.DELETE_SUBSCRIPTIONGROUP: "removeOffset",
    RequestCode.GET_CONSUME_STATS: "topic",
}
OPTIONAL |= dict.fromkeys(
    (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE), OPTIONAL[RequestCode.SEND_MESSAGE]
)


@pytest.mark.parametrize("code", CODES)
def test_only_what_java_lets_be_null_may_be_missing(code: RequestCode) -> None:
    assert " ".join(each.name for each in HEADERS[code].request if not each.required) == OPTIONAL.get(code, "")


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("code", CODES)
def test_every_request_comes_back(code: int, optional: bool) -> None:
    sent = values(HEADERS[code].request, optional)
    texts = headers.encode_request(code, sent)
    assert headers.decode_request(request(code, texts)) == sent
    assert headers.decode_request(request(code, {**texts, "bname": "b", "newInRocketMQ6": "?"})) == sent


@pytest.mark.parametrize("code", CODES)
def test_every_answer_comes_back(code: int) -> None:
    sent = values(HEADERS[code].response)
    texts = headers.encode_response(code, sent)
    assert headers.decode_response(code, Command(0, 1, 1, texts)) == sent


@pytest.mark.parametrize("code", CODES)
def test_a_missing_field_is_named_iff_it_is_required(code: int) -> None:
    texts = headers.encode_request(code, values(HEADERS[code].request))
    for name, _, required in HEADERS[code].request:
        fewer = {key: text for key, text in texts.items() if key != on_wire(code, name)}
        if required:
            with pytest.raises(CodecError, match=rf"{RequestCode(code).name} lacks its field '{name}'"):
                headers.decode_request(request(code, fewer))
        else:
            assert name not in headers.decode_request(request(code, fewer))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("bad", ["", "x", "1.0", " 1", "1_0", "0x1", "²", "٣", "9" * 10_000, str(2**63), "null"])
def test_an_ill_typed_number_is_named(code: int, bad: str) -> None:
    texts = headers.encode_request(code, values(HEADERS[code].request))
    for name, kind, _ in HEADERS[code].request:
        if kind in ("int", "long"):
            with pytest.raises(CodecError, match=rf"in its field '{name}': no {kind}"):
                headers.decode_request(request(code, {**texts, on_wire(code, name): bad}))


@pytest.mark.parametrize(("kind", "limit"), [("int", 2**31), ("long", 2**63)])
def test_numbers_have_javas_range(kind: str, limit: int) -> None:
    code, name = {"int": (30, "queueId"), "long": (33, "offset")}[kind]
    texts = headers.encode_request(code, values(HEADERS[code].request))
    for number, fits in ((limit - 1, True), (-limit, True), (limit, False), (-limit - 1, False)):
        asked = request(code, {**texts, name: str(number)})
        if fits:
            assert headers.decode_request(asked)[name] == number
        else:
            with pytest.raises(CodecError, match=f"no {kind}"):
                headers.decode_request(asked)


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("false", False), ("1", False), ("", False)]
)
def test_truth_is_what_java_takes_for_it(text: str, value: bool) -> None:
    sent = headers.encode_request(36, {"offset": 1, "group": "g", "delayLevel": 0})
    assert headers.decode_request(request(36, {**sent, "unitMode": text}))["unitMode"] is value


def test_a_send_reads_the_same_under_all_three_codes() -> None:
    sent = values(HEADERS[10].request)
    wire = {code: headers.encode_request(code, sent) for code in (10, 310, 320)}
    assert wire[310] == wire[320] != wire[10]
    assert "".join(sorted(wire[310])) == "abcdefghijklm" and set(wire[10]) == set(headers.SHORT_NAMES)
    assert all(headers.decode_request(request(code, texts)) == sent for code, texts in wire.items())
    # As SendMessageRequestHeaderV2 names them.
    assert [headers.SHORT_NAMES[name] for name in ("producerGroup", "maxReconsumeTimes", "batch")] == ["a", "l", "m"]


def test_the_helpers_of_the_frame_codec_write_whole_headers() -> None:
    send = remoting.send_request(1, producer_group="g", topic="t", queue_id=2, born_ms=3, body=b"", properties="")
    pull = remoting.pull_request(2, consumer_group="g", topic="t", queue_id=2, offset=5, max_messages=8)
    (sent, pulled) = remoting.CommandReader().feed(send + pull)
    assert headers.decode_request(sent)["bornTimestamp"] == 3
    assert headers.decode_request(pulled)["queueOffset"] == 5


def test_only_answers_that_carry_a_result_must_have_one() -> None:
    for code, row in HEADERS.items():
        required = [field.name for field in row.response if field.required]
        for answer in (0, 1, 10, 11, 12, 14, 19, 20, 21, 22, 25):
            command = Command(answer, 1, 1, {})
            if required and answer in row.carriers:
                with pytest.raises(CodecError, match=f"answer {answer} to {RequestCode(code).name} lacks"):
                    headers.decode_response(code, command)
                with pytest.raises(CodecError, match="lacks"):
                    headers.encode_response(code, {}, answer)
            else:
                assert headers.decode_response(code, command) == {}
                assert headers.encode_response(code, {}, answer) == {}


def test_a_code_without_a_row_is_refused() -> None:
    for call in (
        lambda: headers.decode_request(request(9999, {})),
        lambda: headers.decode_response(9999, Command(0, 1, 1, {})),
        lambda: headers.encode_request(9999, {}),
        lambda: headers.encode_response(9999, {}),
    ):
        with pytest.raises(CodecError, match="9999 is in no header table"):
            call()


@pytest.mark.parametrize(
    ("name", "value"),
    [("offset", "1"), ("offset", True), ("offset", 2**63), ("group", 1), ("unitMode", "true"), ("delayLevel", 2**31)],
)
def test_a_value_of_the_wrong_type_is_not_written(name: str, value: Any) -> None:
    good = {"offset": 1, "group": "g", "delayLevel": 0, "unitMode": False}
    assert headers.encode_request(36, good) == {"offset": "1", "group": "g", "delayLevel": "0", "unitMode": "false"}
    with pytest.raises(CodecError, match=f"in its field '{name}'"):
        headers.encode_request(36, {**good, name: value})


def test_a_field_that_the_table_does_not_know_is_not_written() -> None:
    with pytest.raises(CodecError, match="no field 'offzet'"):
        headers.encode_request(33, {"offset": 1, "offzet": 2})


@given(
    st.sampled_from(CODES),
    st.dictionaries(
        st.sampled_from([*"abcdefghijklm", "topic", "queueId", "offset"]), st.text(max_size=4), max_size=16
    ),
)
def test_no_header_raises_anything_but_codec_error(code: int, fields: dict[str, str]) -> None:
    for call in (headers.decode_request, lambda command: headers.decode_response(code, command)):
        try:
            call(request(code, fields))
        except CodecError:
            pass
