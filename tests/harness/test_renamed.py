"""Names of the version before: stored programs, histories, runs and scenarios that hold them are read as ever."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import pytest

from pairproof.chaos.scenarios import library, reading
from pairproof.harness import registry, renamed
from pairproof.harness.errors import UsageError
from pairproof.harness.exploration.profiles import profile
from pairproof.harness.history import kinds
from pairproof.harness.judging import judge
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.runs import reader, tables
from pairproof.harness.search import fault_pairs
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.schedule_json import from_json

FORMER = {new: old for names in (renamed.SETTINGS, renamed.FAULTS, renamed.OPERATIONS) for old, new in names.items()}
OLD = {
    "format": 1,
    "settings": {"lab.names": 1, "lab.visits": 0},
    "seed": "s",
    "ops": [
        ["fault", {"name": "hostile", "character": "junk"}],
        ["misdirect", {"node": "slave", "queue": 0}],
        ["heal", {"name": "hostile"}],
    ],
}
SCENARIO = """
name: old
about: Its names are those of the version before.
settings: {brokerRole: SYNC_MASTER, lab.names: 1}
timeline:
  - {at: 1s, fault: hostile, with: {character: junk}, for: 1s}
  - {at: 2s, misdirect: {node: slave}}
lasts: 3s
laws: [visitor-served]
expect: {judged: [log-prefix]}
"""


def as_before(schedule: Schedule) -> str:
    """A schedule as the version before wrote it."""
    text = json.dumps({**schedule.to_json(), "format": 1})
    for new, old in FORMER.items():
        text = text.replace(f'"{new}"', f'"{old}"')
    return text


@pytest.mark.parametrize(
    ("search", "digest"), [("swarm", "ceb021b8c9af"), ("cluster", "58091148ce73"), ("fault-pairs", "e189055be3e7")]
)
def test_a_seed_draws_what_it_drew_before_names_changed(search: str, digest: str) -> None:
    """``digest``: of 400 schedules in the names of before. New draws change it, names do not."""
    system = resolve.system("rocketmq")
    made = {
        "swarm": swarm.schedule,
        "cluster": cluster.schedule,
        "fault-pairs": lambda seed, number: fault_pairs.schedule(system, seed, number),
    }[search]
    drawn = "\n".join(as_before(made("d1", number)) for number in range(400))
    assert sha256(drawn.encode()).hexdigest()[:12] == digest


def test_a_stored_program_of_the_version_before_is_read() -> None:
    found = from_json(OLD)
    assert found.settings == {"lab.nameServer": 1, "lab.conversations": 0}
    assert [str(op) for op in found.ops] == [
        'fault(name="rogue_slave", character="junk")',
        'send_to_wrong_broker(node="slave", queue=0)',
        'heal(name="rogue_slave")',
    ]
    assert from_json(json.loads(as_before(found))) == found == from_json(found.to_json())
    with pytest.raises(UsageError, match="unknown 'misdirect'"):
        from_json({**OLD, "format": 2})


def test_a_scenario_of_the_version_before_is_read_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    found = reading.from_text(SCENARIO, "old")
    assert found.laws == ("conversation-answered",) and found.cases[0].settings["lab.nameServer"] == 1
    warned = capsys.readouterr().err.splitlines()
    assert len(warned) == 4 and all("is called" in line for line in warned)


def test_old_names_that_a_user_types_are_taken_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert profile("broad") is profile("fault-pairs")
    assert judge.laws(["route-told"]) == judge.laws(["route-reported"])
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["broad", "route-told"]
    assert library.find("impostor-master").name == "rogue-master"
    assert capsys.readouterr().err.split()[1] == "impostor-master"
    assert profile("fault-pairs") and not capsys.readouterr().err


def test_a_finding_of_the_version_before_is_read() -> None:
    path = Path(__file__).parents[1] / "golden" / "alarms" / "conversation-answered-one-queue.json"
    data = {**reader.read_finding(path), "search": "whole"}
    assert data["law"] == "visitor-served" and data["schedule"]["format"] == 1
    found = reader.to_finding(data)
    assert (found.law, found.search) == ("conversation-answered", "cluster")


def test_columns_of_an_older_run_hold_present_names(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    path = tmp_path / "history" / "part-00000.parquet"
    columns = [
        ["r"] * 3, [0] * 3, [0, 1, 2], [0] * 3, ["fault", "visit", "ok"], ["hostile", None, "slave"],
        *([None] * 3 for _ in range(5)), ["hostile", "a step", "send"],
    ]  # fmt: skip
    names = [name for name, _ in tables.TABLES["history"]]
    assert names[4:6] == ["kind", "node"] and names[11] == "f"
    made = tables.from_columns("history", 3, [*columns, *([None] * 3 for _ in names[len(columns) :])])
    path.write_bytes(tables.part_bytes(made))
    found = tables.read_part(path)
    assert found["kind"].to_pylist() == ["fault", "conversation", "ok"]
    assert found["node"].to_pylist() == ["rogue_slave", None, "slave"]
    assert found["f"].to_pylist() == ["rogue_slave", "a step", "send"]


def test_facts_of_an_older_run_hold_present_names() -> None:
    facts = {"floors": [], "laws": ["log-cut-told", "log-prefix"], "profile": "broad"}
    renamed.facts(facts)
    assert facts == {"minimums": [], "laws": ["log-cut-reported", "log-prefix"], "profile": "fault-pairs"}


def test_every_new_name_exists_and_no_old_one() -> None:
    for group in ("faults", "operations", "event_types", "laws", "scenarios"):
        known = set(registry.files(group, ".yaml") if group == "scenarios" else registry.names(group))
        assert set(renamed.OLD[group].values()) <= known and not renamed.OLD[group].keys() & known, group
    with pytest.raises(UsageError, match="the event type visit is called conversation now"):
        kinds()["visit"]


def test_a_module_is_found_by_its_old_name(capsys: pytest.CaptureFixture[str]) -> None:
    moved = import_module("pairproof.harness.schedule")
    assert moved.Schedule is Schedule
    warned = "warning: pairproof.harness.schedule is pairproof.harness.trials.schedule now"
    assert warned in capsys.readouterr().err
    assert import_module("pairproof.harness.schedule") is moved and not capsys.readouterr().err
    with pytest.raises(ModuleNotFoundError, match=r"pairproof\.harness\.nowhere"):
        import_module("pairproof.harness.nowhere")
