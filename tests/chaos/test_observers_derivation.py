"""The reader that derives queues and index anew: what Java wrote is what its log gives, and each difference shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from struct import Struct

import pytest

from pairproof.chaos.observers.derivation import compare, derive
from pairproof.chaos.observers.queue_reader import Index, Store, read_queues
from pairproof.chaos.observers.store_reader import LogReading, read_log
from pairproof.harness.history import Event, Recorder
from pairproof.harness.rocketmq.laws.delivery.deliver_delayed import LEVELS

GOLDEN = Path(__file__).parent.parent / "golden" / "rocketmq-4.9.7" / "store"
BROKERS = ("master", "slave", "late-slave")
QUEUE = "consumequeue/Golden-four_1/0/00000000000000000000"
SLOTS = 1_000


def log_of(broker: str) -> LogReading:
    folder = GOLDEN / broker / "commitlog"
    return read_log([(int(each.name), each.read_bytes()) for each in sorted(folder.iterdir())])


def compared(broker: str, changed: Mapping[str, bytes] | None = None, levels: str = LEVELS) -> dict[str, Event]:
    root, log = GOLDEN / broker, log_of(broker)
    files = {each.relative_to(root).as_posix(): each.read_bytes() for each in root.rglob("*") if each.is_file()}
    store = Store(broker, {**files, **(changed or {})}, log.start, log.where, SLOTS)
    recorder = Recorder()
    compare(recorder, 5, 3, store, read_queues(store), Index(store), derive(log.records, levels))
    return {f"{each.f} {each.status}": each for each in recorder.events}


@pytest.mark.parametrize("broker", BROKERS)
def test_queues_and_index_of_java_are_what_its_log_gives(broker: str) -> None:
    found = compared(broker)
    assert set(found) == {"queues same", "index same"}
    assert all((each.value or 0) > 10 for each in found.values())


def test_other_delay_levels_give_other_times_of_delivery() -> None:
    found = compared("master", levels="7s 7s 7s 7s 7s")
    assert "SCHEDULE_TOPIC_XXXX" in (found["queues other"].detail or "")


def golden_queue() -> bytearray:
    return bytearray((GOLDEN / "master" / QUEUE).read_bytes())


@pytest.mark.parametrize(("at", "what"), [(11, "size"), (19, "tags code")])
def test_a_wrong_byte_in_an_entry_shows(at: int, what: str) -> None:
    data = golden_queue()
    data[at] ^= 1
    other = compared("master", {QUEUE: bytes(data)})["queues other"]
    assert what in (other.detail or "") and "Golden-four_1/0 at 0 has" in (other.detail or "")


def test_an_address_into_the_extension_is_no_wrong_hash() -> None:
    data = golden_queue()
    data[12:20] = (-(1 << 40)).to_bytes(8, "big", signed=True)
    assert "queues same" in compared("master", {QUEUE: bytes(data)})


def test_an_entry_that_lacks_and_one_that_is_too_many_show() -> None:
    name = max(each.relative_to(GOLDEN / "master").as_posix() for each in (GOLDEN / "master").glob(f"{QUEUE[:-20]}*"))
    data = (GOLDEN / "master" / name).read_bytes()
    entries = [data[at : at + 20] for at in range(0, len(data), 20) if any(data[at : at + 20])]
    assert 1 < len(entries) < len(data) // 20
    short = b"".join(entries[:-1]).ljust(len(data), b"\0")
    assert "lacks the entry" in (compared("master", {name: short})["queues lacks"].detail or "")
    end = log_of("master").where
    more = b"".join([*entries, Struct(">qiq").pack(end - 10, 10, 0)]).ljust(len(data), b"\0")
    assert set(compared("master", {name: more})) == {"queues behind", "index same"}


def test_a_queue_of_many_that_a_record_is_in_besides_its_own_is_no_difference() -> None:
    entry = Struct(">qiq").pack(0, 100, 0)
    assert "queues same" in compared("master", {"consumequeue/%LMQ%a/0/00000000000000000000": entry})
    assert "queues behind" in compared("master", {"consumequeue/stray/0/00000000000000000000": entry})


def test_a_key_that_leads_astray_or_nowhere_shows() -> None:
    (path,) = (GOLDEN / "master" / "index").iterdir()
    data = bytearray(path.read_bytes())
    # The first entry's log offset: one record is not found any more, and another place is.
    at = 40 + 4 * SLOTS + 20 + 4
    data[at : at + 8] = (log_of("master").records[-1].lo).to_bytes(8, "big")
    found = compared("master", {f"index/{path.name}": bytes(data)})
    assert set(found) == {"queues same", "index lacks", "index other", "index form"}


def golden_index() -> tuple[str, bytearray]:
    (path,) = (GOLDEN / "master" / "index").iterdir()
    return f"index/{path.name}", bytearray(path.read_bytes())


ENTRIES_AT = 40 + 4 * SLOTS


@pytest.mark.parametrize(
    ("at", "says"),
    [
        (7, "the first message was stored at"),
        (15, "the last message was stored at"),
        (23, "the first entry is of"),
        (31, "the last entry is of"),
        (35, "slots are in use, and"),
        (ENTRIES_AT + 2 * 20 + 15, "entry 2 says"),
        (ENTRIES_AT + 2 * 20 + 19, "entry 2 leads to"),
    ],
)
def test_a_wrong_byte_in_the_form_of_an_index_file_shows(at: int, says: str) -> None:
    name, data = golden_index()
    data[at] ^= 4
    assert says in (compared("master", {name: bytes(data)})["index form"].detail or "")


def test_a_header_that_counts_each_entry_as_a_used_slot_shows() -> None:
    name, data = golden_index()
    data[32:36] = (int.from_bytes(data[36:40], "big") - 1).to_bytes(4, "big")
    assert "a used slot for each entry" in (compared("master", {name: bytes(data)})["index slots"].detail or "")


def test_index_files_before_the_last_are_full_and_none_claims_more_than_it_holds() -> None:
    name, data = golden_index()
    found = compared("master", {"index/1": bytes(data)})["index form"]
    assert (found.detail or "").startswith("index file 1 of 2: it has") and "another file follows" in found.detail
    room = (len(data) - ENTRIES_AT) // 20
    data[36:40] = (room + 1).to_bytes(4, "big")
    assert f"claims {room + 1} entries" in (compared("master", {name: bytes(data)})["index form"].detail or "")
