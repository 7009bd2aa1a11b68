"""Whatever is asked, the broker answers: extreme numbers, strange names and bodies that are none raise nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_play import SLAVE, Play, consumer, producer

from pairproof.reference.core.requests import Request
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.headers import HEADERS, RequestCode
from pairproof.reference.wire.remoting import Command

OURS = (
    12, 14, 15, 17, 21, 25, 26, 28, 29, 30, 31, 32, 33, 34, 35, 37, 38, 41, 42, 43, 45, 200, 201, 202, 203, 204, 207,
    208, 215,
)  # fmt: skip
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.sampled_from(["T", "G", "P", "", "a", "%RETRY%G", "SCHEDULE_TOPIC_XXXX", "T@G", "\0", "\ud800", "é"]),
    "int": st.sampled_from([0, 1, -1, 3, 8, 12, 2**31 - 1, -(2**31)]),
    "long": st.sampled_from([0, 1, -1, 200, 2**31, 2**62, 2**63 - 1, -(2**63), 1_700_000_000_000]),
    "bool": st.booleans(),
}  # fmt: skip
BODIES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([
        b"", b"{}", b"[]", b"null", b"[" * 2_000, consumer("c"), producer("c"), b"slaveReadEnable=true", b"brokerId=1",
        b'{"groupName":"G"}', b'{"clientId":"c","consumerGroup":"G"}',
        b'{"clientId":"c","consumerGroup":"G","mqSet":[{"topic":"T","brokerName":"b","queueId":-1}]}',
        b'{"clientID":"c","consumerDataSet":[{"groupName":"G","subscriptionDataSet":[{"topic":"\\u0000"}]}]}',
    ]),
)  # fmt: skip


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, dict[str, str], bytes]:
    code = draw(st.sampled_from(OURS))
    fields = {field.name: draw(VALUES[field.kind]) for field in HEADERS[code].request}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in fields.items()}
    return code, texts, draw(BODIES)


def filled(role: dict[str, Any]) -> Play:
    """A broker that has a bit of everything."""
    master = Play()
    for keys in ("a", "a b", "c"):
        master.produce(properties=f"KEYS\x01{keys}")
    master.produce(properties="TRAN_MSG\x01true\x02PGROUP\x01P")
    if not role:
        return master
    slave = Play(**role)
    slave.broker.log.append(0, master.broker.log.read(0, 4_096))
    slave.broker.store.dispatch()
    return slave


@given(st.lists(requests(), min_size=1, max_size=8), st.sampled_from([{}, SLAVE]))
@settings(max_examples=200)
def test_every_request_is_answered_with_a_code_and_a_header_of_its_kind(
    asked: list[tuple[int, dict[str, str], bytes]], role: dict[str, Any]
) -> None:
    play = filled(role)
    before = play.broker.log.end
    for opaque, (code, fields, body) in enumerate(asked, 1):
        answer = play.feed("c", Command(code, opaque, 0, fields, body))
        assert answer is not None, (code, fields, body)
        headers.decode_response(code, answer)
        assert answer.code == remoting.SUCCESS or answer.remark
    assert play.closed == []
    assert not role or play.broker.log.end == before
    assert play.parts.store.dispatcher.stalled is None
    play.wait(200)
    assert not play.broker.members.busy


def test_the_test_above_sees_a_handler_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()

    def broken(request: Request) -> None:
        raise KeyError("x")

    monkeypatch.setitem(play.broker.handlers, RequestCode.GET_MAX_OFFSET, broken)
    with pytest.raises(KeyError):
        play.ask(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)
