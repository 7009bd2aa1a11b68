"""Programs of known bugs: which are played, what generic leaves out, and what a finding says of its origin."""

from __future__ import annotations

from pathlib import Path

import pytest
from shaky_lab import ShakyLab

from pairproof.harness.commands.main import main
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.profiles import REAL, profile
from pairproof.harness.judging import deviations
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.runs.writer import finding_json
from pairproof.harness.search import pacing
from pairproof.harness.search.known_bugs import ALL, GENERIC, NAME, NONE, programs
from pairproof.harness.system import KnownBug
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted, lacking
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

PROCESS = resolve.lab("process")
JAVA = resolve.target("rocketmq-4.9.7")
REFERENCE = resolve.target("reference")
MUTANT = "reference+serves_diverged"
IMAGE = Op("fault", {"name": "older_image", "node": "master"})
SEND = Op("send", {"producer": 0, "size": 420, "wait": True, "queue": 0})
SHOWS = Schedule({}, "s", (IMAGE, SEND, Op("advance", {"ms": 600})))
BUGS = (
    KnownBug("shows", "ha-divergence-refused", "", SHOWS),
    KnownBug("again", "log-grows", "", SHOWS),
    KnownBug("real", "log-grows", "4.x", SHOWS._replace(ops=(SEND,))),
    KnownBug("seam", "log-grows", "", SHOWS._replace(ops=(Op("fault", {"name": "disk_stall", "node": "master"}),))),
    KnownBug("nameless", "log-grows", "", SHOWS._replace(settings={"lab.nameServer": 0}, ops=(SEND, SEND))),
)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(SYSTEM), "known_bugs", lambda self: BUGS)


def names(target: str, which: str, lab: object = PROCESS) -> set[str]:
    return {each.name for each in programs(lab, resolve.target(target), "s", which)}  # type: ignore[arg-type]


@pytest.mark.usefixtures("few")
def test_what_cannot_be_done_to_a_target_is_left_out_and_what_is_the_same_is_played_once() -> None:
    assert names("reference", GENERIC) == {"mutant shows", "mutant seam", "mutant nameless"}
    assert names("rocketmq-4.9.7", GENERIC) == {"mutant shows", "mutant nameless"}, "its disk obeys nobody"
    assert names("rocketmq-5.5.0", GENERIC) == {"mutant shows"}, "it needs a name server"


@pytest.mark.usefixtures("few")
def test_generic_has_nothing_that_was_learnt_from_a_real_system() -> None:
    learnt = names("rocketmq-4.9.7", ALL) - names("rocketmq-4.9.7", GENERIC)
    assert "mutant real" in learnt and "deviation silent-master-kept" in learnt
    assert names("rocketmq-4.9.7", NONE) == set()


def test_every_program_that_is_shipped_is_paced_and_can_be_done_to_whom_it_is_shown() -> None:
    for each in programs(PROCESS, JAVA, "s", ALL):
        assert not lacking(Hosted(PROCESS, JAVA), each.schedule.ops, resolve.faults(), resolve.operations())
        if each.name.startswith("mutant "):
            assert pacing.paced(Hosted(PROCESS, JAVA), each.schedule) == each.schedule
    assert len(programs(PROCESS, JAVA, "s", GENERIC)) > 40


def test_what_a_real_system_did_is_played_as_it_was_done() -> None:
    # Shorter, a silent master would not have been silent for too long.
    found = {each.name: each.schedule for each in programs(PROCESS, JAVA, "s", ALL)}
    assert found["deviation silent-master-kept"] == deviations.every()["silent-master-kept"].schedule()


def test_generic_shows_no_program_that_only_a_deviation_or_a_bug_of_rocketmq_has_taught() -> None:
    taught = {each.name for each in SYSTEM.known_bugs() if each.seen_in}
    assert {"believes_first_report", "believes_every_report", "bare_connection_counts", "deaf_to_silence"} <= taught
    modelled = {name for each in deviations.every().values() for name in each.models}
    assert modelled & {each.name for each in SYSTEM.known_bugs()} <= taught
    assert not {f"mutant {name}" for name in taught} & names("rocketmq-4.9.7", GENERIC)


@pytest.mark.usefixtures("few")
def test_a_finding_says_which_search_and_which_program_found_it() -> None:
    trials: list[Trial] = []
    lab = ShakyLab(MUTANT, 1)
    budget = profile(REAL)._replace(shares={NAME: 1.0})
    found = Explorer(lab, REFERENCE, budget, "s", bugs=GENERIC, trials=3, on_trial=trials.append).run()
    assert found.totals == {NAME: len(names("reference", GENERIC, lab))} and found.findings
    assert {(each.search, each.source) for each in found.findings} == {(NAME, "mutant shows")}
    told = finding_json(found.findings[0], Path("f"))
    assert (told["search"], told["source"]) == (NAME, "mutant shows")
    assert {each.source for each in trials if each.origin == NAME} == {
        "mutant shows",
        "mutant seam",
        "mutant nameless",
    }


def test_a_simulation_plays_none_and_refuses_to_be_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairproof.toml").write_text(f'[check]\nknown-bugs = "{GENERIC}"\n')
    assert Explorer(resolve.lab("sim"), REFERENCE, profile(REAL), "s", trials=1).run().totals.keys() == {"sweep"}
    assert main(["check", "--runs", str(tmp_path)]) == 2
    assert "known-bugs is for the process and docker labs, not for sim" in capsys.readouterr().err
