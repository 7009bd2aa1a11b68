"""Messages by key and by offset: the right ones, as the log has them, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from message_ids import decode as decode_id
from processor_play import SLAVE, Play

from pairproof.reference.core.processors import queries
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.properties import java_hash
from pairproof.reference.wire.record import Record, decode

QUERY, VIEW = RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID
ALWAYS = (1 << 63) - 1


def put(play: Play, number: int, keys: str = "", unique: str = "", topic: str = "T") -> int:
    """Store a message with these keys; where it lies."""
    given = {"KEYS": keys, "UNIQ_KEY": unique}
    properties = "\x02".join(f"{name}\x01{value}" for name, value in given.items() if value)
    sent = play.produce(topic, body=b"%d" % number, properties=properties)
    return decode_id(sent["msgId"])[1]


def find(play: Play, key: str, **changes: Any) -> list[int] | int:
    """The bodies' numbers; the code if it is not SUCCESS."""
    times = {"beginTimestamp": 0, "endTimestamp": ALWAYS}
    answer = play.ask(QUERY, **{"topic": "T", "key": key, "maxNum": 10, **times, **changes})
    header = headers.decode_response(QUERY, answer)
    if answer.code != remoting.SUCCESS:
        assert answer.remark and not answer.body and set(header.values()) == {0}
        return answer.code
    assert header["indexLastUpdatePhyoffset"] >= 0 and header["indexLastUpdateTimestamp"] == play.wall_ms()
    found, at = [], 0
    while at < len(answer.body):
        record = decode(answer.body, at)
        assert isinstance(record, Record)
        assert play.broker.log.read(record.physical_offset, record.size) == answer.body[at : at + record.size]
        found.append(int(record.message.body))
        at += record.size
    return found


@pytest.fixture
def play() -> Play:
    return Play()


def test_messages_are_found_by_each_of_their_keys_in_the_log_s_order(play: Play) -> None:
    put(play, 1, "a b", "U1")
    put(play, 2, "b", "U2")
    put(play, 3)
    assert [find(play, key) for key in ("a", "b", "U1", "U2")] == [[1], [1, 2], [1], [2]]
    assert find(play, "c") == find(play, "b", topic="U") == remoting.QUERY_NOT_FOUND


def test_message_that_has_a_key_twice_is_answered_once(play: Play) -> None:
    put(play, 1, "a b a")
    assert find(play, "a") == [1]


def test_newest_messages_are_answered_if_there_are_more_than_asked_for(play: Play) -> None:
    for number in range(5):
        put(play, number, "a")
    assert find(play, "a", maxNum=2) == [3, 4]
    assert find(play, "a", maxNum=0) == find(play, "a", maxNum=-1) == remoting.QUERY_NOT_FOUND


def test_query_for_a_client_s_own_id_asks_for_as_many_as_rocketmq_does(play: Play) -> None:
    for number in range(40):
        put(play, number, unique="U")
    asked = find(play, "U", maxNum=1, _UNIQUE_KEY_QUERY=True)
    assert asked == list(range(40 - queries.UNIQUE_QUERY_MESSAGES, 40))


def test_time_range_is_that_of_the_store(play: Play) -> None:
    put(play, 1, "a")
    between = play.wall_ms() + 5_000
    play.wait(10)
    put(play, 2, "a")
    assert find(play, "a", endTimestamp=between) == [1]
    assert find(play, "a", beginTimestamp=between) == [2]
    assert find(play, "a", beginTimestamp=between + 60_000) == remoting.QUERY_NOT_FOUND


def collide(play: Play) -> list[int] | int:
    assert java_hash("T#Aa") == java_hash("T#BB")
    put(play, 1, "Aa")
    for _ in range(3):
        put(play, 2, "BB")
    return find(play, "Aa", maxNum=2)


def test_other_keys_with_the_same_hash_neither_answer_nor_hide_the_right_one(play: Play) -> None:
    assert collide(play) == [1]


def test_the_test_above_sees_an_answer_by_hash_only(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_has", lambda *args: True)
    assert collide(play) == [2, 2]


def test_number_of_other_keys_that_are_looked_at_is_limited(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_CANDIDATES", 3)
    assert collide(play) == remoting.QUERY_NOT_FOUND


def test_answer_keeps_within_its_limit_but_holds_one_message_at_least(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        put(play, number, "a")
    size = play.records()[0].size
    for limit, found in ((1, [2]), (2 * size - 1, [2]), (2 * size, [1, 2])):
        monkeypatch.setattr(queries, "MOST_BYTES", limit)
        assert find(play, "a") == found


def test_expired_messages_are_found_no_more(play: Play) -> None:
    at = put(play, 1, "a")
    for _ in range(80):
        put(play, 2)
    play.broker.expire(1)
    put(play, 3, "a")
    assert find(play, "a") == [3]
    assert play.ask(VIEW, offset=at).code == remoting.SYSTEM_ERROR


def test_store_without_an_index_finds_nothing() -> None:
    play = Play(messageIndexEnable=False)
    put(play, 1, "a")
    assert find(play, "a") == remoting.QUERY_NOT_FOUND


def test_slave_finds_what_it_has_copied(play: Play) -> None:
    at = put(play, 1, "a")
    slave = Play(**SLAVE)
    slave.broker.log.append(0, play.broker.log.read(0, 4_096))
    slave.broker.store.dispatch()
    assert find(slave, "a") == [1]
    assert slave.ask(VIEW, offset=at).body == play.ask(VIEW, offset=at).body


# By offset.


def test_message_is_seen_at_its_offset_byte_by_byte(play: Play) -> None:
    for number in range(3):
        put(play, number)
    for record in play.records():
        answer = play.ask(VIEW, offset=record.physical_offset)
        assert answer.code == remoting.SUCCESS
        assert answer.body == play.broker.log.read(record.physical_offset, record.size)


@pytest.mark.parametrize("offset", [-1, 1, 4, 10_000, ALWAYS])
def test_offset_where_no_message_begins_is_refused(play: Play, offset: int) -> None:
    put(play, 1)
    answer = play.ask(VIEW, offset=offset)
    assert answer.code == remoting.SYSTEM_ERROR and str(offset) in (answer.remark or "") and not answer.body


def test_bytes_inside_a_body_that_look_like_a_message_are_refused(play: Play) -> None:
    put(play, 1)
    copied = play.broker.log.read(0, 4_096)
    outer = decode_id(play.produce(body=copied)["msgId"])[1]
    at = play.broker.log.read(0, 4_096).index(copied, outer)
    assert play.broker.store.record_at(at) is not None
    assert play.ask(VIEW, offset=at).code == remoting.SYSTEM_ERROR
