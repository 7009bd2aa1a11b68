"""A stranger's package for tests of generic mutants: the toy pair with a lab of its own, in a folder, registered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pairproof.harness import registry
from pairproof.harness.testing import toy

UNUSED = "def unused(number: int) -> int:\n    return number * 2\n"
LOOP = "        left = 3\n        while left:\n            left -= 1\n"


def register(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the package known in this process and in those that it starts; its folder."""
    package = folder / "acme"
    (package / "parts").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    text = Path(toy.__file__).read_text("utf-8").replace('"toy"', '"acme"')
    head, found, tail = text.partition("    def settle(self) -> None:\n")
    assert found
    (package / "pair.py").write_text(head + found + LOOP + tail)
    # A folder without __init__.py is a package, too; what is no name of a module is none.
    (package / "parts" / "spare.py").write_text(UNUSED)
    (package / "a-script.py").write_text("1 +\n")
    made = folder / "held-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: held\nVersion: 1\n")
    registered = "[pairproof.labs]\nacme = acme.pair:LAB\n[pairproof.targets]\nacme = acme.pair:TARGET\n"
    (made / "entry_points.txt").write_text(registered)
    monkeypatch.syspath_prepend(str(folder))
    forget()
    return package


def forget() -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "acme"]:
        del sys.modules[name]
    registry._group.cache_clear()
    registry.find.cache_clear()
