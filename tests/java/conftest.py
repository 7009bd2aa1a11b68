"""One JVM with Java clients for all tests, pairs that end with their tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

# pytest's importlib mode leaves test folders off the path; what tests share is imported by name.
sys.path.insert(0, str(Path(__file__).parents[1] / "reference" / "shell"))
sys.path.insert(0, str(Path(__file__).parent))

import jars
from clients import Clients, Driver
from pairs import PAIRS, Pair, until_replicated
from plain_sockets import OURS, Make
from processes import KINDS, REFERENCE, Broker, Kind, Program

from pairproof.chaos.rocketmq import jvm
from pairproof.chaos.rocketmq.install import JARS
from pairproof.harness.errors import LabError

P = TypeVar("P", bound=Program)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """The JVM with the clients."""
    try:
        jars.classpath()
    except jars.NoJava as why:
        pytest.fail(str(why), pytrace=False)
    made = Driver(tmp_path_factory.mktemp("driver"))
    yield made
    made.close()


@pytest.fixture(scope="module", params=PAIRS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Whose brokers and name server run."""
    return KINDS[request.param]


@pytest.fixture(scope="module")
def pair(kind: Kind, driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A name server, a SYNC_MASTER and its slave, all running and joined, for the tests of one module."""
    made = Pair(tmp_path_factory.mktemp(f"pair-{kind.name}"), kind)
    try:
        made.start()
        until_replicated(Clients(driver, made.namesrv.address))
        yield made
    finally:
        made.kill()


@pytest.fixture
def clients(pair: Pair, driver: Driver) -> Clients:
    """Java clients of the module's pair."""
    return Clients(driver, pair.namesrv.address)


@pytest.fixture
def running() -> Iterator[Callable[[P], P]]:
    """Start a program that is killed when the test ends."""
    started: list[Program] = []

    def start(program: P) -> P:
        started.append(program)
        program.start()
        return program

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def broker(tmp_path: Path, running: Callable[[Broker], Broker], monkeypatch: pytest.MonkeyPatch) -> Make:
    """Start one broker of 4.9.7, 5.5.0 or ours, without a name server."""
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)

    def start(whose: str, **settings: Any) -> Broker:
        made = Broker(tmp_path / whose, REFERENCE, **settings)
        if whose != OURS:
            try:
                made.command = jvm.command(
                    jvm.BROKER, JARS[whose].install(), made.folder / "home", made.folder / "conf"
                )
            except LabError as why:
                pytest.fail(str(why), pytrace=False)
            made.ready = jvm.READY.strip()
        return running(made)

    return start
