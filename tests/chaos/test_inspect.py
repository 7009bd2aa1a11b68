"""``pairproof inspect``: what Java's decoder says of the golden stores, and where damaged ones stop being whole."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.commands.inspect import lines
from pairproof.chaos.observers.full_record import java_hash, parse_properties
from pairproof.chaos.observers.store_folder import commit_log_folder, open_log
from pairproof.chaos.observers.store_reader import read_log
from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.harness.history import digest
from pairproof.harness.texts.content import payload as told_of

GOLDEN = Path(__file__).parents[1] / "golden" / "rocketmq-4.9.7"
EXPECTED = {"master": "master", "slave": "master", "late-slave": "late-slave"}


def expected(name: str) -> list[dict[str, Any]]:
    path = GOLDEN / "expected" / f"{name}.commitlog.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / "store" / "late-slave" / "commitlog", tmp_path / "log"))


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("folder", ["", "commitlog"])
@pytest.mark.parametrize("store", EXPECTED)
def test_every_field_of_every_record_is_what_java_says(
    store: str, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reference", "inspect", str(GOLDEN / "store" / store / folder), "--json"]) == 0
    assert told(capsys) == expected(EXPECTED[store])


def test_json_goes_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reference", "inspect", str(GOLDEN / "store" / "master"), "--json", str(tmp_path / "out.jsonl")]) == 0
    assert capsys.readouterr().out == ""
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert written == expected("master")


def test_people_get_a_table_and_where_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reference", "inspect", str(GOLDEN / "store" / "late-slave")]) == 0
    shown = capsys.readouterr().out
    assert "38 messages, 1 fillers; whole up to its end at 385638" in shown
    assert "Golden-four_1/0" in shown


@pytest.mark.parametrize(
    ("file", "at", "data", "where", "why"),
    [
        (262144, 20_196 + 4, b"\0\0\0\1", 282340, "bad magic"),
        (262144, 20_196 + 500, b"\0", 282340, "CRC"),
        (262144, 20_196, (1 << 30).to_bytes(4, "big"), 282340, "reaches past the end"),
        (262144, 58_282, (1 << 30).to_bytes(4, "big"), 320426, "filler"),
        (327680, 60_000, b"data", 385638, "data follows at 387680"),
    ],
)
def test_a_damaged_log_says_where_and_why(
    log: Path, file: int, at: int, data: bytes, where: int, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log / f"{file:020d}"
    before = path.read_bytes()
    path.write_bytes(before[:at] + data + before[at + len(data) :])
    assert main(["reference", "inspect", str(log), "--json"]) == 1
    *whole, last = told(capsys)
    assert (last["kind"], last["file"], last["physicalOffset"]) == ("broken", path.name, where)
    assert why in last["why"]
    assert whole == [
        each for each in expected("late-slave") if each["kind"] != "end" and each["physicalOffset"] < where
    ]
    assert main(["reference", "inspect", str(log)]) == 1
    assert f"broken at {where} in file {path.name}" in capsys.readouterr().out


def test_a_truncated_or_missing_file_is_where_the_log_breaks(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = log / f"{327680:020d}"
    last.write_bytes(last.read_bytes()[:30_000])
    assert main(["reference", "inspect", str(log), "--json"]) == 1
    assert told(capsys)[-1]["physicalOffset"] == 327680
    (log / f"{262144:020d}").rename(log / f"{65536:020d}")
    assert main(["reference", "inspect", str(log), "--json"]) == 1
    assert "lies at 262144" in told(capsys)[-1]["why"]


def test_a_folder_that_is_no_log_is_a_usage_error_of_one_line(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (log / "notes.txt").write_text("x")
    for path in (log, log / "notes.txt", log / "nowhere"):
        assert main(["reference", "inspect", str(path), "--json"]) == 2
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
        assert str(path) in said.err


def test_a_log_is_read_one_record_at_a_time() -> None:
    first = next(lines(GOLDEN / "store" / "master"))
    assert first["physicalOffset"] == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0), ("TagA", 2598919), ("polygenelubricants", -(1 << 31)), ("\U0001f600", 1772899)],
)
def test_tag_codes_are_javas_string_hash(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_properties_without_name_or_value_do_not_count() -> None:
    data = b"KEYS\x01a b\x02\x02n\x01\x02\x01v\x02x\x02TAGS\x01t\x02"
    assert parse_properties(data) == {"KEYS": "a b", "TAGS": "t"}


@pytest.mark.parametrize("store", EXPECTED)
def test_what_a_history_says_of_a_record_s_content_is_what_java_says(store: str) -> None:
    reading = read_log(open_log(GOLDEN / "store" / store))
    java = [each for each in expected(EXPECTED[store]) if each["kind"] == "message"]
    assert len(reading.records) == len(java) > 0
    for record, says in zip(reading.records, java, strict=True):
        held = told_of(record.content)
        assert (held.get("tags"), held["flag"]) == (says["tags"], says["flag"])
        assert sha256(record.body).hexdigest() == says["storedBodySha256"] and held["body"] == digest(record.body)
        real = says["properties"].get("REAL_TOPIC")
        assert held.get("real") == (real and f"{real}/{says['properties']['REAL_QID']}")


def test_a_store_without_a_commit_log_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(bytes(4096))
    with pytest.raises(UsageError, match="a store without a commitlog folder: this broker has stored no message yet"):
        commit_log_folder(tmp_path)
