"""Consumer progress and queue ranges: what is kept, what is answered, and that nothing is saved without need."""

from __future__ import annotations

from typing import Any

import pytest
from processor_play import SLAVE, Play

from pairproof.reference.core import consumer_offsets
from pairproof.reference.wire import beans, bodies, headers, remoting
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command

QUERY, UPDATE = RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.UPDATE_CONSUMER_OFFSET


def commit(play: Play, offset: int, **changes: Any) -> Command:
    return play.ask(UPDATE, **{"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": offset, **changes})


def query(play: Play, **changes: Any) -> Any:
    answer = play.ask(QUERY, **{"consumerGroup": "G", "topic": "T", "queueId": 0, **changes})
    return headers.decode_response(QUERY, answer).get("offset", answer.code)


@pytest.mark.parametrize("role", [{}, SLAVE])
def test_commit_overwrites_even_with_less_on_a_slave_too(role: dict[str, Any]) -> None:
    play = Play(**role)
    for offset in (7, 3):
        assert commit(play, offset).code == remoting.SUCCESS
        assert query(play) == offset
    body = play.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).body
    assert beans.decode(bodies.ConsumerOffsets, body).offset_table == {"T@G": {0: 3}}


def test_progress_is_that_of_the_group_the_topic_and_the_queue() -> None:
    play = Play()
    commit(play, 7)
    assert [query(play, consumerGroup="H"), query(play, topic="U"), query(play, queueId=1)] == [0, 0, 0]


def test_oneway_commit_is_kept_without_an_answer() -> None:
    play = Play()
    fields = headers.encode_request(UPDATE, {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 5})
    assert play.feed("c", Command(UPDATE, 1, remoting.ONEWAY_FLAG, fields)) is None
    assert query(play) == 5


@pytest.mark.parametrize("role", [{}, SLAVE])
def test_commits_are_saved_once_an_interval_and_only_if_they_change_something(role: dict[str, Any]) -> None:
    play = Play(**role)
    commit(play, 7)
    commit(play, 8)
    assert "offsets" not in play.persists
    play.wait(5)
    assert play.persists.count("offsets") == 1
    commit(play, 8)
    assert ("persist", None) not in play.timers
    play.wait(60)
    assert play.persists.count("offsets") == 1
    commit(play, 9)
    play.wait(5)
    assert play.persists.count("offsets") == 2


@pytest.mark.parametrize(
    "wrong",
    [{"queueId": -1}, {"queueId": 10_000}, {"topic": "white space"}, {"topic": "t" * 128}, {"consumerGroup": "a@b"}],
)
def test_commit_for_what_cannot_be_is_refused_and_grows_no_table(wrong: dict[str, Any]) -> None:
    play = Play()
    answer = commit(play, 1, **wrong)
    assert answer.code == remoting.SYSTEM_ERROR and answer.remark
    assert play.parts.offsets.table == {}


def test_one_group_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_offsets, "MAX_KEYS", 1)
    play = Play()
    assert commit(play, 1).code == remoting.SUCCESS
    assert commit(play, 1, consumerGroup="H").code == remoting.SYSTEM_ERROR
    assert commit(play, 2).code == remoting.SUCCESS


# Groups without progress.


def test_group_without_progress_begins_at_0_while_everything_is_there_and_in_memory() -> None:
    play = Play()
    assert query(play) == 0
    play.produce()
    assert query(play) == 0


def test_group_without_progress_is_told_so_when_the_first_message_has_left_the_memory() -> None:
    play = Play(accessMessageInMemoryMaxRatio=0)
    assert query(play) == 0
    play.produce()
    assert query(play) == remoting.QUERY_NOT_FOUND
    assert query(play, queueId=1) == 0


def test_group_without_progress_is_told_so_when_the_first_messages_have_expired() -> None:
    play = Play()
    for _ in range(40):
        play.produce(body=b"x" * 300)
    play.broker.expire(1)
    assert play.parts.store.queues.min_offset("T", 0) > 0
    assert query(play) == remoting.QUERY_NOT_FOUND


def test_progress_below_0_is_none() -> None:
    play = Play(accessMessageInMemoryMaxRatio=0)
    play.produce()
    commit(play, -1)
    assert query(play) == remoting.QUERY_NOT_FOUND


# Ranges.


def test_ranges_of_a_queue_in_offsets_and_time() -> None:
    play = Play()
    queue = {"topic": "T", "queueId": 0}
    for _ in range(3):
        play.produce()
        play.wait(1)
    first_ms = play.wall_ms() - 3_000
    assert play.value(RequestCode.GET_MAX_OFFSET, "offset", **queue) == 3
    assert play.value(RequestCode.GET_MIN_OFFSET, "offset", **queue) == 0
    assert play.value(RequestCode.GET_EARLIEST_MSG_STORETIME, "timestamp", **queue) == first_ms
    for ms, offset in ((0, 0), (1_000, 1), (1_400, 1), (1_600, 2), (9_000, 2)):
        search = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
        assert play.value(search, "offset", timestamp=first_ms + ms, **queue) == offset


def test_unknown_queue_is_empty_and_is_not_made_by_asking() -> None:
    play = Play()
    for queue_id in (0, -1):
        queue = {"topic": "T", "queueId": queue_id}
        assert play.value(RequestCode.GET_MAX_OFFSET, "offset", **queue) == 0
        assert play.value(RequestCode.GET_MIN_OFFSET, "offset", **queue) == 0
        assert play.value(RequestCode.GET_EARLIEST_MSG_STORETIME, "timestamp", **queue) == -1
        assert play.value(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, "offset", timestamp=1, **queue) == 0
    assert play.parts.store.queues.known() == []


def test_delay_offsets_are_told_as_they_are() -> None:
    play = Play()
    play.parts.delay_offsets.put(1, 4)
    body = play.ask(RequestCode.GET_ALL_DELAY_OFFSET).body
    assert beans.decode(bodies.DelayOffsets, body).offset_table == {1: 4}
