"""Toxics of a real toxiproxy-server are taken off without harm, also where the server alone hangs, loses or crashes."""

from __future__ import annotations

import socket
import struct
import threading
import time

import pytest
import toxiproxies
from toxiproxies import ATTRIBUTES, Server, Way, nothing_comes, read, running, way

from pairproof.chaos.toxiproxy import proxies as adapter
from pairproof.chaos.toxiproxy.proxies import Proxies, Toxic
from pairproof.harness.errors import LabError

LIMIT_S = 2
"""Less than the 5 s that the server waits for a chunk."""


def take_care_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "HARMLESS", {})
    monkeypatch.setattr(adapter, "OFF_AND_ON", ())
    monkeypatch.setattr(Proxies, "_cushion", lambda *_: None)


ORDERS = ["as the adapter does it", "as the server alone does it"]


@pytest.mark.parametrize("calm", ORDERS)
def test_a_toxic_before_a_full_stall_can_be_taken_off(calm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = [bytes([number] * 30) for number in range(4)]
    with running() as mine, way(mine.proxies, "ha") as ha:
        client, behind = ha.connect()
        proxies = Proxies(mine.port, limit_s=LIMIT_S)
        slicer = proxies.add_toxic("ha", "up", "slicer", {"average_size": 10, "size_variation": 0, "delay": 1})
        stall = proxies.add_toxic("ha", "up", "bandwidth", {"rate": 0})
        for each in said:
            client.sendall(each)
            time.sleep(0.05)
        if calm == ORDERS[1]:
            take_care_no_more(monkeypatch)
            for call in (lambda: proxies.remove_toxic("ha", slicer), lambda: proxies.get("ha")):
                with pytest.raises(LabError, match="does not answer within 2 s"):
                    call()
            return
        proxies.remove_toxic("ha", slicer)
        assert proxies.get("ha").toxics == (Toxic(stall, "bandwidth", "up", {"rate": 0}),)
        client.sendall(b"held")
        assert read(behind, 120) == b"".join(said) and nothing_comes(behind)
        proxies.remove_toxic("ha", stall)
        assert behind.recv(99) == b"held"


@pytest.mark.parametrize("calm", ORDERS)
def test_a_toxic_before_a_reset_that_is_on_its_way_can_be_taken_off(calm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with running() as mine, way(mine.proxies, "ha") as ha:
        client, behind = ha.connect()
        proxies = Proxies(mine.port, limit_s=LIMIT_S)
        slicer = proxies.add_toxic("ha", "up", "slicer", {"average_size": 10, "size_variation": 0, "delay": 1})
        proxies.add_toxic("ha", "up", "reset_peer", {"timeout": 600})
        client.sendall(bytes(40))
        time.sleep(0.2)
        if calm == ORDERS[1]:
            take_care_no_more(monkeypatch)
            with pytest.raises(LabError, match="does not answer within 2 s"):
                proxies.remove_toxic("ha", slicer)
            return
        proxies.remove_toxic("ha", slicer)
        assert [each.kind for each in proxies.get("ha").toxics] == ["reset_peer"]
        assert behind.recv(1) == b"" and client.recv(1) == b""


@pytest.mark.parametrize("kind", ["latency", "bandwidth"])
@pytest.mark.parametrize("calm", ORDERS)
def test_a_toxic_whose_receiver_is_dead_can_be_taken_off(calm: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with running() as mine, way(mine.proxies, "ha") as ha:
        client, behind = ha.connect()
        proxies = Proxies(mine.port, limit_s=LIMIT_S)
        toxic = proxies.add_toxic("ha", "up", kind, {"latency": {"latency": 60_000}, "bandwidth": {"rate": 0}}[kind])
        for _ in range(8):
            client.sendall(b"late")
            time.sleep(0.02)
        behind.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        behind.close()
        if calm == ORDERS[1]:
            take_care_no_more(monkeypatch)
            with pytest.raises(LabError, match="does not answer within 2 s"):
                proxies.remove_toxic("ha", toxic)
            return
        proxies.remove_toxic("ha", toxic)
        assert proxies.get("ha").toxics == ()


@pytest.mark.parametrize("calm", ORDERS)
def test_toxics_of_a_connection_that_is_about_to_end_can_be_taken_off(
    calm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running() as mine, way(mine.proxies, "ha") as ha:
        client, behind = ha.connect()
        proxies = mine.proxies
        for _ in range(2):
            proxies.add_toxic("ha", "up", "latency", {"latency": 0})
        proxies.add_toxic("ha", "up", "slow_close", {"delay": 60_000})
        client.close()
        time.sleep(0.1)
        if calm == ORDERS[1]:
            take_care_no_more(monkeypatch)
        for toxic in proxies.get("ha").toxics[:2]:
            proxies.remove_toxic("ha", toxic.name)
        if calm == ORDERS[1]:
            with pytest.raises(LabError, match="toxiproxy-server died"):
                proxies.add_toxic("ha", "up", "latency", {"latency": 0})
            monkeypatch.setattr(toxiproxies, "destroy", lambda *_: None)
            return
        proxies.add_toxic("ha", "up", "latency", {"latency": 0})
        assert [each.kind for each in proxies.get("ha").toxics] == ["slow_close", "latency"]
        assert behind.recv(1) == b""


def test_a_removal_leaves_the_others_as_they_were(proxies: Proxies, ha: Way) -> None:
    names = [proxies.add_toxic("ha", "up", kind, ATTRIBUTES[kind]) for kind in sorted(ATTRIBUTES)]
    names.append(proxies.add_toxic("ha", "down", "bandwidth", {"rate": 3}))
    left = {each.name: each for each in proxies.get("ha").toxics}
    for name in names:
        proxies.remove_toxic("ha", name)
        del left[name]
        assert {each.name: each for each in proxies.get("ha").toxics} == left


def test_bandwidth_behind_what_is_taken_off_moves_to_the_end(proxies: Proxies, ha: Way) -> None:
    def add(kind: str, **attributes: int) -> Toxic:
        return Toxic(proxies.add_toxic("ha", "up", kind, attributes), kind, "up", attributes)

    first, second = add("bandwidth", rate=1), add("latency", latency=2, jitter=0)
    slow, slicer = add("bandwidth", rate=3), add("slicer", average_size=4, size_variation=1, delay=5)
    last = add("latency", latency=6, jitter=0)
    proxies.remove_toxic("ha", second.name)
    assert proxies.get("ha").toxics == (first, slicer, last, slow)


def test_a_removal_that_waits_for_a_reader_is_given_up_on(proxies: Proxies, server: Server) -> None:
    with way(proxies, "full") as full:
        client, behind = full.connect()
        toxic = proxies.add_toxic("full", "up", "latency", {"latency": 0})
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            while True:
                client.send(bytes(1 << 20))
        with pytest.raises(LabError, match=r"does not answer within 0\.5 s"):
            Proxies(server.port, limit_s=0.5).remove_toxic("full", toxic)
        reader = threading.Thread(target=lambda: all(iter(lambda: behind.recv(1 << 20), b"")))
        reader.start()
        proxies.remove_toxic("full", toxic)
        assert proxies.get("full").toxics == ()
        client.close()
        reader.join()
