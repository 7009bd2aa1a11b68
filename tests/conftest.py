"""What tests of several rooms need of the machine: a Docker engine, where there is one, and who shares a worker."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from pairproof.harness.errors import LabError

ONE_ENGINE = "docker"
"""The group of all tests that count what is on the engine."""
ONE_WORKER = {("chaos", "docker"): ONE_ENGINE, ("compose",): ONE_ENGINE, ("java",): "java"}
"""Folders whose tests run one after another: they share the engine, or a pair of JVMs."""


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


@pytest.fixture(scope="session")
def needs_engine() -> None:
    """Skip, with the reason, where no Docker engine answers."""
    from pairproof.chaos.labs.docker.connection import Connection

    try:
        Connection().close()
    except LabError as why:
        pytest.skip(f"NO CONTAINERS ARE TESTED: {why}")
