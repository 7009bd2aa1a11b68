"""Disks: full and read-only ones, machines that have none, and that nothing stays mounted."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lab_nodes import LabNode
from real_brokers import DEADLINE_S
from real_labs import gone, until
from store_uses import FIRST, LOG, nobody, place, send, sends, writer

from pairproof.chaos.labs.real import disks, folders
from pairproof.chaos.labs.real.stores import SIZE_MB, Store, Stores
from pairproof.chaos.labs.real.supervisor import Supervisor
from pairproof.harness.errors import LabError

MakeNode = Callable[..., LabNode]


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


@pytest.mark.parametrize("keep", ["none", "all", "half"])
def test_a_machine_with_a_read_only_disk_may_lose_its_power(device: Store, keep: str) -> None:
    device.read_only()
    assert device.lose_power(keep, 0, nobody) == {"file_systems_shut_down": 1}
    (device.path / "file").write_bytes(b"taken again")


def test_a_broker_cannot_go_on_with_a_read_only_disk(node: MakeNode, device: Store) -> None:
    broker = node(storePathRootDir=device.path, flushDiskType="SYNC_FLUSH").start()
    sends(broker.address)
    device.read_only()

    assert send(broker.address) != "PUT_OK"
    assert broker.wait() == ("exited", 4)
    device.writable()
    broker.start()
    sends(broker.address)


def test_a_plain_folder_is_never_full_or_read_only_and_says_why(supervisor: Supervisor) -> None:
    store = Stores(supervisor.folder, devices=False).create("master")
    for fault, what in ((store.fill, "a plain folder"), (store.read_only, "not a device")):
        with pytest.raises(LabError, match=f"is {what}: the lab was started"):
            fault()
    store.free()
    store.writable()


def test_a_disk_of_memory_is_never_read_only_and_says_why(tmpfs: Store) -> None:
    with pytest.raises(LabError, match="is not a device: no loop devices"):
        tmpfs.read_only()
    tmpfs.writable()


@pytest.mark.parametrize(
    "what, why, kind", [("root", "only root", "folder"), ("mkfs", "mkfs.ext4", "tmpfs"), ("mount", "mount", "folder")]
)
def test_a_machine_without_devices_for_us_gets_the_next_best(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str, why: str, kind: str
) -> None:
    if what == "root":
        monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    else:
        monkeypatch.setenv("PATH", str(tmp_path))
        there, at = ("mkfs.ext4", "true") if what == "mount" else ("mount", "mount")
        (tmp_path / there).symlink_to(str(shutil.which(at, path=os.defpath)))
    made = Stores(supervisor.folder)
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
        lab = Supervisor()
        made = Stores(lab.folder)
        made.why_not = why_not
        master = made.create("master")
        made.create("slave")
        writer(lab, master)
        lab.close()
        assert left(folders.base()) == []


HARNESS = """
import os, signal, sys, tempfile
from pairproof.chaos.labs.real.supervisor import Supervisor
from pairproof.chaos.labs.real.stores import Stores
tempfile.tempdir = sys.argv[1]
supervisor = Supervisor()
path = Stores(supervisor.folder).create("master").path
held = (path / "file").open("wb")
supervisor.exec(["sh", "-c", "exec sleep 100 > %s/out" % path], supervisor.folder / "out")
print(supervisor.pid, supervisor.folder, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("dies", ["harness", "supervisor", "both"])
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
        assert said.startswith(f"removed the remains of an earlier lab: {folder}")
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
