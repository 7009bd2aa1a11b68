"""Images hold exactly this source, on the first base there is; older ones go, and what is missing is said."""

from __future__ import annotations

import hashlib
import itertools
import json
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_engine import BREAKS_OFF, HANGS, FakeEngine, told

from pairproof.chaos.labs.docker import images
from pairproof.chaos.labs.docker.connection import Connection
from pairproof.chaos.labs.docker.containers import Network
from pairproof.chaos.labs.docker.engine import Engine
from pairproof.harness.errors import LabError

HERE = (200, {"Id": "sha256:1"})
BUILT = told({"stream": "step"}, {"stream": "done"})
NO_SUCH_HOST = told({"error": "lookup registry:\n no such host"})


@pytest.fixture(autouse=True)
def no_bases_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BASE_IMAGE", raising=False)
    monkeypatch.delenv("TOXIPROXY_IMAGE", raising=False)


def has(fake: FakeEngine, *names: str) -> None:
    for name in names:
        fake.answers[f"GET /images/{name}/json"] = HERE


def base(fake: FakeEngine) -> str:
    """What the last build was told to build on."""
    (query,) = [each for each in fake.queries if "buildargs" in each][-1:]
    return str(json.loads(query["buildargs"])["BASE_IMAGE"])


@pytest.fixture
def builder(fake: FakeEngine) -> FakeEngine:
    fake.answers["POST /build"] = BUILT
    fake.answers["GET /images/json"] = (200, [])
    fake.answers["POST /images/create"] = NO_SUCH_HOST
    return fake


def test_all_that_the_dockerfile_copies_is_in_the_name(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "__pycache__").mkdir()
    (tmp_path / "Dockerfile").write_text("FROM x\nCOPY room there/room\nCOPY a b there/\n")
    recipe = images.NODE_RECIPE._replace(context=tmp_path, dockerfile="Dockerfile")
    for each in ("room/one.py", "room/__pycache__/one.pyc", "a", "b", "c"):
        (tmp_path / each).write_text(each)
    files = images.sources(recipe)
    assert list(files) == ["Dockerfile", "a", "b", "room/one.py"]
    name = images.node_name(files)
    assert name.startswith("pairproof-node:") and images.node_name(images.sources(recipe)) == name
    for changed in ("Dockerfile", "a", "room/one.py"):
        before = (tmp_path / changed).read_text()
        (tmp_path / changed).write_text(before + "\n")
        assert images.node_name(images.sources(recipe)) != name
        (tmp_path / changed).write_text(before)
    (tmp_path / "a").rename(tmp_path / "room" / "a")
    with pytest.raises(LabError, match=r"/a is not there: clone the project"):
        images.sources(recipe)


def test_the_name_is_another_one_on_another_base(monkeypatch: pytest.MonkeyPatch) -> None:
    before = images.node_name({"a": b"b"})
    monkeypatch.setenv("BASE_IMAGE", "mine:1")
    assert images.node_name({"a": b"b"}) != before


def test_what_the_real_dockerfile_copies_is_found() -> None:
    files = images.sources(images.NODE_RECIPE)
    assert {"compose/node.py", "compose/node.Dockerfile", "compose/toxiproxy.json", "compose/pair/master.conf"} <= set(
        files
    )
    assert {"chaos/labs/docker/images.py", "harness/errors.py", "reference/core/broker.py"} <= set(files)
    assert [each for each in files if each.startswith("pairproof/")] == ["pairproof/__init__.py"], "and no room twice"
    assert not [each for each in files if each.startswith((".", "tests", "runs", "docs")) or each.endswith(".pyc")]
    with tarfile.open(fileobj=images._archive(files)) as archive:
        packed = archive.extractfile("compose/node.py")
        assert set(archive.getnames()) == set(files) and packed is not None
        assert packed.read() == (images.ROOT / "compose" / "node.py").read_bytes()
    assert list(images.sources(images.TOXIPROXY_RECIPE)) == ["toxiproxy.Dockerfile", "toxiproxy.json"]


def test_an_image_that_is_there_is_not_built(builder: FakeEngine) -> None:
    name = images.node_name(images.sources(images.NODE_RECIPE))
    has(builder, name, images.TOXIPROXY)
    assert images.node_image(Connection()) == name
    assert images.toxiproxy_image(Connection()) == images.TOXIPROXY
    assert "POST /build" not in builder.asked


@pytest.mark.parametrize(
    ("there", "named", "expected"),
    [
        (["python:3.11-slim-bookworm", "pairproof-base:bookworm"], "", "python:3.11-slim-bookworm"),
        (["pairproof-base:bookworm"], "", "pairproof-base:bookworm"),
        (["pairproof-base:bookworm", "mine:1"], "mine:1", "mine:1"),
    ],
)
def test_the_base_is_one_that_is_here(
    builder: FakeEngine, monkeypatch: pytest.MonkeyPatch, there: list[str], named: str, expected: str
) -> None:
    monkeypatch.setenv("BASE_IMAGE", named)
    has(builder, *there)
    images.node_image(Connection())
    assert base(builder) == expected and "POST /images/create" not in builder.asked


def test_otherwise_it_is_pulled(builder: FakeEngine) -> None:
    builder.answers["POST /images/create"] = BUILT
    images.toxiproxy_image(Connection())
    assert base(builder) == "ghcr.io/shopify/toxiproxy:2.12.0"


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("", "pull python:3.11-slim-bookworm: lookup registry: no such host; the Docker engine has neither"),
        ("", "nor pairproof-base:bookworm: run: pairproof labs install images"),
        ("mine:1", "BASE_IMAGE: the Docker engine has no image mine:1: pull it, or unset the variable"),
    ],
)
def test_without_any_base_the_line_says_how_to_get_one(
    builder: FakeEngine, monkeypatch: pytest.MonkeyPatch, named: str, words: str
) -> None:
    monkeypatch.setenv("BASE_IMAGE", named)
    with pytest.raises(LabError) as why:
        images.node_image(Connection())
    assert words in str(why.value) and "\n" not in str(why.value)
    assert "POST /build" not in builder.asked


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (told({"stream": "a"}, {"error": "COPY\nfailed"}), "on pairproof-base:bookworm: COPY failed"),
        ((500, {"message": "no space left"}), "no space left"),
        (HANGS, "it was silent for 0.2 s"),
        (BREAKS_OFF, "no longer answers"),
    ],
)
def test_a_build_that_fails_says_why_and_the_engine_is_still_there(
    builder: FakeEngine, monkeypatch: pytest.MonkeyPatch, answer: Any, words: str
) -> None:
    monkeypatch.setattr(images, "SILENT_S", 0.2)
    has(builder, "pairproof-base:bookworm")
    builder.answers["POST /build"] = answer
    engine = Connection()
    with pytest.raises(LabError) as why:
        images.node_image(engine)
    assert words in str(why.value) and "\n" not in str(why.value)
    assert images.is_here(engine, "pairproof-base:bookworm")


def test_a_build_that_goes_on_for_ever_is_given_up(builder: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "time", SimpleNamespace(monotonic=itertools.count(0.0, images.BUILD_S).__next__))
    builder.answers["POST /build"] = told(*[{"stream": "step"}] * 9)
    has(builder, "pairproof-base:bookworm")
    with pytest.raises(LabError, match="it takes more than 300 s"):
        images.node_image(Connection())


def test_images_of_older_sources_go_but_for_one_and_those_in_use(builder: FakeEngine) -> None:
    has(builder, "pairproof-base:bookworm")
    name = images.node_name(images.sources(images.NODE_RECIPE))
    tags = [[f"pairproof-node:{each * 12}"] for each in "abc"]
    builder.answers["GET /images/json"] = (
        200,
        [
            {"Created": 5, "RepoTags": ["pairproof-node:dev", "mine:aaaaaaaaaaaa"]},
            {"Created": 3, "RepoTags": tags[1]},
            {"Created": 6, "RepoTags": [name]},
            {"Created": 4, "RepoTags": tags[0]},
            {"Created": 1, "RepoTags": None},
            {"Created": 2, "RepoTags": tags[2]},
        ],
    )
    builder.answers[f"DELETE /images/{tags[1][0]}"] = (409, {"message": "container x is using it"})
    images.node_image(Connection())
    assert [each for each in builder.asked if each.startswith("DELETE")] == [
        f"DELETE /images/{tags[1][0]}",
        f"DELETE /images/{tags[2][0]}",
    ]


def test_the_tool_says_which_bases_there_are(builder: FakeEngine) -> None:
    has(builder, "pairproof-base:bookworm")
    with pytest.raises(LabError, match=r"neither ghcr\.io/shopify/toxiproxy:2.12.0 nor pairproof-toxi"):
        images.TOOL.find()
    has(builder, "ghcr.io/shopify/toxiproxy:2.12.0")
    assert images.TOOL.find().startswith("pairproof-base:bookworm and ghcr.io/shopify/toxiproxy:2.12.0, in the Docker")


def test_the_tool_runs_the_script_for_the_same_engine(
    builder: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "ROOT", tmp_path)
    with pytest.raises(LabError, match=r"compose/images\.sh is not there: clone the project"):
        images.TOOL.install()
    (tmp_path / "compose").mkdir()
    script = tmp_path / "compose" / "images.sh"
    script.write_text(
        'echo "$DOCKER_HOST" > "$0.host"\necho "first" >&2; echo "images.sh: no go: install it" >&2; exit 1\n'
    )
    with pytest.raises(LabError, match=r"images\.sh: no go: install it$"):
        images.TOOL.install()
    assert Path(f"{script}.host").read_text() == f"unix://{builder.path}\n"
    script.write_text("exit 0\n")
    has(builder, "pairproof-base:bookworm", "pairproof-toxiproxy-base:2.12.0")
    assert "pairproof-toxiproxy:2.12.0 on pairproof-base:bookworm and" in images.TOOL.install()


@pytest.mark.slow
def test_a_container_of_a_real_image_has_this_source(engine: Engine, lab: Path, network: Network) -> None:
    name = images.node_image(engine)
    assert images.node_image(engine) == name
    shows = (
        "import hashlib, sys, time; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest()); time.sleep(60)"
    )
    made = engine.container(
        lab, "x", name, ["-c", shows, "pairproof/chaos/labs/docker/images.py"], network=network,
        address=network.address(9), binds=[], user="9:9", memory_mb=64, entrypoint=["python3"],
    )  # fmt: skip
    made.start()
    ends = time.monotonic() + 30
    while not made.logs() and time.monotonic() < ends:
        time.sleep(0.02)
    assert made.logs().strip() == hashlib.sha256(Path(images.__file__).read_bytes()).hexdigest()
