"""Packages that only some uses need, and that come with an extra of pairproof: docker, spark, pytest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec

from ..errors import LabError

PACKAGES = {"docker": "docker", "pyspark": "pyspark", "py4j": "pyspark", "pytest": "pytest"}
"""By module, the package that brings it."""
MODULES = ("docker", "pyspark", "pytest")


class Lacking(LabError):
    """A package is not there that an extra brings."""


def lacking(error: ModuleNotFoundError) -> Lacking | None:
    """What to tell of a module that is not there; None where no extra would bring it."""
    module = (error.name or "").partition(".")[0]
    if module not in PACKAGES:
        return None
    return Lacking(f"the package {module} is not installed: run pip install {PACKAGES[module]}")


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Around what may need an extra: :class:`Lacking` names it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (why := lacking(error)) is None:
            raise
        raise why from None


def check(module: str) -> None:
    """:class:`Lacking` if the module is not there."""
    with reported():
        if find_spec(module) is None:
            raise ModuleNotFoundError(name=module)
