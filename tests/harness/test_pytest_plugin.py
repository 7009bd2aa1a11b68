"""The pytest plugin in somebody else's suite: real runs of pytest, also side by side, and the sample repository."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pairproof.harness import pair, registry
from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.judging.law import Law, Violation
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Finding

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300

LAW = """
import pytest
from pairproof import Law

class NoStop(Law):
    id = "no-stop"
    promise = "Nobody is killed."
    source = "ours"
    needs = frozenset({"crash"})

    def begin(self):
        pass

    def on_start(self, event):
        self.judged += 1

    def on_crash(self, event):
        self.violate(event, f"{event.node} was killed")

"""


MINE = """
import pairproof, pytest

def mine(name, id, needs="ok"):
    def on_ok(self, event):
        raise KeyError("oops")
    return type(name, (pairproof.Law,), {
        "id": id, "promise": "x", "source": "x", "needs": frozenset({needs}), "on_ok": on_ok,
    })

def odd(**given):
    return type("T", (mine("a", "b"),), given)

"""


CALLS = {
    "play(pair.op('sned'))": "operation 1: unknown 'sned'; did you mean 'send'?",
    "play(pair.op('send', producr=0))": "operation 1 (send) needs producer as int",
    "play([pair.op('send')])": "play takes operations, each made by pair.op or pair.fault, not [",
    "play(pair.fault('memory_limit', node='master'))": "some operations were skipped: memory_limit: not possible here",
    "explore(trials=-1)": "trials of a search are a number above 0, not -1",
    "explore(trials='5')": "trials of a search are a number above 0, not '5'",
    "explore(seconds=0)": "seconds of a search are a number above 0, not 0",
}
"""What is wrong with a call, and what is said of it."""


def suite(folder: Path, text: str, *arguments: str) -> tuple[int, str]:
    (folder / "test_ours.py").write_text(text)
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", *arguments]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_law_in_the_user_s_own_file_fails_the_test_with_the_whole_story(tmp_path: Path) -> None:
    code, said = suite(
        tmp_path,
        LAW
        + """
@pytest.mark.pairproof(laws=[NoStop])
def test_red(pair):
    pair.play(pair.op("advance", ms=10), pair.fault("kill", node="master"), pair.op("advance", ms=10))

@pytest.mark.pairproof(laws=[NoStop, "log-prefix"])
def test_green(pair):
    assert pair.play(pair.op("send", producer=0, size=300, wait=True, queue=0)).events
""",
    )
    assert code == 1 and "1 failed, 1 passed" in said
    story = said[said.index("no-stop is violated: master was killed") :]
    assert "the promise: Nobody is killed." in story
    assert '    1  fault(name="kill", node="master")\n' in story and "    2  " not in story
    assert re.search(r"\n> +\d+ +[\d.]+ ms  master was killed", story)
    assert "run the test again to replay it: only this test has the law" in story
    assert "Traceback" not in said and "pair.py" not in said


DRAWN = """
from hypothesis import Phase, given, settings, strategies as st

SIZES = st.lists(st.integers(0, 4_000), min_size=1, max_size=6)

def play(pairs, target, sizes):
    with pairs(target=target, laws=["ha-appends-frames"]) as pair:
        sends = [pair.op("send", producer=0, size=size, wait=True, queue=0) for size in sizes]
        pair.play(*sends, pair.fault("power_loss", node="master", keep="none"), *sends)

@settings(deadline=None, phases=[Phase.generate])
@given(sizes=SIZES)
def test_red(pairs, sizes):
    play(pairs, "reference+repeats_frame", sizes)

@settings(deadline=None, max_examples=10)
@given(sizes=SIZES)
def test_green(pairs, sizes):
    play(pairs, "reference", sizes)

@given(sizes=SIZES)
def test_one_pair_for_all_examples(pair, sizes):
    pass

def test_unknown(pairs):
    with pairs(targt="reference"):
        pass
"""


def test_a_hypothesis_test_takes_a_pair_for_each_example(tmp_path: Path) -> None:
    code, said = suite(tmp_path, DRAWN)
    assert code == 1 and "3 failed, 1 passed" in said
    story = said[said.index("ha-appends-frames is violated") : said.index("test_one_pair_for_all_examples")]
    assert "seed 'test_ours.py::test_red'" in story and "    3  send(" in story and "    4  " not in story
    assert '  fault(name="power_loss", node="master", keep="none")' in story and "Traceback" not in said
    (finding,) = (tmp_path / ".pairproof").iterdir()
    assert finding.name in story, "examples that Hypothesis tried on the way leave no file"
    assert "use the fixture pairs, and begin each example with: with pairs(target=...) as pair:" in said
    assert "pairproof takes target, lab, laws, settings, faults, seed, limit_s, each by name, not targt" in said


def test_a_finding_can_be_replayed_and_kept(tmp_path: Path) -> None:
    code, said = suite(
        tmp_path,
        """
import pytest

@pytest.mark.pairproof(target="reference+answers_before_flush", laws=["ack-flushed"])
class TestPair:
    def test_search(self, pair):
        pair.explore(trials=20)

    @pytest.mark.pairproof(target="reference")
    def test_nearer_mark(self, pair):
        assert pair.explore(trials=20).trials >= 20
""",
    )
    assert code == 1 and "1 failed, 1 passed" in said
    (finding,) = (tmp_path / ".pairproof").iterdir()
    assert f"replay .pairproof/{finding.name}" in said and f"cases add .pairproof/{finding.name}" in said
    assert main(["replay", str(finding)]) == 1
    assert main(["cases", "add", str(finding), "--folder", str(tmp_path / "cases")]) == 0


def test_a_story_is_told_also_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / ".pairproof").write_text("a file, where a folder should be")
    code, said = suite(
        tmp_path,
        LAW
        + """
@pytest.mark.pairproof(laws=[NoStop])
def test_red(pair):
    late = pair.op("advance", ms=1_000)
    send = pair.op("send", producer=0, size=300, wait=True, queue=0)
    pair.play(late, send, send, send, late, late, pair.fault("kill", node="slave"))
""",
    )
    assert code == 1 and "no-stop is violated: slave was killed" in said and "Traceback" not in said
    assert "the smallest program that shows it, of 7 operations:" in said
    assert "it could not be kept: cannot write" in said and "File exists" in said and "replay" not in said


def test_what_led_up_to_it_begins_with_the_faults() -> None:
    program = [
        Op("fault", {"name": "pause", "node": "slave"}),
        *[Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})] * 9, Op("advance", {"ms": 6_000}),
        Op("fault", {"name": "kill", "node": "master"}), Op("advance", {"ms": 10}),
    ]  # fmt: skip
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule({}, "s", tuple(program)))
    killed = next(each for each in trial.events if each.kind == "crash")
    verdict = Judgement("x", Verdict.VIOLATED, 1, 1, (Violation(killed.seq, killed.t, "killed"),))
    shown = trial._replace(judgements=[verdict])
    finding = Finding("x", "killed", "reference", "sim", 0, 0, shown.schedule, 4)
    told = list(pair.account(finding, shown, []))
    begun = next(at for at, line in enumerate(told) if "fault pause begins: node slave" in line)
    assert told[begun - 1] == "events before it:" and told[begun + 1] == "       ..."
    assert sum(line.startswith(">") for line in told) == 1 and len(told) < 50


def test_what_is_wrong_with_a_mark_is_one_line(tmp_path: Path) -> None:
    marks = {
        'target="smiulation"': "unknown target 'smiulation'; valid: reference",
        'lab="x"': "unknown lab 'x'; valid: ",
        'targt="reference"': "takes target, lab, laws, settings, faults, seed, limit_s, each by name, not targt",
        '"reference"': "each by name, not reference",
        "limit_s=0": "limit_s is a number of seconds above 0, not 0",
        'laws=["no-law"]': "unknown law 'no-law'",
        "laws=[int]": "is not a law; name one, or derive a class from pairproof.Law",
        'laws="log-prefix"': "laws is a list, ['log-prefix'], not a single value",
        "laws=[type('Bare', (pairproof.Law,), {})]": "the law Bare has no id and no promise and no source and no needs",
        "laws=[mine('a', 'twin'), mine('b', 'twin')]": "two laws are called 'twin'; give each an id",
        "laws=[mine('a', 'odd', 'okk')]": "the law a needs 'okk', which is not an event type; did you mean 'ok'?",
        "laws=[mine('a', 'seen', 'scanned')]": "is not-observable: it needs scanned, which this lab does not record",
        "laws=[mine('a', 'log-prefix')]": "law log-prefix is registered already; give yours another name",
        "laws=[mine('a', '../../x')]": "the law a is called '../../x'; an id has letters, digits, '.', '_' and '-'",
        "laws=[odd(on_okk=print)]": "the law T has a method on_okk, which is not an event type",
        "laws=[odd(needs='ok')]": "must be a set, such as frozenset({\"ok\"}), not 'ok'",
        "laws=[odd(begin=lambda self: 1 / 0)]": "the law T cannot begin: ZeroDivisionError",
        "laws=[odd(__init__=lambda self, of: None)]": "the law T has its own __init__",
        "laws=pairproof.Law": "laws is a list, ['Law'], not a single value",
        "faults=3": "faults is a list, [3], not a single value",
        "settings='a=b'": 'settings must be a table, such as {"brokerRole": "SYNC_MASTER"}, not \'a=b\'',
        "target=None": "target must be a text, not None",
        "seed=3": "seed must be a text, not 3",
        "limit_s=True": "limit_s is a number of seconds above 0, not True",
        "laws=[mine('a', 'raises')]": "raises is unknown: law crashed: KeyError: 'oops' (test_ours.py:",
        'faults="kill"': "faults is a list, ['kill'], not a single value",
        'laws=["transact-hidden"]': "nothing is violated, but after 1 trial transact-hidden is vacuous",
    }
    tests = [f"@pytest.mark.pairproof({mark})\ndef test_{at}(pair): pair.play()\n" for at, mark in enumerate(marks)]
    tests += [f"def test_call_{at}(pair): pair.{call}\n" for at, call in enumerate(CALLS)]
    code, said = suite(tmp_path, MINE + "\n".join(tests))
    assert code == 1 and "Traceback" not in said and "\nE  " not in said
    for told in CALLS.values():
        assert told in said
    assert [says for says in marks.values() if says not in said] == []


def test_a_time_limit_and_the_pair_s_lab(tmp_path: Path) -> None:
    code, said = suite(
        tmp_path,
        """
import pytest, time
from pairproof import Law

class Sleeps(Law):
    id, promise, source, needs = "sleeps", "x", "x", frozenset({"ok"})

    def end(self, last):
        time.sleep(600)

@pytest.mark.pairproof(laws=[Sleeps], limit_s=0.5)
def test_late(pair):
    pair.play(pair.op("advance", ms=10))

@pytest.mark.pairproof(limit_s=600)
def test_in_time(pair, lab):
    assert lab is pair.lab and lab.name == "sim" and "append" in lab.observes(pair.target)
    assert pair.play(pair.op("advance", ms=10)).events
""",
    )
    assert code == 1 and "1 failed, 1 passed" in said and "Traceback" not in said
    assert "unknown: it did not end within the 0.5 s of limit_s. Raise it, or test less" in said


def test_side_by_side(tmp_path: Path) -> None:
    tests = [
        f"@pytest.mark.pairproof(laws=[NoStop])\ndef test_{at}(pair): pair.play(pair.op('advance', ms={at + 1}))\n"
        for at in range(4)
    ]
    code, said = suite(tmp_path, LAW + "\n".join(tests), "-n", "2")
    assert code == 0 and "4 passed" in said


def hearing(kind: str, hear: Callable[[Event], None]) -> type[Law]:
    """A law that is kept, and hands over what it hears."""

    def on(self: Law, event: Event) -> None:
        self.judged += 1
        hear(event)

    about = {"id": "hears", "promise": "Anything.", "source": "here", "needs": frozenset({kind})}
    return type("Hears", (Law,), about | {f"on_{kind}": on})


def test_a_suite_that_does_not_ask_for_it_imports_nothing(tmp_path: Path) -> None:
    code, said = suite(
        tmp_path,
        "import sys\ndef test_it():\n    ours = {each for each in sys.modules if each.startswith('pairproof.')}\n"
        "    assert ours == {'pairproof.harness', 'pairproof.harness.pytest_plugin'}\n"
        "    assert 'pyarrow' not in sys.modules\n",
    )
    assert code == 0, said


def test_the_sample_repository(tmp_path: Path) -> None:
    copy = shutil.copytree(ROOT / "examples" / "pytest_user", tmp_path / "sample")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(line, cwd=copy, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0 and "5 passed" in done.stdout, done.stdout
    assert main(["replay", str(copy / "cases")]) == 0


def test_a_search_draws_the_faults_that_were_asked_for_and_no_others(tmp_path: Path) -> None:
    seen: set[str] = set()

    law = hearing("fault", lambda event: seen.add(str(event.f)))
    with pair.using("reference", "sim", [law], {}, "s", tmp_path, ["down", "kill"]) as made:
        assert made.explore(trials=40).trials > 40, "and the corpus, without its other faults"
    assert seen == {"down", "kill"}
    with pair.using("reference", "sim", [law], {}, "s", tmp_path) as made:
        made.explore(trials=40)
    assert len(seen) > 10
    for wrong, told in ((["dwon"], "unknown fault 'dwon'"), ([], "one fault at least")):
        with pytest.raises(UsageError, match=told), pair.using("reference", "sim", [], {}, "s", tmp_path, wrong):
            pass


def test_settings_of_the_mark_are_those_of_searches_too(tmp_path: Path) -> None:
    asked: set[str] = set()

    def hear(event: Event) -> None:
        if event.node == "master":
            asked.add(json.loads(event.detail or "{}")["brokerRole"])

    law = hearing("config", hear)
    with pair.using("reference", "sim", [law], {"brokerRole": "ASYNC_MASTER"}, "s", tmp_path) as made:
        made.explore(trials=40)
    assert asked == {"ASYNC_MASTER"}
    with (
        pytest.raises(UsageError, match="brokerRole must be"),
        pair.using("reference", "sim", [], {"brokerRole": "SYNCMASTER"}, "s", tmp_path) as made,
    ):
        made.explore(trials=40)


def test_the_state_machine_may_be_subclassed_and_judged_by_a_class(tmp_path: Path) -> None:
    code, said = suite(
        tmp_path,
        LAW
        + """
from hypothesis import Phase, settings
from hypothesis.stateful import rule
from pairproof import conformance

class Ours(conformance.machine("reference", laws=[NoStop])):
    @rule()
    def our_kill(self):
        self.begin({"name": "kill", "node": "slave"})

TestOurs = Ours.TestCase
TestOurs.settings = settings(max_examples=5, phases=[Phase.generate], derandomize=True, deadline=None)
""",
    )
    assert code == 1 and "AssertionError: no-stop: slave was killed" in said


def test_laws_of_a_pair_are_registered_while_it_is_used(tmp_path: Path) -> None:
    class Mine(Law):
        id = "mine-alone"
        promise = "Anything."
        source = "here"
        needs = frozenset({"start"})

    with pair.using("reference", "sim", [Mine], {}, "s", tmp_path):
        assert judge.laws(["mine-alone"]) == (Mine,)
    assert "mine-alone" not in registry.names("laws")
    with pytest.raises(UsageError, match="unknown law 'mine-alone'"):
        judge.laws(["mine-alone"])
    with pytest.raises(UsageError, match="is registered already"), registry.added("laws", {"log-prefix": Mine}):
        pass
