"""junit.xml as a build server reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pairproof.reports import engines, inputs, junit, model


def cases(folders: list[Path], file: Path) -> dict[tuple[str, str], ElementTree.Element]:
    runs, corrupt = inputs.open_runs(folders)
    junit.write(model.assemble(runs, corrupt, engines.here(runs).tables), file)
    found = ElementTree.parse(file).getroot().iter("testcase")
    return {(str(each.get("classname")), str(each.get("name"))): each for each in found}


def test_every_verdict_has_its_kind_of_case(two_runs: list[Path], tmp_path: Path) -> None:
    found = cases(two_runs, tmp_path / "junit.xml")
    kinds = {key: [child.tag for child in case] for key, case in found.items()}
    assert kinds["reference.sim", "log-prefix"] == []
    assert kinds["reference.sim", "ack-replicated"] == ["skipped"]
    assert kinds["reference.sim", "ha-batch-bound"] == ["error"], "vacuous, and the run demands otherwise"
    assert kinds["reference+ack_early.sim", "log-prefix"] == ["failure"]
    assert kinds["reference+ack_early.sim", "contract"] == ["error"]


def test_a_failure_carries_text_program_and_replay_line(two_runs: list[Path], tmp_path: Path) -> None:
    failure = cases(two_runs, tmp_path / "junit.xml")["reference+ack_early.sim", "log-prefix"].find("failure")
    assert failure is not None and failure.text is not None
    assert "differs from the master's" in str(failure.get("message"))
    assert 'fault(name="kill", node="slave")' in failure.text
    assert "replay: pairproof replay " in failure.text


def test_suites_count_what_they_hold(two_runs: list[Path], tmp_path: Path) -> None:
    cases(two_runs, tmp_path / "junit.xml")
    suites = list(ElementTree.parse(tmp_path / "junit.xml").getroot().iter("testsuite"))
    counted = [[suite.get(name) for name in ("tests", "failures", "errors", "skipped")] for suite in suites]
    assert counted == [["5", "0", "1", "1"], ["4", "2", "1", "0"]]


def test_a_run_without_a_trial_is_an_error_and_no_green_suite(write_run: Any, tmp_path: Path) -> None:
    found = cases([write_run("r")], tmp_path / "junit.xml")
    assert [[child.tag for child in case] for case in found.values()] == [["error"], []]


def test_a_run_that_did_not_come_to_its_end_is_an_error_and_no_green_suite(
    write_run: Any, rows: Any, tmp_path: Path
) -> None:
    held = {"verdicts": [rows.verdict(0, "log-prefix", "holds")], "trials": [rows.trial(0)]}
    found = cases(
        [write_run("r", facts={"state": "failed", "reason": "the lab broke"}, **held)], tmp_path / "junit.xml"
    )
    error = found["reference.sim", "the run came to its end"].find("error")
    assert error is not None and str(error.get("message")).startswith("failed: the lab broke")
    whole = cases([write_run("whole", **held)], tmp_path / "junit.xml")
    assert [[child.tag for child in case] for case in whole.values()] == [[], ["skipped"], []]
    skipped = whole["reference.sim", "enough trials were played"].find("skipped")
    assert skipped is not None and skipped.get("message") == "few trials"


MINIMUMS = [{"what": "operations: send", "met": 40, "least": 40}, {"what": "faults: latency", "met": 0, "least": 1}]


def test_a_run_whose_searches_missed_a_floor_is_an_error_and_no_green_suite(
    write_run: Any, rows: Any, tmp_path: Path
) -> None:
    held = {"verdicts": [rows.verdict(0, "log-prefix", "holds")], "trials": [rows.trial(0)]}
    poor = cases([write_run("poor", facts={"minimums": MINIMUMS}, **held)], tmp_path / "junit.xml")
    error = poor["reference.sim", "the searches met the profile's coverage minimums"].find("error")
    assert error is not None and error.get("message") == "faults: latency: 0 of 1"
    rich = cases([write_run("rich", facts={"minimums": MINIMUMS[:1]}, **held)], tmp_path / "junit.xml")
    assert [[child.tag for child in case] for case in rich.values()] == [[], ["skipped"], [], []]


def test_a_cause_is_one_failure_that_names_its_other_laws(write_run: Any, rows: Any, tmp_path: Path) -> None:
    laws = ("log-prefix", "live-converges", "contract")
    causes = ("log-prefix, append at slave", "log-prefix, append at slave", "contract, loss at master")
    findings = [
        rows.finding(law, f"{law} broke", at, at, cause=cause)
        for at, (law, cause) in enumerate(zip(laws, causes, strict=True))
    ]
    verdicts = [rows.verdict(at, law, "violated", seq=1, text="x") for at, law in enumerate(laws)]
    folder = write_run(
        "r", findings, facts={"seconds": 12.5}, verdicts=verdicts, trials=[rows.trial(n) for n in range(3)]
    )
    found = cases([folder], tmp_path / "junit.xml")
    kinds = {name: [child.tag for child in case] for (_, name), case in found.items() if name in laws}
    assert kinds == {"log-prefix": ["failure", "system-out"], "live-converges": ["skipped"], "contract": ["failure"]}
    assert found["reference.sim", "log-prefix"].findtext("system-out") == (
        "violated from the same cause: live-converges: live-converges broke"
    )
    times = {name: case.get("time") for (_, name), case in found.items()}
    assert times.pop("the run came to its end") == "12.5" and set(times.values()) == {None}


def test_text_that_xml_cannot_hold_does_not_break_the_file(write_run: object, rows: object, tmp_path: Path) -> None:
    finding = rows.finding("log-prefix", "bytes \x00\x01 <&> \ud800 differ", 0, 0)  # type: ignore[attr-defined]
    verdicts = [rows.verdict(0, "log-prefix", "violated", seq=1, text="x")]  # type: ignore[attr-defined]
    folder = write_run("r", [finding], verdicts=verdicts, trials=[rows.trial(0)])  # type: ignore[attr-defined, operator]
    failure = cases([folder], tmp_path / "junit.xml")["reference.sim", "log-prefix"].find("failure")
    assert failure is not None and "<&>" in str(failure.get("message"))
