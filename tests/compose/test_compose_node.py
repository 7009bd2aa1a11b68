"""What runs in a container: the same node as on loopback, but for four settings and for what each asker is told."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pairproof.harness.rocketmq import topology
from pairproof.reference.core.requests import Request
from pairproof.reference.shell import properties
from pairproof.reference.shell.settings import settings
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command

COMPOSE = Path(__file__).resolve().parents[2] / "compose"


@pytest.fixture(scope="module")
def node() -> ModuleType:
    """compose/node.py, which is not installed."""
    spec = importlib.util.spec_from_file_location("compose_node", COMPOSE / "node.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [*topology.NODES, topology.OTHER])
def test_a_broker_in_a_container_differs_in_four_settings_only(node: ModuleType, name: str) -> None:
    found = node.proxies()
    inside = node.broker_settings(name, found)
    outside = properties.read(COMPOSE / "pair" / f"{name}.conf")
    differ = {key for key in inside if inside[key] != outside.get(key)}
    assert differ == {"bindAddress", "brokerIP1", "namesrvAddr", "storePathRootDir"}
    config = settings(inside).config
    assert config.address == f"127.0.0.1:{config.listenPort}"
    assert config.name_servers == (f"toxiproxy:{found[f'names-{name}'].listen}",)


def test_the_name_server_has_a_port_for_each_asker(node: ModuleType) -> None:
    asks = node.ports_by_asker(node.proxies())
    assert set(asks) == {"client", *topology.NODES, topology.OTHER}
    assert len(set(asks.values())) == len(asks)
    assert set(node.ports_by_asker({})) == set()


def test_a_slave_is_led_to_its_own_proxies_and_a_client_to_published_ports(node: ModuleType) -> None:
    found = {
        "client-master": node.Proxy(1, "master", 100),
        **{link: node.Proxy(number, "master", 100) for number, link in enumerate(topology.META_LINKS, 20)},
        **{link: node.Proxy(number, "master", 101) for number, link in enumerate(topology.HA_LINKS, 30)},
    }
    views = node.views(found, {"client-master": "127.0.0.1:7"})
    assert views["client"] == {"127.0.0.1:100": "127.0.0.1:7"}
    assert views["slave"] == {"127.0.0.1:100": "toxiproxy:20", "127.0.0.1:101": "toxiproxy:30"}
    assert views["slave3"] == {"127.0.0.1:100": "toxiproxy:22", "127.0.0.1:101": "toxiproxy:32"}
    assert views.keys() == {"client", *topology.SLAVES}
    assert node.views(found, {})["client"] == {}


REAL, PROXIED, OTHERS = "127.0.0.1:10911", "127.0.0.1:20001", "127.0.0.1:109110"


class Sent:
    """Effects of which only what leaves is looked at."""

    def __init__(self) -> None:
        self.by_conn: dict[str, bytes] = {}

    def send(self, conn: str, data: bytes) -> int:
        self.by_conn[conn] = self.by_conn.get(conn, b"") + data
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: 0


@pytest.mark.parametrize(("asker", "told"), [("client", PROXIED), ("slave", REAL)])
def test_an_asker_gets_the_addresses_of_its_own_view(node: ModuleType, asker: str, told: str) -> None:
    sent = Sent()
    server = node.HandsOutProxies({"client": {REAL: PROXIED}}, sent)
    server.on_accepted("conn", asker)
    request = Request(server.peers, "conn", Command(RequestCode.REGISTER_BROKER, 1, 0, {}, b""), {})
    server._answer(request, {"masterAddr": REAL}, f'{{"brokerAddrs":{{0:"{REAL}",1:"{OTHERS}"}}}}'.encode())
    said = sent.by_conn["conn"]
    assert f'0:"{told}",1:"{OTHERS}"'.encode() in said and f'"masterAddr":"{told}"'.encode() in said
    server.on_closed("conn")
    assert not server._askers


def test_a_master_counts_slaves_that_come_from_one_address_apart(node: ModuleType) -> None:
    conn, other = object(), object()
    assert node.BehindProxies.peer(None, conn) is conn and node.BehindProxies.peer(None, other) is other


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "there is no node ''"),
        (["slave4"], "there is no node 'slave4': give one of master, slave,"),
        (["master", "client-master=127.0.0.1:1"], "a broker takes no more arguments"),
        (["names", "ha=127.0.0.1:1"], "'ha=127.0.0.1:1' is not LINK=HOST:PORT"),
        (["names", "client-master=127.0.0.1"], "is not LINK=HOST:PORT"),
        (["names", "client-master"], "is not LINK=HOST:PORT"),
    ],
)
def test_wrong_arguments_are_one_line(
    node: ModuleType, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert node.main(arguments) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_right_arguments_are_taken(node: ModuleType) -> None:
    assert callable(node.program(["master"]))
    assert callable(node.program(["names"]))
    assert callable(node.program(["names", "client-master=127.0.0.1:1", "client-other=127.0.0.1:2"]))


def test_what_keeps_a_node_from_starting_is_one_line(
    node: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pair").mkdir()
    (tmp_path / "toxiproxy.json").write_text((COMPOSE / "toxiproxy.json").read_text())
    (tmp_path / "pair" / "master.conf").write_text("brokerRole=NONE\n")
    monkeypatch.setattr(node, "HERE", tmp_path)
    for name, words in (("master", "brokerRole"), ("slave", "cannot read")):
        assert node.main([name]) == 2
        said = capsys.readouterr().err
        assert said.startswith("node.py: ") and words in said and said.count("\n") == 1
