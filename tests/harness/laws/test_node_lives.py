"""Tests of ``node-lives``."""

import pytest
from histories import MS, H, Verdict, assert_broken, assert_holds, assert_unbroken, assert_unknown, judged, pair

from pairproof.harness.judging.law import Law
from pairproof.harness.laws.node_lives import NodeLives
from pairproof.harness.rocketmq.laws.liveness.live_converges import LiveConverges
from pairproof.harness.rocketmq.laws.storage.log_records_whole import LogRecordsWhole


def crashed(history: H, status: str | None, how: str = "process", node: str = "slave") -> H:
    return history.add("crash", node=node, f=how, status=status, value=0, detail="KeyError: 'm1' (broker:7)")


def aborted(history: H, f: str, status: str | None = None, node: str = "slave") -> H:
    return history.add("abort", node=node, f=f, status=status, detail="no journal")


def test_a_killed_or_stopped_node_that_restarts_satisfies_the_law() -> None:
    history = pair().crash("master").start("master").stop("slave").start("slave").crash("slave", "machine")
    assert assert_holds(NodeLives, history.start("slave")).judged == 5


def test_a_node_that_crashes_without_a_fault_violates_the_law() -> None:
    assert_broken(NodeLives, crashed(pair(), "own"), "slave ended by itself: KeyError: 'm1' (broker:7)")
    assert_broken(NodeLives, crashed(pair(), "stuck", node="master"), "master went on without end")


def test_a_stall_makes_a_stuck_node_unknown() -> None:
    def late(history: H) -> H:
        return crashed(history.after(60_000), "stuck")

    stalled = pair().after(1_000).add("stall", f="node", node="slave", value=5_000 * MS, detail="it waited for a CPU")
    assert_unknown(NodeLives, late(stalled))
    before = pair().after(1_000).add("stall", f="node", node="slave", value=5_000 * MS, detail="it waited for a CPU")
    assert_broken(NodeLives, late(before.after(9_000).stop("slave").start("slave")), "slave went on without end")
    # A crash does not depend on time.
    assert judged(NodeLives, crashed(stalled, "own").events).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("f", ["refused", "ended", "stuck"])
@pytest.mark.parametrize("before", ["process", "machine", "stop"])
def test_a_node_starts_on_its_own_store_after_any_end(f: str, before: str) -> None:
    down = pair().stop("slave") if before == "stop" else pair().crash("slave", before)
    assert_holds(NodeLives, down)
    said = {"refused": "refused its own store", "ended": "did not come up", "stuck": "went on without end"}
    assert_broken(NodeLives, aborted(down, f), f"slave {said[f]}")


def test_a_disk_that_fails_at_that_moment_excuses_a_node() -> None:
    assert_holds(NodeLives, aborted(crashed(pair(), "disk"), "ended", "disk"))
    assert_broken(NodeLives, aborted(crashed(pair(), "disk"), "ended"), "did not come up")


@pytest.mark.parametrize("f", ["refused", "ended"])
def test_a_store_that_is_not_a_node_s_own_work_need_not_be_started_on(f: str) -> None:
    lied = crashed(pair(), "lied", "machine")
    image = pair().crash("slave").add("wipe", node="slave", f="image")
    for story in (lied, image):
        assert_holds(NodeLives, aborted(story, f))
        # It must start on an emptied one, and nothing excuses a crash while it runs.
        assert_broken(NodeLives, crashed(story.start("slave"), "own"), "ended by itself")
    emptied = aborted(crashed(pair(), "lied", "machine").add("wipe", node="slave", f="empty"), f)
    assert_broken(NodeLives, emptied, "slave")


def test_the_damaged_store_of_one_node_excuses_no_other() -> None:
    assert_broken(NodeLives, aborted(crashed(pair(), "lied", "machine", "master").crash("slave"), "refused"), "slave")


@pytest.mark.parametrize("law", [LiveConverges, LogRecordsWhole])
def test_a_node_that_ended_violates_no_second_law(law: type[Law]) -> None:
    def end(history: H) -> H:
        history.add("mark", f="heal").add("mark", f="probe", op=99).after(200_000).add("mark", f="unsettled")
        return history.add("audit", node="master", f="final", lo=0, hi=100, status="broken", value=0, detail="a hole")

    assert judged(law, end(pair().crash("master")).events).verdict is Verdict.VIOLATED
    gone = end(aborted(pair().crash("master"), "ended", node="master"))
    assert_unbroken(law, gone)
    again = end(aborted(pair().crash("master"), "ended", node="master").start("master"))
    assert judged(law, again.events).verdict is Verdict.VIOLATED
