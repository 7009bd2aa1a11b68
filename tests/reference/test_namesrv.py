"""What the name server promises brokers and clients."""

from __future__ import annotations

import zlib

import pytest
from namesrv_play import Play, identity
from registrations import encode_registration

from pairproof.reference.wire import beans, headers, remoting
from pairproof.reference.wire.bodies import DataVersion, TopicConfig, TopicConfigs
from pairproof.reference.wire.bodies_route import (
    BrokerData,
    ClusterInfo,
    QueueData,
    RegisterBrokerBody,
    TopicRouteData,
    body_crc,
)
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command, CommandReader

M, S, S2 = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"


@pytest.fixture
def play() -> Play:
    return Play()


# Masters and slaves.


def test_slave_learns_its_registered_master(play: Play) -> None:
    play.register("m", M)
    assert play.register("s", S, 1) == {"masterAddr": M, "haServerAddr": "10.0.0.1:10912"}


def test_nobody_else_is_told_a_master(play: Play) -> None:
    assert play.register("s", S, 1) == {}
    assert play.register("m", M) == {}
    assert play.register("other", S2, 1, name="b") == {}


def test_slave_is_told_no_master_once_that_is_lost(play: Play) -> None:
    play.register("m", M)
    play.server.on_closed("m")
    assert play.register("s", S, 1) == {}


def test_slave_is_told_no_master_that_said_goodbye_under_a_wrong_id(play: Play) -> None:
    play.register("m", M)
    play.unregister("m", M, broker_id=5)
    assert play.register("s", S, 1) == {}


def test_several_slaves_stand_under_one_name(play: Play) -> None:
    for broker_id, address in enumerate((M, S, S2)):
        play.register(address, address, broker_id)
    assert play.addresses() == {"a": {0: M, 1: S, 2: S2}}


def test_address_under_another_id_is_moved(play: Play) -> None:
    play.register("m", M)
    play.register("s", S, 1)
    play.server.on_closed("m")
    play.register("s", S, 0, topics="Promoted")
    assert play.addresses() == {"a": {0: S}} and play.route("Promoted") is not None


def test_new_master_at_another_address_takes_the_olds_place(play: Play) -> None:
    play.register("m", M)
    play.register("m2", S2, version=1)
    play.server.on_closed("m")
    assert play.addresses() == {"a": {0: S2}}


# Topics and versions.


def test_topics_come_from_masters_only(play: Play) -> None:
    play.register("s", S, 1, topics="OnlyOnSlave")
    assert play.route("OnlyOnSlave") is None
    play.register("m", M, topics="T")
    assert play.route("T") is not None and play.route("OnlyOnSlave") is None


def test_topics_are_taken_only_with_a_new_version_or_a_new_master(play: Play) -> None:
    play.register("m", M, version=1)
    play.register("m", M, version=1, topics="Unseen")
    assert play.route("Unseen") is None
    play.register("m", M, version=2, topics="Seen")
    assert play.route("Seen") is not None and play.route("T") is not None
    play.unregister("m", M)
    play.register("m", M, version=2, topics="Again")
    assert play.route("Again") is not None and play.route("Seen") is None


def test_an_older_version_is_another_version(play: Play) -> None:
    play.register("m", M, version=7)
    play.register("m", M, version=3, topics="Restored")
    assert play.route("Restored") is not None


def test_version_query_says_what_is_registered(play: Play) -> None:
    assert play.version("m", M, 4) == (True, None)
    play.register("m", M, version=4)
    assert play.version("m", M, 4) == (False, DataVersion(1, 4))
    assert play.version("m", M, 5) == (True, DataVersion(1, 4))


def test_compressed_registration_says_the_same(play: Play) -> None:
    play.register("m", M, compressed=True, topics="T U")
    assert play.route("U") == TopicRouteData((BrokerData("a", "c", {0: M}),), (QueueData("a", 4, 4, 6),))


@pytest.mark.parametrize(("crc", "code"), [(0, 0), (None, 0), (1, 1)])
def test_body_must_match_its_crc(play: Play, crc: int | None, code: int) -> None:
    body = encode_registration(RegisterBrokerBody(TopicConfigs({"T": TopicConfig("T")}, DataVersion(1, 1))))
    fields = {**identity(M, 0, "a"), "haServerAddr": "h:1", "bodyCrc32": body_crc(body) if crc is None else crc}
    answer = play.request("m", RequestCode.REGISTER_BROKER, body, **fields)
    assert answer.code == code
    assert (play.route() is not None) == (code == 0)
    assert code == 0 or "crc32 not match" in str(answer.remark)


# Routes.


def test_route_names_every_broker_group_that_has_the_topic(play: Play) -> None:
    play.register("m", M)
    play.register("b", S, name="b", topics="T Other")
    play.register("c", S2, name="c", topics="Other")
    assert play.addresses() == {"a": {0: M}, "b": {0: S}}
    assert play.addresses("Other") == {"b": {0: S}, "c": {0: S2}}


def test_route_stays_with_the_slave_alone(play: Play) -> None:
    play.register("m", M)
    play.register("s", S, 1)
    play.unregister("m", M)
    assert play.addresses() == {"a": {1: S}}
    play.unregister("s", S, 1)
    assert play.route() is None


def test_topic_that_is_nowhere_is_not_listed(play: Play) -> None:
    play.register("m", M, topics="T U")
    play.register("b", S, name="b", topics="U")
    play.server.on_closed("m")
    body = play.request("client", RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body
    assert body == b'{"topicList":["U"]}'


def test_route_names_the_filter_servers_of_its_brokers(play: Play) -> None:
    for filters in (("f:1",), ()):
        body = encode_registration(RegisterBrokerBody(TopicConfigs({"T": TopicConfig("T")}, DataVersion()), filters))
        who = {**identity(M, 0, "a"), "haServerAddr": "h:1"}
        play.request("m", RequestCode.REGISTER_BROKER, body, **who)
        route = play.route()
        assert route is not None and route.filter_server_table == ({M: filters} if filters else {})


def test_losing_one_group_leaves_the_other_as_it_was(play: Play) -> None:
    play.register("m", M)
    play.register("b", S, name="b")
    play.server.on_closed("m")
    assert play.addresses() == {"b": {0: S}}
    info = play.request("client", RequestCode.GET_BROKER_CLUSTER_INFO).body
    assert beans.decode(ClusterInfo, info) == ClusterInfo({"b": BrokerData("b", "c", {0: S})}, {"c": ("b",)})


@pytest.mark.parametrize(("version", "asks", "quoted"), [(399, None, False), (401, None, True), (399, True, True)])
def test_broker_ids_are_quoted_for_who_reads_them_so(play: Play, version: int, asks: bool | None, quoted: bool) -> None:
    play.register("m", M)
    code = RequestCode.GET_ROUTEINFO_BY_TOPIC
    body = play.request("client", code, version=version, topic="T", acceptStandardJsonOnly=asks).body
    assert (b'{"0":' if quoted else b"{0:") in body


# Being lost.


def test_broker_is_lost_the_moment_its_connection_ends(play: Play) -> None:
    play.register("m", M)
    play.register("s", S, 1)
    play.server.on_closed("m")
    assert play.addresses() == {"a": {1: S}}


def test_end_of_an_older_connection_loses_nobody(play: Play) -> None:
    play.register("m", M)
    play.register("m again", M)
    play.server.on_closed("m")
    assert play.addresses() == {"a": {0: M}}


def test_broker_that_sends_garbage_is_lost_with_its_connection(play: Play) -> None:
    play.register("m", M)
    play.server.on_bytes("m", b"\xff" * 16)
    assert play.port.closed == ["m"]
    assert play.route() is None


def test_silent_broker_is_lost_after_120_s_and_a_scan(play: Play) -> None:
    play.wait(5)
    play.register("m", M)
    play.wait(120)
    assert play.addresses() == {"a": {0: M}} and play.port.closed == []
    play.wait(10)
    assert play.addresses() == {} and play.port.closed == ["m"]


@pytest.mark.parametrize(("asked", "lives"), [(0, True), (1, False)])
def test_version_query_keeps_a_broker_alive_iff_nothing_changed(play: Play, asked: int, lives: bool) -> None:
    play.register("m", M)
    play.wait(100)
    play.version("m", M, asked)
    play.wait(100)
    assert (play.route() is not None) == lives


def test_returned_broker_is_back_at_once(play: Play) -> None:
    play.register("m", M)
    play.wait(200)
    play.register("m2", M)
    assert play.addresses() == {"a": {0: M}}


# Requests that are wrong.


def test_unknown_code_gets_no_answer_and_does_no_harm(play: Play) -> None:
    assert play.ask("client", Command(9_999, 1, 0, {})) is None
    assert play.route() is None


def test_answer_to_nothing_is_ignored(play: Play) -> None:
    fields = {"topic": "T"}
    assert play.ask("client", Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, 1, remoting.RESPONSE_FLAG, fields)) is None


def test_one_way_registration_counts_and_gets_no_answer(play: Play) -> None:
    body = encode_registration(RegisterBrokerBody(TopicConfigs({"T": TopicConfig("T")}, DataVersion(1, 1))))
    texts = headers.encode_request(RequestCode.REGISTER_BROKER, {**identity(M, 0, "a"), "haServerAddr": "h:1"})
    assert play.ask("m", Command(RequestCode.REGISTER_BROKER, 1, remoting.ONEWAY_FLAG, texts, body)) is None
    assert play.addresses() == {"a": {0: M}}


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"topicConfigSerializeWrapper":7}', zlib.compress(b"x")])
def test_body_that_is_none_is_answered_and_changes_nothing(play: Play, body: bytes) -> None:
    fields = {**identity(M, 0, "a"), "haServerAddr": "h:1"}
    for compressed in (False, True):
        answer = play.request("m", RequestCode.REGISTER_BROKER, body, compressed=compressed, **fields)
        assert answer.code == remoting.SYSTEM_ERROR and answer.remark
    assert play.server.routes.brokers == {} and play.port.closed == []


def test_header_that_lacks_a_field_is_answered(play: Play) -> None:
    answer = play.ask("client", Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, 1, 0, {}))
    assert answer is not None and answer.code == remoting.SYSTEM_ERROR and "topic" in str(answer.remark)


def test_registrations_are_bounded(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.routes.MAX_BROKERS", 1)
    play.register("m", M)
    fields = {**identity(S, 1, "a"), "haServerAddr": "h:1"}
    assert play.request("s", RequestCode.REGISTER_BROKER, **fields).code == remoting.SYSTEM_ERROR
    play.register("m", M, version=2)
    assert play.addresses() == {"a": {0: M}}


def test_peer_that_asks_on_without_reading_its_answers_is_dropped(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.command_peers.MAX_HELD", 2_000)
    play.register("m", M)
    play.port.room = 0
    ask = remoting.encode(Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, 1, 0, {"topic": "T"}))
    play.server.on_accepted("slow", "main")
    play.server.on_bytes("slow", ask)
    play.port.room = 10_000
    play.server.on_writable("slow")
    answers = list(CommandReader().feed(play.port.sent.pop("slow")))
    assert [answer.code for answer in answers] == [0] and play.port.closed == []
    play.port.room = 0
    play.server.on_bytes("slow", ask * 100)
    assert play.port.closed == ["slow"]


def test_what_a_peer_asks_while_it_does_not_read_waits(play: Play) -> None:
    ask = remoting.encode(Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, 1, 0, {"topic": "T"}))
    who = headers.encode_request(RequestCode.REGISTER_BROKER, {**identity(M, 0, "a"), "haServerAddr": "h:1"})
    play.port.room = 0
    play.server.on_accepted("slow", "main")
    play.server.on_bytes("slow", ask + remoting.encode(Command(RequestCode.REGISTER_BROKER, 2, 0, who)))
    assert play.port.closed == [] and play.server.routes.live == {}
    play.port.room = None
    play.server.on_writable("slow")
    assert list(play.server.routes.live) == [M]


def test_connections_are_bounded_and_end_with_the_server(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.command_peers.MAX_PEERS", 2)
    for conn in ("one", "two", "three"):
        play.server.on_accepted(conn, "main")
    assert play.port.closed == ["one"], "who says nothing makes room"
    play.server.on_closed("two")
    play.server.on_accepted("four", "main")
    play.server.on_stop()
    assert play.port.closed == ["one", "three", "four"] and play.port.timers == {}
