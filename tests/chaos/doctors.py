"""Doctors for copies of the golden capture: each makes wrong evidence; :data:`DOCTORS` says for which law."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

FAR = 5_000_000
"""Bytes above anything that the capture holds."""

Doctor = Callable[[Path], None]


def edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    before = path.read_bytes()
    after = change(before)
    assert after != before, "the doctor did nothing"
    path.write_bytes(after)


def overwrite(path: Path, at: int, data: bytes) -> None:
    edit(path, lambda old: old[:at] + data + old[at + len(data) :])


def reports(name: str, change: Callable[[int, int], int]) -> Doctor:
    """Replace every report by ``change(its index, its value)``."""

    def doctor(folder: Path) -> None:
        def cells(old: bytes) -> bytes:
            values = [int.from_bytes(old[at : at + 8], "big") for at in range(0, len(old), 8)]
            return b"".join(change(number, value).to_bytes(8, "big") for number, value in enumerate(values))

        edit(folder / "ha" / f"{name}.s2m.bin", cells)

    return doctor


def frame_at(stream: bytes, index: int) -> int:
    at = 0
    for _ in range(index):
        at += 12 + int.from_bytes(stream[at + 8 : at + 12], "big")
    return at


def frame_offset(name: str, index: int, by: int) -> Doctor:
    """Move the offset in one frame's header."""

    def doctor(folder: Path) -> None:
        path = folder / "ha" / f"{name}.m2s.bin"
        at = frame_at(path.read_bytes(), index)
        offset = int.from_bytes(path.read_bytes()[at : at + 8], "big")
        overwrite(path, at, (offset + by).to_bytes(8, "big"))

    return doctor


def body_byte(folder: Path) -> None:
    path = folder / "ha" / "slave-restart.m2s.bin"
    at = frame_at(path.read_bytes(), 5) + 100
    overwrite(path, at, bytes([path.read_bytes()[at] ^ 1]))


def setting(node: str, line: str) -> Doctor:
    return lambda folder: edit(folder / "conf" / f"{node}.properties", lambda old: old + f"\n{line}\n".encode())


def lines(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    def all_lines(old: bytes) -> bytes:
        found = [json.loads(each) for each in old.splitlines()]
        for each in found:
            change(each)
        return b"".join(json.dumps(each).encode() + b"\n" for each in found)

    edit(path, all_lines)


def late(name: str, direction: str, ms: float) -> Doctor:
    """Delay what went in one direction."""

    def doctor(folder: Path) -> None:
        def later(line: dict[str, Any]) -> None:
            line["at_ms"] += ms * (line["direction"] == direction)

        lines(folder / "ha" / f"{name}.timeline.jsonl", later)

    return doctor


def half_a_cell(folder: Path) -> None:
    """The slave sends five bytes of its fourth report, and then begins the fifth."""
    path, lost = folder / "ha" / "slave-join.s2m.bin", 3
    edit(path, lambda old: old[: 4 * 8 - lost] + old[4 * 8 :])

    def shorter(line: dict[str, Any]) -> None:
        if line["direction"] == "s2m":
            line["length"] -= lost * (line["offset"] == 3 * 8)
            line["offset"] -= lost * (line["offset"] > 3 * 8)

    lines(folder / "ha" / "slave-join.timeline.jsonl", shorter)


def untold_tail(folder: Path) -> None:
    """The master keeps its last three frames of data to itself."""
    path = folder / "ha" / "late-slave-join.m2s.bin"
    kept = frame_at(path.read_bytes(), 44)
    edit(path, lambda old: old[:kept])

    def before(old: bytes) -> bytes:
        found = [each for each in old.splitlines() if (line := json.loads(each))["direction"] == "s2m"
                 or line["offset"] < kept]  # fmt: skip
        return b"\n".join(found) + b"\n"

    edit(folder / "ha" / "late-slave-join.timeline.jsonl", before)


def never_ended(folder: Path) -> None:
    """The slave closed its first connection, and then lived on."""
    run = json.loads((folder / "run.json").read_bytes())
    was_told = ("slave ended", "slave up (start 1")
    run["events"] = [each for each in run["events"]
                     if each["at_ms"] > 50_000 or not each["event"].startswith(was_told)]  # fmt: skip
    edit(folder / "run.json", lambda _: json.dumps(run).encode())


def no_frames(folder: Path) -> None:
    overwrite(folder / "ha" / "slave-join.m2s.bin", 8, b"\xff\xff\xff\xff")


def never_unavailable(folder: Path) -> None:
    edit(folder / "remoting" / "producer--master.bin", lambda old: old.replace(b'"code":11,', b'"code":0 ,', 1))


def slow_convergence(folder: Path) -> None:
    run = json.loads((folder / "run.json").read_bytes())
    for each in run["events"]:
        if each["event"].startswith("in sync") and each["at_ms"] > 39_400:
            each["at_ms"] += 300_000
    edit(folder / "run.json", lambda _: json.dumps(run).encode())


def stored_byte(node: str) -> Doctor:
    return lambda folder: overwrite(folder / "store" / node / "commitlog" / f"{262144:020d}", 1_000, b"\0")


DOCTORS: list[tuple[str, Doctor]] = [
    ("ha-silent-until-asked", late("late-slave-join", "s2m", 50.0)),
    ("ha-start-offset", reports("slave-restart", lambda number, value: value - 5 * (number == 0))),
    ("ha-start-offset", frame_offset("late-slave-join", 0, -65_536)),
    ("ha-contiguous", frame_offset("slave-join", 20, 1)),
    ("ha-contiguous", body_byte),
    ("ha-batch-bound", setting("master", "haTransferBatchSize=32767")),
    ("ha-batch-bound", setting("master", "mappedFileSizeCommitLog=32768")),
    ("ha-report-monotone", reports("late-slave-join", lambda number, value: value - 9_999 * (number == 30))),
    ("ha-report-monotone", reports("late-slave-join", lambda number, value: value + (number == 30))),
    ("ha-mismatch-closes", frame_offset("slave-join", 20, 1)),
    ("ha-mismatch-closes", reports("slave-restart", lambda number, value: value - 112_000 * (number == 0))),
    ("ha-divergence-refused", reports("slave-restart", lambda number, value: value + FAR * (number == 0))),
    ("ha-ack-identity", reports("slave-join", lambda number, value: FAR if number > 9 else value)),
    ("ha-report-framing", half_a_cell),
    ("ha-report-prompt", late("slave-join", "s2m", 1_100.0)),
    ("ha-report-prompt", setting("slave", "haSendHeartbeatInterval=3000")),
    ("ha-frame-finished", body_byte),
    ("ha-frame-finished", frame_offset("slave-join", 20, 1)),
    ("ha-frame-finished", no_frames),
    ("ha-heartbeat", setting("master", "haSendHeartbeatInterval=3000")),
    ("ha-heartbeat", setting("slave", "haSendHeartbeatInterval=3000")),
    ("ha-heartbeat", frame_offset("slave-join", 40, -8)),
    ("ha-housekeeping", setting("master", "haHousekeepingInterval=3000")),
    ("ha-housekeeping", setting("slave", "haHousekeepingInterval=3000")),
    ("ha-housekeeping", never_ended),
    ("ha-wakeup", late("late-slave-join", "m2s", 150.0)),
    ("ha-role-independent", body_byte),
    ("ha-role-independent", untold_tail),
    ("ack-replicated", reports("slave-join", lambda number, value: 0)),
    ("ack-timeout-honest", setting("master", "slaveTimeout=3500")),
    ("ack-unavailable-honest", never_unavailable),
    ("live-converges", slow_convergence),
    ("log-prefix", stored_byte("late-slave")),
    ("log-records-whole", stored_byte("slave")),
    ("log-records-whole", stored_byte("master")),
    ("log-slave-behind", reports("late-slave-join", lambda number, value: value + FAR * (number == 30))),
]
