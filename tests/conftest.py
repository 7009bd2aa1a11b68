"""What tests of several rooms need: workers by what their tests do, no plug-ins, a Docker engine where there is one.

A test that fails while the machine stalls is played again, twice at most, and pytest tells of it: a host that
takes its CPUs away for half a minute says nothing about a broker (docs/decisions/0031-stalls.md).
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# pytest's importlib mode leaves test folders off the path; what tests share is imported by name.
sys.path.insert(0, str(Path(__file__).parent))

from punctuality import Watch
from scheduling import Grouped, never_marked, shuffled, waits

from pairproof.harness import registry
from pairproof.harness.errors import LabError

# No test depends on the machine's speed, and none needs to say so.
settings.register_profile("any-speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-speed")

NICE = 5
"""A lab's processes get three times as much of a core as a test that computes."""
OWN_PLUGIN = "held"
"""The distribution that tests register themselves."""
AGAIN = 2
"""How often a test is played again at most."""
WATCH = Watch()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", metavar="SEED", help="Files, and the tests of each, come in an order by SEED.")


def pytest_configure(config: pytest.Config) -> None:
    # Tests count laws and draw faults: what somebody has plugged in must not change what they, or their processes, see.
    os.environ[registry.PLUGINS] = OWN_PLUGIN
    # What a script starts in its background ignores an interrupt, and so would the commands that tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Each test says two small things to pytest-rerunfailures' server: by default TCP keeps the second for 40 ms."""
    sock = getattr(getattr(session.config, "failures_db", None), "sock", None)
    if sock is not None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where a mark is asked for, files without it are not collected: that took longer than many a test."""
    return never_marked(collection_path, config.option.markexpr) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Any test may wait for a process, a container or a browser."""
    for each in items:
        each.add_marker(pytest.mark.flaky(reruns=AGAIN, condition=WATCH.stalled))
    seed = config.getoption("--shuffle")
    if seed is not None:
        items[:] = shuffled(items, lambda item: item.path, seed)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test begins, or is played again."""
    if hasattr(item.config, "workerinput") and not waits([item.nodeid]) and os.nice(0) < NICE:
        os.nice(NICE)
    if not WATCH.is_alive():
        WATCH.start()
    WATCH.begin()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Grouped:
    """Asked only where tests run in several processes."""
    return Grouped(config, log)


@pytest.fixture(scope="session")
def needs_engine() -> None:
    """Skip, with the reason, where no Docker engine answers."""
    from pairproof.chaos.labs.docker.connection import Connection

    try:
        Connection().close()
    except LabError as why:
        pytest.skip(f"NO CONTAINERS ARE TESTED: {why}")
