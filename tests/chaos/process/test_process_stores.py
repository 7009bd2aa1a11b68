"""Stores: what a power loss takes and what it leaves, full and read-only disks, and that nothing stays mounted."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lab_nodes import LabNode, gone, until
from real_brokers import DEADLINE_S, caller

from pairproof.chaos.labs.real import disks, folders
from pairproof.chaos.labs.real.keeper import Keeper
from pairproof.chaos.labs.real.stores import KEEPS, SIZE_MB, Store, Stores
from pairproof.harness.errors import LabError

MakeNode = Callable[..., LabNode]
FIRST, SECOND = "commitlog/00000000000000000000", "commitlog/00000000000000004096"
WRITER = """
import mmap, os, signal, sys
def mapped(name, size=16384):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, size)
    return fd, mmap.mmap(fd, size)
os.chdir(sys.argv[1])
fd, known = mapped("known")
known[:7] = b"flushed"
os.fsync(fd)
os.fsync(os.open(".", os.O_RDONLY))
known[8192:8199] = b"written"
_, new = mapped("new")
new[:3] = b"new"
os.mkdir("ready.aside")
print("ready", flush=True)
signal.pause()
"""


@pytest.fixture
def device(keeper: Keeper) -> Store:
    made = Stores(keeper.folder).create("master")
    if made.kind != "device":
        pytest.skip(f"no disks of our own here: {made.why_not}")
    return made


@pytest.fixture
def tmpfs(keeper: Keeper) -> Store:
    stores = Stores(keeper.folder)
    stores.why_not = "no loop devices"
    made = stores.create("master")
    if made.kind != "tmpfs":
        pytest.skip("no memory can be mounted here")
    return made


@pytest.fixture(params=["device", "tmpfs", "folder"])
def store(request: pytest.FixtureRequest, keeper: Keeper) -> Store:
    if request.param == "folder":
        return Stores(keeper.folder, devices=False).create("master")
    found: Store = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["device", "tmpfs"])
def sized(request: pytest.FixtureRequest) -> Store:
    """A store on a disk that can be full."""
    found: Store = request.getfixturevalue(request.param)
    return found


def nobody() -> None:
    """Nobody uses the store."""


def place(store: Store, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = store.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def writer(keeper: Keeper, store: Store) -> int:
    """A process that has written to mapped files, and flushed a part of it."""
    out = keeper.folder / "writer"
    pid = keeper.exec([sys.executable, "-c", WRITER, str(store.path)], out)
    until(lambda: out.exists() and "ready" in out.read_text())
    return pid


def killer(keeper: Keeper, pid: int) -> Callable[[], None]:
    def kill() -> None:
        keeper.signal(pid, signal.SIGKILL)
        assert keeper.wait(pid, DEADLINE_S).over

    return kill


# Power.


def test_a_power_loss_takes_what_was_not_flushed_also_of_mapped_files(keeper: Keeper, device: Store) -> None:
    done = device.lose_power("none", 0, killer(keeper, writer(keeper, device)))
    assert done == {"file_systems_shut_down": 1}
    assert device.copy_files() == {"known": b"flushed".ljust(16_384, b"\0")}


def test_kill_9_takes_nothing(keeper: Keeper, device: Store) -> None:
    killer(keeper, writer(keeper, device))()
    found = device.copy_files()
    assert found["known"] == b"flushed".ljust(8_192, b"\0") + b"written".ljust(8_192, b"\0")
    assert found["new"] == b"new".ljust(16_384, b"\0")


def test_a_power_loss_may_also_take_nothing(keeper: Keeper, device: Store) -> None:
    device.lose_power("all", 0, killer(keeper, writer(keeper, device)))
    assert device.copy_files()["known"][8_192:8_199] == b"written" and "new" in device.copy_files()


def test_a_process_that_outlives_the_power_loss_is_noticed(
    keeper: Keeper, device: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disks, "TRIES", 2)
    writer(keeper, device)
    with pytest.raises(LabError, match="target is busy"):
        device.lose_power("none", 0, nobody)


def send(address: str) -> str:
    """Send a message; the status of the answer, or what became of the call."""

    async def run() -> str:
        async with caller() as client:
            return (await client.send(address, b"x" * 100)).status

    return asyncio.run(run())


def sends(address: str) -> None:
    for _ in range(5):
        assert send(address) == "PUT_OK"


@pytest.mark.parametrize(
    "flush, lies, loses", [("SYNC_FLUSH", 0, False), ("ASYNC_FLUSH", 0, True), ("SYNC_FLUSH", 1, True)]
)
def test_a_broker_loses_what_it_had_not_flushed(
    node: MakeNode, device: Store, flush: str, lies: int, loses: bool
) -> None:
    broker = node(storePathRootDir=device.path, flushDiskType=flush, flushIntervalCommitLog=60_000).start()
    broker.control.set("lies", lies)
    sends(broker.address)
    end = broker.traced("append")[-1][3]
    assert (broker.traced("flush")[-1:] or [[0, 0, 0]])[-1][2] == (0 if flush == "ASYNC_FLUSH" else end)
    broker.keeper.stop_and_wait(broker.pid)
    device.lose_power("none", 0, lambda: broker.end(signal.SIGKILL) and None)
    broker.control.clear()
    broker.start()
    assert broker.traced("start")[0][3:] == [0, 0 if loses else end]


LOG = {FIRST: bytes(range(1, 129)) * 32, SECOND: b"z" * 1_000 + bytes(3_096)}
ENDS_AT = 5_096


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("flushed", [0, 2_000, 4_096, 4_500])
def test_what_is_lost_of_a_log_is_what_was_asked_for(store: Store, keep: str, flushed: int) -> None:
    place(store, LOG)
    # Really durable: what was flushed, as the broker has said.
    durable = {
        name: data[: max(0, flushed - start)] for (name, data), start in zip(LOG.items(), (0, 4_096), strict=True)
    }
    if store.kind == "device":
        for name, data in durable.items():
            (store.path / name).write_bytes(data.ljust(4_096, b"\0")) if data else (store.path / name).unlink()
        os.sync()
        place(store, LOG)
    store.lose_power(keep, flushed, nobody)
    middle = flushed + (ENDS_AT - flushed) // 2
    lost = {
        "all": range(0),
        "none": range(flushed, 8_192),
        "half": range(middle, 8_192),
        "hole": range(max(flushed, middle - middle % 512), middle - middle % 512 + 512),
    }[keep]
    whole = bytearray(b"".join(LOG.values()))
    for at in lost:
        whole[at] = 0
    found = store.copy_files(["commitlog/"])
    assert b"".join(data for _, data in sorted(found.items())).ljust(8_192, b"\0") == whole
    assert (SECOND in found) == (any(whole[4_096:]) or flushed > 4_096), "a file that holds nothing was never there"


@pytest.mark.parametrize("store", ["tmpfs", "folder"], indirect=True)
def test_without_a_device_only_the_log_is_lost(store: Store) -> None:
    place(store, {**LOG, "config/topics.json": b"{}"})
    assert store.lose_power("none", 4_096, nobody) == {"log_tails_cut": 1}
    assert store.copy_files() == {FIRST: LOG[FIRST], "config/topics.json": b"{}"}


# What a store holds.


def test_files_are_found_by_the_beginnings_of_their_names(store: Store) -> None:
    place(store, {FIRST: b"1", "config/a.json": b"2", "config/.a.json": b"3", "abort": b""})
    assert store.copy_files() == {FIRST: b"1", "config/a.json": b"2", "abort": b""}
    assert store.copy_files(("commitlog/", "abort")) == {FIRST: b"1", "abort": b""}
    assert store.copy_files(("none",)) == {}


def test_an_emptied_store_is_empty_for_ever(store: Store) -> None:
    place(store, LOG)
    os.sync()
    store.empty()
    assert store.copy_files() == {} and store.path.is_dir()
    store.lose_power("none", 0, nobody)
    assert store.copy_files() == {} and store.path.is_dir()


def test_a_new_store_survives_a_power_loss(store: Store) -> None:
    store.lose_power("none", 0, nobody)
    assert store.path.is_dir()


def test_an_image_comes_back_as_it_was_and_stays(store: Store) -> None:
    place(store, LOG)
    image = store.image()
    place(store, {FIRST: b"later", "new": b"later"})
    store.restore(image)
    assert store.copy_files() == LOG
    store.lose_power("none", 8_192, nobody)
    assert store.copy_files() == LOG


@pytest.mark.parametrize("kinds", [("device",) * 2, ("tmpfs",) * 2, ("folder",) * 2, ("device", "folder")])
def test_two_stores_exchange_what_they_hold(keeper: Keeper, kinds: tuple[str, str]) -> None:
    found = []
    for number, kind in enumerate(kinds):
        (keeper.folder / str(number)).mkdir()
        stores = Stores(keeper.folder / str(number), devices=kind != "folder")
        stores.why_not = "no loop devices" if kind == "tmpfs" else stores.why_not
        found.append(stores.create("node"))
        if found[-1].kind != kind:
            pytest.skip(f"no disks of our own here: {found[-1].why_not}")
    one, other = found
    place(one, {"mine": b"1"})
    place(other, {"its": b"2"})
    paths = one.path, other.path
    one.swap(other)
    assert (one.copy_files(), other.copy_files()) == ({"its": b"2"}, {"mine": b"1"})
    assert (one.path, other.path) == paths


# Disks in trouble.


def test_a_full_disk_has_room_for_nothing_until_it_is_freed(sized: Store) -> None:
    place(sized, {"small": b"x" * 5_000})
    assert 10 << 20 < sized.fill() < SIZE_MB << 20
    with pytest.raises(OSError) as why:
        place(sized, {"more": b"x" * 5_000})
    assert why.value.errno == errno.ENOSPC
    with (sized.path / "small").open("r+b") as file:
        file.write(b"y" * 5_000)
    assert sized.copy_files()["small"] == b"y" * 5_000, "what has its room keeps it"
    sized.free()
    sized.free()
    place(sized, {"more": b"x" * 5_000})


def test_a_broker_on_a_full_disk_refuses_messages(node: MakeNode, sized: Store) -> None:
    broker = node(storePathRootDir=sized.path).start()
    sized.fill()

    assert send(broker.address) != "PUT_OK"
    sized.free()
    assert send(broker.address) == "PUT_OK"


def test_a_read_only_disk_takes_nothing_until_it_is_writable_again(device: Store) -> None:
    place(device, {"known": b"x" * 5_000})
    os.sync()
    with (device.path / "known").open("r+b", buffering=0) as file:
        device.read_only()
        with pytest.raises(OSError) as why:
            os.pwrite(file.fileno(), b"y", 0)
        assert why.value.errno == errno.EROFS
    with pytest.raises(OSError) as why:
        place(device, {"new": b""})
    assert why.value.errno == errno.EROFS
    assert device.copy_files() == {"known": b"x" * 5_000}, "it can be read"
    device.writable()
    place(device, {"new": b""})
    device.read_only()
    device.empty()
    place(device, {"new": b""})
    device.read_only()
    device.lose_power("none", 0, nobody)
    device.writable()
    place(device, {"newer": b""})


def test_a_broker_cannot_go_on_with_a_read_only_disk(node: MakeNode, device: Store) -> None:
    broker = node(storePathRootDir=device.path, flushDiskType="SYNC_FLUSH").start()
    sends(broker.address)
    device.read_only()

    assert send(broker.address) != "PUT_OK"
    assert broker.wait() == ("exited", 4)
    device.writable()
    broker.start()
    sends(broker.address)


def test_a_plain_folder_is_never_full_or_read_only_and_says_why(keeper: Keeper) -> None:
    store = Stores(keeper.folder, devices=False).create("master")
    for trouble in (store.fill, store.read_only):
        with pytest.raises(LabError, match="is a plain folder: the lab was told"):
            trouble()
    store.free()
    store.writable()


def test_a_disk_of_memory_is_never_read_only_and_says_why(tmpfs: Store) -> None:
    with pytest.raises(LabError, match="is no device: no loop devices"):
        tmpfs.read_only()
    tmpfs.writable()


@pytest.mark.parametrize(
    "what, why, kind", [("root", "only root", "folder"), ("mkfs", "mkfs.ext4", "tmpfs"), ("mount", "mount", "folder")]
)
def test_a_machine_without_devices_for_us_gets_the_next_best(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str, why: str, kind: str
) -> None:
    if what == "root":
        monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    else:
        monkeypatch.setenv("PATH", str(tmp_path))
        there, at = ("mkfs.ext4", "true") if what == "mount" else ("mount", "mount")
        (tmp_path / there).symlink_to(str(shutil.which(at, path=os.defpath)))
    made = Stores(keeper.folder)
    for name in ("master", "slave"):
        store = made.create(name)
        if kind == "tmpfs" and store.kind != kind:
            pytest.skip("no memory can be mounted here")
        assert store.kind == kind and why in store.why_not
        place(store, LOG)


# Nothing stays.


def left(folder: Path) -> list[object]:
    return [*folders.mounts_below(folder), *folders._loop_devices_below(folder), *folder.glob("*")]


@pytest.mark.parametrize("why_not", ["", "no loop devices"])
def test_a_lab_that_ends_leaves_no_mount_and_no_loop_device(labs_folder: Path, why_not: str) -> None:
    for _ in range(3):
        lab = Keeper()
        made = Stores(lab.folder)
        made.why_not = why_not
        master = made.create("master")
        made.create("slave")
        writer(lab, master)
        lab.close()
        assert left(folders.base()) == []


HARNESS = """
import os, signal, sys, tempfile
from pairproof.chaos.labs.real.keeper import Keeper
from pairproof.chaos.labs.real.stores import Stores
tempfile.tempdir = sys.argv[1]
keeper = Keeper()
path = Stores(keeper.folder).create("master").path
held = (path / "file").open("wb")
keeper.exec(["sh", "-c", "exec sleep 100 > %s/out" % path], keeper.folder / "out")
print(keeper.pid, keeper.folder, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("dies", ["harness", "keeper", "both"])
def test_whoever_is_killed_no_mount_stays(labs_folder: Path, dies: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", HARNESS, str(labs_folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    kept, name = process.stdout.readline().split()
    process.stdout.close()
    folder = Path(name)
    if dies != "harness":
        os.kill(int(kept), signal.SIGKILL)
        until(lambda: gone(int(kept)))
    process.kill()
    process.wait(DEADLINE_S)
    if dies == "harness":
        until(lambda: not folder.exists())
    else:
        (said,) = folders.clean()
        assert said.startswith(f"removed what an earlier lab left behind: {folder}")
    assert left(folders.base()) == []


@pytest.mark.parametrize("notices", [True, False], ids=["as it is", "without looking"])
def test_a_disk_comes_back_though_another_namespace_still_has_it(
    device: Store, monkeypatch: pytest.MonkeyPatch, notices: bool
) -> None:
    if not notices:
        monkeypatch.setattr(disks.Disk, "_is_dead", lambda disk: False)
    device.restore({FIRST: b"flushed"})
    # A browser's sandbox does that; its namespace keeps the file system alive that was shut down.
    other = subprocess.Popen(["unshare", "--mount", "sleep", "60"])
    try:
        ours, theirs = Path("/proc/self/ns/mnt").readlink(), Path(f"/proc/{other.pid}/ns/mnt")
        until(lambda: theirs.readlink() != ours)
        device.lose_power("none", 7, nobody)
        if notices:
            assert device.copy_files() == {FIRST: b"flushed"}
        else:
            with pytest.raises(LabError, match="Input/output error"):
                device.copy_files()
    finally:
        other.kill()
        other.wait()
