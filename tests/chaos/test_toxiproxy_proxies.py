"""Proxies and toxics of a real toxiproxy-server, seen through real sockets; and every way in which it can fail us."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable

import pytest
import requests
from toxiproxies import ATTRIBUTES, HOST, Server, Way, address, free_port, nothing_comes, running, way

from pairproof.chaos.labs.sim.toxics import KINDS
from pairproof.chaos.toxiproxy import proxies as adapter
from pairproof.chaos.toxiproxy import server as starting
from pairproof.chaos.toxiproxy.install import VERSION
from pairproof.chaos.toxiproxy.proxies import Proxies, Toxic
from pairproof.harness.errors import LabError

WAIT_S = 20


def refused(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 10).close()
    except ConnectionRefusedError:
        return True
    return False


# Proxies


def test_a_proxy_carries_bytes_both_ways(ha: Way) -> None:
    client, behind = ha.connect()
    client.sendall(b"up")
    behind.sendall(b"down")
    assert (behind.recv(9), client.recv(9)) == (b"up", b"down")
    client.close()
    assert behind.recv(9) == b""


def test_a_proxy_is_told_as_it_is_now(proxies: Proxies, ha: Way) -> None:
    assert proxies.get("ha") == ("ha", ha.listen, ha.upstream, True, ())
    proxies.disable("ha")
    toxic = proxies.add_toxic("ha", "down", "latency", {"latency": 5})
    now = proxies.get("ha")
    assert not now.enabled
    assert now.toxics == (Toxic(toxic, "latency", "down", {"latency": 5, "jitter": 0}),)


def test_a_disabled_proxy_ends_connections_and_refuses_new_ones_until_it_is_enabled(proxies: Proxies, ha: Way) -> None:
    client, behind = ha.connect()
    for _ in range(2):
        proxies.disable("ha")
        assert refused(ha.port)
    assert (client.recv(1), behind.recv(1)) == (b"", b"")
    for _ in range(2):
        proxies.enable("ha")
        ha.connect()


def test_names_are_sorted(proxies: Proxies) -> None:
    with socket.create_server((HOST, 0)) as behind:
        for name in ("c", "a", "b"):
            proxies.create(name, f"{HOST}:0", address(behind))
        assert proxies.names() == ["a", "b", "c"]


# Toxics


def test_stall_is_bandwidth_of_rate_zero_and_loses_nothing(proxies: Proxies, ha: Way) -> None:
    client, behind = ha.connect()
    toxic = proxies.add_toxic("ha", "up", "bandwidth", {"rate": 0})
    assert dict(proxies.get("ha").toxics[0].attributes) == {"rate": 0}
    client.sendall(b"held")
    behind.sendall(b"not held")
    assert client.recv(99) == b"not held" and nothing_comes(behind)
    proxies.remove_toxic("ha", toxic)
    assert behind.recv(99) == b"held"


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_toxic_is_in_its_direction_only(proxies: Proxies, ha: Way, direction: str) -> None:
    client, behind = ha.connect()
    proxies.add_toxic("ha", direction, "timeout", {"timeout": 0})
    client.sendall(b"x")
    behind.sendall(b"x")
    touched, other = (behind, client) if direction == "up" else (client, behind)
    assert other.recv(1) == b"x" and nothing_comes(touched)


def test_two_toxics_of_one_kind_stand_in_order_and_go_one_by_one(proxies: Proxies, ha: Way) -> None:
    first = proxies.add_toxic("ha", "up", "latency", {"latency": 1})
    second = proxies.add_toxic("ha", "up", "latency", {"latency": 2})
    assert [(each.name, each.attributes["latency"]) for each in proxies.get("ha").toxics] == [(first, 1), (second, 2)]
    proxies.remove_toxic("ha", first)
    assert [each.name for each in proxies.get("ha").toxics] == [second]


def test_clear_takes_every_toxic_off_one_proxy(proxies: Proxies, ha: Way) -> None:
    with way(proxies, "other"):
        for name in ("ha", "other"):
            for direction in ("up", "down"):
                proxies.add_toxic(name, direction, "latency", {"latency": 1})
        proxies.clear("ha")
        assert proxies.get("ha").toxics == () and len(proxies.get("other").toxics) == 2


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_toxic_of_the_simulation_is_one_of_the_server_with_the_same_attributes(
    proxies: Proxies, ha: Way, kind: str
) -> None:
    toxic = proxies.add_toxic("ha", "up", kind, ATTRIBUTES[kind])
    assert proxies.get("ha").toxics == (Toxic(toxic, kind, "up", ATTRIBUTES[kind]),)
    told = requests.get(f"http://{HOST}:{proxies.port}/proxies/ha/toxics/{toxic}", timeout=10).json()
    assert (told["toxicity"], told["stream"]) == (1, "upstream")


# What the server refuses


def test_a_taken_port_is_named(proxies: Proxies, ha: Way) -> None:
    with pytest.raises(LabError, match=f"cannot create proxy 'b' on {ha.listen}: .*address already in use"):
        proxies.create("b", ha.listen, ha.upstream)
    assert proxies.names() == ["ha"]
    proxies.disable("ha")
    with socket.create_server((HOST, ha.port)):
        with pytest.raises(LabError, match=f"cannot enable proxy 'ha' on {ha.listen}: .*address already in use"):
            proxies.enable("ha")
        assert not proxies.get("ha").enabled
    proxies.enable("ha")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: p.create("ha", f"{HOST}:0", f"{HOST}:9"), "cannot create proxy 'ha' .*: there is one of that name"),
        (lambda p: p.create("b", f"{HOST}:0", ""), r"cannot create proxy 'b' .*: missing required field: upstream"),
        (lambda p: p.get("b"), "cannot show proxy 'b': proxy not found"),
        (lambda p: p.enable("b"), "cannot show proxy 'b': proxy not found"),
        (lambda p: p.disable("b"), "cannot show proxy 'b': proxy not found"),
        (lambda p: p.clear("b"), "cannot show proxy 'b': proxy not found"),
        (lambda p: p.add_toxic("b", "up", "latency", {}), "cannot add toxic 'latency' to proxy 'b': proxy not found"),
        (lambda p: p.add_toxic("ha", "up", "sugar", {}), "cannot add toxic 'sugar' to proxy 'ha': invalid toxic type"),
        (lambda p: p.add_toxic("ha", "left", "latency", {}), "directions are up and down, not 'left'"),
        (lambda p: p.add_toxic("ha", "up", "latency", {"latency": "x"}), "cannot add toxic 'latency' .*bad request"),
        (lambda p: p.add_toxic("ha", "up", "latency", {"ms": 1}), "no attribute 'ms'; it has latency, jitter"),
        (lambda p: p.remove_toxic("ha", "x"), "proxy 'ha' has no toxic 'x'"),
        (lambda p: p.remove_toxic("b", "x"), "cannot show proxy 'b': proxy not found"),
    ],
)  # fmt: skip
def test_what_the_server_refuses_is_one_line_and_changes_nothing(
    proxies: Proxies, ha: Way, call: Callable[[Proxies], object], said: str
) -> None:
    with pytest.raises(LabError, match=said) as error:
        call(proxies)
    assert "\n" not in str(error.value)
    assert proxies.get("ha").toxics == () and proxies.names() == ["ha"]


def test_what_the_server_does_not_do_is_noticed(proxies: Proxies, ha: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("enable", "disable", "add_toxic"):
        monkeypatch.setattr(adapter.LibraryProxy, name, lambda *_, **__: None)
    with pytest.raises(LabError, match="did not disable proxy 'ha'"):
        proxies.disable("ha")
    with pytest.raises(LabError, match="did not add toxic 'latency' to proxy 'ha'"):
        proxies.add_toxic("ha", "up", "latency", {"latency": 1})
    monkeypatch.undo()
    proxies.disable("ha")
    monkeypatch.setattr(adapter.LibraryProxy, "enable", lambda _: None)
    with pytest.raises(LabError, match="did not enable proxy 'ha'"):
        proxies.enable("ha")


# Servers that are not there, or not what they should be


def test_two_servers_are_kept_apart(proxies: Proxies, ha: Way) -> None:
    with running() as other, way(other.proxies, "ha") as second:
        toxic = other.proxies.add_toxic("ha", "up", "latency", {"latency": 1})
        assert proxies.get("ha").toxics == ()
        assert [each.name for each in other.proxies.get("ha").toxics] == [toxic]
        assert proxies.get("ha").upstream == ha.upstream and other.proxies.get("ha").upstream == second.upstream


def test_toxiproxy_python_is_left_as_it_was(proxies: Proxies, ha: Way) -> None:
    library = adapter.library
    before = library.APIConsumer.host, library.APIConsumer.port, library.requests
    with pytest.raises(LabError):
        proxies.get("none")
    assert (library.APIConsumer.host, library.APIConsumer.port, library.requests) == before


def test_threads_take_turns(proxies: Proxies, ha: Way) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                proxies.remove_toxic("ha", proxies.add_toxic("ha", "up", "latency", {"latency": 1}))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == [] and proxies.get("ha").toxics == ()


def test_a_dead_server_is_said_to_be_dead_and_one_that_returns_is_used() -> None:
    with running() as mine:
        mine.proxies.version()
        mine.kill()
        for call in (mine.proxies.version, mine.proxies.names, lambda: mine.proxies.get("ha")):
            with pytest.raises(LabError, match=f"toxiproxy-server died: nothing answers on port {mine.port}"):
                call()
        with running(mine.port):
            assert mine.proxies.version() == VERSION


def test_a_server_that_does_not_answer_is_given_up_on() -> None:
    with running() as mine:
        short = Proxies(mine.port, limit_s=0.3)
        short.version()
        mine.process.send_signal(signal.SIGSTOP)
        os.waitpid(mine.process.pid, os.WUNTRACED)
        try:
            with pytest.raises(LabError, match=rf"on port {mine.port} does not answer within 0\.3 s"):
                short.version()
        finally:
            mine.process.send_signal(signal.SIGCONT)
        assert short.version() == VERSION


def test_a_connection_that_was_silent_for_long_is_not_used_again(
    proxies: Proxies, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(adapter.Transport, "close", lambda _: closed.append(True))
    proxies.version()
    assert closed == []
    monkeypatch.setattr(adapter, "IDLE_S", 0.0)
    proxies.version()
    assert closed == [True]


def test_http_proxies_of_the_environment_are_not_used(
    proxies: Proxies, ha: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{HOST}:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    proxies.remove_toxic("ha", proxies.add_toxic("ha", "up", "latency", {"latency": 1}))


def answering(answer: bytes) -> tuple[socket.socket, int]:
    """A server that gives everybody this answer."""
    listening = socket.create_server((HOST, 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client:
                client.recv(1 << 16)
                client.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return listening, int(listening.getsockname()[1])


OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("body", [b"hello", b"[]", b'{"a": 1}', b"7"])
def test_another_program_on_the_port_is_recognised(body: bytes) -> None:
    listening, port = answering(OK + body)
    with listening:
        for call in (Proxies(port).version, Proxies(port).names, lambda: Proxies(port).get("ha")):
            with pytest.raises(LabError, match=f"the server on port {port} is not a toxiproxy-server"):
                call()


def test_an_error_without_words_is_an_error() -> None:
    listening, port = answering(b"HTTP/1.1 503 Unavailable\r\nConnection: close\r\n\r\n")
    with listening, pytest.raises(LabError, match="toxiproxy-server cannot tell its version: status 503"):
        Proxies(port).version()


# Starting


def test_a_server_that_ended_is_not_waited_for() -> None:
    with pytest.raises(LabError, match=r"ended before it answered on port \d+; its log has the reason"):
        starting.wait_ready(free_port(), WAIT_S, lambda: False)


def test_a_server_that_never_answers_is_waited_for_so_long() -> None:
    port = free_port()
    with pytest.raises(LabError, match=rf"not ready on port {port} after 0\.1 s: .* nothing answers"):
        starting.wait_ready(port, 0.1, lambda: True)


def test_a_port_of_another_server_is_recognised(server: Server, proxies: Proxies, ha: Way) -> None:
    with pytest.raises(LabError, match=f"port {server.port} belongs to another toxiproxy-server"):
        starting.wait_ready(server.port, WAIT_S, lambda: True)
    listening, port = answering(OK + b'{"version": "2.9.0"}')
    with listening, pytest.raises(LabError, match=rf"port {port} belongs to a toxiproxy-server 2\.9\.0"):
        starting.wait_ready(port, WAIT_S, lambda: True)
