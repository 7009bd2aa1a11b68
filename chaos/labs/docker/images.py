"""Makes the images of the lab's containers.

A node's image has exactly the harness's own source: its tag is a hash of the files that compose/node.Dockerfile copies,
and a missing one is built, in a few seconds and without network. Its base is, in this order: ``BASE_IMAGE``, the
official image or the one made by compose/images.sh if either exists, the official one from its registry. The same
applies to toxiproxy's image, whose tag is its version.

Images of older sources are removed, except for the newest two and those in use. Left out: installed wheels, since the
build files are in the checkout only.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

import requests
import urllib3

from ....harness.errors import LabError
from ... import programs
from ...plan import OTHER, OWN
from .connection import Connection, Refused

ROOT = Path(__file__).resolve().parents[3]
NODE = "pairproof-node"
DEBIAN = "pairproof-debian"
TOXIPROXY = "pairproof-toxiproxy:2.12.0"
LABEL = "pairproof.image"
KEPT = 2
"""Images of nodes, the one in use included."""
BUILD_S = 300.0
PULL_S = 300.0
SCRIPT_S = 900.0
SILENT_S = 120.0
"""Longest silence of a builder within one step."""
INSTALL = "run: pairproof labs install images"
_HASHED = re.compile(rf"{NODE}:[0-9a-f]{{12}}(-{OTHER})?")


class Recipe(NamedTuple):
    dockerfile: str
    """Its path in the context."""
    context: Path
    variable: str
    official: str
    made: str


NODE_RECIPE = Recipe(
    "compose/node.Dockerfile", ROOT, "BASE_IMAGE", "python:3.11-slim-bookworm", "pairproof-base:bookworm"
)
TOXIPROXY_RECIPE = Recipe(
    "toxiproxy.Dockerfile",
    ROOT / "compose",
    "TOXIPROXY_IMAGE",
    "ghcr.io/shopify/toxiproxy:2.12.0",
    "pairproof-toxiproxy-base:2.12.0",
)


def node_image(engine: Connection) -> str:
    """The name of an image with this source, built unless it exists. LabError, with the remedy, if that fails."""
    files = sources(NODE_RECIPE)
    name = node_name(files)
    if not is_here(engine, name):
        _build(engine, NODE_RECIPE, files, name)
        _remove_older(engine, name)
    return name


def made_image(engine: Connection, packages: Sequence[str] = (), which: str = OWN) -> str:
    """The name of an image for nodes that need Debian's ``packages``, or, without them, this source; ``which``: the
    nodes' own, or the other one for replacements, where Python runs with -O. Made unless it exists.

    LabError, with the remedy, if that fails.
    """
    own = debian_image(engine, packages) if packages else node_image(engine)
    if which == OWN:
        return own
    name = f"{own}-{OTHER}"
    if not is_here(engine, name):
        lines = f"FROM {own}\nENV PYTHONOPTIMIZE=1\n"
        _build_files(engine, {"Dockerfile": lines.encode()}, "Dockerfile", {}, name)
    return name


def debian_image(engine: Connection, packages: Sequence[str]) -> str:
    """The name of an image of Debian with these packages, made by compose/images.sh unless it exists."""
    name = f"{DEBIAN}:{'_'.join(packages)}"
    if not is_here(engine, name):
        _run_script(engine.where, name, *packages)
    return name


def toxiproxy_image(engine: Connection) -> str:
    """The name of toxiproxy's image, built unless it exists. LabError, with the remedy, if that fails."""
    if not is_here(engine, TOXIPROXY):
        _build(engine, TOXIPROXY_RECIPE, sources(TOXIPROXY_RECIPE), TOXIPROXY)
    return TOXIPROXY


def sources(recipe: Recipe) -> dict[str, bytes]:
    """A builder's files by path in the context: the Dockerfile and the files that it copies. LabError if one is
    missing.
    """
    try:
        text = (recipe.context / recipe.dockerfile).read_text(encoding="utf-8")
        copied = [each for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for each in line.split()]
        paths = [path for each in [recipe.dockerfile, *copied] for path in _files(recipe.context / each)]
        return {str(path.relative_to(recipe.context)): path.read_bytes() for path in sorted(set(paths))}
    except OSError as why:
        raise LabError(
            f"images are built from a checkout of pairproof, and {why.filename} is not there: clone the project, and "
            f"install it from there with pip install --editable ."
        ) from None


def node_name(files: dict[str, bytes]) -> str:
    """The name of the image with these sources; another base makes another image."""
    found = hashlib.sha256(os.environ.get(NODE_RECIPE.variable, "").encode())
    for path, data in files.items():
        found.update(f"\n{path} {len(data)}\n".encode() + data)
    return f"{NODE}:{found.hexdigest()[:12]}"


def is_here(engine: Connection, name: str) -> bool:
    """Whether the engine has an image of this name."""
    try:
        engine.ask(f"look for image {name}", lambda client: client.inspect_image(name))
    except Refused as why:
        if why.status != 404:
            raise
        return False
    return True


class Images:
    """The tool ``images`` of ``pairproof labs install``."""

    name = "images"
    about = "base images of the docker lab: Python and toxiproxy; built if they cannot be pulled"

    def find(self) -> str:
        """The existing images. LabError, with the remedy, if a lab could not build on them, or without an engine."""
        with closing(Connection()) as engine:
            bases = [_local_base(engine, each) for each in (NODE_RECIPE, TOXIPROXY_RECIPE)]
        return f"{' and '.join(bases)}, in the Docker engine at {engine.where}"

    def install(self) -> str:
        """Make or pull them with compose/images.sh, and build on them; returns the images."""
        with closing(Connection()) as engine:
            _run_script(engine.where)
            made = [node_image(engine), toxiproxy_image(engine)]
        return f"{' and '.join(made)} on {self.find()}"


TOOL = Images()


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for each in path.rglob("*"):
        if each.is_file() and "__pycache__" not in each.parts:
            yield each


def _local_base(engine: Connection, recipe: Recipe) -> str:
    """A base that needs no network. LabError if there is none."""
    named = os.environ.get(recipe.variable)
    for each in [named] if named else [recipe.official, recipe.made]:
        if is_here(engine, each):
            return each
    if named:
        raise LabError(f"{recipe.variable}: the Docker engine has no image {named}: pull it, or unset the variable")
    raise LabError(f"the Docker engine has neither {recipe.official} nor {recipe.made}: {INSTALL}")


def _base(engine: Connection, recipe: Recipe) -> str:
    try:
        return _local_base(engine, recipe)
    except LabError as why:
        wanted = os.environ.get(recipe.variable) or recipe.official
        try:
            _follow(engine, f"pull {wanted}", PULL_S, lambda client: client.pull(wanted, stream=True, decode=True))
        except LabError as also:
            raise LabError(f"{also}; {why}") from None
        return wanted


def _build(engine: Connection, recipe: Recipe, files: dict[str, bytes], name: str) -> None:
    _build_files(engine, files, recipe.dockerfile, {"BASE_IMAGE": _base(engine, recipe)}, name)


def _build_files(
    engine: Connection, files: dict[str, bytes], dockerfile: str, arguments: dict[str, str], name: str
) -> None:
    def build(client: Any) -> Any:
        return client.build(
            fileobj=_archive(files), custom_context=True, dockerfile=dockerfile, tag=name, decode=True,
            buildargs=arguments, rm=True, forcerm=True, network_mode="none",
        )  # fmt: skip

    on = "".join(f" on {each}" for each in arguments.values())
    _follow(engine, f"build {name}{on}", BUILD_S, build)


def _archive(files: dict[str, bytes]) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    packed.seek(0)
    return packed


def _follow(engine: Connection, what: str, limit_s: float, do: Callable[[Any], Iterable[dict[str, Any]]]) -> None:
    """Run a call that reports its progress, until it is done. LabError if it fails or takes longer."""
    ends = time.monotonic() + limit_s
    silent_s = min(limit_s, SILENT_S)

    def follow(client: Any) -> str:
        try:
            for report in do(client):
                if "error" in report:
                    return " ".join(str(report["error"]).split())
                if time.monotonic() > ends:
                    return f"it takes more than {limit_s:g} s"
        # A registry's silence: the engine still runs.
        except (requests.Timeout, urllib3.exceptions.TimeoutError):
            return f"it was silent for {silent_s:g} s"
        return ""

    failed = engine.ask(what, follow, silent_s)
    if failed:
        raise LabError(f"the Docker engine cannot {what}: {failed}")


def _remove_older(engine: Connection, name: str) -> None:
    """Remove images of nodes of other sources. The engine refuses to remove one in use."""
    only = {"label": f"{LABEL}=node"}
    found = engine.ask("list images", lambda client: client.images(filters=only))
    newest = sorted(found, key=lambda each: int(each["Created"]), reverse=True)
    tags = [tag for each in newest for tag in each["RepoTags"] or () if _HASHED.fullmatch(tag) and tag != name]
    for tag in tags[KEPT - 1 :]:
        with suppress(Refused):
            engine.remove(f"remove image {tag}", methodcaller("remove_image", tag))


def _run_script(where: str, *arguments: str) -> None:
    script = ROOT / "compose" / "images.sh"
    if not script.exists():
        raise LabError(f"images are made by a checkout of pairproof, and {script} is not there: clone the project")
    # The same engine, regardless of the docker command's own default.
    environ = {**os.environ, "DOCKER_HOST": where if "://" in where else f"unix://{where}"}
    late = f"{script} was not done within {SCRIPT_S:g} s; is the network available?"
    done = programs.run(["sh", str(script), *arguments], SCRIPT_S, late, environ)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode} without a message"]
        raise LabError(f"{script}: {lines[-1]}")
