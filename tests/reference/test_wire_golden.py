"""The codecs against what real RocketMQ 4.9.7 wrote: logs, HA streams and client frames, decoded whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from message_ids import decode as decode_id

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.wire import message_id, record, remoting
from pairproof.reference.wire.ha import FrameReader, ReportReader
from pairproof.reference.wire.properties import properties_of, tags_code
from pairproof.reference.wire.record import Blank, Record

FILE_SIZE = 65536
Rows = Callable[[str], list[dict[str, Any]]]

# name: frames, with data, covered log bytes, largest body, reports (count, first, last), as the capture's README says.
STREAMS = {
    "slave-join": (41, 36, (0, 112567), 20665, (41, 0, 112567)),
    "slave-restart": (65, 49, (112567, 385638), 32768, (65, 112567, 385638)),
    "late-slave-join": (52, 39, (262144, 385638), 20683, (53, 0, 385638)),
}


def as_java_says(data: bytes, found: Record, position: int) -> dict[str, Any]:
    """The record in the words of ``expected/*.commitlog.jsonl``, as far as a stored record determines them."""
    message = found.message
    properties = properties_of(message.properties)
    return {
        "kind": "message",
        "file": f"{position - position % FILE_SIZE:020d}",
        "physicalOffset": found.physical_offset,
        "storeSize": found.size,
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": found.queue_offset,
        "msgId": message_id.encode(message.store_host, found.physical_offset),
        "uniqKey": properties.get("UNIQ_KEY"),
        "tags": properties.get("TAGS"),
        "keys": properties.get("KEYS"),
        "flag": message.flag,
        "sysFlag": message.sys_flag,
        "bornTimestamp": message.born_ms,
        "bornHost": host(message.born_host),
        "storeTimestamp": found.store_ms,
        "storeHost": host(message.store_host),
        "reconsumeTimes": message.reconsume_times,
        "preparedTransactionOffset": message.prepared_offset,
        "bodyCRC": found.body_crc,
        "crc32OfStoredBody": found.body_crc,
        "storedBodyLength": len(message.body),
        "storedBodySha256": sha256(message.body).hexdigest(),
        "properties": properties,
        "tagsCodeOfTags": tags_code(properties),
        "recordSha256": sha256(data).hexdigest(),
    }


def host(value: tuple[bytes, int]) -> str:
    return f"{'.'.join(map(str, value[0]))}:{value[1]}"


@pytest.mark.parametrize("broker", ["master", "slave", "late-slave"])
def test_log_decodes_whole_to_what_java_decodes(broker: str, golden: Path, golden_rows: Rows) -> None:
    expected = golden_rows(f"{'late-slave' if broker == 'late-slave' else 'master'}.commitlog")
    files = sorted((golden / "store" / broker / "commitlog").iterdir())
    log, position = b"".join(file.read_bytes() for file in files), int(files[0].name)
    start = position
    for row in expected[:-1]:
        found = record.decode(log, position - start)
        if isinstance(found, Blank):
            name = f"{position - position % FILE_SIZE:020d}"
            assert {"kind": "blank", "file": name, "physicalOffset": position, "size": found.size} == row
            assert record.encode_blank(found.size) == log[position - start : position - start + 8]
        else:
            data = log[position - start : position - start + found.size]
            # After decompression only Java knows the body: bodyLength and bodySha256 are the two fields left out.
            assert as_java_says(data, found, position) == {
                key: value for key, value in row.items() if key not in ("bodyLength", "bodySha256")
            }
            assert record.encode(found.message, found.queue_offset, found.physical_offset, found.store_ms) == data
            assert record.why_misplaced(found, position) is None
        position += found.size
    assert expected[-1] == {
        "kind": "end",
        "file": f"{int(files[-1].name):020d}",
        "physicalOffset": position,
        "size": 0,
        "magic": 0,
    }
    assert not any(log[position - start :])


@pytest.mark.parametrize("name", STREAMS)
def test_ha_streams_decode_whole_to_the_log(name: str, golden: Path) -> None:
    count, with_data, (lo, hi), largest, (reports, first, last) = STREAMS[name]
    frames = list(FrameReader(largest).feed((golden / "ha" / f"{name}.m2s.bin").read_bytes()))
    bodies = [(offset, body) for offset, body in frames if body]
    assert (len(frames), len(bodies), max(len(body) for _, body in bodies)) == (count, with_data, largest)
    at = lo
    for offset, body in frames:
        assert offset == at
        at += len(body)
    assert at == hi
    log = b"".join(file.read_bytes() for file in sorted((golden / "store" / "master" / "commitlog").iterdir()))
    assert b"".join(body for _, body in bodies) == log[lo:hi]

    found = ReportReader().feed((golden / "ha" / f"{name}.s2m.bin").read_bytes())
    assert (len(found), found[0], found[-1]) == (reports, first, last)
    assert found == sorted(found)


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
@settings(max_examples=15)
def test_ha_streams_read_the_same_in_any_pieces(name: str, golden: Path, data: st.DataObject) -> None:
    raw = (golden / "ha" / f"{name}.m2s.bin").read_bytes()
    sizes = data.draw(st.lists(st.integers(1, 5000), min_size=1, max_size=12))
    reader, found, at = FrameReader(32768), [], 0
    while at < len(raw):
        size = sizes[len(found) % len(sizes)]
        found += list(reader.feed(raw[at : at + size]))
        at += size
    assert found == list(FrameReader(32768).feed(raw))


def test_captured_frames_make_the_real_slaves_log(golden: Path, golden_disk: Any, make_disk: Any) -> None:
    for names, broker in ((("slave-join", "slave-restart"), "slave"), (("late-slave-join",), "late-slave")):
        disk = make_disk()
        log = CommitLog(disk, FILE_SIZE)
        log.recover(True)
        for name in names:
            for offset, body in FrameReader(32768).feed((golden / "ha" / f"{name}.m2s.bin").read_bytes()):
                assert log.append(offset, body)
        expected = golden_disk(broker)
        assert sorted(disk.files) == sorted(expected.files)
        assert all(disk.files[name].data == expected.files[name].data for name in expected.files)


def captures() -> list[str]:
    folder = Path(__file__).parent.parent / "golden" / "rocketmq-4.9.7" / "remoting"
    return sorted(file.stem for file in folder.glob("*.bin"))


@pytest.mark.parametrize("name", captures())
def test_client_frames_decode_whole_and_round_trip(name: str, golden: Path) -> None:
    raw = (golden / "remoting" / f"{name}.bin").read_bytes()
    rows = [json.loads(line) for line in (golden / "remoting" / f"{name}.jsonl").read_text().splitlines()]
    commands = list(remoting.CommandReader().feed(raw))
    assert len(commands) == len(rows)
    for row, command in zip(rows, commands, strict=True):
        header, body = row["offset"] + 8, row["offset"] + 8 + row["header_length"]
        assert (row["code"], row["opaque"], row["flag"]) == (command.code, command.opaque, command.flag)
        assert (row["serializer"] == "ROCKETMQ") == command.binary
        assert (row["kind"] == "response", row["kind"] == "oneway") == (command.is_response, command.is_oneway)
        assert command.body == raw[body : row["offset"] + row["length"]]
        again = remoting.encode(command)
        if command.binary:
            assert again == raw[row["offset"] : row["offset"] + row["length"]]
        else:
            assert json.loads(again[8 : len(again) - len(command.body)]) == read_as_java(raw[header:body])
        assert list(remoting.CommandReader().feed(again)) == [command]


def read_as_java(header: bytes) -> Any:
    """Java leaves ``extFields`` out of a command without fields; we write an empty object."""
    return {"extFields": {}, **json.loads(header)}


def test_every_captured_send_and_pull_is_read(golden: Path) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for name in captures():
        rows = [json.loads(line) for line in (golden / "remoting" / f"{name}.jsonl").read_text().splitlines()]
        commands = remoting.CommandReader().feed((golden / "remoting" / f"{name}.bin").read_bytes())
        for row, command in zip(rows, commands, strict=True):
            code = row["request_code"] if command.is_response else command.code
            needed = {remoting.SEND_MESSAGE_V2: "be", remoting.PULL_MESSAGE: ("topic", "queueId", "queueOffset")}
            if code not in needed:
                continue
            counts[code, row["kind"]] += 1
            if not command.is_response:
                assert set(needed[code]) <= set(command.fields)
            elif code == remoting.SEND_MESSAGE_V2 and command.code in remoting.SEND_STATUS:
                assert decode_id(command.fields["msgId"])[0] == (b"\x7f\0\0\x01", 20911)
            elif code == remoting.PULL_MESSAGE and command.code == remoting.SUCCESS:
                assert_records(command.body)
    assert counts == {(310, "request"): 80, (310, "oneway"): 1, (310, "response"): 80} | {
        (11, "request"): 70,
        (11, "response"): 60,
    }


def assert_records(body: bytes) -> None:
    at = 0
    while at < len(body):
        found = record.decode(body, at)
        assert isinstance(found, Record)
        at += found.size
    assert at == len(body) > 0
