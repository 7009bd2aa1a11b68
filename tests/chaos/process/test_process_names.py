"""The lab's name server tells each asker the addresses of that asker's own proxies, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from pairproof.chaos.rocketmq.proxied_names import name_server
from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.core.requests import Request
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command

REAL, PROXIED, OTHERS = "127.0.0.1:10911", "127.0.0.1:20001", "127.0.0.1:109110"


class Wire:
    """Effects of which only what leaves is looked at."""

    def __init__(self) -> None:
        self.sent: dict[str, bytes] = {}

    def send(self, conn: str, data: bytes) -> int:
        self.sent[conn] = self.sent.get(conn, b"") + data
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: 0


def answer(views: dict[str, dict[str, str]], asker: str, code: int, values: dict[str, str], body: bytes) -> bytes:
    wire = Wire()
    server: Any = name_server(NameServer, views)(wire)  # type: ignore[arg-type]
    server.on_accepted("conn", asker)
    server._answer(Request(server.peers, "conn", Command(code, 1, 0, {}, b""), {}), values, body)
    return wire.sent["conn"]


@pytest.mark.parametrize(("asker", "told"), [("client", PROXIED), ("slave", REAL)])
def test_an_asker_is_told_by_its_own_view(asker: str, told: str) -> None:
    views = {"client": {REAL: PROXIED}}
    said = answer(
        views, asker, RequestCode.GET_BROKER_CLUSTER_INFO, {}, f'{{"brokerAddrs":{{0:"{REAL}",1:"{OTHERS}"}}}}'.encode()
    )
    assert f'0:"{told}",1:"{OTHERS}"'.encode() in said


def test_header_fields_are_translated_whole() -> None:
    views = {"slave": {REAL: PROXIED}}
    values = {"masterAddr": REAL, "haServerAddr": OTHERS}
    said = answer(views, "slave", RequestCode.REGISTER_BROKER, values, b"")
    assert PROXIED.encode() in said and OTHERS.encode() in said
    assert REAL.encode() + b'"' not in said


def test_a_connection_that_ended_is_forgotten() -> None:
    server: Any = name_server(NameServer, {})(Wire())  # type: ignore[arg-type]
    server.on_accepted("conn", "client")
    server.on_closed("conn")
    assert not server._askers
