"""A damaged run folder is named in one line with a remedy; a run is found by path, id or as the latest."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairproof.harness import history
from pairproof.harness.errors import CorruptRun, LabError, UsageError
from pairproof.harness.event_types import machine as kinds
from pairproof.harness.history import Event
from pairproof.harness.judging.law import Violation
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.runs import atomic, schema
from pairproof.harness.runs.reader import RunReader, find_runs, named_finding, read_finding, resolve_run, to_finding
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import FaultOutcome, Finding, Trial

FACTS = {"seed": "s", "target": "reference", "system": "rocketmq", "lab": "sim", "keep": "all"}
SCHEDULE = Schedule({}, "seed", (Op("advance", {"ms": 5}),))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "r"
    with RunWriter(folder, FACTS) as writer:
        happened = [Event(n, n, "append", "master", lo=n, hi=n + 1, digest=n) for n in range(500)]
        happened.append(kinds.Fault(500, 500, "fault", "master", op=0, f="kill", status="on", detail="{}"))
        happened.append(Event(501, 501, "stop", "master"))
        fault = FaultOutcome(0, "down", {}, 1, 2, 1, {})
        writer.trial(Trial(0, "sweep", SCHEDULE, happened, [BROKEN], (fault,)))
        writer.finding(Finding("log-prefix", "differs", "reference", "sim", 0, 0, SCHEDULE, 1))
        writer.coverage({("READY", "report", "down"): 1})
    RunReader(folder).check()
    return folder


BROKEN = Judgement("log-prefix", Verdict.VIOLATED, 1, 1, (Violation(0, 0, "differs"),))


def read_all(folder: Path) -> None:
    reader = RunReader(folder)
    reader.check()
    for table in schema.TABLES:
        for _ in reader.table(table):
            pass


OLD = Path(__file__).with_name("run-format-1") / "20261126T175358-sim-reference"


def unseal(folder: Path) -> None:
    """Take away the digests of its files, which runs of before did not have."""
    contents = json.loads((folder / "run.json").read_bytes())["contents"]
    del contents["digests"]
    edit_json(folder / "run.json", contents=contents)


def edit_json(path: Path, **changes: object) -> None:
    atomic.put_json(path.parent, path.name, {**json.loads(path.read_text()), **changes})


DAMAGES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no facts": ("run.json", lambda path: path.unlink(), "is missing, so .* is not a run folder; "),
    "half the facts": ("run.json", lambda path: path.write_bytes(path.read_bytes()[:40]), "cannot be read .*; delete"),
    "facts that are a list": ("run.json", lambda path: path.write_text("[]"), "is not a JSON object; delete"),
    "facts that are no text": ("run.json", lambda path: path.write_bytes(b"\xff\xfe\x00"), "cannot be read"),
    "facts too deep": ("run.json", lambda path: path.write_text("[" * 100_000), "cannot be read"),
    "another format": (
        "run.json",
        lambda path: edit_json(path, format=5),
        "has format 5, this version reads 1 to 4; use",
    ),
    "no state": ("run.json", lambda path: edit_json(path, state=None), "has no state; delete"),
    "no finding": ("findings/0001.json", lambda path: path.write_text("{"), "cannot be read .*; copy the whole folder"),
    "other finding": (
        "findings/0001.json",
        lambda path: edit_json(path, law=7),
        r"lacks what a finding holds \(.*law\); copy the whole folder",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_facts_and_findings_are_named_with_a_remedy(run: Path, damage: str) -> None:
    name, hurt, line = DAMAGES[damage]
    hurt(run / name)
    with pytest.raises(CorruptRun, match=f"{name} {line}") as raised:
        read_all(run)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 3


@pytest.mark.parametrize("table", schema.TABLES)
@pytest.mark.parametrize("length", [0, 3, 50, -1, -30])
def test_a_truncated_part_is_named_with_a_remedy(run: Path, table: str, length: int) -> None:
    part = run / table / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:length])
    with pytest.raises(CorruptRun, match=rf"{table}/part-00000\.parquet is damaged .*; copy the whole folder"):
        read_all(run)


def rows_of(folder: Path) -> list[object]:
    reader = RunReader(folder)
    return [row for table in schema.TABLES for part in reader.table(table) for row in part.to_pylist()]


@pytest.mark.parametrize("table", schema.TABLES)
def test_a_flipped_bit_is_named_or_changes_no_row(run: Path, table: str) -> None:
    part = run / table / "part-00000.parquet"
    whole = part.read_bytes()
    expected = rows_of(run)
    named = 0
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        changed = bytearray(whole)
        changed[at] ^= 0x10
        part.write_bytes(changed)
        try:
            assert rows_of(run) == expected, f"byte {at} of {len(whole)}"
        except CorruptRun as error:
            named += 1
            assert f"{table}/part-00000.parquet" in str(error)
    assert named > 10


def test_columns_that_are_not_known_are_ignored_and_those_that_lack_are_null(run: Path) -> None:
    part = run / "history" / "part-00000.parquet"
    before = list(RunReader(run).histories())
    later = (
        pq.read_table(part)
        .drop_columns(["group", "broker"])
        .append_column("z", pa.array([1.5] * pq.read_metadata(part).num_rows))
    )
    pq.write_table(later, part)
    unseal(run)
    after = list(RunReader(run).histories())
    assert after == [(trial, [each._replace(group=None, broker=None) for each in events]) for trial, events in before]


def test_a_history_without_what_every_event_has_is_refused_in_a_line_with_a_remedy(run: Path) -> None:
    part = run / "history" / "part-00000.parquet"
    pq.write_table(pq.read_table(part).drop_columns(["kind"]), part)
    with pytest.raises(CorruptRun) as told:
        list(RunReader(run).histories())
    said = str(told.value)
    assert said.startswith(f"{part} is not a history of format {history.FORMAT} (kind: none)") and "\n" not in said
    assert said.endswith("or record the run again")


def test_a_run_of_format_1_is_read() -> None:
    # Recorded with pairproof check --trials 5 --seed old --law log-prefix --law ack-prompt by the last version before.
    reader = RunReader(OLD)
    trials = list(reader.trials())
    assert len(trials) == reader.facts["trials"] == 42 and {each["target"] for each in trials} == {None}
    assert {each["verdict"] for each in reader.verdicts()} == {"holds", "not-applicable"}
    assert sum(len(events) for _, events in reader.histories()) > 0


@pytest.mark.parametrize("columns", [{"trial": [0]}, {"run": ["r"], "surprise": [1.5]}], ids=["fewer", "other"])
def test_other_columns_are_refused(run: Path, columns: dict[str, list[object]]) -> None:
    pq.write_table(pa.table(columns), run / "verdicts" / "part-00000.parquet")
    with pytest.raises(CorruptRun, match="does not have the columns of verdicts"):
        read_all(run)


def test_other_types_are_refused(run: Path) -> None:
    part = run / "faults" / "part-00000.parquet"
    table = pq.read_table(part)
    pq.write_table(table.set_column(1, "trial", table.column("trial").cast(pa.string())), part)
    with pytest.raises(CorruptRun, match="does not have the columns of faults"):
        read_all(run)


def test_what_was_being_written_when_a_run_died_does_not_count(run: Path) -> None:
    for table in schema.TABLES:
        (run / table / ".part-00001.parquet.tmp").write_bytes(b"half")
    (run / "findings" / ".0002.json.tmp").write_bytes(b"{")
    read_all(run)


def record(folder: Path, ended: bool = True) -> None:
    """A run of three parts, with everything that a run folder may hold."""
    writer = RunWriter(folder, {**FACTS, "laws": ["log-prefix"]})
    judged = [Judgement("log-prefix", Verdict.VIOLATED, 1, 1, (Violation(0, 0, "differs"),))]
    for number in range(3):
        fault = FaultOutcome(0, "down", {}, 1, 2, 1, {})
        begun = kinds.Fault(0, 0, "fault", "master", op=0, f="kill", status="on", detail="{}")
        events = [begun, Event(1, 0, "crash", "master", f="machine"), Event(2, 9, "start", "master")]
        trial = Trial(number, "sweep", SCHEDULE, events, judged, (fault,), logs={"master": "hello"})
        writer.trial(trial)
        writer.finding(Finding("log-prefix", "differs", "reference", "sim", number, number, SCHEDULE, 1))
        failed = LabError("no room")
        failed.trial = trial
        writer.failure("reference", "sim", failed)
    if ended:
        writer.coverage({("READY", "report", "down"): 1})
        writer.close()


def files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_whatever_file_a_finished_run_has_lost_is_noticed_and_named(tmp_path: Path) -> None:
    record(tmp_path / "whole")
    names = files(tmp_path / "whole")
    assert {each.split("/")[0] for each in names} >= {*schema.TABLES, "findings", "failures", "logs", "run.json"}
    for number, name in enumerate(names):
        copy = tmp_path / str(number) / "whole"
        shutil.copytree(tmp_path / "whole", copy)
        (copy / name).unlink()
        with pytest.raises(CorruptRun, match=f"{name} is missing") as raised:
            read_all(copy)
        assert "\n" not in str(raised.value) and raised.value.exit_code == 3


@given(st.data())
@settings(max_examples=40)
def test_whatever_files_a_finished_run_has_lost_is_noticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "r"
        record(folder)
        lost = data.draw(st.sets(st.sampled_from(files(folder)), min_size=1))
        for name in lost:
            (folder / name).unlink()
        # Every way in: whoever reads one table alone must notice, too.
        for read in (
            RunReader.check,
            RunReader.findings,
            lambda run: list(run.trials()),
            lambda run: list(run.faults()),
        ):
            with pytest.raises(CorruptRun):
                read(RunReader(folder))  # type: ignore[operator]


@pytest.mark.parametrize("lost", [*schema.TABLES, "findings", "failures", "logs"])
def test_a_folder_that_is_gone_as_a_whole_is_noticed_by_every_reader(tmp_path: Path, lost: str) -> None:
    record(tmp_path / "r")
    shutil.rmtree(tmp_path / "r" / lost)
    for read in (RunReader.verdicts, RunReader.trials, RunReader.faults, RunReader.histories, RunReader.findings):
        with pytest.raises(CorruptRun, match=f"{lost}/.* is missing"):
            list(read(RunReader(tmp_path / "r")))  # type: ignore[operator]


def test_rows_that_are_fewer_than_were_written_and_parts_of_other_runs_are_noticed(tmp_path: Path) -> None:
    record(tmp_path / "r")
    part = tmp_path / "r" / "faults" / "part-00001.parquet"
    whole = part.read_bytes()
    pq.write_table(pq.read_table(part).slice(0, 0), part)
    with pytest.raises(CorruptRun, match=r"part-00001\.parquet has 0 rows, and 1 were written"):
        read_all(tmp_path / "r")
    part.write_bytes(whole)
    shutil.copy(tmp_path / "r" / "trials" / "part-00001.parquet", tmp_path / "r" / "trials" / "part-00003.parquet")
    with pytest.raises(CorruptRun, match=r"part-00003\.parquet is not one of this run's parts"):
        read_all(tmp_path / "r")


def test_what_a_killed_run_committed_is_read_and_a_gap_in_it_is_noticed(tmp_path: Path) -> None:
    record(tmp_path / "r", ended=False)
    reader = RunReader(tmp_path / "r")
    assert reader.facts["state"] == "running" and [row["trial"] for row in reader.trials()] == [0, 1, 2]
    for name in ("trials/part-00000", "trials/part-00001", "verdicts/part-00001"):
        copy = shutil.copytree(tmp_path / "r", tmp_path / name / "r")
        (copy / f"{name}.parquet").unlink()
        with pytest.raises(CorruptRun, match=f"{name}.parquet is missing"):
            read_all(copy)
    # The last part may be one that was never committed, but for its finding.
    (tmp_path / "r" / "trials" / "part-00002.parquet").unlink()
    with pytest.raises(CorruptRun, match="has a finding of trial 2, and not that trial"):
        read_all(tmp_path / "r")
    (tmp_path / "r" / "findings" / "0003.json").unlink()
    assert [row["trial"] for row in RunReader(tmp_path / "r").trials()] == [0, 1]


def test_a_run_that_goes_on_while_it_is_read_is_not_taken_for_one_that_lost_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "all" / "r", ended=False)
    begun = shutil.copytree(tmp_path / "all" / "r", tmp_path / "r")
    for last in ("trials/part-00002.parquet", "findings/0003.json"):
        (begun / last).unlink()
    read = RunReader._findings

    def meanwhile(reader: RunReader) -> list[dict[str, Any]]:
        # The next trial and its finding come right before findings are listed.
        shutil.copytree(tmp_path / "all" / "r", begun, dirs_exist_ok=True)
        return read(reader)

    monkeypatch.setattr(RunReader, "_findings", meanwhile)
    assert [row["trial"] for row in RunReader(begun).trials()] == [0, 1, 2]


def test_a_run_from_before_there_were_lists_is_read_if_it_has_all_its_trials(tmp_path: Path) -> None:
    record(tmp_path / "r")
    facts = json.loads((tmp_path / "r" / "run.json").read_text())
    del facts["contents"]
    (tmp_path / "r" / "run.json").write_text(json.dumps(facts))
    read_all(tmp_path / "r")
    (tmp_path / "r" / "trials" / "part-00002.parquet").unlink()
    with pytest.raises(CorruptRun, match="holds 2 of its 3 trials"):
        read_all(tmp_path / "r")


NO_LISTS: list[object] = [
    [], {"parts": {}}, {"parts": {"trials": 3}, "files": {}}, {"parts": {}, "files": []},
    {"parts": {}, "files": {"findings": [1]}},
]  # fmt: skip


@pytest.mark.parametrize("told", NO_LISTS)
def test_a_list_that_is_none_is_refused(run: Path, told: object) -> None:
    edit_json(run / "run.json", contents=told)
    with pytest.raises(CorruptRun, match=r"has no list of contents|has facts that no run writes .contents."):
        read_all(run)


def test_histories_of_chosen_trials_are_found_in_whichever_part_they_lie(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", FACTS) as writer:
        for number in range(3):
            writer.trial(Trial(number, "sweep", SCHEDULE, [Event(0, number, "mark")], []))
            writer.flush()
    assert [number for number, _ in RunReader(tmp_path / "r").histories([1])] == [1]


def test_no_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="record a run with pairproof check"):
        RunReader(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no finding"):
        named_finding(tmp_path / "nowhere.json")


def test_a_file_of_the_user_s_own_is_not_a_damaged_finding(run: Path, tmp_path: Path) -> None:
    own = tmp_path / "README.md"
    own.write_text("# Mine\n")
    with pytest.raises(UsageError, match=r"README\.md is not a finding: it cannot be read") as refused:
        named_finding(own)
    assert "delete" not in str(refused.value)
    # What lies in a run folder is the run's.
    (run / "findings" / "0001.json").write_text("{")
    with pytest.raises(CorruptRun, match=r"0001\.json cannot be read"):
        named_finding(run / "findings" / "0001.json")


def test_a_folder_in_a_finding_s_place_is_told_what_to_name(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a folder; name one of its findings, such as .*findings/0001\.json"):
        named_finding(run)
    with pytest.raises(UsageError, match="is a folder; name a finding's file"):
        named_finding(tmp_path)


def test_a_finding_with_a_foreign_schedule_is_a_usage_error(run: Path) -> None:
    path = run / "findings" / "0001.json"
    edit_json(path, schedule={"format": 1, "settings": {}, "seed": "s", "ops": [["explode", {}]]})
    with pytest.raises(UsageError, match="unknown 'explode'; valid"):
        to_finding(read_finding(path))


def test_runs_are_found_newest_last_even_when_one_is_corrupt(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for name, began in (("zzz", "2024-01-01T00:00:00+00:00"), ("aaa", "2025-01-01T01:00:00+02:00"), ("bad", "2026")):
        RunWriter(root / name, {**FACTS, "began": began}).close()
    (root / "bad" / "run.json").write_text("{")
    (root / "not a run").mkdir()
    (root / "note.txt").write_text("")
    assert [path.name for path in find_runs(root)] == ["zzz", "aaa", "bad"]
    assert resolve_run("latest", root).name == "bad"
    assert resolve_run("zzz", root) == resolve_run(str(root / "zzz"), root) == root / "zzz"
    with pytest.raises(UsageError, match=r"no run folder nope; newest in .*: zzz, aaa, bad"):
        resolve_run("nope", root)


def test_latest_of_no_runs_is_a_usage_error(tmp_path: Path) -> None:
    assert find_runs(tmp_path / "runs") == []
    with pytest.raises(UsageError, match="record one with pairproof check"):
        resolve_run("latest", tmp_path / "runs")
