"""Tests of ``ha-role-independent``."""

import pytest
from histories import FILE, assert_broken, assert_holds, assert_vacuous, bare, pair

from pairproof.harness.rocketmq.laws.replication.ha_role_independent import HaRoleIndependent


@pytest.mark.parametrize("role", ["SYNC_MASTER", "ASYNC_MASTER"])
def test_in_either_role_an_idle_link_has_carried_the_log(role: str) -> None:
    story = pair(brokerRole=role).append("master", 0, 200, "put").frame(0, 200, digest=5).source(0, 200, digest=5)
    assert assert_holds(HaRoleIndependent, story.after(2_000).close()).judged == 2


@pytest.mark.parametrize("role", ["SYNC_MASTER", "ASYNC_MASTER"])
@pytest.mark.parametrize("end", ["close", "end", "crash"])
def test_a_link_that_holds_something_back_is_caught(role: str, end: str) -> None:
    story = pair(brokerRole=role).append("master", 0, 200, "put").frame(0, 100).after(2_000)
    if end == "crash":
        story = story.crash("master").close("m")
    else:
        story = story.close() if end == "close" else story.mark("end")
    assert_broken(HaRoleIndependent, story, "carried up to 100, the log ends at 200")


def test_other_bytes_are_caught() -> None:
    story = pair().append("master", 0, 200, "put").frame(0, 200, digest=5).source(0, 200, digest=6)
    assert_broken(HaRoleIndependent, story, "[0, 200) was pushed with bytes of another log")


def test_a_slave_without_a_log_is_sent_the_last_file() -> None:
    assert_broken(HaRoleIndependent, bare().append("master", 0, 200, "put").connect().report(0).after(2_000).close(),
                  "carried up to None")  # fmt: skip
    nothing_in_it = bare().append("master", 0, FILE, "put").connect().report(0).after(2_000).close()
    assert_holds(HaRoleIndependent, nothing_in_it)


def test_a_link_that_is_busy_or_takes_no_more_is_not_idle() -> None:
    fresh = pair().append("master", 0, 200, "put").after(900).close()
    assert_vacuous(HaRoleIndependent, fresh)
    sending = pair().append("master", 0, 200, "put").after(2_000).frame(0, 100).after(900).close()
    assert_vacuous(HaRoleIndependent, sending)
    full = pair().append("master", 0, 200, "put").frame(0, 100).piece("m", "out", 0).after(60_000).close()
    assert_vacuous(HaRoleIndependent, full)
    paused = pair().append("master", 0, 200, "put").pause("master", 60_000).close()
    assert_vacuous(HaRoleIndependent, paused)


def test_a_refused_or_expired_slave_gets_nothing() -> None:
    assert_vacuous(HaRoleIndependent, bare().append("master", 0, 200, "put").connect().report(900).after(9_000).close())
    expired = pair().append("master", 0, 200, "put").after(9_000).add("diverged", node="master", link="ha:1", hi=0)
    assert_vacuous(HaRoleIndependent, expired.close())


def test_where_only_flushed_bytes_are_pushed_an_idle_link_ends_there() -> None:
    story = pair(haPushes="flushed").append("master", 0, 200, "put").flush("master", 100).frame(0, 100)
    assert_holds(HaRoleIndependent, story.after(2_000).close())
    story = pair(haPushes="flushed").append("master", 0, 200, "put").flush("master", 200).frame(0, 100)
    assert_broken(HaRoleIndependent, story.after(2_000).close(), "carried up to 100, the log ends at 200")
    ahead = bare(haPushes="flushed").append("master", 0, 200, "put").flush("master", 100).connect().report(200)
    assert_holds(HaRoleIndependent, ahead.after(2_000).close())


def test_where_only_flushed_bytes_are_pushed_no_other_byte_leaves() -> None:
    story = pair(haPushes="flushed").append("master", 0, 200, "put").flush("master", 100)
    assert_broken(HaRoleIndependent, story.frame(0, 101), "[0, 101) left, but the log is flushed up to 100")
    assert_vacuous(HaRoleIndependent, pair().append("master", 0, 200, "put").frame(0, 200))


def test_a_link_need_not_carry_the_pool() -> None:
    story = pair(transientStorePoolEnable=True).append("master", 0, 200, "put").frame(0, 100)
    assert_vacuous(HaRoleIndependent, story.after(1_800).close())
    story = pair(transientStorePoolEnable=True).append("master", 0, 200, "put").frame(0, 100)
    assert_broken(HaRoleIndependent, story.after(1_801).close(), "carried up to 100, the log ends at 200")
