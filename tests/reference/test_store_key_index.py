"""The key index: layout, lookups over files, full files, what is trusted after a crash, retention."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_play import BlocklessDisk, TreeDisk

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.reference.core.key_index import KeyIndex, key_hash, name_of
from pairproof.reference.errors import StoreError, StoreFull
from pairproof.reference.wire.properties import java_hash

SLOTS, ENTRIES = 3, 5
EVER = 1 << 60
T = 1_700_000_000_000


@pytest.fixture
def disk() -> TreeDisk:
    return TreeDisk()


def opened(disk: TreeDisk, clean: bool = True, flushed_ms: int = 0, log_end: int = EVER, now: int = T) -> KeyIndex:
    index = KeyIndex(disk, SLOTS, ENTRIES, lambda: now)
    index.recover(clean, flushed_ms, log_end)
    return index


def filled(disk: TreeDisk, count: int, keys: int = 1) -> KeyIndex:
    """Message n lies at 100 n, was stored n seconds after T and has the keys k0 to k<keys - 1> and m<n>."""
    index = opened(disk)
    for number in range(count):
        words = [f"k{key}" for key in range(keys)]
        index.put("t", [*words, f"m{number}"], 100 * number, T + 1000 * number)
    return index


def offsets(index: KeyIndex, key: str, limit: int = 99, begin_ms: int = 0, end_ms: int = EVER) -> list[int]:
    return index.query("t", key, limit, begin_ms, end_ms).offsets


def test_file_is_laid_out_as_in_rocketmq(disk: TreeDisk) -> None:
    index = opened(disk)
    index.put("t", ["a"], 700, T)
    index.put("t", ["a"], 900, T + 2_999)
    (name,) = disk.files
    assert name == "index/20231114221320000" and disk.files[name].size == 40 + 4 * SLOTS + 20 * ENTRIES
    data = bytes(disk.files[name].cache)
    value = key_hash("t", "a")
    assert value == java_hash("t#a") == 112658
    assert struct.unpack_from(">qqqqii", data) == (T, T + 2_999, 700, 900, 1, 3)
    slots = [0] * SLOTS
    slots[value % SLOTS] = 2
    assert list(struct.unpack_from(f">{SLOTS}i", data, 40)) == slots
    entries = [struct.unpack_from(">iqii", data, 40 + 4 * SLOTS + 20 * at) for at in range(4)]
    assert entries == [(0, 0, 0, 0), (value, 700, 0, 0), (value, 900, 2, 1), (0, 0, 0, 0)]


@pytest.mark.parametrize("key", ["polygenelubricants", "", "a\U0001f600", "key-1", "key-2", "key-3"])
def test_hash_is_java_s_without_its_sign(key: str) -> None:
    assert key_hash("t", key) == abs(java_hash(f"t#{key}"))


def test_hash_of_the_smallest_number_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.key_index.java_hash", lambda text: -(1 << 31))
    assert key_hash("t", "k") == 0


@pytest.mark.parametrize(
    ("ms", "name"), [(0, "19700101000000000"), (1_795_222_592_589, "20261121005632589"), (T + 7, "20231114221320007")]
)
def test_name_tells_the_time(ms: int, name: str) -> None:
    assert name_of(ms) == name


def test_newest_comes_first_over_all_files(disk: TreeDisk) -> None:
    index = filled(disk, 9)
    assert len(index.files) == 5 and all(file.full for file in index.files[:-1])
    assert offsets(index, "k0") == [100 * number for number in reversed(range(9))]
    assert offsets(index, "k0", limit=3) == [800, 700, 600]
    assert [offsets(index, f"m{number}") for number in range(9)] == [[100 * number] for number in range(9)]
    assert offsets(index, "none") == [] and index.query("other", "k0", 9, 0, EVER).offsets == []
    assert index.query("t", "k0", 1, 0, EVER)[1:] == (T + 8_000, 800)


def test_names_tell_the_order_though_the_clock_stands_still_or_goes_back(disk: TreeDisk) -> None:
    index = filled(disk, 9)
    index._wall_ms = lambda: T - 5_000
    index.put("t", ["x"] * 5, 900, T)
    assert [file.name for file in index.files] == sorted({file.name for file in index.files})
    assert offsets(opened(disk), "k0") == offsets(index, "k0")


def test_only_the_time_asked_for_is_found(disk: TreeDisk) -> None:
    index = filled(disk, 9)
    assert offsets(index, "k0", begin_ms=T + 3_000, end_ms=T + 5_000) == [500, 400, 300]
    assert offsets(index, "k0", begin_ms=T + 9_000) == offsets(index, "k0", end_ms=T - 1) == []


def test_message_before_the_index_s_end_is_skipped_and_the_last_one_entered_once(disk: TreeDisk) -> None:
    index = filled(disk, 4, keys=3)
    before = disk.content("index")
    for number in range(4):
        index.put("t", ["k0", "k1", "k2", f"m{number}"], 100 * number, T + 1000 * number)
    assert disk.content("index") == before
    index.put("t", ["k0", "k1", "k2", "m3", "more"], 300, T + 3_000)
    assert offsets(index, "more") == [300]


def test_key_named_twice_is_entered_twice_as_in_rocketmq(disk: TreeDisk) -> None:
    index = opened(disk)
    index.put("t", ["a", "a"], 100, T)
    assert offsets(index, "a") == [100, 100]


@pytest.mark.parametrize("before", range(7))
def test_message_without_room_for_a_block_is_entered_later_and_survives(before: int) -> None:
    disk = BlocklessDisk()
    index = opened(disk)
    index.put("t", [f"k{number}" for number in range(before)], 100, T)
    disk.full.append(ActiveFault())
    keys = [f"l{number}" for number in range(13)]
    for _ in range(2):
        with pytest.raises(StoreFull):
            index.put("t", keys, 200, T)
    disk.full.clear()
    index.put("t", keys, 200, T)
    index.sync()
    for each in (index, opened(disk)):
        assert [offsets(each, key) for key in keys] == [[200]] * 13


@pytest.mark.parametrize("files", range(4))
def test_message_that_found_no_room_is_entered_whole_later_and_no_key_twice(disk: TreeDisk, files: int) -> None:
    index = opened(disk)
    keys = [f"k{number}" for number in range(13)]
    disk.room = files
    for _ in range(2):
        if files < 4:
            with pytest.raises(StoreFull):
                index.put("t", keys, 0, T)
    disk.room = 9
    index.put("t", keys, 0, T)
    assert [offsets(index, key) for key in keys] == [[0]] * len(keys)


def test_after_a_clean_stop_everything_is_trusted_and_goes_on(disk: TreeDisk) -> None:
    index = filled(disk, 3)
    index.sync()
    disk.lose_power("none")
    again = opened(disk)
    assert not KeyIndex(disk, SLOTS, ENTRIES, lambda: T).recover(True, 0, EVER)
    assert offsets(again, "k0") == [200, 100, 0] and again.end_offset == 200
    again.put("t", ["k0"], 300, T + 9_000)
    assert offsets(again, "k0") == [300, 200, 100, 0]


def test_after_a_crash_only_full_files_older_than_the_checkpoint_are_trusted(disk: TreeDisk) -> None:
    index = filled(disk, 9)
    assert len(index.begin_flush()) == 4
    for name in index.begin_flush():
        disk.sync(name)
    index.finish_flush()
    assert index.flushed_ms == index.files[3].end_ms and index.begin_flush() == []
    ends = [file.end_ms for file in index.files]
    for flushed_ms, trusted in ((0, 0), (ends[0], 0), (ends[0] + 1, 1), (ends[3], 3), (ends[3] + 99_999, 4)):
        copy = TreeDisk()
        copy.replace(disk)
        again = KeyIndex(copy, SLOTS, ENTRIES, lambda: T)
        assert again.recover(False, flushed_ms, EVER)
        assert len(again.files) == len(copy.files) == trusted
        assert again.end_offset == (index.files[trusted - 1].end_offset if trusted else 0)


def test_file_that_took_over_an_older_time_is_not_trusted_for_that(disk: TreeDisk) -> None:
    index = opened(disk)
    for number in range(5):
        index.put("t", ["k"], number, T)
    # The second file has the first one's time, but no flush ever covered it.
    again = opened(disk, clean=False, flushed_ms=T + 1)
    assert len(again.files) == 1


@pytest.mark.parametrize("clean", [True, False])
def test_file_that_is_past_the_log_s_end_is_dropped(disk: TreeDisk, clean: bool) -> None:
    filled(disk, 9)
    index = KeyIndex(disk, SLOTS, ENTRIES, lambda: T)
    assert index.recover(clean, EVER, 400)
    assert len(index.files) == 2 and index.end_offset == 300
    index = KeyIndex(disk, SLOTS, ENTRIES, lambda: T)
    index.recover(clean, EVER, 0)
    assert index.files == []


def test_retention_deletes_files_of_which_nothing_is_left(disk: TreeDisk) -> None:
    index = filled(disk, 9)
    index.expire(301)
    assert len(index.files) == len(disk.files) == 3
    assert offsets(index, "k0") == [800, 700, 600, 500, 400]
    index.expire(9_999)
    assert len(index.files) == len(disk.files) == 1


@pytest.mark.parametrize("name", ["x", "2026112100563258", "202611210056325899", "2026112100563258x"])
def test_file_that_does_not_belong_is_one_clear_line(disk: TreeDisk, name: str) -> None:
    disk.open(f"index/{name}", 10)
    with pytest.raises(StoreError, match="not named by a time of 17 digits: move it"):
        opened(disk)


def test_index_that_could_hold_nothing_is_refused() -> None:
    for slots, entries in ((0, 5), (5, 1)):
        with pytest.raises(StoreError, match="configure more"):
            KeyIndex(TreeDisk(), slots, entries, lambda: 0)


@given(st.lists(st.tuples(st.integers(0, 39 + 12 + 100), st.integers(0, 255)), max_size=12))
@settings(max_examples=150)
def test_any_bytes_end_a_lookup_and_a_put(changes: list[tuple[int, int]]) -> None:
    disk = TreeDisk()
    filled(disk, 2)
    (name,) = disk.files
    for at, value in changes:
        disk.files[name].write(at, bytes([value]))
    index = opened(disk)
    assert len(offsets(index, "k0")) <= ENTRIES
    index.put("t", ["k0"], max(index.end_offset, 0), T)


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), max_size=25), st.integers(1, 9), st.integers(2, 9))
@settings(max_examples=100)
def test_every_message_is_found_by_each_of_its_keys_whatever_the_files(
    messages: list[list[str]], slots: int, entries: int
) -> None:
    index = KeyIndex(TreeDisk(), slots, entries, lambda: T)
    for number, keys in enumerate(messages):
        index.put("t", keys, number, T + number)
    for key in "abcdef":
        expected = [number for number, keys in enumerate(messages) for each in keys if each == key]
        assert offsets(index, key) == expected[::-1]
