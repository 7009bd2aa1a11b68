"""Recovery never destroys what is whole: what is refused after a clean stop, and what is cut after another one."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from broker_play import Shell
from store_play import QUEUE_FILE, Store, TreeDisk

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.consume_queues import ConsumeQueues
from pairproof.reference.core.files import MappedFiles
from pairproof.reference.core.recovery import Hints, Recovery
from pairproof.reference.errors import StoreRefused
from pairproof.reference.wire import record
from pairproof.reference.wire.record import Message, encode

SIZE, SECTOR = 4096, 512
LAYOUT = (SIZE, QUEUE_FILE, 7, 6)
FIRST = f"commitlog/{0:020d}"


def message(number: int, body: int = 100, **changes: Any) -> Message:
    properties = b"KEYS\x01k%03d\x02nul\x01a\0b\0\x02UNIQ_KEY\x01u%d" % (number, number)
    return Message("topic", number % 2, b"b" * body, properties)._replace(**changes)


def opened(disk: TreeDisk, clean: bool = True, copied: bool = False) -> tuple[CommitLog, Recovery]:
    log = CommitLog(disk, SIZE)
    return log, log.recover(clean, Hints(copied, 0, partial(ConsumeQueues(disk, QUEUE_FILE).stored_end, clean)))


def stored(count: int, **changes: Any) -> tuple[Store, list[int]]:
    """A whole store with messages, and where their records begin and the log ends."""
    store = Store(TreeDisk(), layout=LAYOUT)
    begins = []
    for number in range(count):
        each = message(number, **changes)
        begins.append(store.log.put(each, store.queues.next_offset(each.topic, each.queue_id), 1_000 + number).lo)
        store.dispatcher.dispatch()
    return store, [*begins, store.log.end]


def image(disk: TreeDisk) -> TreeDisk:
    copy = TreeDisk()
    copy.replace(disk)
    return copy


def damage(disk: TreeDisk, at: int, data: bytes) -> None:
    disk.files[f"commitlog/{at - at % SIZE:020d}"].write(at % SIZE, data)


def contents(disk: TreeDisk) -> dict[str, bytes]:
    return {name: bytes(file.cache) for name, file in disk.files.items()}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("copied", [True, False])
def test_nul_in_properties_is_no_damage(clean: bool, copied: bool) -> None:
    store, begins = stored(60)
    before = contents(store.disk)
    assert len(store.log.files.starts) >= 3
    log, found = opened(store.disk, clean, copied)
    assert (log.end, found.cut_from) == (begins[-1], None)
    assert contents(store.disk) == before


@pytest.mark.parametrize("clean", [True, False])
def test_v2_record_is_kept_and_dispatched(clean: bool) -> None:
    store, begins = stored(2)
    topic = "%RETRY%" + "g" * 200
    wide = encode(message(2, topic=topic, queue_id=0), 0, store.log.end, 3)
    assert store.log.append(store.log.end, wide)
    store.log.put(message(3), 1, 4)
    store.dispatcher.dispatch()
    assert store.queues.next_offset(topic, 0) == 1 and store.dispatcher.at == store.log.end
    again = Store(store.disk, clean, LAYOUT)
    again.dispatcher.dispatch()
    assert again.log.end == store.log.end == again.dispatcher.at
    assert again.queues.get(topic, 0, 0, 9) == store.queues.get(topic, 0, 0, 9) != []
    assert again.log.record_size(begins[-1]) == len(wide)


@pytest.mark.parametrize("evidence", ["queues", "no queues"])
@pytest.mark.parametrize(("place", "lost"), [(5, 14), (18, 1), (19, 0)])
def test_damage_after_a_clean_stop_is_refused_and_nothing_changes(place: int, lost: int, evidence: str) -> None:
    store, begins = stored(20)
    damage(store.disk, begins[place] + 90, b"\xff")
    if evidence == "no queues":
        for name in [each for each in store.disk.files if each.startswith("consumequeue")]:
            store.disk.delete(name)
    before = contents(store.disk)
    records = "1 whole record " if lost == 1 else f"{lost} whole records "
    with pytest.raises(StoreRefused, match=f"a cut at {begins[place]} would lose .* bytes, with {records}") as refused:
        opened(store.disk)
    assert "restore the store from a copy, or create an empty file named abort" in str(refused.value)
    assert contents(store.disk) == before
    # As the message advises.
    log, found = opened(store.disk, clean=False)
    assert (log.end, found.cut_from, found.lost) == (begins[place], begins[-1], lost)
    assert f"cut {begins[-1] - log.end} bytes at {log.end}, with {records}in them: record at" in found.describe() + " "


def test_whole_records_behind_zeros_are_counted_over_files() -> None:
    store, begins = stored(70)
    damage(store.disk, begins[3], bytes(begins[5] - begins[3]))
    assert len(store.log.files.starts) > 3
    assert opened(store.disk)[0].end == store.log.end, "of a store that was stopped cleanly three files are read"
    log, found = opened(store.disk, clean=False)
    assert (log.end, found.lost) == (begins[3], 65)


def test_slave_that_stopped_in_the_middle_of_a_record_goes_on_there_and_erases_the_piece_only_then() -> None:
    store, begins = stored(5)
    rest = encode(message(5, body=300), 5, begins[-1], 9)
    for piece in range(1, len(rest)):
        slave = Store(TreeDisk(), layout=LAYOUT)
        assert slave.log.append(0, store.log.read(0, SIZE) + rest[:piece])
        slave.dispatcher.dispatch()
        before = contents(slave.disk)
        log, found = opened(slave.disk, copied=True)
        assert (log.end, found.cut_from) == (begins[-1], None), piece
        assert contents(slave.disk) == before
        # Another master's record may be shorter: nothing of the piece stays behind it.
        other = encode(message(5, body=1), 5, begins[-1], 9)
        assert log.append(begins[-1], other)
        assert not any(bytes(slave.disk.files[FIRST].cache)[begins[-1] + len(other) :])


def diverged(piece: int) -> tuple[Store, int]:
    """A slave of a master that lost its store: behind a whole record and a piece of one it has what the emptied master
    wrote since. With the end of the whole one.
    """
    slave, (_, end) = stored(1)
    assert slave.log.append(end, encode(message(1, body=2_000), 0, end, 9)[:piece])
    master, _ = stored(5, properties=b"A\x01b\x02")
    assert slave.log.append(end + piece, master.log.read(end + piece, SIZE))
    slave.dispatcher.dispatch()
    return slave, end


@pytest.mark.parametrize("copied", [True, False], ids=["slave", "promoted"])
@pytest.mark.parametrize("piece", [0, 150], ids=["no record", "a record's first part"])
def test_slave_of_a_master_that_lost_its_store_starts_on_what_it_could_not_read_itself(
    piece: int, copied: bool
) -> None:
    slave, end = diverged(piece)
    before = contents(slave.disk)
    log, found = opened(slave.disk, copied=copied)
    assert (log.end, found.cut_from, found.unfinished) == (end, None, True)
    assert contents(slave.disk) == before
    # Nothing of it is taken for a part of the log later.
    other = encode(message(5, body=1), 5, end, 9)
    assert log.append(end, other)
    assert not any(bytes(slave.disk.files[FIRST].cache)[end + len(other) :])


@pytest.mark.parametrize("copied", [True, False], ids=["slave", "promoted"])
@pytest.mark.parametrize("piece", [0, 150], ids=["no record", "a record's first part"])
def test_slave_whose_master_lost_more_than_once_starts_although_its_queues_stopped_files_ago(
    piece: int, copied: bool
) -> None:
    slave, end = diverged(piece)
    ahead, begins = stored(200, properties=b"A\x01b\x02")
    copy(slave, ahead, begins[150] + 50)
    # The master cut what the slave has of a record there, and went on otherwise.
    again, _ = stored(250, body=99, properties=b"AB\x01bc\x02")
    copy(slave, again, begins[150] + SIZE)
    assert slave.dispatcher.dispatch() == 0
    log, found = opened(slave.disk, copied=copied)
    assert (log.end, found.cut_from, found.unfinished) == (begins[150], None, True)
    assert begins[150] > end + 4 * SIZE, "of which recovery reads three"
    # A record there that the queues lack although they could have it is damage.
    damage(slave.disk, end, encode(message(1), 1, end, 9))
    with pytest.raises(StoreRefused, match="whole records in them"):
        opened(slave.disk, copied=copied)


def copy(slave: Store, master: Store, until: int) -> None:
    while slave.log.end < until:
        at = slave.log.end
        assert slave.log.append(at, master.log.read(at, until - at))
        slave.dispatcher.dispatch()


@pytest.mark.parametrize("copied", [True, False], ids=["slave", "promoted"])
def test_what_the_queues_know_is_no_other_master_s_log(copied: bool) -> None:
    store, begins = stored(5)
    damage(store.disk, begins[1], b"\xff" * 8)
    with pytest.raises(StoreRefused, match="with 3 whole records in them"):
        opened(store.disk, copied=copied)


def test_a_slave_without_its_queues_is_not_taken_for_one_that_could_not_read_on() -> None:
    store, begins = stored(5)
    damage(store.disk, begins[1], bytes(8))
    for name in [name for name in store.disk.files if "consumequeue" in name]:
        del store.disk.files[name]
    with pytest.raises(StoreRefused, match="whole records in them"):
        opened(store.disk, copied=True)


def test_slave_whose_queues_had_no_room_may_stop_in_the_middle_of_a_record_too() -> None:
    store, begins = stored(5)
    slave = Store(TreeDisk(), layout=LAYOUT)
    assert slave.log.append(0, store.log.read(0, SIZE) + encode(message(5, body=300), 5, begins[-1], 9)[:200])
    assert opened(slave.disk, copied=True)[0].end == begins[-1]
    with pytest.raises(StoreRefused, match="0 whole records"):
        opened(slave.disk)


def test_slave_may_have_nothing_but_a_piece_of_a_record_when_its_oldest_files_are_gone() -> None:
    store, begins = stored(40)
    first = next(each for each in begins if each >= SIZE)
    assert first == SIZE

    def left(end: int) -> TreeDisk:
        slave = Store(TreeDisk(), layout=LAYOUT)
        assert slave.log.append(0, store.log.read(0, SIZE)) and slave.log.append(SIZE, store.log.read(SIZE, end - SIZE))
        slave.dispatcher.dispatch()
        slave.log.expire(1)
        return slave.disk

    piece = left(SIZE + 90)
    log, found = opened(piece, copied=True)
    assert (log.start, log.end, found.cut_from) == (SIZE, SIZE, None)
    with pytest.raises(StoreRefused, match="0 whole records"):
        opened(piece)
    # What the queues know was whole.
    known = left(begins[begins.index(SIZE) + 1])
    damage(known, SIZE + 90, b"\xff")
    with pytest.raises(StoreRefused, match="0 whole records"):
        opened(known, copied=True)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("copied", [True, False], ids=["slave", "promoted"])
def test_piece_of_a_record_that_decodes_with_zeros_for_its_rest_is_not_taken_for_whole(
    copied: bool, clean: bool
) -> None:
    store, begins = stored(5)
    rest = encode(message(5), 5, begins[-1], 9)
    slave = Store(TreeDisk(), layout=LAYOUT)
    assert slave.log.append(0, store.log.read(0, SIZE) + rest[:-3])
    slave.dispatcher.dispatch()
    assert opened(image(slave.disk), clean, copied)[0].end == begins[-1]
    # Whole, it may well end in such bytes: its queue has it then.
    whole = bytearray(rest[:-3] + bytes(3))
    assert slave.log.append(begins[-1] + len(rest) - 3, bytes(whole[-3:]))
    slave.dispatcher.dispatch()
    log, _ = opened(image(slave.disk), clean, copied)
    # After a crash of a slave it may have lost its last sector all the same, and comes again.
    assert log.end == begins[-1] + (0 if copied and not clean else len(rest))


def test_files_are_not_trusted_unread_where_the_last_ones_hold_nothing() -> None:
    store, _ = stored(90)
    assert len(store.log.files.starts) > 4
    for name in list(store.disk.files):
        if name.startswith("commitlog"):
            store.disk.files[name].write(0, bytes(SIZE))
        else:
            store.disk.delete(name)
    # A disk that lied about everything, and a stop that was clean.
    assert opened(store.disk)[0].end == 0


@pytest.mark.parametrize("left", [0, 1, 2])
def test_log_without_its_last_files_is_refused_and_the_queues_stay(left: int) -> None:
    store, begins = stored(60)
    names = store.disk.names("commitlog")
    assert len(names) > 2
    for name in names[left:]:
        store.disk.delete(f"commitlog/{name}")
    before = contents(store.disk)
    ends = f"the log ends at {left * SIZE}, but the queues hold messages up to {begins[-1]}"
    with pytest.raises(StoreRefused, match=f"{ends}.*missing files .does storePathCommitLog name their folder"):
        Store(store.disk, True, LAYOUT)
    assert contents(store.disk) == before
    # As the message advises.
    again = Store(store.disk, False, LAYOUT)
    again.dispatcher.dispatch()
    assert again.log.end == left * SIZE and again.queues.stored_end() <= again.log.end


def test_file_made_ahead_stays_and_the_log_grows_into_it() -> None:
    store, _ = stored(3)
    store.disk.open(f"commitlog/{SIZE:020d}", SIZE)
    before = contents(store.disk)
    log, found = opened(store.disk)
    assert found.cut_from is None and contents(store.disk) == before
    assert log.expire(1) == 0, "what is in use is the last file"
    while log.end < SIZE + 100:
        log.put(message(9), 9, 1)
    assert store.disk.names("commitlog") == [f"{0:020d}", f"{SIZE:020d}"]
    assert log.expire(1) == SIZE
    again, _ = opened(store.disk, clean=False)
    assert again.end == log.end


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(("zeros", "whole"), [(SECTOR, False), (SECTOR - 1, True)])
def test_only_a_whole_aligned_sector_of_zeros_in_a_text_is_lost(zeros: int, whole: bool, clean: bool) -> None:
    store, begins = stored(3)
    begin = begins[-1]
    # The text begins before the sector at 1536 (2048) and ends well behind it.
    text_at = begin + len(encode(message(3, properties=b""), 0, 0, 0)) + 4
    sector = text_at + -text_at % SECTOR
    properties = b"long\x01" + b"x" * (sector - text_at - 9) + b"y" * zeros + b"z" * 99
    long = message(3, properties=properties)
    lo = store.log.put(long, 9, 2_000).lo
    damage(store.disk, sector, bytes(zeros))
    store.log.put(message(4), 2, 2_001)
    assert isinstance(record.decode(store.log.read(lo, record.size_of(long))), record.Record)
    if whole:
        assert opened(store.disk, clean)[0].end == store.log.end
    elif clean:
        with pytest.raises(StoreRefused, match=f"lost sector: zeros from {sector} on"):
            opened(store.disk)
    else:
        log, found = opened(store.disk, clean=False)
        assert (log.end, found.lost) == (begin, 1) and f"zeros from {sector} on" in found.why


def test_record_that_the_checkpoint_calls_durable_may_end_in_nul_at_the_end_of_the_log() -> None:
    for durable_ms, kept in ((0, False), (2_001, True)):
        log = CommitLog(TreeDisk(), SIZE)
        log.recover(True)
        size = record.size_of(message(0, body=0, properties=b"A\x01b\0"))
        data = encode(message(0, body=SECTOR + 1 - size, properties=b"A\x01b\0"), 0, 0, 2_000)
        assert len(data) == SECTOR + 1 and log.append(0, data)
        again = CommitLog(log.files.disk, SIZE)
        assert (again.recover(False, Hints(durable_ms=durable_ms)).end == len(data)) is kept


def test_what_lies_behind_a_record_that_may_not_be_durable_may_not_be_either_though_a_clock_went_back() -> None:
    for first_ms, kept in ((5_000, False), (4_999, True)):
        log = CommitLog(TreeDisk(), SIZE)
        log.recover(True)
        first = encode(message(0), 0, 0, first_ms)
        torn = encode(message(1, properties=b"A\x01b\0"), 1, len(first), 2_000)
        assert log.append(0, first + torn)
        found = CommitLog(log.files.disk, SIZE).recover(False, Hints(durable_ms=5_000))
        assert found.end == len(first) + len(torn) * kept


def test_hostile_bytes_behind_a_cut_do_not_hold_recovery_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.recovery.MAX_MISSED", 100_000)
    log = CommitLog(TreeDisk(), 1 << 20)
    log.recover(True)
    fake = (1 << 19).to_bytes(4, "big") + record.RECORD_MAGICS[0]
    assert log.append(0, b"junk" + fake * 100_000)
    steps = []

    class Counting(log.recovery_class):  # type: ignore[name-defined, misc]
        def step(self, at: int) -> int | str:
            steps.append(at)
            return super().step(at)

    again = CommitLog(log.files.disk, 1 << 20)
    again.recovery_class = Counting  # type: ignore[misc]
    assert again.recover(False).end == 0
    assert len(steps) < 20


OTHER = {
    "queue files of another size": ({"mappedFileSizeConsumeQueue": 100}, None),
    "a folder that is no queue": ({}, "consumequeue/T/copy/00000000000000000000"),
    "index files of another size": ({"maxHashSlotNum": 9}, None),
    "a file that is no index": ({}, "index/20261122.bak"),
}


@pytest.mark.parametrize("case", OTHER)
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crash"])
def test_settings_and_files_are_checked_before_anything_is_cut_or_expired(case: str, clean: bool) -> None:
    changed, foreign = OTHER[case]
    shell = Shell(TreeDisk())
    for number in range(60):
        shell.put(number)
    disk, log = shell.disk, shell.broker.log
    if clean:
        shell.broker.on_stop()
        # What retention deletes last before a stop: the next start lets go of what is left of it in the queues.
        disk.delete(f"commitlog/{0:020d}")
    else:
        damage(disk, log.end, b"torn")
    assert len(disk.names("consumequeue/T/0")) > 3
    before = contents(disk)
    if foreign is not None:
        disk.open(foreign, 200)
        before = contents(disk)
    with pytest.raises(StoreRefused):
        Shell(disk, **changed)
    assert contents(disk) == before
    if foreign is not None:
        disk.delete(foreign)
    assert Shell(disk).broker.log.end == log.end
    assert contents(disk) != before, "with its own settings the start had something to do"


def test_after_a_crash_a_gap_in_a_queue_keeps_nobody_from_asking_the_queues() -> None:
    store, begins = stored(60)
    end = begins[-1]
    assert store.log.append(end, encode(message(60, properties=b"A\x01b\0"), 30, end, 9))
    gone, *others = store.disk.names("consumequeue/topic/0")[1:]
    assert others
    store.disk.delete(f"consumequeue/topic/0/{gone}")
    again = Store(store.disk, False, LAYOUT)
    again.dispatcher.dispatch()
    assert again.dispatcher.at == again.log.end >= end and again.queues.next_offset("topic", 0) >= 30


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("magic", [record.MAGIC_BLANK, 0x7A7A7A7A], ids=["filler", "junk"])
def test_what_is_no_record_is_not_read_whatever_size_it_says(
    magic: int, clean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = CommitLog(TreeDisk(), 1 << 20)
    log.recover(True)
    assert log.append(0, (1 << 20).to_bytes(4, "big") + magic.to_bytes(4, "big", signed=True))
    sizes = []
    read = MappedFiles.read

    def counted(files: MappedFiles, at: int, limit: int) -> bytes:
        found = read(files, at, limit)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(MappedFiles, "read", counted)
    again = CommitLog(log.files.disk, 1 << 20)
    again.recover(clean)
    assert again.end == (1 << 20 if magic == record.MAGIC_BLANK else 0) and max(sizes) <= 1 << 16
