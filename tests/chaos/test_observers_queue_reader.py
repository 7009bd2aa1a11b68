"""The queue reader: reads what RocketMQ 4.9.7 wrote as its own classes do, and compares what two nodes both hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from struct import Struct
from typing import Any

import pytest

from pairproof.chaos.observers.queue_reader import Index, Store, key_hash, keys_of, read_queues, record
from pairproof.chaos.observers.store_reader import LogReading, read_log
from pairproof.chaos.observers.stored_record import Data
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event, Recorder, digest

GOLDEN = Path(__file__).parent.parent / "golden" / "rocketmq-4.9.7"
BROKERS = ("master", "slave", "late-slave")
SLOTS = 1_000
ENTRY = Struct(">qiq")
MARKER = (0, 0x7FFFFFFF, 0)


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / "expected" / f"{name}.jsonl").read_text().splitlines()]


def golden_log(broker: str) -> LogReading:
    folder = GOLDEN / "store" / broker / "commitlog"
    # The last file was made ahead and holds nothing.
    return read_log([(int(each.name), each.read_bytes()) for each in sorted(folder.iterdir())])


def golden(broker: str, **changed: bytes) -> Store:
    root = GOLDEN / "store" / broker
    files = {each.relative_to(root).as_posix(): each.read_bytes() for each in root.rglob("*") if each.is_file()}
    log = golden_log(broker)
    return Store(broker, {**files, **changed}, log.start, log.where, SLOTS)


@pytest.mark.parametrize("broker", BROKERS)
def test_queues_of_java_are_read_entry_by_entry(broker: str) -> None:
    expected: dict[str, dict[int, tuple[int, int, int]]] = {}
    for row in rows(f"{broker}.consumequeue"):
        entry = (row["physicalOffset"], row["size"], row["tagsCode"])
        if entry != MARKER:
            expected.setdefault(f"{row['topic']}/{row['queueId']}", {})[row["index"]] = entry
    found = read_queues(golden(broker))
    assert list(found) == sorted(expected)
    for queue, entries in expected.items():
        reading = found[queue]
        assert (reading.first, reading.next) == (min(entries), max(entries) + 1)
        assert list(ENTRY.iter_unpack(reading.data)) == [entries[each] for each in sorted(entries)]
        offset, size, _ = entries[max(entries)]
        assert reading.end == offset + size


@pytest.mark.parametrize("broker", BROKERS)
def test_the_index_of_java_answers_as_java_does(broker: str) -> None:
    index = Index(golden(broker))
    _, *lookups = rows(f"{broker}.index")
    for row in lookups:
        topic, _, key = row["key"].partition("#")
        assert key_hash(topic, key) == row["keyHash"]
        assert index.find(topic, key) == sorted(set(row["physicalOffsets"]))
    assert len(lookups) > 50
    assert index.find("Golden-four_1", "never sent") == []


@pytest.mark.parametrize("broker", BROKERS)
def test_every_record_of_java_is_found_by_each_of_its_keys(broker: str) -> None:
    index, log = Index(golden(broker)), golden_log(broker)
    keys = keys_of(log.records)
    for each in log.records:
        for key in [*(each.value_of(b"KEYS") or "").split(), each.value_of(b"UNIQ_KEY") or ""]:
            if key:
                assert each.topic in keys[key]
                assert each.lo in index.find(each.topic, key)
    assert len(keys) > 50


def recorded(one: Store, other: Store, keys: Mapping[str, tuple[str, ...]] | None = None) -> list[Event]:
    recorder = Recorder()
    record(recorder, 5, 3, one, other, keys or {})
    return recorder.events


def by_node(events: list[Event], kind: str, node: str) -> dict[str, Event]:
    return {each.queue or each.message or "": each for each in events if (each.kind, each.node) == (kind, node)}


@pytest.mark.parametrize("slave", ["slave", "late-slave"])
def test_a_pair_of_java_agrees_over_what_both_hold(slave: str) -> None:
    keys = keys_of(golden_log("master").records)
    events = recorded(golden("master"), golden(slave), keys)
    assert {(each.t, each.op, each.kind) for each in events} == {(5, 3, "entries"), (5, 3, "keys")}
    masters, slaves = (by_node(events, "entries", node) for node in ("master", slave))
    assert len(slaves) > 5 and set(slaves) <= set(masters)
    for queue, mine in slaves.items():
        theirs = masters[queue]
        assert (mine.queue_offset, mine.digest, mine.hi) == (theirs.queue_offset, theirs.digest, theirs.hi)
        assert mine.queue_offset == max(mine.lo or 0, theirs.lo or 0) and mine.value == theirs.value
    asked, told = (by_node(events, "keys", node) for node in ("master", slave))
    assert set(asked) == set(told) == set(keys)
    assert {key: each.digest for key, each in asked.items()} == {key: each.digest for key, each in told.items()}


def test_a_slave_that_joined_late_begins_later_and_is_compared_from_there_on() -> None:
    events = recorded(golden("master"), golden("late-slave"))
    mine, theirs = (by_node(events, "entries", node)["Golden-four_1/0"] for node in ("late-slave", "master"))
    assert mine.lo == mine.queue_offset == theirs.queue_offset and (theirs.lo or 0) < (mine.lo or 0)
    expected = read_queues(golden("late-slave"))["Golden-four_1/0"].data
    assert mine.digest == digest(expected) != digest(b"")


@pytest.mark.parametrize("at", [0, 11, 19])
def test_a_byte_that_differs_shows_in_the_digest_of_its_queue_alone(at: int) -> None:
    name = "consumequeue/Golden-four_1/0/00000000000000000000"
    data = bytearray(golden("slave").files[name])
    # The first entry's offset would have to stay below the second's: its lowest byte may change.
    place = 7 if at == 0 else at
    data[place] ^= 1
    events = recorded(golden("master"), golden("slave", **{name: bytes(data)}))
    masters, slaves = (by_node(events, "entries", node) for node in ("master", "slave"))
    assert [queue for queue in slaves if slaves[queue].digest != masters[queue].digest] == ["Golden-four_1/0"]


# Stores by hand: a log of [0, 1000), queue files of five entries, an index of three slots.


def queue_file(*entries: tuple[int, int, int], size: int = 5) -> bytes:
    return b"".join(ENTRY.pack(*each) for each in entries).ljust(size * 20, b"\0")


def store(files: Mapping[str, Data], start: int = 0, end: int = 1_000, node: str = "master") -> Store:
    return Store(node, files, start, end, 3)


def one_queue(*files: bytes, start: int = 0, first: int = 0, end: int = 1_000) -> tuple[int, int, int | None]:
    names = {f"consumequeue/t/0/{first + 100 * number:020d}": data for number, data in enumerate(files)}
    found = read_queues(store(names, start, end))["t/0"]
    assert len(found.data) == 20 * (found.next - found.first)
    return found.first, found.next, found.end


ENTRIES = [(100 * number, 100, number) for number in range(7)]


def test_a_queue_ends_where_nothing_is_written() -> None:
    assert one_queue(queue_file(*ENTRIES[:3])) == (0, 3, 300)
    assert one_queue(queue_file(*ENTRIES[:5]), queue_file(*ENTRIES[5:])) == (0, 7, 700)
    assert one_queue(queue_file()) == (0, 0, None)
    assert one_queue(b"") == (0, 0, None)


def test_a_queue_begins_behind_its_markers_and_behind_what_the_log_has_lost() -> None:
    assert one_queue(queue_file(MARKER, MARKER, *ENTRIES[2:4])) == (2, 4, 400)
    assert one_queue(queue_file(MARKER, *ENTRIES[1:4]), first=100) == (6, 9, 400)
    assert one_queue(queue_file(*ENTRIES[:5]), start=200) == (2, 5, 500)
    assert one_queue(queue_file(*ENTRIES[:5]), start=800) == (5, 5, 500)
    assert one_queue(queue_file(MARKER, MARKER)) == (2, 2, None)


@pytest.mark.parametrize(
    "odd", [(150, 100, 0), (900, 101, 0), (500, 0, 0), (500, -1, 0), MARKER, (-1, 100, 0)],
)  # fmt: skip
def test_a_queue_ends_at_an_entry_that_cannot_be(odd: tuple[int, int, int]) -> None:
    assert one_queue(queue_file(*ENTRIES[:2], odd, *ENTRIES[3:4])) == (0, 2, 200)


def test_what_follows_a_gap_between_files_is_not_read() -> None:
    names = {f"consumequeue/t/0/{at:020d}": queue_file(*ENTRIES[:5]) for at in (0, 200)}
    assert read_queues(store(names))["t/0"].next == 5


def test_a_foreign_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"consumequeue/t/0/core.1 is not named by an offset"):
        read_queues(store({"consumequeue/t/0/core.1": b""}))


def test_without_a_common_entry_both_name_the_same_place_and_no_content() -> None:
    mine = store({"consumequeue/t/0/00000000000000000000": queue_file(*ENTRIES[:2])})
    theirs = store({"consumequeue/t/0/00000000000000000000": queue_file(MARKER, MARKER, MARKER, ENTRIES[3])})
    for events in (recorded(mine, theirs._replace(node="slave")), recorded(theirs, mine._replace(node="slave"))):
        assert [(each.queue_offset, each.digest) for each in events] == [(3, digest(b""))] * 2


def test_a_queue_that_one_node_lacks_is_compared_with_nothing() -> None:
    mine = store({"consumequeue/t/0/00000000000000000000": queue_file(*ENTRIES[:2])})
    (event,) = recorded(mine, store({}, node="slave"))
    assert (event.node, event.queue, event.lo, event.hi, event.digest) == ("master", "t/0", 0, 2, digest(b""))


def index_file(*entries: tuple[str, int], slots: int = 3, room: int = 8, older: Callable[[int], int] = int) -> bytes:
    """Keys of topic t and their log offsets, chained as a broker does; ``older`` may tear the chains."""
    heads = [0] * slots
    body = b"\0" * 20
    for number, (key, offset) in enumerate(entries, 1):
        value = key_hash("t", key)
        body += Struct(">iqii").pack(value, offset, 0, older(heads[value % slots]))
        heads[value % slots] = number
    header = Struct(">qqqqii").pack(0, 0, 0, 0, 0, len(entries) + 1)
    return header + b"".join(each.to_bytes(4, "big") for each in heads) + body.ljust(20 * room, b"\0")


def test_an_index_is_asked_file_by_file_and_answers_in_the_log_s_order() -> None:
    files: dict[str, Data] = {
        "index/20260101000000000": index_file(("a", 0), ("b", 100), ("a", 200)),
        "index/20260101000000001": index_file(("a", 300), ("c", 400), ("a", 300)),
    }
    index = Index(store(files))
    assert index.find("t", "a") == [0, 200, 300]
    assert index.find("t", "c") == [400]
    assert index.find("other", "a") == []


def test_a_torn_chain_ends() -> None:
    entries = [("a", 0), ("a", 100), ("a", 200)]
    for torn, found in ((lambda _: 3, [200]), (lambda _: -7, [200]), (lambda _: 99, [200])):
        assert Index(store({"index/1": index_file(*entries, older=torn)})).find("t", "a") == found
    cut = index_file(*entries)[: 40 + 12 + 2 * 20]
    assert Index(store({"index/1": cut})).find("t", "a") == []


def test_a_file_that_is_too_small_for_its_slots_holds_no_entry() -> None:
    whole = index_file(("a", 0))
    assert Index(store({"index/1": whole[:51], "index/2": whole})).find("t", "a") == [0]


def test_keys_are_compared_over_the_log_that_both_hold() -> None:
    whole = store({"index/1": index_file(("a", 0), ("b", 100), ("a", 500))})
    late = store({"index/1": index_file(("a", 500))}, start=300, node="slave")
    keys: Mapping[str, tuple[str, ...]] = {"a": ("t",), "b": ("t",)}

    def digests(one: Store, other: Store) -> list[int | None]:
        return [each.digest for each in recorded(one, other, keys)]

    some, nothing = digest((500).to_bytes(8, "big")), digest(b"")
    assert digests(whole, late) == [some, nothing] * 2
    assert digests(whole, late._replace(files={})) == [some, nothing, nothing, nothing]
    shorter = late._replace(log_start=0, log_end=400)
    assert digests(whole, shorter) == [digest(bytes(8)), digest((100).to_bytes(8, "big")), nothing, nothing]
