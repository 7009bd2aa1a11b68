"""The store directory: what the disk port promises, over real files; and one process a store."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pairproof.reference.errors import StoreError, StoreFull
from pairproof.reference.shell.disk import BLOCK, RealDisk


@pytest.fixture
def disk(tmp_path: Path) -> RealDisk:
    return RealDisk(tmp_path / "store")


def test_a_new_file_is_zeros_and_a_write_is_visible_to_everybody_at_once(disk: RealDisk) -> None:
    file = disk.open("commitlog/0", 8_192)
    assert file.read(0, 8_192) == bytes(8_192)
    file.write(4_090, b"across pages")
    path = disk.root / "commitlog" / "0"
    assert path.read_bytes()[4_090:4_102] == b"across pages"
    assert disk.open("commitlog/0", 8_192).read(4_090, 12) == b"across pages"


def test_names_are_files_only_sorted_and_none_of_a_folder_that_is_not_there(disk: RealDisk) -> None:
    assert disk.names("commitlog") == []
    for name in ("commitlog/2", "commitlog/1", "abort"):
        disk.open(name, 0)
    assert disk.names("commitlog") == ["1", "2"]
    assert disk.names("") == ["abort"]


def test_another_size_is_an_error_that_names_both(disk: RealDisk) -> None:
    disk.open("a", 100)
    with pytest.raises(StoreError, match="a has 100 bytes, not the configured 200: set the size as when"):
        disk.open("a", 200)
    disk.open("index/1", 100)
    with pytest.raises(StoreError, match="the configured 200: set maxHashSlotNum and maxIndexNum "):
        disk.open("index/1", 200)
    disk.open("b", 0)
    with pytest.raises(StoreError, match="b has 0 bytes, not the configured 200: it is empty, move it elsewhere"):
        disk.open("b", 200)


@pytest.mark.parametrize(("at", "length"), [(-1, 1), (9, 2), (0, 11), (0, -1)])
def test_nothing_outside_of_a_file_is_read_or_written(disk: RealDisk, at: int, length: int) -> None:
    file = disk.open("a", 10)
    assert file.read(9, 1) == b"\0"
    with pytest.raises(StoreError):
        file.read(at, length)
    if length > 0:
        with pytest.raises(StoreError):
            file.write(at, bytes(length))


def test_a_file_whose_making_was_cut_by_a_kill_is_made_anew(disk: RealDisk) -> None:
    disk.open("commitlog/1", 100)
    (disk.root / "commitlog" / ".2").write_bytes(b"half")
    assert disk.names("commitlog") == ["1"]
    assert disk.open("commitlog/2", 100).read(0, 100) == bytes(100)
    assert disk.names("commitlog") == ["1", "2"]
    assert not (disk.root / "commitlog" / ".2").exists()


def test_a_deleted_file_is_gone_though_it_is_still_mapped_and_deleting_nothing_is_nothing(disk: RealDisk) -> None:
    file = disk.open("a", 10)
    disk.delete("a")
    disk.delete("a")
    file.write(0, b"void")
    disk.sync("a")
    assert disk.names("") == []
    assert disk.open("a", 10).read(0, 4) == bytes(4)


def test_a_sync_makes_data_durable_and_once_the_new_names(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real_data, real = os.fdatasync, os.fsync
    monkeypatch.setattr(os, "fdatasync", lambda fd: (synced.append(named(fd)), real_data(fd)))
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(named(fd)), real(fd)))
    disk.open("commitlog/1", 10)
    disk.sync("commitlog/1")
    assert synced == ["1", "commitlog", "store"]
    disk.sync("commitlog/1")
    assert synced[3:] == ["1"]
    disk.delete("commitlog/1")
    assert synced[4:] == ["commitlog"]


def named(fd: int) -> str:
    return Path(f"/proc/self/fd/{fd}").readlink().name


def test_a_flush_that_fails_is_an_error(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int) -> None:
        raise OSError(5, "Input/output error")

    disk.open("a", 10)
    disk.sync("a")
    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(StoreError, match="a cannot be made durable: Input/output error"):
        disk.sync("a")


def test_the_commit_log_may_be_another_folder(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path / "store", tmp_path / "elsewhere" / "log")
    disk.open("commitlog/1", 10)
    disk.sync("commitlog/1")
    assert disk.names("commitlog") == ["1"]
    assert (tmp_path / "elsewhere" / "log" / "1").exists()
    assert disk.names("") == []


def test_whole_files_are_replaced_read_and_renamed(disk: RealDisk) -> None:
    assert disk.read_whole("config/topics.json") is None
    disk.rename("config/nothing", "config/topics.json")
    disk.write_whole("config/topics.json.tmp", b"long content")
    disk.write_whole("config/topics.json.tmp", b"content")
    disk.write_whole("config/topics.json", b"old")
    disk.rename("config/topics.json.tmp", "config/topics.json")
    disk.sync("config/topics.json")
    assert disk.read_whole("config/topics.json") == b"content"
    assert disk.names("config") == ["topics.json"]


@contextmanager
def no_room() -> Iterator[None]:
    """No file of this process may grow beyond 50 bytes: not for longer than needed, pytest's own output may be one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_without_room_nothing_is_left_behind_and_small_files_still_fit(disk: RealDisk) -> None:
    with no_room():
        with pytest.raises(StoreFull):
            disk.open("commitlog/1", 100)
        with pytest.raises(StoreFull):
            disk.write_whole("config", bytes(100))
        disk.open("commitlog/2", 50)
    assert [each.name for each in (disk.root / "commitlog").iterdir()] == ["2"]


FILL_A_SMALL_DEVICE = """
import subprocess, sys
from pathlib import Path
from pairproof.reference.errors import StoreFull
from pairproof.reference.shell.disk import RealDisk

subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", sys.argv[1]], check=True)
disk, files = RealDisk(Path(sys.argv[1]) / "store"), []
try:
    while True:
        files.append(disk.open(f"commitlog/{len(files)}", 65_536))
except StoreFull:
    print(len(files), "fit", flush=True)
for file in files:
    file.write(0, b"x" * 65_536)
print("all take writes")
disk.delete("commitlog/0")
files.clear()
del file
disk.open("commitlog/4", 65_536)
print("one more fits")
"""


def test_a_full_device_takes_no_new_file_and_every_write_to_those_that_are_there(tmp_path: Path) -> None:
    # In a mount namespace of its own, which ends with it. A write that finds no room would kill it by a signal.
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user cannot mount a small file system")
    command = ["unshare", "--mount", sys.executable, "-c", FILL_A_SMALL_DEVICE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    assert done.stdout.splitlines() == ["4 fit", "all take writes", "one more fits"], done.stderr


@pytest.mark.parametrize("name", ["consumequeue/t/0/0", "index/1"])
def test_a_file_of_a_queue_or_the_index_takes_only_the_blocks_that_hold_something(disk: RealDisk, name: str) -> None:
    size = 1_000_000
    file = disk.open(name, size)
    path = disk.root / name

    def taken() -> int:
        return path.stat().st_blocks * 512

    file.write(0, bytes(size))
    assert (path.stat().st_size, taken(), file.read(0, size)) == (size, 0, bytes(size))
    file.write(BLOCK - 10, b"across two blocks")
    file.write(700_000, bytes(100_000))
    file.write(size - 3, b"end")
    assert 0 < taken() <= 4 * BLOCK
    expected = bytearray(size)
    expected[BLOCK - 10 : BLOCK + 7], expected[-3:] = b"across two blocks", b"end"
    assert path.read_bytes() == file.read(0, size) == expected
    # Another life of the broker finds them, whether or not they were flushed.
    again = disk.open(name, size)
    assert again.read(0, size) == expected
    for at, length in ((BLOCK - 10, 5), (BLOCK - 10, 11), (BLOCK - 10, 17), (BLOCK, 7), (size - 4, 4), (9, 0)):
        assert again.read(at, length) == file.read(at, length) == expected[at : at + length]
    again.write(0, bytes(size))
    assert not any(path.read_bytes())


FILL_WITH_SPARSE_FILES = """
import subprocess, sys
from pathlib import Path
from pairproof.reference.errors import StoreFull
from pairproof.reference.shell.disk import RealDisk

subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", sys.argv[1]], check=True)
disk = RealDisk(Path(sys.argv[1]) / "store")
log = disk.open("commitlog/0", 65_536)
files = [disk.open(f"consumequeue/t/{number}/0", 65_536) for number in range(40)]
print("40 sparse files")
written = 0
try:
    for number in range(40 * 16):
        files[number % 40].write(number // 40 * 4_096, b"x" * 4_096)
        written += 1
except StoreFull:
    print("full", written <= 48)
before = [file.read(0, 65_536) for file in files]
for file in files:
    try:
        file.write(4_000, b"across")
        file.write(40_000, b"y")
    except StoreFull:
        pass
    file.write(60_000, bytes(5_000))
print("reads go on", sum(file.read(0, 65_536).count(b"x") for file in files) >= written * 4_096 - 40 * 96)
log.write(0, b"x" * 65_536)
print("so does the log", log.read(65_535, 1))
Path(disk.root / "consumequeue/t/0/0").unlink()
files[0] = None
files[39].write(50_000, b"z")
print("and writes where there is room", files[39].read(50_000, 1))
"""


def test_a_full_device_refuses_a_block_of_a_sparse_file_and_ends_nobody(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user cannot mount a small file system")
    command = ["unshare", "--mount", sys.executable, "-c", FILL_WITH_SPARSE_FILES, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    assert done.stdout.splitlines() == [
        "40 sparse files", "full True", "reads go on True", "so does the log b'x'",
        "and writes where there is room b'z'",
    ], done.stderr  # fmt: skip


FILL_A_DEVICE_WITH_ROCKETMQS_LOG = """
import subprocess, sys
from pathlib import Path
from pairproof.reference.errors import StoreFull
from pairproof.reference.shell.disk import RealDisk

subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", sys.argv[1]], check=True)
root = Path(sys.argv[1])
disk, log = RealDisk(root / "store"), root / "store" / "commitlog"
log.mkdir(parents=True)
with (log / "0").open("wb") as file:
    file.write(b"record")
    file.truncate(65_536)
(root / "other").write_bytes(bytes(240_000))
file = disk.open("commitlog/0", 65_536)
file.write(6, b"next")
try:
    file.write(4_093, b"across")
    file.write(40_000, b"x")
except StoreFull as why:
    print("full", file.read(0, 10), file.read(4_093, 6))
(root / "other").unlink()
file.write(4_093, b"across")
(root / "other").write_bytes(bytes(180_000))
try:
    (root / "more").write_bytes(bytes(40_000))
except OSError:
    print("full again")
file.write(0, b"x" * 65_536)
print("what once found room has all of the file's")
"""


def test_a_full_device_refuses_writes_to_a_log_file_that_rocketmq_made_and_reserved_nothing_for(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user cannot mount a small file system")
    command = ["unshare", "--mount", sys.executable, "-c", FILL_A_DEVICE_WITH_ROCKETMQS_LOG, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    assert done.stdout.splitlines() == [
        f"full b'recordnext' {bytes(6)!r}", "full again", "what once found room has all of the file's",
    ], (done.returncode, done.stderr)  # fmt: skip
