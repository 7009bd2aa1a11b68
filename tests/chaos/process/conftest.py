"""Labs of real processes that end with their tests, in a folder of labs of the test's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# pytest's importlib mode leaves test folders off the path; what tests share is imported by name.
sys.path.insert(0, str(Path(__file__).parents[2] / "reference" / "shell"))
sys.path.insert(0, str(Path(__file__).parent))

from lab_nodes import LabNode
from real_labs import left
from toxiproxies import binary

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.labs.real.stores import Store, Stores
from pairproof.chaos.labs.real.supervisor import Supervisor


@pytest.fixture(autouse=True)
def _own_folder(labs_folder: Path) -> None:
    """No test sees another's labs."""


@pytest.fixture
def lab(labs_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessLab]:
    """A lab of the test's own, of which nothing stays."""
    monkeypatch.setenv("PAIRPROOF_TOXIPROXY", str(binary()))
    made = ProcessLab()
    yield made
    made.close()
    assert left(labs_folder) == []


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    """A lab's keeper."""
    made = Supervisor()
    yield made
    made.close()


@pytest.fixture
def node(supervisor: Supervisor) -> Callable[..., LabNode]:
    """Describe a broker, or with ``program`` another node, that is not started yet."""

    def make(name: str = "master", program: str = "broker", target: str = "reference", **settings: Any) -> LabNode:
        return LabNode(supervisor, name, program, target, settings)

    return make


@pytest.fixture
def device(supervisor: Supervisor) -> Store:
    made = Stores(supervisor.folder).create("master")
    if made.kind != "device":
        pytest.skip(f"no disks of our own here: {made.why_not}")
    return made


@pytest.fixture
def tmpfs(supervisor: Supervisor) -> Store:
    stores = Stores(supervisor.folder)
    stores.why_not = "no loop devices"
    made = stores.create("master")
    if made.kind != "tmpfs":
        pytest.skip("no memory can be mounted here")
    return made


@pytest.fixture(params=["device", "tmpfs", "folder"])
def store(request: pytest.FixtureRequest, supervisor: Supervisor) -> Store:
    if request.param == "folder":
        return Stores(supervisor.folder, devices=False).create("master")
    found: Store = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["device", "tmpfs"])
def sized(request: pytest.FixtureRequest) -> Store:
    """A store on a disk that can be full."""
    found: Store = request.getfixturevalue(request.param)
    return found
