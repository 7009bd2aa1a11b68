"""A run folder can be read whatever ended the run, and holds what it was given."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pairproof import __version__
from pairproof.harness.errors import PairproofError, UsageError
from pairproof.harness.event_types.machine import Fault
from pairproof.harness.history import Event
from pairproof.harness.judging.law import Violation
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.runs import atomic, locations, parts, schema, tables
from pairproof.harness.runs import writer as writing
from pairproof.harness.runs.reader import RunReader, read_finding, to_finding
from pairproof.harness.runs.sampling import sampling
from pairproof.harness.runs.writer import RunWriter, replay_line, run_folder
from pairproof.harness.texts import invocation
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import FaultOutcome, Finding, Trial

SCHEDULE = Schedule({"brokerRole": "SYNC_MASTER"}, "seed", (Op("advance", {"ms": 5}), Op("fault", {"name": "down"})))
HOLDS = Judgement("log-grows", Verdict.HOLDS, 3, 0, notes={"truncation": 1})
BROKEN = Judgement("log-prefix", Verdict.VIOLATED, 3, 2, (Violation(1, 1_000, "differs at 40", "m1"),))
DOUBTFUL = Judgement("log-prefix", Verdict.UNKNOWN, 0, 0, doubt="the law crashed")
FACTS = {"seed": "s", "target": "reference", "system": "rocketmq", "lab": "sim"}
FINDING = Finding("log-prefix", "differs at 40", "reference+x", "sim", 7, 8, SCHEDULE, 30)


def events(count: int = 3) -> list[Event]:
    made = [Event(n, n * 1_000, "append", "master", 1, lo=n, hi=n + 1, digest=-n, detail="é") for n in range(count)]
    first = Fault(0, 0, "fault", "master", 1, op=0, f="kill", status="on", detail="é")
    return [first, *made[1:-1], made[-1]._replace(kind="stop")]


def trial(number: int, *judgements: Judgement, length: int = 3) -> Trial:
    fault = FaultOutcome(0, "down", {"link": "ha"}, 10, 20, 1, {"bytes_held": 4})
    return Trial(number, "swarm", SCHEDULE, events(length), [*(judgements or (HOLDS,))], (fault,), ("no CanStep",))


def keep(one_in: int | str) -> dict[str, object]:
    return {**FACTS, "keep": one_in}


RARE = 10**9


def test_what_is_recorded_is_read_back(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", keep("all")) as writer:
        writer.trial(trial(0, HOLDS, BROKEN))
    reader = RunReader(tmp_path / "r")
    good, bad = reader.verdicts()
    assert good == {
        "run": "r", "trial": 0, "law": "log-grows", "verdict": "holds", "judged": 3, "broken": 0, "seq": None,
        "text": None, "notes": '{"truncation":1}', "trials": 1,
    }  # fmt: skip
    assert (bad["verdict"], bad["seq"], bad["text"], bad["broken"]) == ("violated", 1, "differs at 40", 2)
    (row,) = reader.trials()
    assert (row["events"], row["virtual_ns"], row["kept"], row["origin"]) == (3, 2_000, True, "swarm")
    assert json.loads(row["schedule"]) == SCHEDULE.to_json()
    assert json.loads(row["skipped"]) == ["no CanStep"]
    (fault,) = reader.faults()
    assert (fault["name"], json.loads(fault["effect"]), fault["bit"]) == ("down", {"bytes_held": 4}, 1)
    assert list(reader.histories()) == [(0, events())]


def test_text_that_no_file_can_hold_is_recorded_escaped(tmp_path: Path) -> None:
    said = Event(0, 0, "fail", "master", detail="no \ud800 such"), Event(1, 9, "fail", "master")
    with RunWriter(tmp_path / "r", keep("all")) as writer:
        writer.trial(trial(0, DOUBTFUL._replace(doubt="\udfff"))._replace(events=[*said]))
    assert [event.detail for event in next(RunReader(tmp_path / "r").histories())[1]] == ["no \\ud800 such", None]
    assert [row["text"] for row in RunReader(tmp_path / "r").verdicts()] == ["\\udfff"]


def test_objectives_are_recorded_whether_the_history_is_kept_or_not(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", keep(RARE)) as writer:
        writer.trial(trial(1)._replace(events=events()[:2]))
        writer.trial(trial(2), keep=False)
    (row,) = rows_of(tmp_path / "r", "objectives")
    assert (row["run"], row["trial"], row["node"], row["cause"], row["at_ns"]) == ("r", 2, "master", "stop", 2_000)
    assert row["rto_ns"] is None


@pytest.mark.parametrize("flushed", [False, True])
def test_coverage_is_written_once_at_the_end_and_counts(tmp_path: Path, flushed: bool) -> None:
    with RunWriter(tmp_path / "r", FACTS) as writer:
        writer.trial(trial(1))
        if flushed:
            writer.flush()
        writer.coverage({("READY", "report", "kill"): 3, ("READY", "close", "none"): 1})
        assert rows_of(tmp_path / "r", "coverage") == []
    assert [tuple(row.values()) for row in rows_of(tmp_path / "r", "coverage")] == [
        ("r", "READY", "close", "none", 1),
        ("r", "READY", "report", "kill", 3),
    ]


def test_a_run_without_a_trial_covers_nothing(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", FACTS) as writer:
        writer.coverage({("READY", "report", "kill"): 3})
    assert rows_of(tmp_path / "r", "coverage") == []


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    return [row for part in RunReader(folder).table(table) for row in part.to_pylist()]


def test_every_fact_that_is_written_is_documented(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", keep(5)) as writer:
        writer.close("complete", reason="")
    facts = RunReader(tmp_path / "r").facts
    assert set(facts) <= set(schema.FACTS)
    assert (facts["state"], facts["format"], facts["run"], facts["trials"]) == ("complete", schema.FORMAT, "r", 0)


@pytest.mark.parametrize("judgement", [BROKEN, DOUBTFUL], ids=["violated", "unknown"])
def test_violating_and_unknown_histories_are_kept_and_green_ones_are_not(tmp_path: Path, judgement: Judgement) -> None:
    with RunWriter(tmp_path / "r", keep(RARE)) as writer:
        writer.trial(trial(1))
        writer.trial(trial(2, HOLDS, judgement))
        writer.trial(trial(3), keep=True)
        writer.trial(trial(4, judgement), keep=False)
    reader = RunReader(tmp_path / "r")
    assert [number for number, _ in reader.histories()] == [2, 3]
    assert [row["kept"] for row in reader.trials()] == [False, True, True, False]


def test_doubt_is_recorded_as_the_text(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", FACTS) as writer:
        writer.trial(trial(1, DOUBTFUL))
    assert [row["text"] for row in RunReader(tmp_path / "r").verdicts()] == ["the law crashed"]


def test_the_sample_depends_on_seed_and_number_only() -> None:
    drawn = [n for n in range(3_000) if sampling(10, "a").drawn(n)]
    assert drawn == [n for n in range(3_000) if sampling("10", "a").drawn(n)]
    assert drawn != [n for n in range(3_000) if sampling(10, "b").drawn(n)]
    assert 200 < len(drawn) < 400
    assert all(sampling("all", "a").drawn(n) for n in range(100))


@pytest.mark.parametrize("wrong", ["some", 0, -1, True, None, 1.5])
def test_a_sample_of_nothing_known_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match="valid: all"):
        sampling(wrong, "a")


def test_many_trials_make_few_parts_and_lose_none(tmp_path: Path) -> None:
    count = writing.PART_TRIALS + 10
    with RunWriter(tmp_path / "r", keep(RARE)) as writer:
        for number in range(count):
            writer.trial(trial(number, length=1))
    reader = RunReader(tmp_path / "r")
    assert [row["trial"] for row in reader.trials()] == list(range(count))
    assert 2 <= len(reader.parts("trials")) < 40


def test_long_histories_are_flushed_before_they_fill_the_memory(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(writing, "PART_EVENTS", 10)
    with RunWriter(tmp_path / "r", keep("all")) as writer:
        for number in range(4):
            writer.trial(trial(number, length=6))
    reader = RunReader(tmp_path / "r")
    assert len(reader.parts("history")) == 2
    assert [(number, len(found)) for number, found in reader.histories()] == [(n, 6) for n in range(4)]


def test_a_run_keeps_no_more_events_than_its_limit_and_says_so(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(writing, "MAX_KEPT_EVENTS", 7)
    with RunWriter(tmp_path / "r", keep("all")) as writer:
        for number in range(3):
            writer.trial(trial(number))
    reader = RunReader(tmp_path / "r")
    assert [row["kept"] for row in reader.trials()] == [True, True, False]
    assert reader.facts["reason"].startswith("1 histories not kept")


def test_only_some_trials_histories_can_be_asked_for(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", keep("all")) as writer:
        for number in range(5):
            writer.trial(trial(number))
    reader = RunReader(tmp_path / "r")
    assert [number for number, _ in reader.histories([3, 1, 99])] == [1, 3]
    assert list(reader.histories([])) == []


EMPTY = Judgement("log-prefix", Verdict.VACUOUS, 0, 0)


def test_rows_without_content_are_counted_together(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", keep(RARE)) as writer:
        writer.trial(trial(0, BROKEN, EMPTY))
        for number in range(1, 4):
            writer.trial(trial(number, HOLDS, EMPTY))
        writer.trial(trial(4, HOLDS, EMPTY._replace(notes={"earlier incarnation": 2}))._replace(origin="sweep"))
        writer.trial(trial(5, HOLDS, EMPTY)._replace(origin="sweep"))
    kept = {number for number, _ in RunReader(tmp_path / "r").histories()}
    assert kept == {0}
    rows = [
        (row["trial"], row["trials"]) for row in RunReader(tmp_path / "r").verdicts() if row["verdict"] == "vacuous"
    ]
    # A trial with a history keeps its own rows, as does one with abstentions; searches are counted apart.
    assert rows == [(0, 1), (1, 3), (4, 1), (5, 1)]


@pytest.mark.parametrize(("verdict", "trials"), [("vacuous", 0), ("vacuous", -5), ("violated", 0), ("holds", 7)])
def test_a_row_that_counts_other_trials_is_refused(tmp_path: Path, verdict: str, trials: int) -> None:
    with RunWriter(tmp_path / "r", keep("all")) as writer:
        writer.trial(trial(0, HOLDS))
    (part,) = RunReader(tmp_path / "r").parts("verdicts")
    rows = [{**row, "verdict": verdict, "trials": trials} for row in pq.read_table(part).to_pylist()]
    part.write_bytes(tables.part_bytes(pa.Table.from_pylist(rows, tables.SCHEMAS["verdicts"])))
    with pytest.raises(ValueError, match="stands for one trial"):
        list(tables.batches(part))


def test_a_part_without_its_trials_does_not_count(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "r", keep("all"))
    for number in range(2):
        writer.trial(trial(number))
        writer.flush()
    assert len(list(RunReader(tmp_path / "r").verdicts())) == 2
    # What a kill between the last two renames leaves.
    (tmp_path / "r" / "trials" / "part-00001.parquet").unlink()
    reader = RunReader(tmp_path / "r")
    assert [row["trial"] for row in reader.verdicts()] == [0]
    assert [number for number, _ in reader.histories()] == [0]


@pytest.mark.parametrize("table", parts.PART_ORDER)
def test_an_interrupt_while_a_part_is_written_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: Any, table: str
) -> None:
    real = locations.move
    calls = iter(["interrupt"])

    def move(path: Path, over: Path) -> None:
        if over.parent.name == table and next(calls, None):
            raise KeyboardInterrupt
        real(path, over)

    monkeypatch.setattr(locations, "move", move)
    with pytest.raises(KeyboardInterrupt), RunWriter(tmp_path / "r", keep("all")) as writer:
        writer.trial(trial(0))
        writer.trial(trial(1))
        writer.flush()
    reader = RunReader(tmp_path / "r")
    assert [row["trial"] for row in reader.trials()] == [0, 1]
    assert [row["trial"] for row in reader.verdicts()] == [0, 1]
    assert [number for number, _ in reader.histories()] == [0, 1]
    assert (reader.facts["state"], reader.facts["trials"], reader.facts["events"]) == ("interrupted", 2, 6)


def test_an_error_ends_the_run_as_failed_with_its_reason(tmp_path: Path) -> None:
    with contextlib.suppress(ZeroDivisionError), RunWriter(tmp_path / "r", FACTS) as writer:
        writer.trial(trial(0))
        _ = 1 / 0
    facts = RunReader(tmp_path / "r").facts
    assert (facts["state"], facts["reason"]) == ("failed", "ZeroDivisionError: division by zero")
    assert facts["trials"] == 1


def test_a_trial_says_what_played_it_and_what_it_broke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_COMMIT_SHA", "abc123")
    with RunWriter(tmp_path / "r", FACTS) as writer:
        for number, judgement in enumerate((HOLDS, BROKEN)):
            each = trial(number, judgement)
            writer.trial(each._replace(schedule=each.schedule._replace(settings={"a": 1, "b": "x", "c": True})))
    reader = RunReader(tmp_path / "r")
    rows = list(reader.trials())
    assert reader.facts["commit"] == "abc123"
    assert [row["cause"] for row in rows] == ["", "log-prefix, append at master"]
    about = {(row["target"], row["lab"], row["commit"], row["pairproof"]) for row in rows}
    assert about == {(FACTS["target"], FACTS["lab"], "abc123", __version__)}
    settings = pq.read_table(tmp_path / "r" / "trials", partitioning=None)["settings"].to_pylist()
    assert {tuple(row) for row in settings} == {(("a", "1"), ("b", "x"), ("c", "true"))}


def test_the_first_close_is_the_last_word(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", FACTS) as writer:
        writer.close("interrupted", trials=77)
    facts = RunReader(tmp_path / "r").facts
    assert (facts["state"], facts["trials"]) == ("interrupted", 0)


def test_a_run_is_never_written_over_another(tmp_path: Path) -> None:
    RunWriter(tmp_path / "r", FACTS).close()
    with pytest.raises(UsageError, match="already holds a run"):
        RunWriter(tmp_path / "r", FACTS)


def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot create"):
        RunWriter(tmp_path / "file" / "r", FACTS)


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_one_line(tmp_path: Path) -> None:
    target = atomic.write_text(tmp_path / "a.json", "old")

    def full(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(PairproofError, match=r"cannot write .*a\.json: No space left on device; "):
        atomic.replace(target, full)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_finding_is_read_back_and_names_its_replay_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with RunWriter(Path("runs") / "r", FACTS) as writer:
        writer.trial(trial(FINDING.shrunk_trial, BROKEN))
        path = writer.finding(FINDING)
        assert writer.finding(FINDING).name == "0002.json"
    (first, second) = RunReader(Path("runs") / "r").findings()
    assert first["replay"] == f"{invocation.program()} replay runs/r/findings/0001.json" == replay_line(path)
    assert first["program"] == ["advance(ms=5)", 'fault(name="down")']
    assert to_finding(read_finding(path)) == to_finding(second) == FINDING


def test_a_finding_s_trial_is_in_the_tables_before_the_finding_is(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", FACTS) as writer:
        writer.trial(trial(7, BROKEN))
        writer.finding(FINDING)
        assert [number for number, _ in RunReader(tmp_path / "r").histories([7])] == [7]


def test_a_path_with_spaces_is_quoted_in_the_replay_line(tmp_path: Path) -> None:
    assert replay_line(tmp_path / "a b" / "1.json") == f"{invocation.program()} replay '{tmp_path}/a b/1.json'"


def test_new_folders_do_not_collide(tmp_path: Path) -> None:
    first = run_folder(tmp_path, "sim", "reference+early_ack")
    first.mkdir()
    assert run_folder(tmp_path, "sim", "reference+early_ack") not in (first, None)


RECORD_FOREVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_runs_writer as t
from pairproof.harness.runs import writer
writer.PART_TRIALS = 20
with writer.RunWriter(Path(sys.argv[1]), t.keep(3)) as run:
    for number in range(10_000_000):
        run.trial(t.trial(number, t.HOLDS, t.DOUBTFUL if number % 5 == 0 else t.HOLDS))
        if number == 100:
            print("recording", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_ended_from_outside_can_be_read_and_its_counts_agree(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "r"
    command = [sys.executable, "-c", RECORD_FOREVER, str(folder), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "recording\n"
        process.send_signal(how)
        process.communicate(timeout=60)
    reader = RunReader(folder)
    reader.check()
    numbers = [row["trial"] for row in reader.trials()]
    kept = [row["trial"] for row in reader.trials() if row["kept"]]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= 100
    assert [row["trial"] for row in reader.verdicts()] == [n for number in numbers for n in (number, number)]
    assert [number for number, _ in reader.histories()] == kept
    assert set(range(0, len(numbers), 5)) <= set(kept)
    if how is signal.SIGINT:
        assert (reader.facts["state"], reader.facts["trials"]) == ("interrupted", len(numbers))
    else:
        assert reader.facts["state"] == "running"
