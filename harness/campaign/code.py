"""The digest of a campaign's code, so that different versions never play parts of one campaign."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ..ports import Lab, Target
from ..trials.interpreter import Laws

OURS = "pairproof"


def of(lab: Lab, target: Target, laws: Laws) -> str:
    """Digest of pairproof's files, and of the packages of third-party labs, targets and laws."""
    modules = {each.__module__.partition(".")[0] for each in (type(lab), type(target), *laws)}
    return hashlib.blake2b("".join(map(_of, sorted(modules | {OURS}))).encode(), digest_size=16).hexdigest()


@cache
def _of(package: str) -> str:
    found = hashlib.blake2b(digest_size=16)
    for name, file in _sources(package):
        data = file.read_bytes()
        found.update(f"{name} {len(data)}\n".encode() + data)
    return found.hexdigest()


def _sources(package: str) -> Iterable[tuple[str, Traversable]]:
    module = import_module(package)
    if hasattr(module, "__path__"):
        return ((name, each) for name, each in files(resources.files(package), package) if _is_code(name))
    return [(package, Path(module.__file__))] if module.__file__ else []


def _is_code(name: str) -> bool:
    # Third-party data files may be large.
    return name.endswith(".py") or name.startswith(f"{OURS}/")


def files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    """The files of a package, in order, with their names; without compiled files."""
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            if each.name != "__pycache__":
                yield from files(each, f"{name}/{each.name}")
        elif not each.name.endswith(".pyc"):
            yield f"{name}/{each.name}", each
