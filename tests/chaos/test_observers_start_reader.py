"""What is read of a store right before a start, and what is compared with it afterwards."""

from __future__ import annotations

import json
from struct import Struct

from pairproof.chaos.observers.start_reader import Found, compare, find, whole_behind
from pairproof.harness.rocketmq.template import advance, fault, heal, send
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule
from pairproof.reference.wire.record import Message, encode, encode_blank

FILE, SLOTS = 2_048, 2
ENTRY = Struct(">qiq")
LOG = "commitlog/00000000000000000000"
QUEUE = "consumequeue/topic/0/00000000000000000000"
INDEX = "index/20260101000000000"


def record(at: int, properties: bytes = b"KEYS\x01k") -> bytes:
    message = Message("topic", 0, b"x" * 300, properties)
    return encode(message, 0, at, 1)


SIZE = len(record(0))


def log(*properties: bytes) -> bytearray:
    """A file with a record for each."""
    data = bytearray(FILE)
    at = 0
    for each in properties:
        made = record(at, each)
        data[at : at + len(made)] = made
        at += len(made)
    return data


def store(data: bytearray, **more: bytes) -> dict[str, bytes]:
    return {LOG: bytes(data), **more}


def read(data: bytearray, *others: str) -> Found:
    return find({**store(data), **dict.fromkeys(others, b"")}, SLOTS)


K = b"KEYS\x01k"


def test_whole_records_reach_to_the_log_s_end_and_only_zeros_follow() -> None:
    found = read(log(K, K))
    assert (found.start, found.ends, found.used, found.why) == (0, (2 * SIZE,), 2 * SIZE, None)
    assert found.orderly and not read(log(K), "abort").orderly
    empty = read(bytearray(FILE))
    assert (empty.ends, empty.used, empty.why) == ((0,), 0, None)


def test_what_lies_behind_a_torn_record_is_counted() -> None:
    data = log(K, K, K, K)
    data[SIZE + 100 : SIZE + 120] = bytes(20)
    found = read(data, "abort")
    assert found.ends == (SIZE,) and found.used == 4 * SIZE and "CRC" in str(found.why)
    assert whole_behind(found, SIZE) == (2, 2) and whole_behind(found, 3 * SIZE) == (1, 1)
    assert whole_behind(found, 3 * SIZE + 1) == (0, 0)


def test_a_log_may_end_before_a_record_whose_text_holds_a_nul() -> None:
    torn = b"KEYS\x01k\x02a\x01\0"
    found = read(log(K, torn, K), "abort")
    size = SIZE + len(torn) - len(K)
    assert found.ends == (SIZE, 2 * SIZE + size)
    assert whole_behind(found, SIZE) == (1, 2) and found.records_to == SIZE


def test_a_chain_goes_on_behind_a_filler_in_the_next_file() -> None:
    first, second = log(K, K), bytearray(FILE)
    room = FILE - 2 * SIZE
    first[2 * SIZE : 2 * SIZE + 8] = encode_blank(room)[:8]
    second[:SIZE] = record(FILE)
    files = {LOG: bytes(first), f"commitlog/{FILE:020}": bytes(second)}
    found = find(files, SLOTS)
    assert found.ends == (FILE + SIZE,) and found.used == found.records_to == FILE + SIZE
    alone = read(first)
    assert alone.ends == (FILE,) and alone.records_to == 2 * SIZE and alone.used <= FILE
    assert whole_behind(found, 0) == (3, 3)
    assert compare(found, files, FILE + SIZE).log_differs is None
    assert compare(found, {LOG: bytes(first)}, FILE + SIZE).log_differs == FILE
    assert compare(found, {LOG: bytes(first)}, FILE).log_differs is None


def test_a_log_that_was_changed_is_told_from_one_that_was_cut() -> None:
    before = log(K, K)
    found = read(before)
    cut = log(K)
    assert compare(found, store(cut), SIZE) == (SIZE, None, None)
    # A record begins with its size, and so with zeros.
    assert compare(found, store(cut), None).log_differs == SIZE + 2
    changed = bytearray(before)
    changed[100] ^= 1
    assert compare(found, store(changed), SIZE).log_differs == 100


def entries(*ends: int) -> bytes:
    return b"".join(ENTRY.pack(at, SIZE, 0) for at in ends).ljust(200, b"\0")


def index(count: int, end: int, hashes: bytes = b"\1\2\3") -> bytes:
    """An index file with ``count - 1`` entries, the last one of the message at ``end``."""
    header = Struct(">qqqqii").pack(1, 1, 0, end, 1, count)
    inside = bytes(20) + b"".join(bytes([each]) * 20 for each in hashes[: count - 1])
    return (header + bytes(4 * SLOTS) + inside).ljust(400, b"\0")


def test_queues_and_index_may_grow_and_may_not_shrink() -> None:
    def lacks(before: bytes, after: bytes | None, name: str, data: bytearray | None = None) -> str | None:
        found = find(store(data or log(K, K), **{name: before}), SLOTS)
        return compare(found, store(log(K, K), **({} if after is None else {name: after})), None).derived

    assert lacks(entries(0), entries(0, SIZE), QUEUE) is None
    assert lacks(entries(0, SIZE), entries(0), QUEUE) == f"{QUEUE} lacks entries"
    assert lacks(entries(0), None, QUEUE) == f"{QUEUE} is gone"
    assert lacks(entries(), None, QUEUE) is None
    assert lacks(index(2, 0), index(3, SIZE), INDEX) is None
    assert lacks(index(3, SIZE), index(2, 0), INDEX) == f"{INDEX} lacks entries"
    assert lacks(index(2, 0), index(2, 0, b"\7"), INDEX) == f"{INDEX} lacks entries"
    assert lacks(index(2, 0), None, INDEX) == f"{INDEX} is gone"
    assert lacks(index(1, 0), None, INDEX) is None


def test_what_has_expired_with_its_log_files_may_go() -> None:
    data = bytearray(FILE)
    data[:SIZE] = record(FILE)
    files = {f"commitlog/{FILE:020}": bytes(data)}
    for name, old in ((QUEUE, entries(0)), (INDEX, index(2, 0))):
        assert compare(find({**files, name: old}, SLOTS), files, None).derived is None
    for name, live in ((QUEUE, entries(0, FILE)), (INDEX, index(2, FILE))):
        assert compare(find({**files, name: live}, SLOTS), files, None).derived == f"{name} is gone"


def test_the_simulation_reads_each_store_before_its_broker_starts_on_it_and_after() -> None:
    ops = (
        send(0), send(1), advance(6_000), fault("restart", node="slave"), heal("restart"), advance(100),
        *(send(0) for _ in range(6)), advance(20), fault("power_loss", node="master", keep="hole"), advance(100),
        heal("power_loss"), advance(6_000),
    )  # fmt: skip
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule({}, "seed", ops))
    seen = [each for each in trial.events if each.kind in ("found", "start", "left")]
    # The first starts find no log.
    assert [(each.kind, each.node, each.f) for each in seen[2:]] == [
        ("found", "slave", "orderly"), ("start", "slave", "normal"), ("left", "slave", "kept"),
        ("found", "master", "crash"), ("start", "master", "abnormal"), ("left", "master", seen[-1].f),
    ]  # fmt: skip
    torn, back, kept = seen[-3:]
    assert torn.status == "broken" and torn.incarnation == back.incarnation == kept.incarnation == 2
    assert back.hi == torn.hi == kept.hi is not None and (kept.value or 0) <= kept.hi < (torn.value or 0)
    said = json.loads(kept.detail or "")
    assert said["cut_from"] == torn.value and said["behind"] == [said["lost"]] * 2 and said["dirty"] == 0
