"""Config files: whole at every moment that a process may be killed at, with a backup that serves for a torn one."""

from __future__ import annotations

from typing import Any

import pytest

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core.config_file import ConfigFile
from pairproof.reference.errors import CodecError
from pairproof.reference.ports import WholeFiles
from pairproof.reference.wire import fastjson

NAME = "config/t.json"


def parse(data: bytes) -> str:
    value = fastjson.loads(data)
    if not isinstance(value, str):
        raise CodecError("no text")
    return value


def text(letter: str) -> bytes:
    return fastjson.dumps(letter * 2_000)


def loaded(disk: WholeFiles) -> str | None:
    """The first letter of what a fresh process loads."""
    found = ConfigFile(disk, "t.json").load(parse)
    return found and found[0]


class Killed(Exception):
    pass


class Mortal:
    """Passes calls on to a disk, and dies in the ``calls``-th: a write then has written only a part."""

    def __init__(self, disk: SimDisk, calls: int) -> None:
        self.disk = disk
        self.calls = calls

    def dies(self) -> bool:
        self.calls -= 1
        return self.calls == 0

    def write_whole(self, name: str, data: bytes) -> None:
        if self.dies():
            self.disk.write_whole(name, data[: len(data) // 2])
            raise Killed
        self.disk.write_whole(name, data)

    def rename(self, old: str, new: str) -> None:
        if self.dies():
            raise Killed
        self.disk.rename(old, new)

    def read_whole(self, name: str) -> bytes | None:
        return self.disk.read_whole(name)


def saved(disk: WholeFiles, *letters: str) -> ConfigFile:
    """One process that loads, then saves each, and is told that it is flushed."""
    file = ConfigFile(disk, "t.json")
    file.load(parse)
    file.flushed(file.saves)
    for letter in letters:
        assert file.save(text(letter))
        file.flushed(file.saves)
    return file


def test_load_gives_what_was_saved_last() -> None:
    disk = SimDisk()
    assert loaded(disk) is None
    saved(disk, "a", "b")
    assert loaded(disk) == "b"
    assert disk.names("config") == ["t.json", "t.json.bak"]
    assert parse(disk.read_whole(f"{NAME}.bak") or b"")[0] == "a"


@pytest.mark.parametrize("calls", range(1, 5))
def test_kill_at_any_step_of_a_save_leaves_the_old_or_the_new(calls: int) -> None:
    disk = SimDisk()
    saved(disk, "a", "b")
    mortal = Mortal(disk, calls)
    if calls < 4:
        with pytest.raises(Killed):
            saved(mortal, "c")
    else:
        saved(mortal, "c")
    assert loaded(disk) == ("b" if calls < 4 else "c")
    saved(disk, "d")
    assert loaded(disk) == "d"


@pytest.mark.parametrize("torn", [b"", b'"', text("c")[:700], text("c")[:700] + bytes(1_302), b"7"])
def test_backup_serves_for_a_torn_file_and_is_not_overwritten_by_it(torn: bytes) -> None:
    disk = SimDisk()
    saved(disk, "a", "b")
    disk.write_whole(NAME, torn)
    assert loaded(disk) == "a"
    with pytest.raises(Killed):
        saved(Mortal(disk, 2), "d")
    assert loaded(disk) == "a"
    saved(disk, "d")
    assert loaded(disk) == "d"
    disk.write_whole(NAME, torn)
    assert loaded(disk) == "a"


@pytest.mark.parametrize("has_backup", [True, False])
def test_what_cannot_be_read_is_kept_beside_what_takes_its_place(has_backup: bool) -> None:
    disk = SimDisk()
    foreign = b'{"a later version": [1, 2'
    saved(disk, *(("a", "b") if has_backup else ()))
    disk.write_whole(NAME, foreign)
    saved(disk)
    assert disk.read_whole(NAME) == foreign
    for calls in range(1, 4):
        with pytest.raises(Killed):
            saved(Mortal(disk.image(), calls), "c")
    saved(disk, "c", "d")
    assert disk.read_whole(f"{NAME}.unreadable") == foreign
    assert loaded(disk) == "d"
    # Zeros are what a power loss leaves.
    disk.write_whole(NAME, bytes(9))
    saved(disk, "e")
    assert disk.read_whole(f"{NAME}.unreadable") == foreign


def test_without_a_whole_file_nothing_is_loaded() -> None:
    disk = SimDisk()
    for name in (NAME, f"{NAME}.bak"):
        disk.write_whole(name, b"{")
    assert loaded(disk) is None


@pytest.mark.parametrize("keep", ["none", "half", "hole", "some", "all"])
@pytest.mark.parametrize("flushed", [True, False])
def test_flushed_save_survives_a_power_loss_whatever_was_saved_after_it(keep: str, flushed: bool) -> None:
    disk = SimDisk()
    file = saved(disk, "a")
    if flushed:
        for name in file.names:
            disk.sync(name)
    file.save(text("b"))
    disk.lose_power(keep)
    assert loaded(disk) in (("a", "b") if flushed or keep == "all" else ("a", "b", None))
    if keep == "none":
        assert loaded(disk) == ("a" if flushed else None)


@pytest.mark.parametrize("keep", ["none", "half", "hole", "some", "all"])
def test_two_saves_right_after_each_other_leave_the_backup_that_is_durable(keep: str) -> None:
    disk = SimDisk()
    file = saved(disk, "a")
    for name in file.names:
        disk.sync(name)
    for letter in "bcd":
        assert file.save(text(letter))
        # The flush that the save before it began.
        file.flushed(file.saves - 1)
    disk.lose_power(keep)
    assert loaded(disk) == ("d" if keep == "all" else "a")


def test_full_disk_leaves_what_was_there() -> None:
    disk = SimDisk()
    file = saved(disk, "a")
    disk.full.append(ActiveFault())
    assert not file.save(text("b"))
    assert loaded(disk) == "a"
    disk.full.clear()
    assert file.save(text("c")) and loaded(disk) == "c"


def test_fakes_agree_on_whole_files(make_disk: Any) -> None:
    for disk in (SimDisk(), make_disk()):
        assert disk.read_whole("config/a") is None
        disk.rename("config/a", "config/b")
        disk.write_whole("config/a", b"long")
        disk.write_whole("config/a", b"x")
        disk.write_whole("config/b", b"old")
        disk.rename("config/a", "config/b")
        assert disk.names("config") == ["b"] and disk.read_whole("config/b") == b"x"
