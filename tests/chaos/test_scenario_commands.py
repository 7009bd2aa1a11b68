"""`pairproof chaos` from outside: output, exit codes, the run folder, and what is left of an interrupted run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.scenarios import library
from pairproof.chaos.scenarios.closing import MAX_CASES, costs
from pairproof.harness.commands.main import main
from pairproof.harness.exploration.losses import Loss
from pairproof.harness.runs.reader import RunReader

LIMITS = "a node's memory can be limited while it runs"
REPLACES = "a node's program can be replaced by another one"

PAIRPROOF = str(Path(sys.executable).parent / "pairproof")
UNEVENTFUL = "name: calm\nabout: Nothing happens.\nexpect: {statuses: {PUT_OK: 0}}\n"
BUSY = """\
name: busy
about: There is always something to do.
workload:
- send: {every: 50ms, for: 30s}
expect: {statuses: {PUT_OK: ">=1"}}
repeat: 1000
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PAIRPROOF, "chaos", *arguments], capture_output=True, text=True, cwd=folder, timeout=120)


def only_run(folder: Path) -> Path:
    (found,) = (folder / "runs").iterdir()
    return found


def write(folder: Path, name: str, text: str) -> str:
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return f"{name}.yaml"


def test_list_names_every_scenario(tmp_path: Path) -> None:
    said = run(tmp_path, "list")
    assert said.returncode == 0 and all(name in said.stdout for name in library.names())
    told = json.loads(run(tmp_path, "list", "--json").stdout)
    assert [each["name"] for each in told] == library.names()
    assert {"about", "deployment", "cases", "seconds", "catches"} <= told[0].keys()


def test_show_draws_a_scenario_and_its_program(tmp_path: Path) -> None:
    said = run(tmp_path, "show", "ha-latency-around-ack-wait", "--case", "3").stdout
    assert "latency(link=ha, direction=up, ms=2000)" in said and "|0 s" in said and "====" in said
    assert "case 3 of 4: direction=up, delay=2s" in said and "at least 10 FLUSH_SLAVE_TIMEOUT, exactly 0 PUT_OK" in said
    assert "15 times:" in said or "14 times:" in said
    assert "judged: ack-replicated" in said and "catches: five_wake_ups" in said


def test_run_of_a_good_target_exits_0_and_keeps_every_trial(tmp_path: Path) -> None:
    mine = write(tmp_path, "calm", UNEVENTFUL)
    done = run(tmp_path, "run", "slave-lag", mine, "--repeat", "2", "--seed", "s", "--json", "answer.json")
    assert done.returncode == 0, done.stdout + done.stderr
    verdict, again, then = done.stdout.splitlines()[-3:]
    assert verdict == "reference in sim: holds; 2 of 2 scenarios hold"
    assert again.startswith("again: ") and then.startswith("next: ") and " report runs/" in then
    assert "slave-lag: holds; sends: PUT_OK 40, SLAVE_NOT_AVAILABLE 15; stall took effect" in done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert [(each["name"], each["verdict"], each["trials"]) for each in answer["scenarios"]] == [
        ("slave-lag", "holds", 2), ("calm", "holds", 2),
    ]  # fmt: skip
    reader = RunReader(only_run(tmp_path))
    assert reader.facts["state"] == "complete" and reader.facts["profile"] == "scenarios"
    assert [each["name"] for each in reader.facts["scenarios"]] == ["slave-lag", "calm"]
    rows = list(reader.trials())
    assert [each["trial"] for each in rows] == [0, 1, 2, 3] and all(each["kept"] for each in rows)
    assert [each["seed"] for each in rows] == ["s/slave-lag/0/0", "s/slave-lag/0/1", "s/calm/0/0", "s/calm/0/1"]
    assert {each["origin"] for each in rows} == {"scenario"}


def test_a_run_that_holds_says_what_was_lost_all_the_same(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "master-power-async-flush", "slave-lag", "--json", "answer.json")
    assert done.returncode == 0, done.stderr
    losing, calm = json.loads((tmp_path / "answer.json").read_text())["scenarios"]
    lost = losing["losses"]
    assert losing["verdict"] == "holds" and 20 <= lost["slave_only"] <= lost["acknowledged"]
    (line,) = (each for each in done.stdout.splitlines() if " PUT_OK: " in each)
    assert f"{lost['acknowledged']} PUT_OK: {lost['slave_only']} on a slave only" in line
    assert calm["losses"]["acknowledged"] > 0 == calm["losses"]["lost"]


def loss(**amounts: int) -> Loss:
    none: Any = dict.fromkeys(Loss._fields, 0)
    return Loss(**{**none, "fault": "kill", "of": "master", "mode": "", **amounts})


def test_what_cases_lost_is_one_line_each_and_cases_without_a_loss_share_one() -> None:
    lost, calm = loss(acknowledged=5, lost=2), loss(acknowledged=3)
    assert costs([("kill", lost), ("pause", calm), ("lag", calm), ("idle", None)]) == [
        " [kill]: 5 PUT_OK: 2 lost",
        ": 2 of 3 trials: 6 PUT_OK, none lost",
    ]
    assert costs([("", calm)]) == [": 3 PUT_OK, none lost"]
    assert costs([("kill", lost)] * (MAX_CASES + 2))[-1] == ": 2 more trials lost messages; --json has the sum"


def test_run_of_a_broken_target_exits_1_and_its_replay_line_reproduces(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "slave-lag", "--target", "reference+acks_at_once", "--repeat", "2")
    assert done.returncode == 1 and "slave-lag: violated" in done.stdout
    assert "ack-replicated is violated: m0 was acknowledged" in done.stdout
    (line,) = [each for each in done.stdout.splitlines() if each.startswith("  replay: ")]
    verdict, again, then = done.stdout.splitlines()[-3:]
    assert ": violated; 0 of 1 scenario hold" in verdict and again == line.strip() and " autopsy " in then
    again = subprocess.run(
        line.removeprefix("  replay: "), shell=True, capture_output=True, text=True, cwd=tmp_path, timeout=60,
        check=False,
    )  # fmt: skip
    assert again.returncode == 1 and "reproduced: ack-replicated is violated again" in again.stdout


def test_what_is_not_met_exits_1_and_says_what(tmp_path: Path) -> None:
    done = run(tmp_path, "run", write(tmp_path, "calm", UNEVENTFUL.replace("PUT_OK: 0", "PUT_OK: 1")))
    assert done.returncode == 1 and "calm: unmet" in done.stdout
    assert "exactly 1 PUT_OK expected, 0 seen (sends: none)" in done.stdout


def test_what_is_not_judged_exits_3(tmp_path: Path) -> None:
    text = UNEVENTFUL.replace("{statuses: {PUT_OK: 0}}", "{judged: [deliver-delayed]}")
    done = run(tmp_path, "run", write(tmp_path, "calm", text))
    assert done.returncode == 3 and "deliver-delayed had nothing to judge" in done.stdout


def test_scenarios_side_by_side(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "slave-lag", "slave-pause", "cut-header-at-every-byte", "--jobs", "2", "--cases", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = list(RunReader(only_run(tmp_path)).trials())
    assert sorted(each["trial"] for each in rows) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run"], "name scenarios (pairproof chaos list shows them) or files, or give --all"),
        (["run", "slave-lag", "--all"], "name scenarios"),
        (["run", "slave-lga"], "unknown scenario 'slave-lga'; did you mean 'slave-lag'?"),
        (["run", "nowhere.yaml"], "nowhere.yaml: No such file or directory"),
        (["run", "bad.yaml"], "bad.yaml, line 4: unknown fault 'dwon'; did you mean 'down'?"),
        (["run", "slave-lag", "--lab", "moon"], "unknown lab 'moon'"),
        (["run", "slave-lag", "--target", "nobody"], "unknown target 'nobody'"),
        (["run", "slave-lag", "--seed", os.fsdecode(b"\xff")], "--seed must be text in UTF-8"),
        (["run", "slave-lag", "--runs", "a-file"], "name another path with --runs"),
        (["run", "slave-lag", "--jobs", "0"], "Invalid value for '--jobs'"),
        (["run", "seeded.yaml"], "seeded expects a violation, which only a target with a seeded bug shows"),
        (["show", "slave-lag", "--case", "2"], "slave-lag has 1 cases; --case 1 to 1 are valid"),
        (["parity", "slave-lag", "--labs", "sim"], "--labs needs two or more labs"),
        (["parity", "slave-lag", "--labs", "sim,moon"], "unknown lab 'moon'"),
        (["paly"], "No such command 'paly'"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, arguments: list[str], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").touch()
    write(tmp_path, "bad", "name: bad\nabout: x\ntimeline:\n- {at: 1s, fault: dwon}\nexpect: {}\n")
    write(tmp_path, "seeded", "name: seeded\nabout: x\nexpect: {violated: [contract]}\n")
    assert main(["chaos", *arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert len(said.strip().splitlines()) == 1 and not (tmp_path / "runs").exists()


@pytest.mark.parametrize("jobs", [[], ["--jobs", "2"]])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_keeps_what_it_recorded(tmp_path: Path, how: signal.Signals, jobs: list[str]) -> None:
    names = [write(tmp_path, "busy", BUSY), write(tmp_path, "busier", BUSY.replace("name: busy", "name: busier"))]
    command = [PAIRPROOF, "chaos", "run", *names, *jobs]
    environment: dict[str, Any] = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        until = time.monotonic() + 60
        while not list(tmp_path.glob("runs/*/trials/part-*.parquet")):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(how)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "Traceback" not in said, said
    assert "trials were played" in said and "recorded in" in said
    reader = RunReader(only_run(tmp_path))
    reader.check()
    rows = list(reader.trials())
    assert reader.facts["state"] == "interrupted" and reader.facts["trials"] == len(rows) > 0
    assert reader.facts["reason"] == {"SIGINT": "interrupted by the user", "SIGTERM": "ended by SIGTERM"}[how.name]
    assert {row["trial"] for row in reader.verdicts()} == {row["trial"] for row in rows}


def run_with(folder: Path, *arguments: str, shipped: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """``pairproof chaos`` where ``twin`` is the simulation under another name, ``boxes`` one that imitates containers,
    and only these scenarios come with pairproof, if any are named.
    """
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import container_lab\n"
        "from pairproof.chaos.scenarios import library\n"
        "from pairproof.harness.trials import resolve\n"
        "from pairproof.harness.commands.main import main\n"
        "found, names = resolve.lab, library.names()\n"
        "labs = {'twin': found('sim'), 'boxes': container_lab.LAB}\n"
        "resolve.lab = lambda name: labs.get(name) or found(name)\n"
        f"library.names = lambda: {list(shipped)!r} or names\n"
        f"sys.exit(main(['chaos', *{arguments!r}]))\n"
    )
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)


SOME = ("image-replaced", "memory-limit", "slave-lag")
NOT_HERE = f"image-replaced ({REPLACES}), memory-limit ({LIMITS})"


def test_all_is_what_the_lab_has_the_abilities_for_and_the_rest_is_named(tmp_path: Path) -> None:
    done = run_with(tmp_path, "run", "--all", "--json", "a.json", shipped=SOME)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"not for this lab: {NOT_HERE}" in done.stdout.splitlines()
    assert "reference in sim: holds; 1 of 1 scenario holds" in done.stdout and "skipped" not in done.stdout
    answer = json.loads((tmp_path / "a.json").read_text())
    left_out = [
        {"name": "image-replaced", "lacks": [REPLACES]}, {"name": "memory-limit", "lacks": [LIMITS]},
    ]  # fmt: skip
    assert [each["name"] for each in answer["scenarios"]] == ["slave-lag"] and answer["left_out"] == left_out
    assert RunReader(only_run(tmp_path)).facts["left_out"] == left_out


def test_all_decides_the_exit_code_by_what_was_played(tmp_path: Path) -> None:
    done = run_with(tmp_path, "run", "--all", "--target", "reference+acks_at_once", shipped=SOME)
    assert done.returncode == 1 and f"not for this lab: {NOT_HERE}" in done.stdout
    every = run_with(tmp_path, "run", "--all", "--lab", "boxes", shipped=SOME)
    assert every.returncode == 0 and "3 of 3 scenarios hold" in every.stdout and "not for" not in every.stdout
    none = run_with(tmp_path, "run", "--all", shipped=SOME[:2])
    assert (none.returncode, none.stdout) == (2, "")
    assert none.stderr == (
        "pairproof: no scenario can be played in sim; pairproof labs lists the abilities of each lab\n"
    )


def test_what_is_asked_for_by_its_name_is_skipped_and_never_green(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "memory-limit", "slave-lag", "--json", "a.json")
    assert done.returncode == 3 and "memory-limit: skipped" in done.stdout and "not for this lab" not in done.stdout
    assert f"skipped: memory_limit: not possible here: it requires that {LIMITS} (labs that can: docker)" in done.stdout
    assert json.loads((tmp_path / "a.json").read_text())["left_out"] == []


def test_parity_of_three_labs_compares_those_that_can(tmp_path: Path) -> None:
    labs = ("--labs", "sim,boxes,twin")
    done = run_with(tmp_path, "parity", "--all", *labs, "--out", "p.md", "--json", "a.json", shipped=SOME)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 scenarios; not explained: nothing" in done.stdout and "not for" not in done.stdout
    page = (tmp_path / "p.md").read_text()
    assert "in sim, boxes and twin, and" in page and "| scenario | sim | boxes | twin | trials |" in page
    assert f"| memory-limit | cannot: {LIMITS} | holds | cannot: {LIMITS} | 0/2/0 |" in page
    assert "| slave-lag | holds | holds | holds | 1/1/1 |" in page and page.rstrip().endswith("None.")
    image, memory, lag = json.loads((tmp_path / "a.json").read_text())
    assert image["verdicts"] == {"sim": "cannot", "boxes": "holds", "twin": "cannot"} and image["differences"] == []
    assert memory["lacking"] == {"sim": [LIMITS], "twin": [LIMITS]} and lag["lacking"] == {}


def test_parity_counts_the_only_lab_that_can(tmp_path: Path) -> None:
    bad = ("--labs", "sim,boxes", "--target", "reference+forgets_last_record")
    done = run_with(tmp_path, "parity", "memory-limit", *bad)
    assert done.returncode == 1 and "1 scenario; not explained: nothing" in done.stdout
    assert "sim: recorded" not in done.stdout and "boxes: recorded" in done.stdout


def test_parity_of_labs_that_all_cannot(tmp_path: Path) -> None:
    done = run_with(tmp_path, "parity", "--all", "--labs", "sim,twin", shipped=SOME)
    assert done.returncode == 0 and f"not for these labs: {NOT_HERE}" in done.stdout.splitlines()
    assert "1 scenario; not explained: nothing" in done.stdout
    named = run_with(tmp_path, "parity", "memory-limit", "slave-lag", "--labs", "sim,twin")
    assert named.returncode == 3 and "cannot: a node" in named.stdout and "not for" not in named.stdout


def test_parity_of_a_lab_with_itself_has_no_difference(tmp_path: Path) -> None:
    done = run_with(tmp_path, "parity", "slave-lag", "slave-pause", "--labs", "sim,twin", "--out", "p.md")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 scenarios; not explained: nothing" in done.stdout
    page = (tmp_path / "p.md").read_text()
    assert "| slave-lag | holds | holds | 1/1 |" in page and page.rstrip().endswith("None.")
