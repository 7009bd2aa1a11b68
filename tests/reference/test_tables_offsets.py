"""Consumer progress and delay offsets: commits, persistence, what a slave takes from its master; and the capture's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core.consumer_offsets import ConsumerOffsets
from pairproof.reference.core.delay_offsets import DelayOffsets
from pairproof.reference.errors import CodecError
from pairproof.reference.wire import beans, bodies, headers
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command, CommandReader


def offsets(disk: SimDisk | None = None) -> ConsumerOffsets:
    table = ConsumerOffsets(disk or SimDisk())
    table.load()
    return table


def delays(disk: SimDisk | None = None) -> DelayOffsets:
    table = DelayOffsets(disk or SimDisk())
    table.load()
    return table


def test_query_gives_the_last_commit_smaller_ones_too() -> None:
    table = offsets()
    assert table.query("G", "T", 0) is None
    for offset in (7, 3):
        table.commit("G", "T", 0, offset)
    assert table.query("G", "T", 0) == 3
    assert table.query("G", "T", 1) is None and table.query("H", "T", 0) is None and table.query("G", "U", 0) is None


def test_commits_since_the_last_save_are_lost_with_the_process_and_no_others() -> None:
    disk = SimDisk()
    table = offsets(disk)
    table.commit("G", "T", 0, 5)
    table.save()
    table.commit("G", "T", 0, 9)
    assert offsets(disk).query("G", "T", 0) == 5
    table.save()
    assert offsets(disk).query("G", "T", 0) == 9


def test_answer_to_a_slave_has_what_is_not_saved_yet() -> None:
    table = offsets()
    table.commit("G", "T", 1, 5)
    assert table.encode() == b'{"offsetTable":{"T@G":{1:5}}}'


def test_nothing_is_written_while_nothing_changes() -> None:
    disk = SimDisk()
    table, slow = offsets(disk), delays(disk)
    table.commit("G", "T", 0, 5)
    slow.put(1, 5)
    for each in (table, slow):
        each.save()
    disk.files.clear()
    slow.put(1, 5)
    for each in (table, slow):
        each.save()
    assert disk.files == {}


def test_commits_that_a_full_disk_refused_are_saved_later() -> None:
    disk = SimDisk()
    table = offsets(disk)
    table.commit("G", "T", 0, 5)
    disk.full.append(ActiveFault())
    table.save()
    assert offsets(disk).table == {}
    disk.full.clear()
    table.save()
    assert offsets(disk).query("G", "T", 0) == 5


def test_torn_file_is_read_from_its_backup() -> None:
    disk = SimDisk()
    table = offsets(disk)
    for offset in (5, 9):
        table.commit("G", "T", 0, offset)
        table.save()
        table.file.flushed(table.file.saves)
    disk.write_whole("config/consumerOffset.json", b'{"offsetTable":{"T@G":{0:')
    assert offsets(disk).query("G", "T", 0) == 5


def test_slave_takes_each_key_of_the_master_whole_and_keeps_the_others() -> None:
    disk = SimDisk()
    table = offsets(disk)
    table.commit("G", "T", 0, 50)
    table.commit("G", "T", 1, 60)
    table.commit("Deleted", "T", 0, 7)
    before = table.table
    master = {"T@G": {0: 5}, "U@G": {3: 4}}
    table.apply_from_master(master)
    assert table.table == {"T@G": {0: 5}, "T@Deleted": {0: 7}, "U@G": {3: 4}}
    assert offsets(disk).table == table.table
    assert before == {"T@G": {0: 50, 1: 60}, "T@Deleted": {0: 7}}
    table.commit("G", "T", 0, 6)
    assert master["T@G"] == {0: 5}


def test_removed_group_loses_its_progress_in_all_topics() -> None:
    disk = SimDisk()
    table = offsets(disk)
    for topic in ("T", "U"):
        table.commit("G", topic, 0, 5)
        table.commit("H", topic, 0, 5)
    table.save()
    table.remove_group("G")
    table.save()
    assert set(table.table) == {"T@H", "U@H"} == set(offsets(disk).table)


def test_progress_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.consumer_offsets.MAX_KEYS", 1)
    table = offsets()
    assert table.commit("G", "T", 0, 5) and table.commit("G", "T", 1, 5)
    assert not table.commit("H", "T", 0, 5)
    assert set(table.table) == {"T@G"}


def test_delay_offsets_come_back_after_a_restart() -> None:
    disk = SimDisk()
    table = delays(disk)
    table.put(3, 17)
    assert delays(disk).table == {}
    table.save()
    assert delays(disk).table == {3: 17} and table.encode() == b'{"offsetTable":{3:17}}'


def test_slave_saves_the_masters_delay_offsets_as_they_came_and_uses_them_after_a_restart() -> None:
    disk = SimDisk()
    slave = delays(disk)
    slave.save_text(b'{"offsetTable":{1:2}}')
    assert slave.table == {}
    assert disk.read_whole("config/delayOffset.json") == b'{"offsetTable":{1:2}}'
    assert delays(disk).table == {1: 2}
    with pytest.raises(CodecError):
        slave.save_text(b'{"offsetTable":{"x":2}}')
    assert delays(disk).table == {1: 2}


# The capture.


def frames(golden: Path, name: str) -> list[tuple[int | None, Command]]:
    """The captured frames, each with the code of the request that it answers."""
    rows = [json.loads(line) for line in (golden / "remoting" / f"{name}.jsonl").read_text().splitlines()]
    commands = CommandReader().feed((golden / "remoting" / f"{name}.bin").read_bytes())
    return [(row["request_code"], command) for row, command in zip(rows, commands, strict=True)]


def test_captured_files_are_written_again_byte_by_byte(golden: Path) -> None:
    for broker in ("master", "slave", "late-slave"):
        data = (golden / "store" / broker / "config" / "consumerOffset.json").read_bytes()
        disk = SimDisk()
        disk.write_whole("config/consumerOffset.json", data)
        table = offsets(disk)
        assert beans.encode(bodies.ConsumerOffsets(table.table), pretty=True) == data
    disk, data = SimDisk(), (golden / "store" / "master" / "config" / "delayOffset.json").read_bytes()
    table = delays(disk)
    table.put(1, 2)
    table.save()
    assert disk.read_whole("config/delayOffset.json") == data


def test_captured_commits_lead_to_the_real_masters_file(golden: Path) -> None:
    table, commits = offsets(), 0
    for _, command in frames(golden, "consumer--master"):
        if command.code == RequestCode.UPDATE_CONSUMER_OFFSET and not command.is_response:
            fields = headers.decode_request(command)
            table.commit(fields["consumerGroup"], fields["topic"], fields["queueId"], fields["commitOffset"])
            commits += 1
    assert commits == 80
    data = (golden / "store" / "master" / "config" / "consumerOffset.json").read_bytes()
    assert table.table == beans.decode(bodies.ConsumerOffsets, data).offset_table


@pytest.mark.parametrize("broker", ["slave", "late-slave"])
def test_captured_syncs_leave_the_slave_with_the_real_slaves_files(golden: Path, broker: str) -> None:
    disk = SimDisk()
    table, slow, syncs = offsets(disk), delays(disk), 0
    for code, command in frames(golden, f"{broker}--master"):
        if code == RequestCode.GET_ALL_CONSUMER_OFFSET:
            table.apply_from_master(beans.decode(bodies.ConsumerOffsets, command.body).offset_table)
            syncs += 1
        elif code == RequestCode.GET_ALL_DELAY_OFFSET:
            slow.save_text(command.body)
    assert syncs > 5
    folder = golden / "store" / broker / "config"
    saved = beans.decode(bodies.ConsumerOffsets, (folder / "consumerOffset.json").read_bytes())
    assert offsets(disk).table == saved.offset_table and saved.offset_table
    assert disk.read_whole("config/delayOffset.json") == (folder / "delayOffset.json").read_bytes()
