"""Every request that reached RocketMQ 4.9.7's name server in the capture is answered as that did, byte by byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from namesrv_play import SECOND, Play

from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.core.routes import RouteTable
from pairproof.reference.wire.bodies_route import TopicRouteData
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command, CommandReader


class Captured(NamedTuple):
    at_ms: float
    conn: str
    request: Command
    answer: Command | None
    last: bool
    """Whether the connection ended after it."""


def captured(folder: Path) -> list[Captured]:
    """Every request that reached the real name server, in order, with its answer."""
    found = []
    for file in sorted(folder.glob("*--namesrv.bin")):
        rows = [json.loads(line) for line in file.with_suffix(".jsonl").read_text().splitlines()]
        frames = list(zip(rows, CommandReader().feed(file.read_bytes()), strict=True))
        answers = {(row["connection"], frame.opaque): frame for row, frame in frames if frame.is_response}
        ends = {row["connection"]: row["at_ms"] for row, frame in frames if not frame.is_response}
        for row, frame in frames:
            if not frame.is_response:
                number = row["connection"]
                answer = answers.get((number, frame.opaque))
                last = row["at_ms"] == ends[number]
                found.append(Captured(row["at_ms"], f"{file.stem} {number}", frame, answer, last))
    return sorted(found)


def replay(folder: Path, server: type[NameServer] = NameServer) -> list[str]:
    """What our answers and the real ones differ in."""
    play, differences = Play(server), []
    for at_ms, conn, request, expected, last in captured(folder):
        play.wait(at_ms / 1_000 - play.port.time / SECOND)
        answer = play.ask(conn, request)
        if comparable(answer, request) != comparable(expected, request):
            differences.append(f"{at_ms} {conn} {request.code}: {answer} is not {expected}")
        if last:
            play.server.on_closed(conn)
    return differences


def comparable(answer: Command | None, request: Command) -> Any:
    """All that a peer reads, byte by byte; only the list of all topics has no order."""
    if answer is None:
        return None
    body: Any = answer.body
    if request.code == RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER:
        body = sorted(json.loads(body)["topicList"])
    return answer.code, answer.opaque, answer.flag, answer.fields, answer.remark, body


def test_capture_is_answered_as_the_real_name_server_did(golden: Path) -> None:
    requests = captured(golden / "remoting")
    assert len(requests) == 125 and sum(each.answer is None for each in requests) == 7
    assert replay(golden / "remoting") == []


class ForgetsMasters(RouteTable):
    def register(self, *args: Any) -> Any:
        return super().register(*args) and type(super().register(*args))()


class ForgetsVersions(RouteTable):
    def changed(self, *args: Any) -> bool:
        return False


class HidesSlaves(RouteTable):
    def route(self, topic: str) -> TopicRouteData | None:
        found = super().route(topic)
        for broker in found.broker_datas if found else ():
            broker.broker_addrs.pop(1, None)
        return found


@pytest.mark.parametrize("routes", [ForgetsMasters, ForgetsVersions, HidesSlaves])
def test_replay_of_the_capture_sees_a_wrong_table(golden: Path, routes: type[RouteTable]) -> None:
    class Wrong(NameServer):
        routes_class = routes

    assert replay(golden / "remoting", Wrong)
