"""Frames and requests that are wrong, sent to real processes: a code that says so or a closed connection, no more.

While they come, an honest client sends and pulls, and gets every answer.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from abuse import Honest, answer, beside, bodies_of, command, frame, is_open, last_words, survives
from real_brokers import TOPIC, BrokerProcess, Caller, NameServerProcess, caller, connected

from pairproof.reference.wire import remoting
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import MAX_FRAME, MAX_HEADER, CommandReader

Make = Callable[..., BrokerProcess]
GOOD = b'{"code":30,"opaque":1,"flag":0,"version":407,"extFields":{"topic":"pairproof","queueId":"0"}}'

GARBAGE = {
    "another protocol": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "an encrypted hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32),
    "zeros": bytes(64),
    "dice": b"\xff" + random.Random(1).randbytes(4_096),
    "a negative length": struct.pack(">iI", -1, 0),
    "more than a frame": struct.pack(">iI", MAX_FRAME - 3, 10),
    "a header longer than its frame": struct.pack(">iI", 8, 100) + bytes(100),
    "more than a header": struct.pack(">iI", MAX_HEADER + 10, MAX_HEADER + 1),
    "a third kind of header": frame(GOOD, kind=7),
    "a header that is no JSON": frame(b"code=30"),
    "a header that is not UTF-8": frame(b'{"code":30,"remark":"\xff"}'),
    "a header that is no object": frame(b"[30]"),
    "a header nested deeply": frame(b"[" * 100_000),
    "a number without an end": frame(b'{"code":' + b"9" * 100_000 + b"}"),
    "no code": frame(GOOD.replace(b'"code":30,', b"")),
    "a code that is text": frame(GOOD.replace(b"30", b'"30"', 1)),
    "an opaque of 64 bits": frame(GOOD.replace(b'"opaque":1', b'"opaque":%d' % 2**40)),
    "fields that are a list": frame(GOOD.replace(b'{"topic":"pairproof","queueId":"0"}', b"[1]")),
    "a field that is a list": frame(GOOD.replace(b'"queueId":"0"', b'"queueId":[0]')),
    "a binary header that is none": frame(GOOD, kind=1),
}  # fmt: skip


@pytest.fixture
def names(name_server: NameServerProcess) -> NameServerProcess:
    """A name server that runs, and knows a route to say."""
    name_server.start()
    return name_server


def throw(address: str, is_request: bytes) -> None:
    """Each kind of garbage on a connection of its own, at once and behind a request that deserves its answer."""
    for title, garbage in GARBAGE.items():
        with connected(address) as sock:
            sock.sendall(garbage)
            assert last_words(sock) == b"", title
        with connected(address) as sock:
            sock.sendall(is_request + garbage)
            (said,) = CommandReader().feed(last_words(sock))
            assert said.is_response, title


@pytest.mark.parametrize("distance", [0, -2], ids=["main", "fast"])
def test_garbage_on_a_client_s_port_closes_only_its_connection(broker: Make, distance: int) -> None:
    master = broker().start()
    survives(master.address, lambda: throw(f"127.0.0.1:{master.port + distance}", frame(GOOD)))
    assert master.stop() == 0


async def asks_for_routes(call: Caller, address: str) -> None:
    """What an honest client asks of a name server."""
    answered = await call.ask(address, RequestCode.GET_BROKER_CLUSTER_INFO)
    assert answered is not None and json.loads(answered.body)["brokerAddrTable"] == {}, answered
    answered = await call.ask(address, RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="T")
    assert answered is not None and answered.code == remoting.TOPIC_NOT_EXIST, answered


def test_garbage_on_a_name_server_closes_only_its_connection(names: NameServerProcess) -> None:
    async def play() -> None:
        async with caller() as call:
            await beside(
                lambda: asks_for_routes(call, names.address),
                lambda: throw(names.address, command(RequestCode.GET_BROKER_CLUSTER_INFO)),
            )

    asyncio.run(play())
    assert names.stop() == 0


def test_frames_in_pieces_and_ended_early_harm_nobody(broker: Make, names: NameServerProcess) -> None:
    whole = frame(GOOD)

    def attack() -> None:
        for port in (master.port, master.port - 2, names.port):
            for cut in (1, 4, 7, 8, 20, len(whole) - 1):
                with connected(f"127.0.0.1:{port}") as gone:
                    gone.sendall(whole[:cut])
                with connected(f"127.0.0.1:{port}") as reset:
                    reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    reset.sendall(whole[:cut])
        with connected(master.address) as slow:
            slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(len(whole) - 1):
                slow.sendall(whole[at : at + 1])
            assert answer(slow, whole[-1:]).code == remoting.SUCCESS

    master = broker().start()
    survives(master.address, attack)
    assert (master.stop(), names.stop()) == (0, 0)


# Requests that are wrong.

SEND: dict[str, Any] = {
    "producerGroup": "P", "topic": TOPIC, "defaultTopic": "TBW102", "defaultTopicQueueNums": 4, "queueId": 1,
    "sysFlag": 0, "bornTimestamp": 0, "flag": 0,
}  # fmt: skip
PULL: dict[str, Any] = {
    "consumerGroup": "C", "topic": TOPIC, "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 4,
    "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0,
}  # fmt: skip
COMMIT = {"consumerGroup": "C", "topic": TOPIC, "queueId": 0, "commitOffset": 0}
NAMES = ("", "a b", "../../up", "/", ".", "x" * 128, "\0", "é", "\ud800", "a\nb", "T@G")
WRONG: list[tuple[int, dict[str, Any], bytes, int]] = [
    *((10, {**SEND, "topic": name}, b"", remoting.MESSAGE_ILLEGAL) for name in NAMES),
    *((10, {**SEND, "queueId": queue}, b"", remoting.SYSTEM_ERROR) for queue in (4, 2**31 - 1, 2**31, "x", "", "1.0")),
    *((10, {**SEND, name: "x"}, b"", remoting.SYSTEM_ERROR) for name in ("sysFlag", "bornTimestamp", "flag")),
    (10, {**SEND, "bornTimestamp": 2**63}, b"", remoting.SYSTEM_ERROR),
    (10, {**SEND, "sysFlag": 0x30}, b"", remoting.MESSAGE_ILLEGAL),
    (10, {"topic": TOPIC}, b"", remoting.SYSTEM_ERROR),
    (10, {**SEND, "topic": "SCHEDULE_TOPIC_XXXX"}, b"", remoting.NO_PERMISSION),
    (10, {**SEND, "topic": "new", "defaultTopic": "none"}, b"", remoting.TOPIC_NOT_EXIST),
    (10, SEND, bytes(32_769), remoting.MESSAGE_ILLEGAL),
    (10, {**SEND, "properties": "K\x01" + "v" * 32_767}, b"", remoting.MESSAGE_ILLEGAL),
    (10, {**SEND, "properties": "K\x01" + "\0" * 512}, b"", remoting.MESSAGE_ILLEGAL),
    (10, {**SEND, "batch": True}, b"no batch", remoting.MESSAGE_ILLEGAL),
    *((11, {**PULL, "queueId": queue}, b"", remoting.SYSTEM_ERROR) for queue in (-1, 4, 2**31 - 1, "x")),
    *((11, {**PULL, "queueOffset": at}, b"", remoting.SYSTEM_ERROR) for at in (2**63, -(2**63) - 1, "x")),
    *((11, {**PULL, "topic": name}, b"", remoting.TOPIC_NOT_EXIST) for name in NAMES),
    (11, {**PULL, "consumerGroup": "a b"}, b"", remoting.SUBSCRIPTION_GROUP_NOT_EXIST),
    (11, {**PULL, "expressionType": "SQL92"}, b"", remoting.SUBSCRIPTION_PARSE_FAILED),
    *((15, {**COMMIT, "topic": name}, b"", remoting.SYSTEM_ERROR) for name in NAMES),
    *((15, {**COMMIT, "queueId": queue}, b"", remoting.SYSTEM_ERROR) for queue in (-1, 10_000, "x")),
    *((33, {"offset": at}, b"", remoting.SYSTEM_ERROR) for at in (-1, 1, 2**62, 2**63)),
    *((36, {"offset": at, "group": "C", "delayLevel": 0}, b"", remoting.SYSTEM_ERROR) for at in (-1, 2**62)),
    *((34, {}, body, remoting.SYSTEM_ERROR) for body in (b"", b"{", b"[]", b'{"clientID":7}', b"[" * 5_000, b"\xff")),
    (41, {}, b'{"consumerGroup":"C"}', remoting.SYSTEM_ERROR),
    (9_999, {}, b"", remoting.REQUEST_CODE_NOT_SUPPORTED),
    (-1, {}, b"", remoting.REQUEST_CODE_NOT_SUPPORTED),
]  # fmt: skip


def ask_wrongly(port: int) -> None:
    """One connection takes all the blame, and stays open."""
    with connected(f"127.0.0.1:{port}") as sock:
        for opaque, (code, fields, body, wanted) in enumerate(WRONG):
            said = answer(sock, command(code, opaque, body, **fields))
            assert (said.opaque, said.code) == (opaque, wanted), (code, fields, body[:20], said)
            assert said.remark, "why"
        for at, right in ((-1, 0), (-(2**63), 0), (10**12, None), (2**63 - 1, None)):
            said = answer(sock, command(11, **{**PULL, "queueOffset": at}))
            end = int(said.fields["maxOffset"])
            assert (said.code, said.body) == (remoting.PULL_OFFSET_MOVED, b"")
            assert int(said.fields["nextBeginOffset"]) == (end if right is None else right)
        assert is_open(sock)


def test_a_wrong_request_gets_the_code_that_says_so_and_leaves_no_trace(broker: Make) -> None:
    master = broker().start()
    assert survives(master.address, lambda: ask_wrongly(master.port))
    assert master.stop() == 0
    assert [each.name for each in (master.store / "consumequeue").iterdir()] == [TOPIC]
    assert {each.name for each in master.folder.iterdir()} == {"broker.conf", "store"}
    known = json.loads((master.store / "config" / "topics.json").read_text())["topicConfigTable"]
    assert not {"new", *NAMES} & known.keys()


def test_fields_and_keys_that_nobody_knows_are_passed_over_and_numbers_are_taken_as_text(broker: Make) -> None:
    master = broker().start()
    fields = {**SEND, "brokerTime": "x", "": "", "queueId": 1, "unitMode": False, "properties": None, "long": 2.5}
    header = {"code": 10, "opaque": 7, "version": 1, "extFields": fields, "more": [{}], "serializeTypeCurrentRPC": 0}
    with connected(master.address) as sock:
        said = answer(sock, frame(json.dumps(header).encode(), b"lenient"))
        assert (said.code, said.opaque) == (remoting.SUCCESS, 7)

    async def play() -> None:
        async with caller() as call:
            assert bodies_of(await call.pull(master.address, 0, queue=1)) == [b"lenient"]
            await Honest(call, master.address).turn()

    asyncio.run(play())


def test_a_name_server_answers_what_is_wrong_or_passes_over_what_it_does_not_know(names: NameServerProcess) -> None:
    who = {"brokerName": "b", "brokerAddr": "127.0.0.1:1", "clusterName": "c", "brokerId": 0, "haServerAddr": "h:1"}
    wrong: list[tuple[int, dict[str, Any], bytes]] = [
        (103, {**who, "brokerId": "x"}, b""),
        (103, {**who, "brokerId": 2**63}, b""),
        (103, {"brokerName": "b"}, b""),
        *((103, who, body) for body in (b"{", b"[]", b"null", b"\xff", b"[" * 5_000)),
        (103, {**who, "bodyCrc32": 1}, b"{}"),
        (103, {**who, "compressed": "true"}, b"no zlib stream"),
        (104, {}, b""),
        (105, {}, b""),
        (322, who, b"no version"),
    ]

    def attack() -> None:
        with connected(names.address) as sock:
            for opaque, (code, fields, body) in enumerate(wrong):
                said = answer(sock, command(code, opaque, body, **fields))
                assert (said.opaque, said.code) == (opaque, remoting.SYSTEM_ERROR), (code, fields, said)
            sock.sendall(command(9_999) + command(10, **SEND))
            assert answer(sock, command(106, 99)).opaque == 99

    async def play() -> None:
        async with caller() as call:
            await beside(lambda: asks_for_routes(call, names.address), attack)

    asyncio.run(play())
    assert names.stop() == 0
