"""Optional packages, which come with an extra of pairproof: docker, spark, pytest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec

from ..errors import LabError

PACKAGES = {"docker": "docker", "pyspark": "pyspark", "py4j": "pyspark", "pytest": "pytest"}
MODULES = ("docker", "pyspark", "pytest")


class Lacking(LabError):
    """A missing package of an extra."""


def lacking(error: ModuleNotFoundError) -> Lacking | None:
    """The error for a missing module; None if no extra has it."""
    module = (error.name or "").partition(".")[0]
    if module not in PACKAGES:
        return None
    return Lacking(f"the package {module} is not installed: run pip install {PACKAGES[module]}")


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn a missing package of an extra into :class:`Lacking`."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (why := lacking(error)) is None:
            raise
        raise why from None


def check(module: str) -> None:
    """:class:`Lacking` if the module is missing."""
    with reported():
        if find_spec(module) is None:
            raise ModuleNotFoundError(name=module)
