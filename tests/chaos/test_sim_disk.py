"""The simulated disk's promise: a write is visible at once, a flush makes it durable, a power loss takes the rest."""

from __future__ import annotations

import pytest

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.disk import BLOCK, SimDisk
from pairproof.reference.errors import StoreError, StoreFull


def flushed_disk(durable: bytes, unflushed: bytes) -> SimDisk:
    disk = SimDisk()
    file = disk.open("commitlog/0", 4_096)
    file.write(0, durable)
    disk.sync("commitlog/0")
    file.write(len(durable), unflushed)
    return disk


def content(disk: SimDisk) -> bytes:
    return bytes(disk.files["commitlog/0"].cache).rstrip(b"\0") if "commitlog/0" in disk.files else b""


def test_power_loss_takes_exactly_the_unflushed_bytes() -> None:
    disk = flushed_disk(b"d" * 1_000, b"u" * 500)
    assert disk.lose_power("none") == (500, False)
    assert content(disk) == b"d" * 1_000


@pytest.mark.parametrize(("keep", "lost"), [("all", 0), ("none", 1_000), ("half", 588)])
def test_power_loss_keeps_what_it_is_told_to(keep: str, lost: int) -> None:
    disk = flushed_disk(b"d" * 100, b"u" * 1_000)
    assert disk.lose_power(keep).bytes == lost
    # The disk writes whole sectors: half of the bytes would end at 600, in the second one.
    assert content(disk) == b"d" * 100 + b"u" * (1_000 - lost)


def test_hole_loses_one_sector_and_keeps_what_lies_behind() -> None:
    disk = flushed_disk(b"d" * 10, b"u" * 3_000)
    assert disk.lose_power("hole").bytes == 512
    after = content(disk)
    assert len(after) == 3_010 and after.count(b"\0") == 512


@pytest.mark.parametrize(("keep", "left"), [("none", b""), ("half", b""), ("hole", b""), ("all", b"q" * 100)])
def test_what_is_derived_from_the_log_and_small_files_lose_all_that_was_not_flushed(keep: str, left: bytes) -> None:
    disk = flushed_disk(b"d" * 100, b"u" * 1_000)
    disk.open("consumequeue/t/0/0", 100).write(0, b"q" * 100)
    disk.write_whole("config/topics.json", b"old")
    disk.sync("config/topics.json")
    disk.write_whole("config/topics.json", b"new")
    expected = flushed_disk(b"d" * 100, b"u" * 1_000).lose_power(keep)
    assert disk.lose_power(keep) == expected
    assert (disk.read_whole("consumequeue/t/0/0") or b"") == left
    assert (disk.read_whole("config/topics.json") is not None) == (keep == "all")


def test_queues_and_index_may_know_of_more_than_the_log_does() -> None:
    disk = flushed_disk(b"d" * 100, b"u" * 1_000)
    disk.open("consumequeue/t/0/0", 100).write(0, b"q" * 100)
    disk.open("index/0", 100).write(0, b"i" * 100)
    disk.write_whole("config/topics.json", b"new")
    assert disk.lose_power("derived") == (1_000, False)
    assert content(disk) == b"d" * 100
    assert disk.read_whole("consumequeue/t/0/0") == b"q" * 100 and disk.read_whole("index/0") == b"i" * 100
    assert disk.read_whole("config/topics.json") is None


def test_lie_about_any_file_that_is_lost_is_told() -> None:
    disk = flushed_disk(b"d" * 100, b"")
    disk.lies.append(ActiveFault())
    disk.open("consumequeue/t/0/0", 100).write(0, b"q")
    disk.sync("consumequeue/t/0/0")
    assert disk.lose_power("none") == (0, True)


def test_operators_file_is_there_and_durable_whatever_troubles_the_disk() -> None:
    disk = SimDisk()
    disk.full.append(ActiveFault())
    disk.lies.append(ActiveFault())
    disk.place("config/topics.json", b"{}")
    assert disk.lose_power("none") == (0, False) and disk.read_whole("config/topics.json") == b"{}"


@pytest.mark.parametrize("keep", ["none", "half", "hole", "some", "derived", "all"])
def test_flushed_bytes_survive_every_power_loss(keep: str) -> None:
    disk = flushed_disk(b"d" * 2_000, b"")
    assert disk.lose_power(keep) == (0, False)
    assert content(disk) == b"d" * 2_000


def test_each_dirty_sector_may_be_lost_on_its_own() -> None:
    def left(used: int) -> list[bool]:
        disk = SimDisk()
        for queue in range(8):
            file = disk.open(f"consumequeue/t/{queue}/0", 4_096)
            file.write(0, b"q" * used)
            disk.sync(f"consumequeue/t/{queue}/0")
            file.write(used, b"r" * 1_000)
        disk.lose_power("some")
        files = [disk.files[f"consumequeue/t/{queue}/0"] for queue in range(8)]
        assert all(each.read(0, used) == b"q" * used for each in files)
        return [any(each.read(at, min(512 - at % 512, used + 1_000 - at)))
                for each in files for at in (used, used + 512 - used % 512)]  # fmt: skip

    assert {True, False} == set(left(100)) and left(100) == left(100) != left(200)


def test_flush_covers_only_what_was_written_before_it_began() -> None:
    disk = SimDisk()
    file = disk.open("commitlog/0", 100)
    file.write(0, b"before")
    taken = disk.begin_flush(["commitlog/0"])
    file.write(6, b"during")
    disk.finish_flush(taken)
    disk.lose_power("none")
    assert content(disk) == b"before"


def test_file_that_was_never_flushed_is_gone() -> None:
    disk = SimDisk()
    disk.open("commitlog/0", 100).write(0, b"x")
    disk.lose_power("none")
    assert disk.names("commitlog") == []


def test_log_keeps_a_file_of_zeros_before_one_that_survives() -> None:
    disk = SimDisk()
    for name in ("commitlog/0", "commitlog/1", "commitlog/2", "index/0"):
        disk.open(name, 8).write(0, b"u" * 8)
    disk.sync("commitlog/1")
    disk.lose_power("none")
    # It would be a gap, as only somebody who deletes files makes one.
    assert {name: bytes(file.cache[:1]) for name, file in disk.files.items()} == {
        "commitlog/0": b"\0",
        "commitlog/1": b"u",
    }


def test_second_power_loss_takes_nothing_more() -> None:
    disk = flushed_disk(b"d" * 10, b"u" * 10)
    disk.lose_power("half")
    before = content(disk)
    assert disk.lose_power("none").bytes == 0 and content(disk) == before


def test_file_of_another_size_or_a_write_beyond_its_end_is_refused() -> None:
    disk = SimDisk()
    file = disk.open("commitlog/0", 100)
    with pytest.raises(StoreError, match="100 bytes"):
        disk.open("commitlog/0", 200)
    with pytest.raises(StoreError, match="beyond"):
        file.write(99, b"xx")


def test_lying_flush_makes_nothing_durable_and_the_loss_says_so() -> None:
    disk = flushed_disk(b"d" * 100, b"u" * 200)
    disk.lies.append(ActiveFault())
    disk.finish_flush(disk.begin_flush(["commitlog/0"]))
    assert disk.lies[0].effect == {"files_feigned": 1, "bytes_feigned": 200}
    assert disk.lose_power("none") == (200, True)
    assert content(disk) == b"d" * 100


def test_loss_of_what_no_flush_covered_is_no_lie() -> None:
    disk = flushed_disk(b"d" * 100, b"f" * 412)
    disk.lies.append(ActiveFault())
    disk.sync("commitlog/0")
    disk.files["commitlog/0"].write(512, b"u" * 500)
    assert disk.lose_power("half") == (500, False)
    assert content(disk) == b"d" * 100 + b"f" * 412


def test_flush_that_began_before_the_lies_is_true() -> None:
    disk = flushed_disk(b"d", b"u" * 200)
    flush = disk.begin_flush(["commitlog/0"])
    disk.lies.append(ActiveFault())
    disk.finish_flush(flush)
    assert disk.lose_power("none") == (0, False)


def test_honest_flush_makes_earlier_lies_true() -> None:
    disk = flushed_disk(b"d", b"u" * 200)
    disk.lies.append(ActiveFault())
    disk.sync("commitlog/0")
    disk.lies.clear()
    disk.sync("commitlog/0")
    disk.files["commitlog/0"].write(1, b"new")
    assert disk.lose_power("none") == (3, False)
    assert content(disk) == b"d" + b"u" * 200


def test_full_disk_refuses_new_files_that_need_room_and_nothing_else() -> None:
    disk = flushed_disk(b"d", b"")
    disk.full.append(ActiveFault())
    with pytest.raises(StoreFull, match="log/1"):
        disk.open("log/1", 4_096)
    disk.open("abort", 0)
    disk.open("commitlog/0", 4_096).write(4_000, b"x")
    assert disk.full[0].effect == {"files_refused": 1}
    disk.full.clear()
    assert disk.open("log/1", 4_096).size == 4_096


def test_image_is_what_the_cache_held_and_later_writes_leave_it_alone() -> None:
    disk = flushed_disk(b"d", b"u")
    image = disk.image()
    disk.files["commitlog/0"].write(2, b"later")
    disk.replace(image)
    assert content(disk) == b"du" and disk.lose_power("none") == (0, False)
    disk.files["commitlog/0"].write(2, b"again")
    assert content(image) == b"du"


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize(("name", "sparse"), [("commitlog/0", False), ("consumequeue/t/0/0", True), ("index/1", True)])
def test_full_disk_takes_writes_to_a_sparse_file_where_it_has_a_block(name: str, sparse: bool, moved: bool) -> None:
    disk = SimDisk()
    disk.open(name, 3 * BLOCK).write(BLOCK - 1, b"ab")
    if moved:
        other = SimDisk()
        other.replace(disk)
        disk = other
    file = disk.files[name]
    disk.full.append(ActiveFault())
    file.write(7, b"x")
    file.write(2 * BLOCK, bytes(BLOCK))
    if sparse:
        with pytest.raises(StoreFull):
            file.write(2 * BLOCK - 1, b"yz")
        assert disk.full[0].effect == {"files_refused": 1}
        assert file.read(2 * BLOCK - 1, 2) == b"\0\0"
    else:
        file.write(2 * BLOCK - 1, b"yz")
    disk.full.clear()
    file.write(2 * BLOCK, b"!")
    assert file.read(2 * BLOCK, 1) == b"!"
