"""Saves of tables by a broker that traces nothing, as inotify tells them, and when they were."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pairproof.chaos.rocketmq.outside import saves
from pairproof.chaos.rocketmq.outside.saves import SavesFollower
from pairproof.chaos.rocketmq.outside.view import OutsideView
from pairproof.harness.errors import LabError


def follower(folder: Path) -> SavesFollower:
    return SavesFollower(folder, time.time_ns() - time.monotonic_ns())


def saved_as_4_9(folder: Path, name: str) -> None:
    path = folder / name
    (folder / f"{name}.tmp").write_text("new")
    if path.exists():
        (folder / f"{name}.bak").write_bytes(path.read_bytes())
        path.unlink()
    (folder / f"{name}.tmp").rename(path)


def saved_as_5(folder: Path, name: str) -> None:
    path = folder / name
    if path.exists():
        path.rename(folder / f"{name}.bak")
    path.write_text("new")


def tables(it: SavesFollower) -> list[str]:
    return [table for _, table in it.poll()]


@pytest.mark.parametrize("save", [saved_as_4_9, saved_as_5], ids=["4.9", "5"])
def test_each_save_is_told_once_in_order(tmp_path: Path, save: Any) -> None:
    it = follower(tmp_path)
    assert tables(it) == []
    for name in ("topics.json", "consumerOffset.json"):
        save(tmp_path, name)
    assert tables(it) == ["topics", "offsets"] and tables(it) == []
    for _ in range(3):
        save(tmp_path, "subscriptionGroup.json")
    save(tmp_path, "delayOffset.json")
    assert sorted(tables(it)) == ["delays", "groups", "groups", "groups"]


def test_a_save_that_was_not_finished_and_other_files_are_none(tmp_path: Path) -> None:
    it = follower(tmp_path)
    for name in ("topics.json.tmp", "topics.json.bak", "consumerFilter.json"):
        (tmp_path / name).write_text("{}")
    with (tmp_path / "topics.json").open("w") as file:
        file.write("{")
        file.flush()
        assert tables(it) == []
    assert tables(it) == ["topics"]


def test_a_save_lies_between_the_look_that_did_not_see_it_and_the_one_that_did(tmp_path: Path) -> None:
    it = follower(tmp_path)
    before = time.monotonic_ns()
    it.poll()
    saved_as_4_9(tmp_path, "topics.json")
    os.utime(tmp_path / "topics.json", ns=(0, 0))
    ((t, _),) = it.poll()
    assert before <= t <= time.monotonic_ns()


def test_a_folder_that_comes_later_is_watched_from_then_on(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    it = follower(folder)
    assert tables(it) == []
    folder.mkdir()
    saved_as_4_9(folder, "topics.json")
    assert tables(it) == ["topics"]
    saved_as_4_9(folder, "topics.json")
    assert tables(it) == ["topics"]


def test_a_save_while_the_watch_begins_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "config"
    it = follower(folder)
    folder.mkdir()
    saved_as_4_9(folder, "delayOffset.json")
    watch = it._watch

    def watches_and_is_late() -> bool:
        done = watch()
        saved_as_4_9(folder, "topics.json")
        return done

    monkeypatch.setattr(it, "_watch", watches_and_is_late)
    assert tables(it) == ["delays", "topics"]
    assert tables(it) == []


def test_a_kernel_that_does_not_tell_is_the_labs_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saves, "_libc", SimpleNamespace(inotify_init1=lambda _: -1))
    with pytest.raises(LabError, match=r"raise fs\.inotify\.max_user_instances"):
        follower(tmp_path)


def test_a_view_tells_saves_of_a_broker_that_serves(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    serves = [False]
    at: Any = SimpleNamespace(incarnation=1, is_up=True, is_stopping=False, path=tmp_path, output=tmp_path / "out")
    it = OutsideView(at, lambda: serves[0], copies=False)
    saved_as_4_9(tmp_path / "config", "topics.json")
    assert it.read() == []
    serves[0] = True
    assert [row[1] for row in it.read()] == ["start", "ready"]
    saved_as_4_9(tmp_path / "config", "topics.json")
    assert [row[1:] for row in it.read()] == [["persist", "topics"]]
    at.is_up = False
    saved_as_4_9(tmp_path / "config", "topics.json")
    assert it.read() == []
