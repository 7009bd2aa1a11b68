"""Findings that begin alike have one cause, and are told once; those that begin elsewhere are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pairproof.harness.commands.findings import Findings
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.profiles import profile
from pairproof.harness.judging import judge
from pairproof.harness.judging.cause import cause, violated
from pairproof.harness.judging.law import Violation
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.rocketmq.testing import H, pair
from pairproof.harness.system import PLAIN
from pairproof.harness.texts import invocation
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Finding, Trial

ADVANCE = Schedule({}, "s", (Op("advance", {"ms": 5}),))


def judged(law: str, seq: int) -> Judgement:
    return Judgement(law, Verdict.VIOLATED, 1, 1, (Violation(seq, 0, f"{law} is broken", None),))


def trial(history: H, *judgements: Judgement) -> Trial:
    return Trial(0, "swarm", ADVANCE, history.events, [*judgements])


def test_the_earliest_violation_names_the_cause() -> None:
    history = pair().add("append", node="slave2", lo=0, hi=100).add("mark", f="end")
    append, end = (each.seq for each in history.events[-2:])
    broken = trial(
        history, judged("a-late-law", end), judged("log-prefix", append), Judgement("c", Verdict.HOLDS, 1, 0)
    )
    assert [each.law for each in violated(broken)] == ["log-prefix", "a-late-law"]
    # Slaves are alike; so is the same event in a trial with one slave.
    assert cause(broken) == "log-prefix, append at slave"
    assert cause(trial(history, judged("a-late-law", end))) == "a-late-law, mark"
    assert cause(trial(history)) == ""


def test_an_operation_s_phase_is_told_with_the_operation() -> None:
    history = pair().add("ok", node="master", f="send", op=1)
    assert cause(trial(history, judged("contract", history.events[-1].seq))) == "contract, send ok at master"


def finding(law: str, cause: str, *ops: Op) -> Finding:
    schedule = Schedule({}, "s", ops or ADVANCE.ops)
    return Finding(law, f"{law} is broken", "reference+x", "sim", 7, 8, schedule, 30, cause=cause)


def test_a_cause_is_told_in_full_once_and_then_only_what_is_new(capsys: Any) -> None:
    told = Findings(SYSTEM)
    one, two, three = (finding(law, "a, append at slave") for law in ("a", "b", "c"))
    told.say([(one, Path("/r/0001.json")), (two, Path("/r/0002.json"))])
    told.say([(one, Path("/r/0003.json"))])
    told.say([(two, Path("/r/0004.json")), (three, Path("/r/0005.json"))])
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "violated: a: a is broken" and said[1] == "  the same program violates: b"
    assert [line for line in said if "replay" in line or "autopsy" in line] == [
        f"  replay: {invocation.line('replay', Path('/r/0001.json'))}",
        f"  autopsy: {invocation.line('autopsy', Path('/r/0001.json'))}",
    ]
    assert said[-1] == "  violated too, from the same cause: c: c is broken (/r/0005.json)"
    assert told.sentence() == "5 findings of 1 cause (what broke first): a, append at slave"


def test_a_finding_is_told_with_program_settings_and_size(capsys: Any) -> None:
    schedule = Schedule({"brokerRole": "SYNC_MASTER"}, "s", (Op("advance", {"ms": 5}),))
    known = Finding("log-prefix", "differs [at] 40", "reference+x", "sim", 7, 8, schedule, 30)
    Findings(SYSTEM).say([(known, Path("/r/0001.json"))])
    assert capsys.readouterr().out.splitlines()[:3] == [
        "violated: log-prefix: differs [at] 40",
        "    advance(ms=5)",
        "  with brokerRole=SYNC_MASTER (1 operation, shrunk from 30)",
    ]


def test_a_long_program_that_was_not_shrunk_is_folded_limited_and_says_so(capsys: Any) -> None:
    send, advance = Op("send", {"producer": 0}), Op("advance", {"ms": 50})
    ops = (send, advance) * 20 + tuple(Op("advance", {"ms": number}) for number in range(100))
    known = Finding("log-prefix", "differs", "reference+x", "sim", 7, 7, Schedule({}, "s", ops), 140)
    Findings(SYSTEM).say([(known, Path("/r/0001.json"))])
    said = capsys.readouterr().out.splitlines()
    assert said[1:4] == ["    20 times:", "      send(producer=0)", "      advance(ms=50)"]
    assert any("73 more lines" in line for line in said) and len(said) < 50
    assert any("(140 operations, not shrunk: no smaller program showed it again" in line for line in said)
    assert known._replace(shrunk_trial=8).size == "140 operations, minimal"


def test_no_autopsy_is_offered_of_a_system_that_has_none(capsys: Any) -> None:
    Findings(PLAIN).say([(finding("a", "x"), Path("/r/0001.json"))])
    said = capsys.readouterr().out
    assert "  replay: " in said and "autopsy" not in said


def test_another_cause_is_told_apart(capsys: Any) -> None:
    told = Findings(SYSTEM)
    told.say([(finding("a", "a, append at slave"), Path("/r/0001.json"))])
    told.say([(finding("a", "a, report at master"), Path("/r/0002.json"))])
    assert capsys.readouterr().out.count("violated: a: a is broken") == 2
    assert told.sentence().startswith("2 findings of 2 causes") and not Findings(SYSTEM).sentence()


def test_the_terminal_says_what_a_trial_has_that_its_program_does_not(capsys: Any) -> None:
    Findings(SYSTEM).say([(finding("a", "x"), Path("/r/0001.json"))])
    said = capsys.readouterr().out
    assert "the pair comes up and replicates one message" in said and "messages are sent as probes" in said


def test_one_bug_s_findings_share_one_cause_and_laws_of_one_program_come_together() -> None:
    together: list[list[Finding]] = []
    laws = judge.laws(["ha-appends-frames", "ha-report-monotone", "log-prefix"])
    explorer = Explorer(
        resolve.lab("sim"), resolve.target("reference+repeats_frame"), profile("quick"), "cause", laws,
        trials=60, on_findings=together.append,
    )  # fmt: skip
    summary = explorer.run()
    assert {each.cause for each in summary.findings} == {"ha-appends-frames, append at slave"}
    assert [each for found in together for each in found] == summary.findings
    assert [each.law for each in together[0]] == ["ha-appends-frames", "ha-report-monotone", "log-prefix"]
    assert len({each.shrunk_trial for each in together[0]}) == 1
