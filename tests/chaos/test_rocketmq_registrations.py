"""Registrations of brokers that trace nothing: told by the taps of their links to the name server."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairproof.chaos.labs.real.evidence import Evidence
from pairproof.chaos.labs.real.trace import TraceReader
from pairproof.chaos.observers.remoting_tap import RESPONSE, RemotingTap, registered_address
from pairproof.chaos.plan import SeenFromOutside, View
from pairproof.chaos.rocketmq.calls_forwarder import MOST_WAITING, REGISTER_BROKER, NamesForwarder
from pairproof.chaos.rocketmq.planning import LISTENER
from pairproof.chaos.rocketmq.readings import TracedReadings
from pairproof.chaos.targets import rocketmq
from pairproof.harness.history import Event, Recorder
from pairproof.harness.rocketmq import topology
from pairproof.harness.trials import resolve
from pairproof.reference.wire.remoting import Command, encode

ADDRESSES = {"masterAddr": "127.0.0.1:5", "haServerAddr": "127.0.0.1:6"}
OWN = {"brokerAddr": "10.0.0.4:7", "haServerAddr": "10.1.0.4:10"}
SYSTEM_ERROR = 1


def request(opaque: int = 1, code: int = REGISTER_BROKER, binary: bool = False) -> bytes:
    return encode(Command(code, opaque, 0, {"brokerName": "broker-a", **OWN}, b"body", binary=binary))


def answer(opaque: int = 1, code: int = 0, binary: bool = False, **fields: str) -> bytes:
    return encode(Command(code, opaque, RESPONSE, fields, binary=binary))


def traced() -> Evidence:
    evidence = Evidence(Recorder(), LISTENER, {"sizes": {}})
    evidence.readings = TracedReadings(evidence)
    evidence.addresses.update({"127.0.0.1:5": "master", "127.0.0.1:6": "master"})
    return evidence


def outside() -> View:
    """Of a process that never comes to serve."""
    at: Any = SimpleNamespace(incarnation=1, is_up=True, is_stopping=False)
    return SeenFromOutside(at, lambda: False)


def over(evidence: Evidence, node: str = "slave") -> NamesForwarder:
    assert evidence.listener is not None
    found = evidence.listener.forwarder(node, f"names-{node}")
    assert isinstance(found, NamesForwarder)
    return found


def registered(evidence: Evidence) -> list[Event]:
    evidence.merge_traces()
    return [each for each in evidence.recorder.events if each.kind == "register"]


@pytest.mark.parametrize("binary", [False, True])
@given(places=st.lists(st.integers(0, 1_000), max_size=20))
def test_headers_are_the_same_for_every_segmentation(binary: bool, places: list[int]) -> None:
    stream = request(7, binary=binary) + answer(7, binary=binary, **ADDRESSES) + request(8, code=322, binary=binary)
    edges = [0, *sorted({each % len(stream) for each in places}), len(stream)]
    tap = RemotingTap()
    found = [each for lo, hi in pairwise(edges) for each in tap.feed(stream[lo:hi])]
    assert [(each.code, each.opaque) for each in found] == [(103, 7), (0, 7), (322, 8)]
    assert found[1].fields == ADDRESSES and found[1].flag & RESPONSE and tap.broken is None


@given(st.binary(max_size=300))
def test_nothing_raises_whatever_passes(data: bytes) -> None:
    tap = RemotingTap()
    tap.feed((len(data)).to_bytes(4, "big") + data)
    tap.feed(data)


def test_a_frame_that_nobody_can_mean_breaks_the_stream_for_good() -> None:
    tap = RemotingTap(max_frame=500)
    assert len(tap.feed(request() + (501).to_bytes(4, "big"))) == 1
    assert tap.broken == "a frame of 501 bytes" and tap.feed(request()) == []


@pytest.mark.parametrize("node", ["master", "slave", "other"])
def test_an_answer_that_reaches_a_black_box_is_its_registration(node: str) -> None:
    evidence = traced()
    evidence.process_started(node, 1, outside())
    link = over(evidence, node)
    link.client_sent(request())
    link.server_sent(answer(**ADDRESSES))
    assert isinstance(evidence.readings, TracedReadings) and not evidence.readings.registered
    link.client_receives(answer(**ADDRESSES))
    assert evidence.readings.registered == {(node, 1)}
    (event,) = registered(evidence)
    assert (event.node, event.incarnation, event.status) == (node, 1, "ok")
    assert event.f == "10.1.0.4:+3"
    assert json.loads(event.detail or "") == {"master": "master", "ha": "master"}


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        ({"brokerAddr": "a:10911", "haServerAddr": "a:10912"}, ":+1"),
        ({"brokerAddr": "a:10911", "haServerAddr": "b:10905"}, "b:-6"),
        ({"brokerAddr": "a:10911"}, None),
        ({"haServerAddr": "b:10905"}, "b:10905"),
        ({"brokerAddr": "a:10911", "haServerAddr": "null"}, "null"),
    ],
)
def test_a_registered_address_is_read_from_the_request(asked: dict[str, str], seen: str | None) -> None:
    assert registered_address(asked) == seen


def test_an_answer_that_the_link_lost_is_none() -> None:
    evidence = traced()
    evidence.process_started("slave", 1, outside())
    link = over(evidence)
    link.client_sent(request())
    link.server_receives(request())
    link.server_sent(answer(**ADDRESSES))
    assert not registered(evidence)


def test_a_refusal_is_told_as_one_and_other_answers_not_at_all() -> None:
    evidence = traced()
    evidence.process_started("slave", 1, outside())
    link = over(evidence)
    link.client_sent(request(1, code=322) + request(2))
    link.client_receives(answer(1) + answer(2, SYSTEM_ERROR) + answer(2) + answer(3))
    (event,) = registered(evidence)
    assert (event.status, event.detail) == ("failed", "{}")


def test_registrations_that_nobody_answers_are_not_kept_without_bound() -> None:
    evidence = traced()
    evidence.process_started("slave", 1, outside())
    link = over(evidence)
    for opaque in range(MOST_WAITING + 1):
        link.client_sent(request(opaque))
    link.client_receives(answer(0) + answer(1))
    assert len(registered(evidence)) == 1


def test_a_registration_is_of_the_process_that_the_node_had_then() -> None:
    evidence = traced()
    evidence.process_started("slave", 1, outside())
    between = time.monotonic_ns()
    evidence.process_started("slave", 2, outside())
    columns = ["slave", "ok", None, None, None]
    evidence._take(evidence._incarnations[0], [between, "answered", *columns])
    evidence._take(evidence._incarnations[0], [time.monotonic_ns(), "answered", *columns])
    assert [each.incarnation for each in registered(evidence)] == [1, 2]


def test_who_traces_its_registrations_is_not_told_of_twice(tmp_path: Path) -> None:
    evidence = traced()
    path = tmp_path / "slave-1.jsonl"
    evidence.process_started("slave", 1, TraceReader(path))
    path.write_text(json.dumps([time.monotonic_ns(), "register", "ok", *ADDRESSES.values(), ":+1"]) + "\n")
    link = over(evidence)
    link.client_sent(request())
    link.client_receives(answer(**ADDRESSES))
    assert len(registered(evidence)) == 1


def test_a_start_stands_before_the_registration_that_its_process_had_made_by_then() -> None:
    evidence = traced()
    ready: list[bool] = []
    at: Any = SimpleNamespace(incarnation=1, is_up=True, is_stopping=False)
    evidence.process_started("slave", 1, SeenFromOutside(at, lambda: bool(ready)))
    link = over(evidence)
    link.client_sent(request())
    link.client_receives(answer())
    ready.append(True)
    evidence.merge_traces()
    assert [each.kind for each in evidence.recorder.events] == ["start", "register"]


@pytest.mark.parametrize("target", [rocketmq.V4, rocketmq.V5], ids=lambda target: target.name)
def test_registrations_of_java_brokers_are_observed_and_their_links_are_overheard(target: Any) -> None:
    assert "register" in resolve.lab("process").observes(target)
    plan = target.plan(target.settings({"lab.nameServer": 1}))
    heard = {each.name for each in plan.links if each.is_overheard}
    assert heard == {each[0] for each in (topology.HA_LINKS, topology.META_LINKS, topology.FAST_LINKS)} | {
        *topology.NAMES_LINKS[:2],
        topology.NAMES_CLIENT,
    }
