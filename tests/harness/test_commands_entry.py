"""An interrupt before anything is imported ends the process as any other interrupt does."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pairproof.harness.commands import entry

MAIN = "pairproof.harness.commands.main"


class Interrupts:
    """An importer that a user stops with Ctrl-C."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == MAIN:
            raise KeyboardInterrupt


def test_ctrl_c_during_the_imports_is_one_line_and_130(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.delitem(sys.modules, MAIN, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupts(), *sys.meta_path])
    assert entry.main() == 130
    assert capsys.readouterr().err == "pairproof: interrupted\n"


def test_otherwise_it_is_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["pairproof", "laws", "--no-such-option"])
    assert entry.main() == 2 and "no-such-option" in capsys.readouterr().err
