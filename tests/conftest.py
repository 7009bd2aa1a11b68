"""What tests of several rooms need of the machine: a Docker engine, where there is one, and who shares a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairproof.harness.errors import LabError

TESTS = Path(__file__).parent
ONE_ENGINE = "docker"
"""The group of all tests that count what is on the engine."""
ONE_WORKER = {("chaos", "docker"): ONE_ENGINE, ("compose",): ONE_ENGINE, ("java",): "java"}
"""Folders whose tests run one after another: they share the engine, or a pair of JVMs."""


def group(path: Path) -> str:
    """Which tests run in one process, one after another: those of a file, or of a folder of :data:`ONE_WORKER`."""
    parts = path.relative_to(TESTS).parts
    return next((name for folder, name in ONE_WORKER.items() if parts[: len(folder)] == folder), "/".join(parts))


def pytest_itemcollected(item: pytest.Item) -> None:
    """``--dist loadgroup`` reads it, before any conftest could when all are collected."""
    item.add_marker(pytest.mark.xdist_group(group(item.path)))


@pytest.fixture(scope="session")
def needs_engine() -> None:
    """Skip, with the reason, where no Docker engine answers."""
    from pairproof.chaos.labs.docker.connection import Connection

    try:
        Connection().close()
    except LabError as why:
        pytest.skip(f"NO CONTAINERS ARE TESTED: {why}")
