"""Labs of real processes that end with their tests, in a folder of labs of the test's own."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# pytest's importlib mode leaves test folders off the path; what tests share is imported by name.
sys.path.insert(0, str(Path(__file__).parents[2] / "reference" / "shell"))
sys.path.insert(0, str(Path(__file__).parent))

from lab_nodes import LabNode

from pairproof.chaos.labs.real import folders
from pairproof.chaos.labs.real.keeper import Keeper


@pytest.fixture(autouse=True)
def labs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder below which this test's labs lie."""
    folder = tmp_path / "labs"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    # A test that fails may leave a mount behind.
    folders.clean()


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    """A lab's keeper."""
    made = Keeper()
    yield made
    made.close()


@pytest.fixture
def node(keeper: Keeper) -> Callable[..., LabNode]:
    """Describe a broker, or with ``program`` another node, that is not started yet."""

    def make(name: str = "master", program: str = "broker", target: str = "reference", **settings: Any) -> LabNode:
        return LabNode(keeper, name, program, target, settings)

    return make
