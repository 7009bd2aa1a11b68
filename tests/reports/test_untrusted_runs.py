"""Run folders from strangers: nothing is written outside of them, memory is bounded, and one does not spoil others."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.errors import CorruptRun
from pairproof.harness.runs import part_size, tables
from pairproof.harness.runs.reader import MAX_JSON_BYTES, RunReader, find_runs
from pairproof.harness.runs.wholeness import digest
from pairproof.reports.make import make_report

TARGET = "reference+repeats_frame"
LAWS = ("ha-appends-frames", "log-prefix")
MAX_RSS_KB = 600_000


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that violates laws, and has findings and histories."""
    runs = tmp_path_factory.mktemp("recorded")
    laws = [word for law in LAWS for word in ("--law", law)]
    assert main(["check", "--target", TARGET, "--trials", "12", "--jobs", "1", *laws, "--runs", str(runs)]) == 1
    (folder,) = runs.iterdir()
    return folder


@pytest.fixture
def run(recorded: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may change, three folders deep."""
    return shutil.copytree(recorded, tmp_path / "a" / "b" / recorded.name)


def tree(folder: Path, but: Path) -> dict[str, bytes]:
    """All files below a folder with what they hold, but for those of ``but``."""
    found = (each for each in folder.rglob("*") if each.is_file() and but not in each.parents)
    return {str(each): each.read_bytes() for each in found}


def facts(folder: Path, **changes: Any) -> None:
    told = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps({**told, **changes}))


def sealed(folder: Path) -> None:
    """Make a changed folder's list of contents right again, as a forger would."""
    contents = json.loads((folder / "run.json").read_bytes())["contents"]
    contents["digests"] = {each: digest((folder / each).read_bytes()) for each in contents["digests"]}
    facts(folder, contents=contents)


def forged(folder: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change each part of a table, and make the list of contents right again."""
    for part in (folder / table).glob("*.parquet"):
        part.write_bytes(tables.part_bytes(change(pq.read_table(part, partitioning=None))))
    sealed(folder)


def column(rows: pa.Table, name: str, value: Any) -> pa.Table:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, name, pa.repeat(pa.scalar(value, rows.schema.field(at).type), len(rows)))


# Nothing is written elsewhere.


@pytest.mark.parametrize(
    "name", ["../../../ESCAPED", "/ESCAPED", "..", "a/b", "", ".hidden", "x" * 300, "a\n", "other"]
)
def test_a_run_is_called_as_its_folder_is(name: str, run: Path, tmp_path: Path) -> None:
    before = tree(tmp_path, run)
    facts(run, run=name)
    forged(run, "verdicts", lambda rows: column(rows, "run", name))
    for arguments in (
        ["show"],
        ["report", "--engine", "local"],
        ["report", "--engine", "local", "--out", str(tmp_path / "o")],
    ):
        assert main([*arguments, str(run)]) == 3
    assert tree(tmp_path, run) == before


@pytest.mark.parametrize("path", ["../../../../ESCAPED", "/ESCAPED", "\x1b]0;owned\x07"])
def test_no_text_of_a_run_becomes_a_path(path: str, run: Path, tmp_path: Path, recorded: Path) -> None:
    told = json.loads((run / "run.json").read_bytes())
    texts = {name: path for name, each in told.items() if isinstance(each, str) and name not in ("run", "state")}
    facts(run, **texts, command=[path])
    for each in (run / "findings").glob("*.json"):
        finding = json.loads(each.read_bytes())
        changed = {name: path for name, value in finding.items() if isinstance(value, str) and name != "law"}
        each.write_text(json.dumps({**finding, **changed, "program": [path]}))
    for table, names in {
        "trials": ("origin", "seed", "cause"),
        "verdicts": ("text",),
        "history": ("f", "node"),
    }.items():
        forged(run, table, lambda rows, names=names: rows_with(rows, names, path))
    out, before = tmp_path / "out", tree(tmp_path, run)
    assert make_report([run], out, engine="local", rejudge=False).exit_code == 1
    assert {name: each for name, each in tree(tmp_path, run).items() if not name.startswith(str(out))} == before
    assert {each.name for each in (out / "trials").iterdir()} == {
        f"{n:03}.html" for n in range(1, len(list((out / "trials").iterdir())) + 1)
    }


def rows_with(rows: pa.Table, names: tuple[str, ...], value: str) -> pa.Table:
    for name in names:
        rows = column(rows, name, value)
    return rows


def test_no_link_in_a_run_is_written_through(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "victims"
    victim.write_text("mine")
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    (run / "replays").mkdir()
    (run / "replays" / "0001.json").symlink_to(victim)
    (run / "report").symlink_to(folder)
    finding = run / "findings" / "0001.json"
    before = tree(tmp_path, run)
    assert main(["replay", str(finding)]) == 1
    assert main(["report", "--engine", "local", str(run)]) == 2
    assert f"{run / 'report'} is a symbolic link" in capsys.readouterr().err
    assert tree(tmp_path, run) == before
    (run / "replays" / "0001.json").unlink()
    (run / "replays").rmdir()
    (run / "replays").symlink_to(folder)
    assert main(["replay", str(finding)]) == 1
    assert tree(tmp_path, run) == before


@pytest.mark.parametrize("linked", ["run.json", "chunks", "verdicts", "trials", "findings"])
def test_no_link_in_a_campaign_is_written_or_removed_through(linked: str, tmp_path: Path) -> None:
    arguments = ["campaign", "--engine", "local", "--jobs", "1", "--trials", "8", "--law", "log-prefix", "--seed", "s"]
    assert main([*arguments, "--runs", str(tmp_path / "runs")]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    told = json.loads((run / "run.json").read_bytes())
    facts(run, **{**told, "state": "running", "contents": None})
    (run / "trials" / "part-00000.parquet").unlink()
    elsewhere = tmp_path / "elsewhere"
    (run / linked).rename(elsewhere)
    (run / linked).symlink_to(elsewhere)
    before = tree(tmp_path, run)
    assert main(["campaign", "--engine", "local", "--jobs", "1", "--resume", str(run)]) == 3
    assert tree(tmp_path, run) == before


# Memory is bounded.


def bomb(folder: Path) -> None:
    """A page of one value, which a dictionary holds once and each row names."""
    part = next((folder / "verdicts").glob("*.parquet"))
    rows = pq.read_table(part, partitioning=None)
    pq.write_table(column(rows, "text", "x" * 20_000_000), part, compression="zstd", write_page_checksum=True)


def test_a_part_that_unpacks_to_gigabytes_is_refused(run: Path) -> None:
    bomb(run)
    sealed(run)
    assert sum(each.stat().st_size for each in (run / "verdicts").iterdir()) < 60_000
    code, peak_kb, said = measured("show", str(run))
    assert code == 3 and peak_kb < MAX_RSS_KB and "a value has more than" in said


REPORT = ("report", "--engine", "local", "--no-rejudge")


def measured(*arguments: str) -> tuple[int, int, str]:
    """Exit code, peak memory and standard error of a command in a process of its own."""
    started = [sys.executable, "-c", MEASURED, *arguments]
    done = subprocess.run(started, capture_output=True, text=True, check=True, timeout=120)
    code, peak_kb = map(int, done.stdout.split()[-2:])
    return code, peak_kb, done.stderr


def swollen(folder: Path, table: str, name: str, size: int, parts: int | None = None) -> None:
    """Give each of the first ``parts`` parts of a table texts of ``size`` bytes, no value of which is too large."""
    for part in sorted((folder / table).glob("*.parquet"))[:parts]:
        rows = pq.read_table(part, partitioning=None)
        text = "x" * min(size // len(rows), part_size.MAX_VALUE_BYTES)
        alike = pa.DictionaryArray.from_arrays(pa.array([0] * len(rows), pa.int32()), [text])
        rows = rows.set_column(rows.schema.get_field_index(name), name, alike)
        pq.write_table(rows, part, compression="zstd", write_page_checksum=True, store_schema=False)
    sealed(folder)


@pytest.mark.parametrize(("size", "is_read"), [(40_000_000, True), (150_000_000, False)])
def test_the_texts_of_few_rows_are_few(size: int, is_read: bool, run: Path) -> None:
    """A reader has them several times: 150 MB in a part of history made a report take 980 MB."""
    swollen(run, "history", "message", size, parts=1)
    code, peak_kb, said = measured(*REPORT, str(run))
    assert code == 1 and peak_kb < MAX_RSS_KB and ("its values have more than" in said) is not is_read


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign's run, which has the same seven parts wherever it is played."""
    runs = tmp_path_factory.mktemp("campaign")
    laws = [word for law in LAWS for word in ("--law", law)]
    asked = ["--trials", "24", "--engine", "local", "--jobs", "1", *laws, "--runs", str(runs)]
    assert main(["campaign", "--target", TARGET, "--seed", "parts", *asked]) == 1
    (folder,) = runs.iterdir()
    return folder


@pytest.mark.parametrize("parts", [1, 7])
@pytest.mark.parametrize(
    ("table", "name", "command"), [("verdicts", "text", ("show",)), ("history", "message", REPORT)]
)
def test_parts_that_are_kept_together_are_counted_together(
    table: str, name: str, command: tuple[str, ...], parts: int, campaign: Path, tmp_path: Path
) -> None:
    """Each may be read, and one of them is; what all of them took had no limit but their number."""
    run = shutil.copytree(campaign, tmp_path / campaign.name)
    swollen(run, table, name, 20_000_000, parts)
    code, peak_kb, said = measured(*command, str(run))
    assert code == (1 if parts == 1 else 3) and ("its values have more than" in said) is (code == 3)
    assert peak_kb < MAX_RSS_KB


def test_parts_that_are_too_much_together_spoil_no_other_run(campaign: Path, good: Path, tmp_path: Path) -> None:
    run = shutil.copytree(campaign, tmp_path / campaign.name)
    swollen(run, "history", "message", 40_000_000)
    made = make_report([good, run], tmp_path / "out", engine="local", rejudge=False)
    assert {row["run"] for row in made.report.runs} == {good.name} and made.exit_code == 3


# Not getrusage, which also counts the process that started it.
MEASURED = """
import sys
from pathlib import Path
from pairproof.harness.commands.main import main
code = main(sys.argv[1:])
(peak,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(code, peak)
"""


def test_what_a_part_takes_is_known_from_its_pages() -> None:
    good = tables.part_bytes(pa.table({"a": pa.array(range(1000)), "b": pa.array(["x", "y"] * 500)}))
    part_size.check(good, pq.read_metadata(pa.BufferReader(good)))
    large = tables.part_bytes(pa.table({"a": pa.array(["x" * (part_size.MAX_PAGES_BYTES // 2 + 1)] * 2)}))
    assert len(large) < 100_000
    with pytest.raises(ValueError, match=r"its [\d,]+ bytes unpack to"):
        huge = pa.table({name: pa.array(["x" * (part_size.MAX_PAGES_BYTES // 2 + 1)]) for name in "ab"})
        data = tables.part_bytes(huge)
        part_size.check(data, pq.read_metadata(pa.BufferReader(data)))


def test_a_footer_that_lies_about_sizes_is_not_believed(run: Path) -> None:
    """All that counts is what the pages say, since a reader makes room for that."""
    part = next((run / "trials").glob("*.parquet"))
    data = bytearray(part.read_bytes())
    size = struct.unpack("<i", data[-8:-4])[0]
    assert size < 100_000
    data[-8:-4] = struct.pack("<i", tables.MAX_FOOTER_BYTES + 1)
    part.write_bytes(data)
    sealed(run)
    with pytest.raises(CorruptRun, match="its footer has"):
        RunReader(run).check()


def test_facts_are_bounded_wherever_they_are_read(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts(run, reason="x" * MAX_JSON_BYTES)
    assert find_runs(run.parent) == [run]
    assert main(["show", str(run)]) == 3
    assert f"run.json cannot be read (more than {MAX_JSON_BYTES:,} bytes)" in capsys.readouterr().err
    (run / "run.json").unlink()
    os.mkfifo(run / "run.json")
    assert find_runs(run.parent) == [run] and main(["show", str(run)]) == 3


# One run does not spoil others.


def detail(rows: pa.Table) -> pa.Table:
    starts = pc.equal(rows["kind"], "start")
    at = rows.schema.get_field_index("detail")
    return rows.set_column(at, "detail", pc.if_else(starts, "no JSON", rows["detail"]))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two trials that holds."""
    runs = tmp_path_factory.mktemp("good")
    asked = ["--trials", "2", "--jobs", "1", "--law", "log-prefix", "--runs", str(runs)]
    assert main(["check", "--target", "reference", *asked]) == 0
    (folder,) = runs.iterdir()
    return folder


SPOILT: dict[str, Callable[[Path], object]] = {
    "began before there was UTC": lambda run: facts(run, began="0001-01-01T00:00:00+14:00"),
    "laws that are a number": lambda run: facts(run, laws=5),
    "a number that is none": lambda run: (run / "run.json").write_text(
        (run / "run.json").read_text().replace('"seconds":', '"seconds": NaN, "was":')
    ),
    "trials beyond all numbers": lambda run: facts(run, trials=10**400),
    "a state of its own": lambda run: facts(run, state="green"),
    "minimums of another kind": lambda run: facts(run, minimums=[{"what": 1}]),
    "searches of another kind": lambda run: facts(run, searches=[{"origin": []}]),
    "cases of another kind": lambda run: facts(run, cases=[{}]),
    "deviations of another kind": lambda run: facts(run, deviations=[{"id": []}]),
    "rows of another run": lambda run: forged(run, "verdicts", lambda rows: column(rows, "run", "another")),
    "trials of another run": lambda run: forged(run, "trials", lambda rows: column(rows, "run", "another")),
    "a detail that is no JSON": lambda run: forged(run, "history", detail),
    "notes that are no JSON": lambda run: forged(run, "verdicts", lambda rows: column(rows, "notes", "no JSON")),
    "notes of another kind": lambda run: forged(run, "verdicts", lambda rows: column(rows, "notes", '{"a": "b"}')),
    "arguments of another kind": lambda run: forged(run, "faults", lambda rows: column(rows, "args", "[]")),
    "a schedule that is none": lambda run: forged(run, "trials", lambda rows: column(rows, "schedule", "[" * 5_000)),
    "verdicts that are none": lambda run: forged(run, "verdicts", lambda rows: column(rows, "verdict", "green")),
    "trials without a number": lambda run: forged(run, "trials", lambda rows: column(rows, "trial", None)),
}


@pytest.mark.parametrize("case", SPOILT)
def test_an_odd_run_is_left_out_and_the_others_are_told(case: str, run: Path, good: Path, tmp_path: Path) -> None:
    SPOILT[case](run)
    assert find_runs(run.parent) == [run]
    assert main(["show", str(run)]) in (1, 3)
    made = make_report([good, run], tmp_path / "out", engine="local", rejudge=False)
    assert good.name in {row["run"] for row in made.report.runs} and made.exit_code in (1, 3)


# One verdict.


def test_all_commands_end_as_the_tables_and_findings_say(run: Path) -> None:
    commands = (["show"], ["judge"], ["report", "--engine", "local", "--no-rejudge"])
    assert [main([*each, str(run)]) for each in commands] == [1, 1, 1]


def holds(rows: pa.Table) -> pa.Table:
    return column(rows, "verdict", "holds")


def test_tables_that_contradict_the_findings_are_a_corrupt_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forged(run, "verdicts", holds)
    commands = (["show"], ["judge"], ["report", "--engine", "local", "--no-rejudge"])
    assert [main([*each, str(run)]) for each in commands] == [3, 3, 3]
    assert "violates" in (told := capsys.readouterr().err) and "and the tables do not" in told


def test_tables_that_were_changed_are_a_corrupt_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forged(run, "verdicts", holds)
    for each in (run / "findings").iterdir():
        each.unlink()
    assert main(["show", str(run)]) == 3
    assert "is missing" in capsys.readouterr().err


def test_judge_says_what_tables_say_where_no_history_is_left(run: Path) -> None:
    """Histories are a sample: without them the run's own verdicts still count."""
    for part in (run / "history").glob("*.parquet"):
        part.unlink()
    contents = json.loads((run / "run.json").read_bytes())["contents"]
    contents["parts"]["history"] = {}
    contents["digests"] = {name: each for name, each in contents["digests"].items() if not name.startswith("history")}
    facts(run, contents=contents)
    assert main(["judge", str(run)]) == 1
    assert main(["judge", str(run), "--law", LAWS[0]]) == 3
