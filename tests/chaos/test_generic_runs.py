"""Whole measurements: of a stranger's package, which is a toy, and of a few places of the reference."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stranger_pair

from pairproof.chaos.generic import measuring, running, sampling
from pairproof.chaos.generic.measuring import Question
from pairproof.chaos.generic.sampling import Place
from pairproof.chaos.generic.score import CRASH, KILLED, NOT_REACHED, SURVIVED, Result, catchers, expected, summary
from pairproof.harness.commands.main import main
from pairproof.harness.errors import PairproofError, UsageError

QUICK = running.Limits(cpu_s=20, trial_s=2)
TOY = Question("acme", "acme", ("acme",), "s", 10, 5, limits=QUICK)
COMMAND = ("mutants", "--generic", "--target", "acme", "--lab", "acme", "--package", "acme", "--trials", "2")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield stranger_pair.register(tmp_path / "src", monkeypatch)
    monkeypatch.undo()
    stranger_pair.forget()


def silent(done: int, total: int | None, doing: str) -> None:
    pass


def picked(packages: tuple[str, ...], *wanted: tuple[str, str, str]) -> list[Place]:
    """Places by their function, their operator, and what stands there."""
    sources = sampling.sources(packages)
    places = [source.place(number, site) for source in sources for number, site in enumerate(source.sites())]
    by_code = {(each.function, each.operator, each.before): each for each in reversed(places)}
    return [by_code[each] for each in wanted]


def judged(question: Question, folder: Path, places: list[Place]) -> list[Result]:
    folder.mkdir(exist_ok=True)
    results, _, control = measuring.judged(question, folder, places, 2, silent, {})
    assert control.alarms == {} and control.trials >= question.control
    return [results[each.key] for each in places]


def test_mutants_of_a_stranger_s_package_are_killed_crash_hang_survive_or_are_never_reached(
    stranger: Path, tmp_path: Path
) -> None:
    places = picked(
        ("acme",),
        ("ToySession.advance", "call", "happen()"),
        ("ToySession.advance", "and-or", "self._due and self._due[0][0] <= until"),
        ("ToySession.settle", "update", "left -= 1"),
        ("Toy.settings", "return", "return {'flush': 'async', **schedule}"),
        ("Node.__init__", "true-false", "False"),
        ("unused", "arithmetic", "number * 2"),
    )
    killed, crash, hang, early, survivor, unreached = judged(TOY, tmp_path, places)
    assert (killed.verdict, killed.law) == (KILLED, "converges") and killed.origin in ("sweep", "swarm")
    assert "not come to rest" in killed.text and 1 <= killed.trials <= 5
    assert (crash.verdict, crash.law) == (CRASH, "") and "IndexError" in crash.text and "pair.py:" in crash.text
    assert (hang.verdict, hang.law) == (CRASH, "") and running.OUT_OF_TIME in hang.text
    assert early.verdict == CRASH and "AttributeError" in early.text
    assert (survivor.verdict, survivor.trials, survivor.law) == (SURVIVED, 5, "")
    assert (unreached.verdict, unreached.trials, unreached.reaching) == (NOT_REACHED, 0, 0)
    # Every trial comes past the first; only what is executed by calls counts.
    assert killed.reaching == survivor.reaching == 10 * TOY.trials


def test_a_process_that_waits_or_takes_too_much_memory_is_ended(stranger: Path, tmp_path: Path) -> None:
    children = running.Children()
    task = {"do": "mutant", "lab": "acme", "target": "acme", "module": "acme.parts.spare", "number": 0}
    task |= {"file": str(tmp_path / "trials"), "numbers": []}
    with pytest.raises(PairproofError, match="mutant: FileNotFoundError"):
        children.ask(task, QUICK)
    (tmp_path / "trials").touch()
    assert children.ask(task, QUICK).ended == ""
    assert children.ask(task, QUICK._replace(wall_s=0.01)).ended == "did not end within 0 s"
    # Too little for what is imported, which with enough is. Python names many errors then: MemoryError, SystemError, or
    # SyntaxError, of a file that it could not parse.
    (line, _) = children.ask(task, QUICK._replace(memory_bytes=20 << 20)).lines
    named = [each for each in ("MemoryError", "SystemError", "SyntaxError") if each in line["crash"]]
    assert "at import: " in line["crash"] and named
    children.kill()
    assert children.ask(task, QUICK).ended == "interrupted"


def test_mutants_of_the_reference_are_killed_by_a_law_or_survive(tmp_path: Path) -> None:
    packages = ("pairproof.reference.wire.ha", "pairproof.reference.wire.headers")
    question = Question("reference", "sim", packages, "s", 10, 1)
    places = picked(
        question.packages,
        ("FrameReader._header", "compare", "size > self.max_body"),
        ("FrameReader._header", "border", "size > self.max_body"),
        ("_row", "return", "return Row(_fields(request), _fields(response), carriers)"),
    )
    killed, survivor, imported = judged(question, tmp_path, places)
    assert (killed.verdict, killed.law) == (KILLED, "live-converges")
    assert survivor.verdict == SURVIVED and not survivor.differing
    # That runs at the import only, before any trial.
    assert imported.verdict == CRASH and imported.reaching >= survivor.reaching > 30


def test_a_measurement_goes_on_where_it_ended(stranger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    question = TOY._replace(sample=4, trials=2)
    whole = measuring.measure(question, folder, [], 2, silent)
    assert len(whole.rows) == 4
    kept = (folder / measuring.RESULTS).read_text().splitlines(keepends=True)
    assert kept
    # The last line was cut when the process ended.
    (folder / measuring.RESULTS).write_text("".join(kept[:-1]) + kept[-1][:20])
    asked: list[dict[str, Any]] = []
    ask = running.Children.ask
    monkeypatch.setattr(
        running.Children, "ask", lambda self, task, limits: asked.append(task) or ask(self, task, limits)
    )
    again = measuring.measure(question, folder, [], 1, silent)
    last = json.loads(kept[-1])["key"]
    assert [f"{each['module']}:{each['number']}" for each in asked] == [last]

    def timeless(found: measuring.Measured) -> list[object]:
        return [(place, result._replace(cpu_s=0.0)) for place, result in found.rows]

    assert timeless(again) == timeless(whole)
    with pytest.raises(UsageError, match="holds a measurement with other sample, seed"):
        measuring.measure(question._replace(seed="t", sample=5), folder, [], 1, silent)
    pair = stranger / "pair.py"
    pair.write_text(pair.read_text() + "\nMORE = 1\n")
    with pytest.raises(UsageError, match="holds a measurement with other code"):
        measuring.measure(question, folder, [], 1, silent)


def test_survivors_of_a_tenth_play_on(stranger: Path, tmp_path: Path) -> None:
    places = picked(("acme",), ("ToySession.advance", "call", "happen()"), ("Node.__init__", "true-false", "False"))
    question = TOY._replace(trials=2, deep=9)
    firsts: dict[str, Result] = {}
    for seed in "abcdefgh":
        folder = tmp_path / seed
        folder.mkdir()
        firsts, deeper, control = measuring.judged(question._replace(seed=seed), folder, places, 1, silent, {})
        assert control.trials >= measuring.CONTROL_LEAST and len(deeper) == 1
        ((key, result),) = deeper.items()
        if result.verdict == SURVIVED:
            # The trials of both stages, none of them twice.
            assert (firsts[key].trials, result.trials, result.cpu_s > firsts[key].cpu_s) == (2, 9, True)
            return
        assert result == firsts[key]
    pytest.fail("no seed draws the survivor")


def test_a_folder_with_something_else_is_refused(stranger: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds something else; name a new folder"):
        measuring.measure(TOY, tmp_path, [], 1, silent)


def test_the_command_says_what_survived_what_is_stale_and_whether_it_is_enough(
    stranger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, answer, listed = tmp_path / "out", tmp_path / "answer.json", tmp_path / "list.toml"
    begin = [*COMMAND, "--sample", "5", "--out", str(out), "--equivalents", str(listed)]
    listed.write_text("")
    assert main([*begin, "--json", str(answer)]) == 0
    said = capsys.readouterr().out
    found = json.loads(answer.read_text())
    verdicts = found["verdicts"]
    assert sum(verdicts.values()) == 5 == len(found["mutants"]) and found["control"]["alarms"] == {}
    killed = verdicts.get(KILLED, 0) + verdicts.get(CRASH, 0)
    assert found["score"]["hits"] == killed < 5 and f"killed: {killed} of 5, " in said
    survivor = next(each for each in found["mutants"] if each["verdict"] == SURVIVED)
    assert f":{survivor['line']}" in said and "Survivors" in said
    # The same measurement is judged again, without playing anything.
    assert main([*begin, "--at-least", "100"]) == 1
    assert "less than the 100 % that --at-least requires" in capsys.readouterr().out
    entry = {
        "package": "acme", "module": survivor["module"].removeprefix("acme").lstrip("."), "after": survivor["after"],
        "function": survivor["function"], "operator": survivor["operator"], "line": survivor["code"], "reason": "so",
    }  # fmt: skip
    rows = [entry, {**entry, "line": "no such line"}]
    for count, code in ((1, 0), (2, 1)):
        written = [
            "[[equivalent]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in each.items())
            for each in rows[:count]
        ]
        listed.write_text("\n".join(written))
        assert main([*begin, "--json", str(answer)]) == code
        again = json.loads(answer.read_text())
        assert again["score"]["of"] == 5 - again["verdicts"]["equivalent"] < 5
        assert len(again["stale"]) == count - 1 == capsys.readouterr().out.count("stale equivalent")


def test_an_alarm_of_the_control_is_said_and_its_trials_are_left_out(
    stranger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair, answer = stranger / "pair.py", tmp_path / "answer.json"
    pair.write_text(pair.read_text().replace('bug: str = ""', 'bug: str = "forgetful"'))
    kept = ["--out", str(tmp_path / "out")]
    assert main([*COMMAND, "--sample", "1", "--trials", "20", "--json", str(answer), *kept]) == 1
    assert "alarm: the unmutated target violates promise-kept in" in capsys.readouterr().out
    loud = [json.loads(line) for line in (tmp_path / "out" / "alarms.jsonl").read_text().splitlines()]
    assert {law for each in loud for law in each["alarms"]} == {"promise-kept"} and "ops" in loud[0]["schedule"]
    found = json.loads(answer.read_text())
    alarms = found["control"]["alarms"]["promise-kept"]
    assert 0 < alarms < 200 == found["control"]["trials"]
    assert all(each["reaching"] <= 200 - alarms for each in found["mutants"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--package", "json"], "--package belongs to --generic"),
        (["--generic", "acks_at_once"], "--generic makes its own mutants"),
        (["--generic", "--lab", "process"], "plays in the simulation only, not in lab process"),
        (["--generic", "--package", "nowhere.at.all"], "No module named 'nowhere'"),
        (["--generic", "--target", "redis"], "unknown target 'redis'"),
        (["--generic", "--target", "rocketmq-4.9.7@model"], "name them with --package"),
        (["--generic", "--package", "pairproof.chaos.generic.hook", "--sample", "1"], "cannot be mutated"),
        (["--generic", "--package", "json", "--equivalents", "nowhere.toml"], "cannot be read"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], complaint: str, capsys: Any) -> None:
    assert main(["mutants", *arguments]) in (2, 4)
    (line,) = (each for each in capsys.readouterr().err.splitlines() if each.startswith("pairproof: "))
    assert complaint in line


def test_figures_say_which_law_catches_what() -> None:
    place = Place("p", "p.m", 0, "m.py", 1, "f", "number", "0", "1", "x = 0", False)
    results = [
        Result("a", KILLED, "one", ("two",)), Result("b", KILLED, "two"), Result("c", CRASH, "node-lives"),
        Result("d", SURVIVED), Result("e", NOT_REACHED), Result("f", "equivalent"),
    ]  # fmt: skip
    figures = summary([(place, each) for each in results])
    assert (figures["score"]["hits"], figures["score"]["of"]) == (3, 5)
    assert (figures["by_law"]["hits"], figures["of_reached"]["of"]) == (2, 4)
    assert catchers([(place, each) for each in results]) == {
        "two": {"first": 1, "any": 2, "alone": 1},
        "node-lives": {"first": 1, "any": 1, "alone": 1},
        "one": {"first": 1, "any": 1, "alone": 0},
    }
    assert figures["operators"] == {
        "number": {KILLED: 2, CRASH: 1, SURVIVED: 1, NOT_REACHED: 1, "equivalent": 1},
    }  # fmt: skip


def test_the_second_stage_estimates_what_more_trials_notice() -> None:
    place = Place("p", "p.m", 0, "m.py", 1, "f", "number", "0", "1", "x = 0", False)
    verdicts = [KILLED] * 50 + [CRASH] * 10 + [SURVIVED] * 38 + [NOT_REACHED] * 2 + ["equivalent"] * 5
    rows = [(place, Result(str(number), verdict)) for number, verdict in enumerate(verdicts)]
    of_tenth = {str(number): Result(str(number), SURVIVED) for number in (0, 55, 60, 61, 62, 98)}
    assert expected(rows, of_tenth) == {"played_on": 4, "later": 0, "percent": 60.0, "low": 44.6, "high": 75.4}
    of_tenth["61"] = Result("61", KILLED)
    assert expected(rows, of_tenth)["percent"] == 70.0
    # By a law other than node-lives: the crash is a survivor there, and one of the five that played on was killed.
    assert expected(rows, of_tenth, (KILLED,))["percent"] == 60.0
    assert expected(rows, {})["low"] == 50.2
