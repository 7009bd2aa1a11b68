"""What the tests of this room share: a real toxiproxy-server, a folder for labs, and their helpers by name.

pytest's importlib mode leaves test folders off the path.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairproof.chaos.labs.real import folders
from pairproof.chaos.toxiproxy.proxies import Proxies

sys.path.insert(0, str(Path(__file__).parent))

from toxiproxies import Server, Way, destroy, running, way


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as made:
        yield made


@pytest.fixture
def proxies(server: Server) -> Iterator[Proxies]:
    yield server.proxies
    for name in server.proxies.names():
        destroy(server.proxies, name)


@pytest.fixture
def ha(proxies: Proxies) -> Iterator[Way]:
    with way(proxies, "ha") as made:
        yield made


@pytest.fixture
def labs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder below which this test's labs with real processes lie."""
    folder = tmp_path / "labs"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    # A test that fails may leave a mount behind.
    folders.clean()
