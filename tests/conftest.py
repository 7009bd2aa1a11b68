"""What tests of several rooms need of the machine: a Docker engine, where there is one."""

from __future__ import annotations

import pytest

from pairproof.harness.errors import LabError


@pytest.fixture(scope="session")
def needs_engine() -> None:
    """Skip, with the reason, where no Docker engine answers."""
    from pairproof.chaos.labs.docker.connection import Connection

    try:
        Connection().close()
    except LabError as why:
        pytest.skip(f"NO CONTAINERS ARE TESTED: {why}")
