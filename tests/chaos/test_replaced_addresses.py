"""A client of the name server gets the addresses of its own proxies, whichever name server answers."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pairproof.chaos.labs.real.wires import Forwarder
from pairproof.chaos.observers.remoting_tap import RemotingTap
from pairproof.chaos.plan import Plan
from pairproof.chaos.rocketmq.calls_forwarder import NamesForwarder
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.rocketmq import topology

REAL, PROXIED, OTHERS = "127.0.0.1:10911", "127.0.0.1:2", "127.0.0.1:109110"
HEADER = json.dumps({"code": 0, "flag": 1, "opaque": 7, "extFields": {"masterAddr": REAL, "haServerAddr": OTHERS}})
# Keys of 4.x are not quoted.
BODY = f'{{"brokerAddrs":{{0:"{REAL}",1:"{OTHERS}"}}}}'


def frame(header: bytes, body: bytes) -> bytes:
    return (4 + len(header) + len(body)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header + body


STREAM = frame(HEADER.encode(), BODY.encode()) + frame(HEADER.replace(": 7", ": 8").encode(), b"")
ADDRESSES = {REAL: PROXIED}


def forwarder(**replaced: str) -> NamesForwarder:
    return NamesForwarder("slave", lambda *columns: None, replaced)


@given(places=st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_an_address_is_replaced_in_headers_and_bodies_for_every_segmentation(places: list[int]) -> None:
    edges, to_client = [0, *sorted(places), len(STREAM)], forwarder(**ADDRESSES)
    told = b"".join(to_client.changed(STREAM[lo:hi]) for lo, hi in pairwise(edges))
    first, second = RemotingTap().feed(told)
    assert first.fields == second.fields == {"masterAddr": PROXIED, "haServerAddr": OTHERS}
    assert (first.opaque, second.opaque) == (7, 8)
    assert first.body.decode() == BODY.replace(f'"{REAL}"', f'"{PROXIED}"') and second.body == b""


@given(data=st.binary(max_size=60), size=st.integers(-5, 3))
def test_other_bytes_reach_the_client_unchanged(data: bytes, size: int) -> None:
    odd = frame(HEADER.encode(), b"")
    odd = odd[:4] + b"\0\xff\xff\xff" + odd[8:]
    broken = odd + size.to_bytes(4, "big", signed=True) + data + STREAM
    to_client = forwarder(**ADDRESSES)
    assert b"".join(to_client.changed(bytes([each])) for each in broken) == broken


def test_an_incomplete_answer_waits_for_its_rest() -> None:
    to_client = forwarder(**ADDRESSES)
    assert not to_client.changed(STREAM[:-1]).endswith(STREAM[-9:-1])
    assert forwarder().changed(STREAM[:-1]) == Forwarder().changed(STREAM[:-1]) == STREAM[:-1]


def plan(**more: int | str) -> Plan:
    return TARGET.plan(TARGET.settings({"lab.nameServer": 1, **more}))


def test_slaves_are_led_to_their_own_links_and_clients_to_all_brokers() -> None:
    found = {each.name: dict(each.leads) for each in plan(**{"lab.slaves": 2}).links if each.leads}
    assert found == {
        topology.NAMES_CLIENT: {"client-master": "", "client-slave": "", "client-slave2": ""},
        "names-slave": {"meta": "", "ha": ""},
        "names-slave2": {"meta2": "", "ha2": ""},
    }
    (ha,) = (each.leads["ha"] for each in plan(brokerIP2="10.9.9.9").links if each.name == "names-slave")
    assert ha == "10.9.9.9"
