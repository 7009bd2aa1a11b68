"""Packages that only some uses need, and that come with an extra of the package: ``pip install 'pairproof[spark]'``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec

from pairproof.harness.errors import LabError

EXTRAS = {"docker": "docker", "pyspark": "spark", "py4j": "spark", "pytest": "pytest"}
"""By module, the extra that brings it."""
MODULES = ("docker", "pyspark", "pytest")


class Lacking(LabError):
    """A package is not there that an extra brings."""


def lacking(error: ModuleNotFoundError) -> Lacking | None:
    """What to tell of a module that is not there; None where no extra would bring it."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    return Lacking(f"the package {module} is not installed: run pip install 'pairproof[{EXTRAS[module]}]'")


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Around what may need an extra: :class:`Lacking` names it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (why := lacking(error)) is None:
            raise
        raise why from None


def check(module: str) -> None:
    """:class:`Lacking` if the module is not there."""
    with told():
        if find_spec(module) is None:
            raise ModuleNotFoundError(name=module)
