"""Trials start their nodes one after the other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pairproof.chaos.labs.real import turns
from pairproof.chaos.labs.real.turns import turn


@pytest.fixture(autouse=True)
def _one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_places", lambda: 1)


def _locks(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def _is_free(folder: Path) -> bool:
    held = turns._wait(folder, 0)
    if held is not None:
        os.close(held)
    return held is not None


def test_one_starts_at_a_time(tmp_path: Path) -> None:
    with turn(tmp_path):
        assert not _is_free(tmp_path)
    assert _is_free(tmp_path)


def test_a_turn_ends_though_a_forked_node_goes_on(tmp_path: Path) -> None:
    with turn(tmp_path):
        child = os.fork()
        if not child:
            os.read(os.pipe()[0], 1)
            os._exit(0)
    try:
        assert _is_free(tmp_path)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    reached = []
    with turn(tmp_path), turn(tmp_path, longest_s=0.1):
        reached.append(_locks(tmp_path))
    assert len(reached) == 1


def test_where_locks_cannot_be_made_it_is_everybodys_turn(tmp_path: Path) -> None:
    with turn(tmp_path / "missing"), turn(tmp_path / "missing"):
        pass
