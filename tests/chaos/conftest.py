"""What the tests of this room share: a real toxiproxy-server, and their helpers by name.

pytest's importlib mode leaves test folders off the path.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairproof.chaos.toxiproxy.proxies import Proxies

sys.path.insert(0, str(Path(__file__).parent))

from toxiproxies import Server, Way, running, way


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as made:
        yield made


@pytest.fixture
def proxies(server: Server) -> Iterator[Proxies]:
    yield server.proxies
    server.proxies.destroy_all()


@pytest.fixture
def ha(proxies: Proxies) -> Iterator[Way]:
    with way(proxies, "ha") as made:
        yield made
