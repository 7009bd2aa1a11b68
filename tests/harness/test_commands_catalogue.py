"""``laws``, ``labs`` and ``replay`` answer people and programs alike."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pairproof.harness import registry
from pairproof.harness.commands import labs
from pairproof.harness.commands.main import main
from pairproof.harness.commands.replay import event_line
from pairproof.harness.history import kinds
from pairproof.harness.judging import judge, law_groups
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.rocketmq import swarm
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.trials import interpreter, resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.trial import Finding

MUTANT = "reference+eager_push"


def answer(capsys: Any, *line: str) -> Any:
    code = main([*line, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_every_registered_law_is_listed_with_promise_source_and_needs(capsys: Any) -> None:
    code, found = answer(capsys, "laws")
    assert code == 0
    assert [law["id"] for law in found] == registry.names("laws")
    assert all(law["promise"] and law["source"] and set(law["needs"]) <= set(kinds()) for law in found)
    assert {law["group"] for law in found} == set(law_groups.GROUPS)


def test_laws_stand_in_groups_and_a_third_party_s_behind_them() -> None:
    assert law_groups.grouped(["zebra", "meta-durable", "log-prefix", "meta-one-way"]) == [
        ("Log and storage", ["log-prefix"]),
        ("Metadata", ["meta-durable", "meta-one-way"]),
        (law_groups.OTHERS, ["zebra"]),
    ]


def test_laws_are_printed_for_people_too(capsys: Any) -> None:
    assert main(["laws"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in registry.names("laws"))
    assert said.index("Replication stream") < said.index("ha-heartbeat") < said.index("Consumer progress")


def test_labs_say_what_they_can_and_observe(capsys: Any) -> None:
    code, found = answer(capsys, "labs")
    sim = next(each for each in found["labs"] if each["id"] == "sim")
    assert code == 0
    assert {"CanStep", "CanKill", "CanCutLink"} <= set(sim["can"])
    assert sim["cannot_inject"] == ["memory_limit", "replace", "upgrade"]
    assert "append" in sim["observes"]["reference"]
    assert [each["id"] for each in found["faults"]] == registry.names("faults")
    assert {"id": "reference"} in found["targets"]


def test_labs_are_printed_for_people_too(capsys: Any) -> None:
    assert main(["labs"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "power_loss A broker's machine loses power: " in said and "and 14 more" in said
    assert re.search(r" reference (\w+ \(\d+ of \d+\), )*sim \(\d+ of \d+\) ", said)
    # Names of abilities are for programs, as kinds of event are.
    assert not re.search(r"\bCan[A-Z]", said) and " ok, " not in said


def test_a_lab_judges_the_laws_of_which_it_records_what_they_need() -> None:
    laws = [each for each in judge.all_laws() if each.system in ("", "rocketmq")]
    everything = sorted(set().union(*(law.needs for law in laws)))
    of = labs.judgeable({"observes": {"reference": everything, "rocketmq-4.9.7": []}})
    assert of["reference"].split()[0] == of["reference"].split()[2]
    assert of["rocketmq-4.9.7"].startswith("0 of ")


class Frail:
    """Kills but cannot restart, so it does not have CanKill."""

    def cut_link(self) -> None: ...
    def mend_link(self) -> None: ...
    def reset_link(self) -> None: ...
    def kill(self) -> None: ...


class FrailLab:
    def open(self, *_: object) -> Frail:
        return Frail()


class SecretiveLab:
    def open(self, *_: object) -> Unheard:  # type: ignore[name-defined]  # noqa: F821
        return None


def test_a_lab_has_only_the_abilities_that_its_session_has() -> None:
    assert labs.abilities(FrailLab(), resolve.faults(), resolve.operations()) == ["CanCutLink"]  # type: ignore[arg-type]


def test_a_lab_that_does_not_say_is_not_said_to_be_unable() -> None:
    assert labs.abilities(SecretiveLab(), resolve.faults(), resolve.operations()) is None  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def finding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A violation of a mutant, found by the swarm and not shrunk."""
    lab, target = resolve.lab("sim"), resolve.target(MUTANT)
    for number in range(30):
        trial = run_trial(lab, target, swarm.schedule("t", number))
        for each in trial.judgements:
            if each.verdict == "violated":
                found = Finding(each.law, each.violations[0].text, MUTANT, "sim", 0, 0, trial.schedule, 9)
                with RunWriter(tmp_path_factory.mktemp("runs") / "r", {}) as writer:
                    return writer.finding(found)
    raise AssertionError(f"{MUTANT} was not caught in 30 schedules")


def test_a_finding_is_reproduced_and_exits_with_1(capsys: Any, finding: Path) -> None:
    code, found = answer(capsys, "replay", str(finding))
    assert (code, found["reproduced"], found["target"]) == (1, True, MUTANT)
    assert found["law"] in {each["law"] for each in found["violations"]}
    assert found["program"] == json.loads(finding.read_text())["program"]
    assert "history" not in found


def test_the_same_program_leaves_the_correct_target_alone(capsys: Any, finding: Path) -> None:
    code, found = answer(capsys, "replay", str(finding), "--target", "reference")
    assert (code, found["reproduced"], found["violations"]) == (0, False, [])


def test_replay_gives_the_same_history_each_time(capsys: Any, finding: Path) -> None:
    _, first = answer(capsys, "replay", str(finding), "--events")
    _, second = answer(capsys, "replay", str(finding), "--events")
    assert first["history"] == second["history"]
    assert len(first["history"]) == first["events"]


def test_replay_tells_people_program_violation_and_outcome(capsys: Any, finding: Path) -> None:
    assert main(["replay", str(finding), "--events"]) == 1
    said = capsys.readouterr().out
    law = json.loads(finding.read_text())["law"]
    assert f"violated: {law} (" in said
    assert f"reproduced: {law} is violated again" in said
    assert "the pair is up and one message is replicated" in said and "f=" not in said
    assert main(["replay", str(finding), "--target", "reference"]) == 0
    assert "not reproduced: no law is violated" in capsys.readouterr().out


def test_replay_names_unknown_laws_also_beside_a_violation(
    capsys: Any, finding: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = json.loads(finding.read_text())["law"]

    def doubted(*given: Any) -> list[Judgement]:
        judged = judge.judge(*given)
        return [each if each.law == law else each._replace(verdict=Verdict.UNKNOWN, doubt="a stall") for each in judged]

    monkeypatch.setattr(interpreter, "judging", SimpleNamespace(judge=doubted, laws_for=judge.laws_for))
    assert main(["replay", str(finding)]) == 1
    assert f"reproduced: {law} is violated again; unknown: ack-bounded (a stall), " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--target", "nope"], "unknown target 'nope'; valid: reference"),
        (["--target", "reference+nope"], "unknown mutant 'nope'; "),
        (["--lab", "nope"], "unknown lab 'nope'; valid: docker, process, sim"),
    ],
)
def test_unknown_names_list_the_valid_ones(capsys: Any, finding: Path, option: list[str], said: str) -> None:
    assert main(["replay", str(finding), *option]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"law": "gravity"}, "unknown law 'gravity'; valid: ack-bounded, "),
        ({"target": "nobody"}, "unknown target 'nobody'; valid: reference"),
        ({"lab": "moon"}, "unknown lab 'moon'; valid: docker, process, sim"),
        ({"ops": [["advance", {"ms": 10**15}]]}, "ms must be 3600000 at most"),
        ({"ops": [["fault", {"name": "flood"}]]}, "unknown fault 'flood'; valid: bandwidth, "),
        ({"ops": [["fault", {"name": "down", "link": "moon"}]]}, "link cannot be 'moon'; valid: ha, "),
        ({"ops": [["heal", {"name": "flood"}]]}, "unknown fault 'flood'; valid: bandwidth, "),
        ({"settings": {"brokerRole": None}}, "setting 'brokerRole' must be "),
        ({"seed": "\udcff"}, "a schedule's seed must be text in UTF-8"),
    ],
)
def test_what_a_finding_names_must_exist(
    capsys: Any, finding: Path, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    data = json.loads(finding.read_text())
    place = data if changes.keys() <= data.keys() else data["schedule"]
    place.update(changes)
    (tmp_path / "x.json").write_text(json.dumps(data))
    assert main(["replay", str(tmp_path / "x.json")]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_what_is_no_finding_is_named(capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert main(["replay", str(tmp_path / "none.json")]) == 2
    assert main(["replay", str(tmp_path / "x.json")]) == 2
    assert [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()] == ["pairproof"] * 2
    assert main(["replay", str(tmp_path)]) == 2
    assert "1 INVALID: the file is not a case" in capsys.readouterr().out


def test_an_event_line_says_what_happened_and_marks_where_a_law_is_broken() -> None:
    event = kinds()["flush"](12, 1_500_000, "flush", "master", 1, hi=7)
    assert event_line(event, str) == "      12        1.500 ms  master flushed its log up to 7"
    assert event_line(event, str, {12}).startswith(">     12")
