"""The deviations that are known of RocketMQ, shown by their programs in models of its versions, and by no other."""

from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.mutants import catalogue
from pairproof.chaos.mutants.mutant import composed
from pairproof.harness.commands import deviations as commands
from pairproof.harness.commands.main import main
from pairproof.harness.errors import EXIT_HOLDS, EXIT_LAB, EXIT_UNKNOWN, EXIT_USAGE, EXIT_VIOLATED
from pairproof.harness.judging import deviations
from pairproof.harness.judging.deviations import Deviation
from pairproof.harness.judging.disturbances import STALLED
from pairproof.harness.judging.law import Violation
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import circumstances
from pairproof.harness.rocketmq.laws.questions.query_statistics import QueryStatistics
from pairproof.harness.rocketmq.testing import pair
from pairproof.harness.testing import judged
from pairproof.harness.trials import interpreter, resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

MODELS = ("rocketmq-4.9.7@model", "rocketmq-5.5.0@model")
DEVIATING = ("rogue-slave-on-ha-port", "lying-disk")
SHOWN = [
    (model, each) for model in MODELS for each in deviations.of(resolve.target(model)) if each.models and each.program
]


def played(target: str, known: Deviation) -> Trial:
    return run_trial(resolve.lab("sim"), resolve.target(target), known.schedule())


@pytest.mark.parametrize(("model", "known"), SHOWN, ids=lambda each: getattr(each, "id", each))
def test_a_stored_program_shows_its_deviation_in_the_model_and_nothing_new(model: str, known: Deviation) -> None:
    judgements = played(model, known).judgements
    assert any(known.id in each.deviations for each in judgements)
    assert [each.law for each in judgements if each.verdict is Verdict.VIOLATED] == []


@pytest.mark.parametrize(
    ("target", "known", "law", "ops"),
    [
        (
            "rocketmq-4.9.7@model", "first-report-believed", "contract",
            [
                ("fault", {"name": "stall", "direction": "down", "link": "ha"}),
                ("send", {"producer": 0, "size": 1, "wait": True, "queue": 0}),
                ("arm", {"node": "master", "name": "rogue_slave", "character": "junk", "point": "flush", "nth": 1}),
                ("arm", {"node": "slave", "name": "promotion", "rejoin": "wiped", "point": "send", "nth": 1}),
                ("advance", {"ms": 600}),
            ],
        ),
        (
            "rocketmq-4.9.7@model", "file-size-unnoticed", "query-offsets",
            [("send", {"producer": 0, "size": 1_700, "wait": True, "queue": 0})],
        ),
        (
            "rocketmq-5.5.0@model", "slave-takes-changes", "meta-converges",
            [
                ("join", {"group": 0, "consumer": 0}),
                ("recreate", {"steps": 3, "what": "topic", "node": "slave", "number": 0}),
                ("topic", {"number": 0, "node": "master", "queues": 1}),
            ],
        ),
    ],
)  # fmt: skip
def test_what_follows_from_a_deviation_is_part_of_it(
    target: str, known: str, law: str, ops: list[tuple[str, dict[str, Any]]]
) -> None:
    settings: dict[str, dict[str, Any]] = {
        "contract": {"haSendHeartbeatInterval": 500}, "query-offsets": {"lab.slaveFileSize": 4_096},
        "meta-converges": {"lab.nameServer": 1},
    }  # fmt: skip
    # What is asked at its end is drawn from the seed.
    schedule = Schedule(
        settings[law], "model-3/2" if law == "query-offsets" else "model-1", tuple(Op(*each) for each in ops)
    )
    judgements = run_trial(resolve.lab("sim"), resolve.target(target), schedule).judgements
    assert [each.law for each in judgements if each.verdict is Verdict.VIOLATED] == []
    assert any(each.law == law and known in each.deviations for each in judgements)


@pytest.mark.parametrize("known", deviations.every().values(), ids=lambda each: each.id)
def test_a_stored_program_breaks_no_law_on_the_reference(known: Deviation) -> None:
    if known.program:
        verdicts = {each.verdict for each in played("reference", known).judgements}
        assert not verdicts & {Verdict.VIOLATED, Verdict.DEVIATES}


def test_a_broker_may_fail_over_a_question_about_itself_in_its_first_seconds_only() -> None:
    def asked(after_ms: int) -> str:
        history = pair().after(after_ms)
        history.add("audit", node="master", op=1, f="final", lo=0, hi=0, value=0, status="whole")
        history.add("answer", node="master", op=1, f="runtime", status="SYSTEM_ERROR")
        found = judged(QueryStatistics, history.events)
        known = deviations.of(resolve.target("rocketmq-4.9.7"))
        return str(deviations.sorted_out([found], history.events, known)[0].verdict)

    assert asked(1_999) == "known-deviation"
    assert asked(2_000) == "violated"


@pytest.mark.parametrize(
    ("lost", "known"),
    [("master-machine-crash", True), ("both-machines-crash", True), ("slave-machine-crash", False), ("no-loss", False)],
)
def test_a_flush_that_failed_is_known_whichever_machines_lost_power(lost: str, known: bool) -> None:
    (shows,) = [each for each in deviations.every()["failed-flush-acknowledged"].signs if "contract" in each.laws]
    said = f"m1 (PUT_OK) is gone from the master; {lost} must not take it: the master's machine lost power"
    assert bool(shows.text.search(said)) == known


@pytest.mark.parametrize(("ends", "how", "known"), [
    ("stop", "machine", True), ("stop", "process", False), (None, "machine", False),
])  # fmt: skip
def test_keys_are_lost_after_an_orderly_stop_and_a_power_loss_only(ends: str | None, how: str, known: bool) -> None:
    history = pair()
    if ends:
        history.add(ends, node="master").add("start", node="master", lo=0, hi=0)
    history.add("crash", node="master", f=how).add("start", node="master", lo=0, hi=0)
    history.add("ok", node="master", op=1, f="send")
    missing = Violation(
        history.events[-1].seq, history.events[-1].t, "master, asked for m0, answers without the message at 0"
    )
    (sign,) = deviations.every()["index-unflushed"].signs
    assert sign.text.search(missing.text) and circumstances.stopped_before_power_loss(history.events, missing) is known


def test_every_deviation_names_mutants_that_there_are() -> None:
    assert {name for each in deviations.every().values() for name in each.models} <= set(catalogue())


def test_versions_differ_in_what_is_known_of_them() -> None:
    old, new = ({each.id for each in deviations.of(resolve.target(name))} for name in MODELS)
    real = {each.id for each in deviations.of(resolve.target("rocketmq-4.9.7"))}
    assert real == old
    assert old - new == {
        "bare-connection-counts", "failed-flush-acknowledged", "first-report-believed", "index-unflushed",
        "silent-master-kept", "torn-backup-refused",
    }  # fmt: skip
    assert new - old == {
        "delete-topic-fails",
        "empty-send-fails",
        "offsets-unread",
        "reports-unchecked",
        "slave-takes-changes",
    }


def test_of_a_mixed_pair_each_node_answers_for_itself() -> None:
    master = {each.node for each in deviations.of(resolve.target("rocketmq-4.9.7-reference"))}
    slave = {each.node for each in deviations.of(resolve.target("reference-rocketmq-4.9.7"))}
    assert (master, slave) == ({"master"}, {"slave"})


def test_mutants_compose_part_by_part() -> None:
    names = ("bare_connection_counts", "believes_first_report", "acks_at_once")
    broker: Any = composed(*(catalogue()[each].node_class for each in names))
    parts = {each.__name__ for each in broker.master_class.__mro__}
    assert {"BareConnectionCounts", "BelievesFirstReport"} <= parts
    assert broker.master_class.transfer_class.__mro__[0].__name__ == "AcksAtOnce"


def test_a_new_mistake_beside_known_deviations_is_a_violation(tmp_path: Path) -> None:
    asked = ["check", "--trials", "30", "--seed", "1", "--law", "ack-replicated", "--runs", str(tmp_path)]
    assert main([*asked, "--first", "--target", f"{MODELS[0]}+acks_at_once"]) == EXIT_VIOLATED


def test_check_of_a_model_is_green_and_names_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", "--target", MODELS[0], "--jobs", "1", "--trials", "80", "--seed", "1", "--runs", str(tmp_path)]
    laws = ("ack-replicated", "ha-start-offset", "ha-housekeeping", "ack-unavailable-honest", "ha-divergence-refused")
    code = main([*asked, *(f"--law={each}" for each in laws)])
    said = capsys.readouterr().out
    assert "known deviation: first-report-believed: " in said
    assert "violated" not in said
    assert code == EXIT_HOLDS


@pytest.mark.parametrize(
    ("name", "target", "code", "said"),
    [
        ("silent-master-kept", MODELS[0], EXIT_HOLDS, "still there, shown in 2 of 2"),
        ("silent-master-kept", MODELS[1], EXIT_VIOLATED, "gone, shown in 0 of 2"),
        ("heartbeat-names-report", MODELS[0], EXIT_USAGE, ""),
        ("no-such-thing", MODELS[0], EXIT_USAGE, ""),
    ],
)
def test_only_its_own_program_says_whether_a_deviation_is_gone(
    name: str, target: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deviations", "check", name, "--target", target, "--replays", "2"]) == code
    assert said in capsys.readouterr().out


def test_what_the_lab_left_out_is_not_gone() -> None:
    known = deviations.find("silent-master-kept")
    trial = played("reference", known)
    assert commands.outcome(known, [trial])["outcome"] == "gone"
    skipped = commands.outcome(known, [trial, trial._replace(skipped=("fault stall: not here",))])
    assert (skipped["outcome"], skipped["why"]) == ("unknown", ["skipped: fault stall: not here"])
    doubtful = [each._replace(verdict=Verdict.UNKNOWN) for each in trial.judgements]
    assert commands.outcome(known, [trial._replace(judgements=doubtful)])["outcome"] == "unknown"
    assert commands.CODES["unknown"] == EXIT_UNKNOWN != EXIT_LAB


def test_deviations_are_listed_with_versions_and_upstream_issues(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deviations", "--target", "rocketmq-5.5.0", "--json", "-"]) == EXIT_HOLDS
    said = capsys.readouterr().out
    assert '"id": "reports-unchecked"' in said
    assert '"apache/rocketmq PR 3016"' in said
    assert "first-report-believed" not in said


@pytest.mark.parametrize("scenario", ["rogue-slave-on-ha-port", "sync-master-alone", "slave-wiped", "lying-disk"])
@pytest.mark.parametrize("target", ["reference", *MODELS])
def test_a_scenario_expects_of_each_version_what_it_is_known_to_do(
    target: str, scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chaos", "run", scenario, "--target", target, "--seed", "4", "--runs", str(tmp_path)]) == EXIT_HOLDS
    told = {each.partition(":")[0] for each in capsys.readouterr().out.split("known deviation: ")[1:]}
    # That one shows wherever an administrator's visit is drawn.
    assert bool(told - {"delete-topic-fails"}) == (target != "reference" and scenario in DEVIATING)


def test_a_program_that_the_machine_spoilt_is_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known = deviations.find("silent-master-kept")
    true, played_so_far = run_trial, list[Trial]()

    def stalls_once(*given: Any, **more: Any) -> Trial:
        trial = true(*given, **more)
        if not played_so_far:
            late = [
                each._replace(verdict=Verdict.UNKNOWN, violations=(), deviations={}, doubt=f"{STALLED} (a test)")
                for each in trial.judgements
            ]
            trial = trial._replace(judgements=late)
        played_so_far.append(trial)
        return trial

    monkeypatch.setattr(interpreter, "run_trial", stalls_once)
    assert main(["deviations", "check", known.id, "--target", MODELS[0]]) == EXIT_HOLDS
    assert len(played_so_far) == 2


def test_only_a_slave_whose_files_have_another_size_is_excused_by_them() -> None:
    known = deviations.find("file-size-unnoticed")
    like, unlike = (played("reference", each).events for each in (deviations.find("slave-takes-changes"), known))
    differ = resolve.system("rocketmq").circumstances["file-sizes-differ"]
    assert (differ(like, Violation(0, 0, "")), differ(unlike, Violation(0, 0, ""))) == (False, True)
