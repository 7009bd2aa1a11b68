"""Queues, index and checkpoint against what real RocketMQ 4.9.7 wrote, and what its own classes read there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from store_play import BROKERS, GOLDEN, GOLDEN_LAYOUT, Store, TreeDisk, fresh, golden_disk, min_ms

from pairproof.reference.core.checkpoint import Checkpoint
from pairproof.reference.core.consume_queue import MARKER, Entry
from pairproof.reference.core.delay import SCHEDULE_TOPIC
from pairproof.reference.core.key_index import key_hash

Rows = Callable[[str], list[dict[str, Any]]]
EVER = 1 << 60

pytestmark = pytest.mark.parametrize("broker", BROKERS)


def started(broker: str, clean: bool = True) -> Store:
    return Store(golden_disk(broker), clean, GOLDEN_LAYOUT)


def expected_queues(rows: list[dict[str, Any]]) -> dict[tuple[str, int], dict[int, Entry]]:
    """By queue: logical offset to entry, as Java read them."""
    queues: dict[tuple[str, int], dict[int, Entry]] = {}
    for row in rows:
        entry = Entry(row["physicalOffset"], row["size"], row["tagsCode"])
        queues.setdefault((row["topic"], row["queueId"]), {})[row["index"]] = entry
    return queues


def test_queue_files_of_java_are_read_entry_by_entry(broker: str, golden_rows: Rows) -> None:
    store = started(broker)
    expected = expected_queues(golden_rows(f"{broker}.consumequeue"))
    assert store.queues.known() == sorted(expected)
    for (topic, queue_id), entries in expected.items():
        live = {offset: entry for offset, entry in entries.items() if entry != MARKER}
        assert store.queues.min_offset(topic, queue_id) == min(live)
        assert store.queues.next_offset(topic, queue_id) == max(live) + 1
        assert store.queues.get(topic, queue_id, min(live), 100) == [live[offset] for offset in sorted(live)]


def test_opening_the_store_of_java_changes_no_byte_of_it(broker: str) -> None:
    before = golden_disk(broker)
    store = started(broker)
    assert store.dispatcher.dispatch() == 0 and store.dispatcher.at == store.log.end
    for folder in ("consumequeue", "index", "commitlog"):
        assert store.disk.content(folder) == before.content(folder)


def test_dispatching_the_log_anew_writes_the_same_queue_files_byte_by_byte(broker: str) -> None:
    before = golden_disk(broker)
    store = fresh(before, GOLDEN_LAYOUT)
    assert store.dispatcher.stalled is None
    assert store.disk.content("consumequeue") == before.content("consumequeue")


def test_dispatching_the_log_anew_writes_the_same_index_file_byte_by_byte(broker: str) -> None:
    before = golden_disk(broker)
    store = fresh(before, GOLDEN_LAYOUT)
    assert list(store.disk.content("index").values()) == list(before.content("index").values())


def test_abnormal_start_on_the_store_of_java_ends_with_the_same_queues_and_index(broker: str) -> None:
    before = golden_disk(broker)
    store = started(broker, clean=False)
    store.dispatcher.dispatch()
    assert store.disk.content("consumequeue") == before.content("consumequeue")
    assert list(store.disk.content("index").values()) == list(before.content("index").values())


@pytest.mark.parametrize("anew", [False, True])
def test_index_answers_as_java_does(broker: str, anew: bool, golden_rows: Rows) -> None:
    header, *lookups = golden_rows(f"{broker}.index")
    store = fresh(golden_disk(broker), GOLDEN_LAYOUT) if anew else started(broker)
    (file,) = store.index.files
    assert (file.begin_ms, file.end_ms) == (header["beginTimestamp"], header["endTimestamp"])
    assert (file.begin_offset, file.end_offset) == (header["beginPhyOffset"], header["endPhyOffset"])
    assert (file.used_slots, file.count) == (header["hashSlotCount"], header["indexCount"])
    assert anew or file.name == header["file"]
    found = 0
    for row in lookups:
        topic, _, key = row["key"].partition("#")
        assert key_hash(topic, key) == row["keyHash"]
        answer = store.index.query(topic, key, 1000, 0, EVER)
        assert answer == (row["physicalOffsets"], header["endTimestamp"], header["endPhyOffset"])
        found += len(answer.offsets)
    assert found > len(lookups) // 2


def test_checkpoint_is_read_and_written_as_java_does(broker: str) -> None:
    expected = json.loads((GOLDEN / "expected" / f"{broker}.checkpoint.json").read_text())
    disk = golden_disk(broker, "checkpoint")
    before = bytes(disk.files["checkpoint"].cache)
    checkpoint = Checkpoint(disk)
    times = (checkpoint.physic_ms, checkpoint.logics_ms, checkpoint.index_ms, min_ms(checkpoint))
    assert times == tuple(expected[f"{name}Timestamp"] for name in ("physicMsg", "logicsMsg", "indexMsg", "min"))
    empty = TreeDisk()
    anew = Checkpoint(empty)
    anew.physic_ms, anew.logics_ms, anew.index_ms = times[:3]
    anew.save()
    assert bytes(empty.files["checkpoint"].cache) == before


def test_delayed_messages_carry_their_delivery_time(broker: str, golden_rows: Rows) -> None:
    store = started(broker)
    first = store.queues.min_offset(SCHEDULE_TOPIC, 0)
    entries = store.queues.get(SCHEDULE_TOPIC, 0, first, 9)
    assert len(entries) == (1 if broker == "late-slave" else 2)
    for entry in entries:
        assert entry.tags_code == store.dispatcher.store_ms(entry) + 1000


def test_master_s_answers_by_offset_and_time_are_java_s(broker: str, golden_rows: Rows) -> None:
    store = started(broker)
    said = {row["call"]: row.get("result") for row in golden_rows("admin-results")}
    for queue_id in range(4):
        queues, here = store.queues, ("Golden-four_1", queue_id)
        first = queues.get(*here, queues.min_offset(*here), 1)
        answers = {
            "maxOffset": queues.next_offset(*here),
            "minOffset": queues.min_offset(*here),
            "earliestMsgStoreTime": store.dispatcher.store_ms(first[0]) if first else -1,
            "searchOffset(now)": queues.offset_by_time(*here, EVER, store.dispatcher.store_ms),
            "searchOffset(0)": queues.offset_by_time(*here, 0, store.dispatcher.store_ms),
        }
        same = answers == {call: said[f"{call} {queue_id}"] for call in answers}
        # A slave that joined late has other first messages.
        assert same == (broker != "late-slave"), answers
