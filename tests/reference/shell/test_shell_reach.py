"""A broker connects to nothing but loopback, whoever names the address, unless its operator allows it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from real_brokers import BrokerProcess, NameServerProcess, free_port

from pairproof.reference.errors import ConfigError
from pairproof.reference.shell import reach, sockets
from pairproof.reference.shell.settings import settings

Make = Callable[..., BrokerProcess]
ELSEWHERE = "192.0.2.7"
"""Of the range for documentation: nobody is there."""
SLAVE: dict[str, Any] = {"brokerRole": "SLAVE", "brokerId": 1}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The addresses of host names; of names that are not here there are none."""
    names: dict[str, list[str]] = {}

    def look_up(host: str, *_: object, **__: object) -> list[tuple[Any, ...]]:
        if host not in names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0)) for each in names[host]]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return names


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost"])
def test_loopback_may_be_named(host: str) -> None:
    reach.check([("namesrvAddr", f"{host}:9876")])


@pytest.mark.parametrize("host", [ELSEWHERE, "0.0.0.0", "prod", "mixed", "unknown"])
def test_anything_else_is_refused_by_key_address_and_option(host: str, known: dict[str, list[str]]) -> None:
    known |= {ELSEWHERE: [ELSEWHERE], "0.0.0.0": ["0.0.0.0"], "prod": [ELSEWHERE], "mixed": ["127.0.0.1", ELSEWHERE]}
    with pytest.raises(ConfigError, match=f"^haMasterAddress names {host}:10912, which .*: give --connect-anywhere "):
        reach.check([("haMasterAddress", f"{host}:10912")])


@pytest.mark.parametrize("values", [{}, {"namesrvAddr": f"127.0.0.1:1;{ELSEWHERE}:9876"}])
def test_every_name_server_is_looked_at_wherever_it_is_named(values: dict[str, str]) -> None:
    found = settings(values, {"NAMESRV_ADDR": f"{ELSEWHERE}:9876"})
    assert (next(iter(values), "NAMESRV_ADDR"), f"{ELSEWHERE}:9876") in found.connects
    assert not found.anywhere


@pytest.mark.parametrize(
    ("environment", "given", "key"),
    [
        ({}, {"namesrvAddr": f"127.0.0.1:1;{ELSEWHERE}:9876"}, "namesrvAddr"),
        ({"NAMESRV_ADDR": f"{ELSEWHERE}:9876"}, {}, "NAMESRV_ADDR"),
        ({}, {"haMasterAddress": f"{ELSEWHERE}:9876", **SLAVE}, "haMasterAddress"),
    ],
)
def test_a_file_that_names_another_machine_is_one_line_and_exit_2_and_no_store(
    broker: Make, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], given: dict[str, Any], key: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    started = broker(**given)
    code, said = started.refusal()
    assert (code, said) == (
        2,
        f"pairproof broker: {key} names {ELSEWHERE}:9876, which is not on loopback: give --connect-anywhere to let "
        "this broker connect to it\n",
    )
    assert not started.store.exists()


def test_with_the_option_it_starts_and_without_it_only_on_loopback(broker: Make) -> None:
    allowed = broker(namesrvAddr=f"{ELSEWHERE}:9876")
    allowed.options = ("--connect-anywhere",)
    allowed.start()
    broker("other", namesrvAddr="127.0.0.1:1").start()


def test_an_address_that_a_name_server_gives_is_not_dialled_either(
    broker: Make, name_server: NameServerProcess
) -> None:
    name_server.start()
    # Where the master is it says itself.
    master = broker(namesrvAddr=name_server.address, brokerIP1=ELSEWHERE).start()
    master.hear("registration: done")
    slave = broker("slave", namesrvAddr=name_server.address, **SLAVE).start()
    for port in (master.port, master.port + 1):
        line = slave.hear(f"cannot connect to {ELSEWHERE}:{port}")
        assert line.endswith("it is not on loopback, and --connect-anywhere was not given\n")


@pytest.mark.parametrize("host", ["0.0.0.0", "elsewhere"])
def test_a_connect_goes_to_the_address_that_was_checked_or_nowhere(host: str, known: dict[str, list[str]]) -> None:
    async def play() -> None:
        with pytest.raises(reach.NotAllowed):
            await sockets.connect(f"{host}:{port}")
        # There is somebody: without the check it would stand.
        sock, peer = await sockets.connect(f"{host}:{port}", anywhere=True)
        sock.close()
        assert peer == ("127.0.0.1", port)

    known["elsewhere"] = ["0.0.0.0"]
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        asyncio.run(play())
