"""A real engine and a lab in it that ends with its test; and an engine that is not real and does what a test wants."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# pytest's importlib mode leaves test folders off the path; what tests share is imported by name.
sys.path.insert(0, str(Path(__file__).parent))

from docker_labs import OWN_VIEW
from fake_engine import FakeEngine

from pairproof.chaos.labs.docker import engine as engines
from pairproof.chaos.labs.docker import images
from pairproof.chaos.labs.docker.containers import Container, Network
from pairproof.chaos.labs.docker.engine import Engine


@pytest.fixture(scope="session", autouse=True)
def own_view() -> Iterator[None]:
    """See :data:`docker_labs.OWN_VIEW`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "_view", lambda: OWN_VIEW)
        yield


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    """An engine on a socket of its own, which DOCKER_HOST names."""
    with FakeEngine(tmp_path / "engine.sock") as made:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{made.path}")
        yield made


@pytest.fixture
def engine(needs_engine: None) -> Iterator[Engine]:
    made = Engine()
    yield made
    made.close()


@pytest.fixture
def lab(engine: Engine, tmp_path: Path) -> Iterator[Path]:
    """A folder; what was made for it in the engine goes at the end."""
    folder = tmp_path / "lab"
    folder.mkdir()
    yield folder
    engine.remove_lab(folder)


@pytest.fixture
def network(engine: Engine, lab: Path) -> Network:
    return engine.network(lab)


@pytest.fixture
def container(engine: Engine, lab: Path, network: Network) -> Callable[..., Container]:
    """Make a container that runs a program in Python, each with the next address from .11 on."""
    made: list[Container] = []

    def make(program: str, name: str = "master", **different: Any) -> Container:
        settings: dict[str, Any] = {
            "network": network, "address": network.address(11 + len(made)), "binds": [], "memory_mb": 128,
            "user": f"{os.getuid()}:{os.getgid()}", "entrypoint": ["python3", "-c"], **different,
        }  # fmt: skip
        made.append(engine.container(lab, name, images.node_image(engine), [program], **settings))
        return made[-1]

    return make
