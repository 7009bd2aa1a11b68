"""Broker processes on loopback that end with the test, and a client on the same shell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# pytest's importlib mode leaves test folders off the path; ``real_brokers`` is imported by name.
sys.path.insert(0, str(Path(__file__).parent))

from real_brokers import BrokerProcess, NameServerProcess, free_port


@pytest.fixture(autouse=True)
def no_name_server_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a test starts may register anywhere else."""
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)


@pytest.fixture
def name_server(tmp_path: Path) -> Iterator[NameServerProcess]:
    """A name server process that is not started yet."""
    server = NameServerProcess(tmp_path / "names", {"listenPort": free_port()})
    yield server
    server.kill()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Callable[..., BrokerProcess]]:
    """Make a broker process that is not started yet; the second of one name has the first one's store and port."""
    made: list[BrokerProcess] = []
    ports: dict[str, int] = {}

    def make(name: str = "master", **settings: object) -> BrokerProcess:
        port = ports.setdefault(name, free_port())
        made.append(BrokerProcess(tmp_path / name, {"listenPort": port, **settings}))
        return made[-1]

    yield make
    for each in made:
        each.kill()


@pytest.fixture
def pair(broker: Callable[..., BrokerProcess]) -> Callable[[], tuple[BrokerProcess, BrokerProcess]]:
    """A SYNC_MASTER and its slave, both started."""

    def make() -> tuple[BrokerProcess, BrokerProcess]:
        master = broker("master", brokerRole="SYNC_MASTER").start()
        slave = broker("slave", brokerRole="SLAVE", brokerId=1, haMasterAddress=f"127.0.0.1:{master.port + 1}")
        return master, slave.start()

    return make
