"""What tests of several rooms need of the machine: a Docker engine, where there is one, and who shares a worker.

A test that fails while the machine stalls is played again, twice at most, and pytest tells of it: a host that
takes its CPUs away for half a minute says nothing about a broker (docs/decisions/0031-stalls.md).
"""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from pairproof.harness.errors import LabError

sys.path.insert(0, str(Path(__file__).parent))

from punctuality import Watch

ONE_ENGINE = "docker"
"""The group of all tests that count what is on the engine."""
ONE_WORKER = {("chaos", "docker"): ONE_ENGINE, ("compose",): ONE_ENGINE, ("java",): "java"}
"""Folders whose tests run one after another: they share the engine, or a pair of JVMs."""


AGAIN = 2
"""How often a test is played again at most."""
WATCH = Watch()


class Grouped(LoadScopeScheduling):
    """Gives a worker a file's tests, or those of a folder of :data:`ONE_WORKER`; ``--dist`` does not matter.

    xdist's own groups (``--dist loadgroup``) are void with pytest 9.2: its node ids take no suffix any more.
    """

    def _split_scope(self, nodeid: str) -> str:
        parts = PurePosixPath(nodeid.partition("::")[0]).relative_to("tests").parts
        return next((name for folder, name in ONE_WORKER.items() if parts[: len(folder)] == folder), "/".join(parts))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Grouped:
    """Asked only where tests run in several processes."""
    return Grouped(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Any test may wait for a process, a container or a browser."""
    for each in items:
        each.add_marker(pytest.mark.flaky(reruns=AGAIN, condition=WATCH.stalled))


def pytest_runtest_setup() -> None:
    """A test begins, or is played again."""
    if not WATCH.is_alive():
        WATCH.start()
    WATCH.begin()


@pytest.fixture(scope="session")
def needs_engine() -> None:
    """Skip, with the reason, where no Docker engine answers."""
    from pairproof.chaos.labs.docker.connection import Connection

    try:
        Connection().close()
    except LabError as why:
        pytest.skip(f"NO CONTAINERS ARE TESTED: {why}")
