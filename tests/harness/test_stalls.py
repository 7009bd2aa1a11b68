"""Where the machine stalled nobody is accused of being late, and all else is judged as ever."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Iterator

import pytest

from pairproof.harness.event_types.machine import Stall
from pairproof.harness.judging import judge as judging
from pairproof.harness.judging.disturbances import AFTER_NS, Disturbances
from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.acks.ack_prompt import AckPrompt
from pairproof.harness.rocketmq.laws.acks.ack_unavailable_honest import AckUnavailableHonest
from pairproof.harness.rocketmq.laws.liveness.live_converges import LiveConverges
from pairproof.harness.rocketmq.laws.liveness.live_no_spin import LiveNoSpin
from pairproof.harness.rocketmq.laws.replication.ha_appends_frames import HaAppendsFrames
from pairproof.harness.rocketmq.laws.replication.ha_divergence_refused import HaDivergenceRefused
from pairproof.harness.rocketmq.laws.replication.ha_heartbeat import HaHeartbeat
from pairproof.harness.rocketmq.laws.replication.ha_housekeeping import HaHousekeeping
from pairproof.harness.rocketmq.laws.replication.ha_mismatch_closes import HaMismatchCloses
from pairproof.harness.rocketmq.laws.replication.ha_report_prompt import HaReportPrompt
from pairproof.harness.rocketmq.laws.replication.ha_wakeup import HaWakeup
from pairproof.harness.rocketmq.laws.roles.role_fan_out import RoleFanOut
from pairproof.harness.rocketmq.testing import H, pair, trio
from pairproof.harness.testing import assert_broken, assert_holds, judged

MS = 1_000_000


def assert_doubted(law: type[Law], history: H, saying: str) -> None:
    found = judged(law, history.events)
    assert found.verdict is Verdict.UNKNOWN, (found.verdict, [each.text for each in found.violations])
    assert found.doubt is not None and found.doubt.startswith("the machine stalled (") and saying in found.doubt
    assert found.notes["stalled"] >= 1 and not found.broken


# One law each of those that ask in different ways.

Template = Callable[[H], H]
"""What goes wrong, the stall at the place where it is given."""


def fan_out(stall: Template) -> H:
    three = trio().put("m0")
    for link, peer in (("ha:1", "slave"), ("ha:2", "slave2")):
        three.frame(0, 100, peer=peer, link=link).append(peer, 0, 100).report(100, peer=peer, link=link)
    return stall(three.ok("m0").fault("stall", "ha2").put("m1")).after(502).frame(100, 200, "m", link="ha:1")


def unsettled(stall: Template) -> H:
    story = stall(pair().sent("m0").mark("heal").after(9_000))
    return story.after(60_000).audit(hi={"slave": 0}).mark("unsettled").mark("end")


def spin(stall: Template) -> H:
    story = stall(pair())
    for _ in range(4):
        story.connect()
    return story


def lagging(stall: Template) -> H:
    return stall(pair().put("m0").replicate().after(50)).after(2_000).ok("m0")


def mismatch(stall: Template) -> H:
    return stall(pair().frame(0, 100).append("slave", 0, 100).frame(500, 600)).after(1_100).mark("end")


LATE: list[tuple[type[Law], Callable[[Template], H], str]] = [
    (HaHeartbeat, lambda stall: stall(pair().frame(0, 100).after(3_000)).after(4_000).mark("end"), "silent"),
    (HaReportPrompt, lambda stall: stall(pair().frame(0, 100).after(100)).after(1_001).report(100), "not reported"),
    (HaReportPrompt, lambda stall: stall(pair().after(100)).after(7_000).report(0), "no report"),
    (HaHousekeeping, lambda stall: stall(pair().after(9_000)).after(16_000).mark("end"), "kept a peer"),
    (HaHousekeeping, lambda stall: stall(pair().after(900)).after(1_000).close("m", f="local"), "for no other reason"),
    (HaWakeup, lambda stall: stall(pair().frame(0, 0).put("m0")).after(2_000).frame(0, 100), "was not pushed"),
    (HaMismatchCloses, mismatch, "kept the connection"),
    (AckPrompt, lagging, "enough slaves had reported"),
    (RoleFanOut, fan_out, "another slave is disturbed"),
    (LiveConverges, unsettled, "nobody said why"),
    (LiveNoSpin, spin, "HA connects"),
]


@pytest.mark.parametrize(("law", "story", "saying"), LATE, ids=[f"{each[0].id}-{n}" for n, each in enumerate(LATE)])
def test_who_is_late_is_accused_unless_the_machine_stalled_meanwhile(
    law: type[Law], story: Callable[[Template], H], saying: str
) -> None:
    assert law.timed
    punctual = judged(law, story(lambda history: history).events)
    assert punctual.verdict is Verdict.VIOLATED and saying in punctual.violations[0].text, punctual
    assert_doubted(law, story(lambda history: history.stall(2_000)), saying)


def test_a_slave_that_never_came_is_told_of_once_where_a_stall_left_it_open() -> None:
    # Whatever else is told may hide that it is a known deviation.
    found = judged(LiveConverges, unsettled(lambda history: history.stall(2_000)).events)
    assert [each.text for each in found.doubted] == ["slave did not catch up in 69000 ms, and nobody said why"]


def test_a_stall_is_an_excuse_for_what_it_met_and_for_nothing_else() -> None:
    def silent(story: H) -> H:
        return story.after(7_000).report(100).frame(100, 100)

    early = silent(pair().frame(0, 100).append("slave", 0, 100).report(100).stall(200))
    assert_doubted(HaHeartbeat, early, "silent for 7000 ms")
    found = judged(HaHeartbeat, silent(early).events)
    assert found.verdict is Verdict.VIOLATED and found.broken == 2, "master and slave, in the second silence"
    assert found.doubt is not None, "and of the first one nobody knows"


def test_a_short_stall_is_no_excuse_for_who_is_late_for_long() -> None:
    def silent(ms: float) -> H:
        return pair().after(20_000).stall(ms).after(40_000).report(0)

    assert_broken(HaReportPrompt, silent(1_199), "no report for 60000 ms")
    assert_doubted(HaReportPrompt, silent(1_200), "no report for 60000 ms")
    often = pair()
    for _ in range(60):
        often.after(900).stall(20).after(100)
    assert_doubted(HaReportPrompt, often.report(0), "no report for 60000 ms")


def test_no_stall_explains_a_silence_that_is_many_times_too_long() -> None:
    def kept(stall_ms: float, paused_ms: float = 0) -> H:
        story = pair().frame(0, 0).pause("slave", paused_ms).after(40_000 - paused_ms)
        return story.stall(stall_ms).after(stall_ms + 60_000).frame(0, 0)

    assert_broken(HaHousekeeping, kept(8_000), "slave kept a peer that was silent for 108000 ms", times=2)
    assert_doubted(HaHousekeeping, kept(110_000), "slave kept a peer")
    assert_broken(HaHousekeeping, kept(8_000, paused_ms=40_000), "master kept a peer")


def test_processes_that_were_late_at_the_same_time_are_one_excuse() -> None:
    def silent(*stalls_ms: float) -> H:
        story = pair().after(20_000)
        for each in stalls_ms:
            story.stall(each)
        return story.after(40_000).report(0)

    assert_broken(HaReportPrompt, silent(700, 700, 700), "no report for 60000 ms")
    assert_doubted(HaReportPrompt, silent(1_200, 100, 700), "no report for 60000 ms")


def test_a_promise_that_was_kept_is_judged_even_if_the_machine_stalled() -> None:
    story = pair().frame(0, 100).stall(200).after(900).report(100)
    assert assert_holds(HaReportPrompt, story).judged == assert_holds(HaReportPrompt, pair().report(0)).judged


def test_what_is_wrong_at_any_time_is_violated_in_the_middle_of_a_stall() -> None:
    assert_broken(HaAppendsFrames, pair().stall(9_000).append("slave", 0, 100), "no complete frame")
    wrong = pair().frame(0, 100).frame(500, 600).stall(9_000).report(600)
    assert_broken(HaMismatchCloses, wrong, "reports 600")


def test_what_piles_up_in_a_stall_may_be_late_a_moment_longer() -> None:
    def after(ms: float) -> H:
        return pair().stall(200).after(200 + ms).frame(0, 100).after(1_001).report(100)

    assert_doubted(HaReportPrompt, after(AFTER_NS / MS), "not reported")
    assert_broken(HaReportPrompt, after(AFTER_NS / MS + 1), "not reported")


def test_an_instant_lasts_as_long_as_a_stall_in_it() -> None:
    def story(stalls: bool) -> H:
        connected = H().real(300).config("master").config("slave").start("master").start("slave").connect().after(900)
        connected = connected.report(0)
        connected = connected.stall(500) if stalls else connected
        return connected.after(400).invoke("m0").ok("m0", "SLAVE_NOT_AVAILABLE")

    assert_broken(AckUnavailableHonest, story(stalls=False), "no slave, says the master")
    assert judged(AckUnavailableHonest, story(stalls=True).events).verdict is Verdict.VACUOUS


def test_a_master_that_names_a_refused_slave_late_is_not_accused_if_it_stalled() -> None:
    def story(stalls: bool) -> H:
        ahead = H().real(300).config("master").config("slave").start("master").start("slave", 500).connect()
        ahead = ahead.report(500)
        ahead = ahead.stall(800) if stalls else ahead
        ahead.close(f="local").after(700)
        return ahead.add("diverged", node="master", link=ahead.link, hi=500, value=0).mark("end")

    assert_broken(HaDivergenceRefused, story(stalls=False), "the master did not report")
    assert_holds(HaDivergenceRefused, story(stalls=True))


# The model's side.


def stall(t: int, value: int, **columns: str) -> Stall:
    return Stall(0, t, "stall", value=value, **{"f": "harness", **columns})  # type: ignore[arg-type]


def test_the_longest_stall_that_reaches_into_a_time_is_found_wherever_it_began() -> None:
    disturbances, after = Disturbances(), AFTER_NS
    for each in (stall(0, 100 * after), stall(after, 5), stall(2 * after, 7)):
        disturbances.stalls(each)
    assert disturbances.stall(99 * after, 99 * after) == stall(0, 100 * after)
    assert disturbances.stall(101 * after, 102 * after) == stall(0, 100 * after)
    assert disturbances.stall(101 * after + 1, 200 * after) is None
    assert disturbances.punctual(50 * after, 60 * after) == 0
    assert disturbances.punctual(102 * after, 103 * after) == 102 * after


def test_a_stall_that_begins_later_is_nobodys_excuse() -> None:
    disturbances = Disturbances()
    disturbances.stalls(stall(100, 5))
    assert disturbances.stall(0, 99) is None and disturbances.stall(0, 100) is not None


def test_a_stall_is_told_in_a_few_words() -> None:
    assert (
        stall(0, 230 * MS, node="slave", f="node", detail="waited for a CPU").describe()
        == "slave waited for a CPU, 230 ms"
    )
    assert (
        stall(0, 5_000 * MS, detail="did not turn its loop").describe()
        == "the lab's harness did not turn its loop, 5000 ms"
    )


# All laws.

TIMELESS = {
    "ack-replicated": "a time only excuses: an answer that was on its way when its master ended",
    "deliver-by-tag": "orders an assignment and a pull of one client",
    "ha-start-offset": "no time is compared",
    "live-newcomers": "a time only excuses: the node stood still meanwhile",
    "log-retention": "a stall makes no file younger",
    "role-no-takeover": "notes whether a return is known, compares no times",
}
"""Laws that name a time and whose verdict none decides, and why."""
CLOCKS = {"Deadlines", "is_late", "spent_ns", "healthy_ns", "HEARD_NS", "AnswerTimes"}


def laws() -> Iterator[tuple[type[Law], ast.Module]]:
    for law in judging.all_laws():
        yield law, ast.parse(inspect.getsource(inspect.getmodule(law)))  # type: ignore[arg-type]


def _subtracts_times(tree: ast.AST) -> bool:
    return any(
        isinstance(each, ast.BinOp | ast.Compare)
        and any(isinstance(part, ast.Attribute) and part.attr == "t" for part in ast.iter_child_nodes(each))
        for each in ast.walk(tree)
    )


def test_every_law_that_compares_times_says_so() -> None:
    for law, tree in laws():
        names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
        names |= {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}
        if (_subtracts_times(tree) or names & CLOCKS) and law.id not in TIMELESS:
            assert law.timed, f"{law.id} compares times: mark it as timed, and say since when with each violation"


def test_every_violation_of_a_law_of_time_says_since_when_the_time_ran_or_that_none_did() -> None:
    for law, tree in laws():
        for call in ast.walk(tree):
            if law.timed and isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "violate":
                given = len(call.args) > 2 or any(each.arg == "since" for each in call.keywords)
                assert given, f"{law.id}, line {call.lineno}: violate(..., since=...) is missing"


def test_laws_that_no_time_decides_are_not_marked() -> None:
    timed = {law.id for law in judging.all_laws() if law.timed}
    by_subject = {each for each in timed if each.startswith(("log-", "contract", "loss-", "store-"))}
    assert by_subject == {"log-flush-prompt"}
    assert json.dumps(sorted(timed)).count("ha-") >= 8
