"""Known deviations: what a file may say, what is recognised, and what stays a violation."""

import pytest

from pairproof.harness.errors import EXIT_HOLDS, EXIT_VIOLATED, UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging import deviations
from pairproof.harness.judging.deviations import Deviation
from pairproof.harness.judging.disturbances import STALLED
from pairproof.harness.judging.judge import all_laws
from pairproof.harness.judging.law import CONVENTION, DURABILITY, PROTOCOL, STALLS, Violation
from pairproof.harness.judging.verdict import Judgement, Standing, Verdict, exit_code
from pairproof.harness.trials.schedule import Args

FILE = """
about = "answers too early"
reason = "nobody looks"
source = "Master, line 1"
system = "rocketmq"
node = "master"
versions = [">=4.9.3, <5"]
[[shows]]
laws = ["ack-replicated"]
text = 'no slave had reported'
circumstances = ["first-report-ahead"]
"""
SILENT = Violation(9, 9, "m1 was acknowledged; no slave had reported its end, 230", "m1")
OTHER = Violation(9, 9, "m1 was acknowledged; 1 of 2 slaves had reported its end, 230", "m1")
AHEAD = [
    Event(0, 0, "start", "master", lo=0, hi=100),
    Event(1, 1, "append", "master", lo=100, hi=130),
    Event(2, 2, "report", "master", link="ha:1", side="m", hi=230),
    Event(9, 9, "ok", "master", message="m1", f="send", hi=230),
]
BEHIND = [*AHEAD[:2], AHEAD[2]._replace(hi=130), AHEAD[3]]


def known() -> Deviation:
    return deviations.from_text(FILE, "too-early")


def judged(*violations: Violation, doubt: str | None = None) -> Judgement:
    return Judgement("ack-replicated", Verdict.VIOLATED, 3, len(violations), violations, doubt)


def sorted_out(judgement: Judgement, events: list[Event]) -> Judgement:
    return deviations.sorted_out([judgement], events, [known()])[0]


def code(*judgements: Judgement) -> int:
    return exit_code(Standing(each.verdict) for each in judgements)


def test_a_violation_that_is_recognised_is_a_known_deviation_and_green() -> None:
    found = sorted_out(judged(SILENT), AHEAD)
    assert (found.verdict, found.deviations) == (Verdict.DEVIATES, {"too-early": 1})
    assert code(found) == EXIT_HOLDS


def test_the_same_text_without_its_circumstance_is_a_violation() -> None:
    assert sorted_out(judged(SILENT), BEHIND) == judged(SILENT)
    assert code(sorted_out(judged(SILENT), BEHIND)) == EXIT_VIOLATED


def test_another_text_of_the_same_law_is_a_violation_beside_the_known_one_and_stays_alone() -> None:
    found = sorted_out(judged(SILENT, OTHER), AHEAD)
    assert (found.verdict, found.violations, found.broken) == (Verdict.VIOLATED, (OTHER,), 1)
    assert found.deviations == {"too-early": 1}
    assert code(found) == EXIT_VIOLATED


def test_another_law_is_never_recognised() -> None:
    other = judged(SILENT)._replace(law="ha-ack-identity")
    assert sorted_out(other, AHEAD) is not None
    assert sorted_out(other, AHEAD).verdict is Verdict.VIOLATED


def test_a_new_violation_beside_a_known_deviation_of_another_law_is_red() -> None:
    new = judged(OTHER)._replace(law="ha-contiguous")
    assert code(*deviations.sorted_out([judged(SILENT), new], AHEAD, [known()])) == EXIT_VIOLATED


def test_a_law_that_was_in_doubt_stays_unknown() -> None:
    assert sorted_out(judged(SILENT, doubt="the machine stalled"), AHEAD).verdict is Verdict.UNKNOWN


def test_what_a_stall_leaves_open_is_no_doubt_where_it_would_be_recognised() -> None:
    def stalled(*doubted: Violation, count: int | None = None, broken: tuple[Violation, ...] = ()) -> Judgement:
        doubt = f"{STALLED} (master), so it is unknown"
        notes = {STALLS: len(doubted) if count is None else count}
        found = judged(*broken, doubt=doubt)._replace(doubted=doubted, notes=notes)
        return found if broken else found._replace(verdict=Verdict.UNKNOWN)

    found = sorted_out(stalled(SILENT), AHEAD)
    assert (found.verdict, found.judged, found.doubt) == (Verdict.HOLDS, 2, None)
    assert sorted_out(stalled(SILENT)._replace(judged=1), AHEAD).verdict is Verdict.VACUOUS
    assert sorted_out(stalled(SILENT, broken=(SILENT,)), AHEAD).verdict is Verdict.DEVIATES
    for left in (stalled(SILENT, OTHER), stalled(SILENT, count=17), stalled(SILENT, OTHER, broken=(SILENT,))):
        assert sorted_out(left, AHEAD).verdict is Verdict.UNKNOWN
    assert sorted_out(stalled(SILENT), BEHIND).verdict is Verdict.UNKNOWN


def test_a_deviation_belongs_to_targets_whose_node_runs_a_version_in_range() -> None:
    assert known().is_of("rocketmq", {"master": "4.9.7", "slave": "reference"})
    assert not known().is_of("rocketmq", {"master": "5.5.0", "slave": "4.9.7"})
    assert not known().is_of("rocketmq", {"master": "reference", "slave": "4.9.7"})
    assert not known().is_of("another", {"master": "4.9.7", "slave": "4.9.7"})
    assert not known().is_of("rocketmq", {})


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('about = "answers too early"', "", "a deviation needs about"),
        ("source", "sauce", "a deviation needs source"),
        ("[[shows]]", 'extra = 1\n[[shows]]', "has no 'extra'; valid: about, reason"),
        ('[">=4.9.3, <5"]', '["four"]', "'four' is not a range of versions"),
        ('["ack-replicated"]', '["ack-replicatet"]', "unknown law 'ack-replicatet'"),
        ('["first-report-ahead"]', '["full-moon"]', "unknown circumstance 'full-moon'; valid: first-report-ahead"),
        ("'no slave had reported'", "'('", "missing ), unterminated subpattern"),
        ('versions = [', "versions = [[", "Unclosed array"),
        ('node = "master"', "node = 1", "node must be of type str"),
    ],
)  # fmt: skip
def test_a_file_that_says_something_wrong_is_refused_in_one_line(old: str, new: str, complaint: str) -> None:
    assert old in FILE
    with pytest.raises(UsageError, match="deviation too-early: ") as why:
        deviations.from_text(FILE.replace(old, new, 1), "too-early")
    assert complaint in str(why.value)
    assert "\n" not in str(why.value)


def test_each_finding_is_counted_once_a_trial_and_told_with_its_upstream_issues() -> None:
    seen = deviations.Seen()
    name = "first-report-believed"
    shown = judged(SILENT)._replace(deviations={name: 3})
    for _ in range(2):
        seen.add([shown, shown._replace(law="ha-start-offset"), judged(OTHER)])
    (row,) = seen.rows()
    assert (row["id"], row["findings"], row["trials"], row["laws"]) == (
        name,
        4,
        2,
        ["ack-replicated", "ha-start-offset"],
    )
    assert deviations.describe(row).startswith(f"known deviation: {name}: After the master lost the end")
    assert "(4 findings in 2 trials: ack-replicated, ha-start-offset; upstream: apache/rocketmq" in deviations.describe(
        row
    )


def test_a_deviation_says_which_searches_met_it_and_when_first() -> None:
    seen = deviations.Seen()
    shown = judged(SILENT)._replace(deviations={"first-report-believed": 1})
    seen.add([shown], "sweep", 3)
    seen.add([shown], "known-bugs", 9)
    (row,) = seen.rows()
    assert (row["searches"], row["first"]) == ({"sweep": 1, "known-bugs": 1}, 3)
    assert deviations.describe(row).endswith("; by single faults 1, programs of known bugs 1, first in trial 3)")


@pytest.mark.parametrize("follows", [True, False])
def test_a_target_that_claims_no_conventions_is_warned_only_of_those(follows: bool) -> None:
    class Own:
        name = "own"
        system = "rocketmq"
        follows_conventions = follows

        def settings(self, schedule: Args) -> Args:
            return schedule

    paced, lost = (Judgement(law, Verdict.VIOLATED, 1, 1, (OTHER,)) for law in ("meta-schedule", "contract"))
    found = deviations.sorted_out([paced, lost], BEHIND, deviations.of(Own()))
    assert [each.verdict for each in found] == [Verdict.VIOLATED if follows else Verdict.DEVIATES, Verdict.VIOLATED]
    seen = deviations.Seen()
    seen.add(found)
    assert [each["id"] for each in seen.rows()] == ([] if follows else ["own-way"])


def test_each_law_has_one_of_three_kinds() -> None:
    kinds = {law.id: law.kind for law in all_laws()}
    assert set(kinds.values()) == {DURABILITY, PROTOCOL, CONVENTION}
    assert (kinds["contract"], kinds["ha-contiguous"], kinds["meta-schedule"]) == (DURABILITY, PROTOCOL, CONVENTION)
