"""Tests of ``ha-divergence-refused``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.replication.ha_divergence_refused import HaDivergenceRefused


def ahead() -> H:
    """The master lost 100 bytes that its slave holds, and the slave comes back."""
    lost = pair().sent("m0").sent("m1").crash("master", "machine").close("s").restart("master", 100)
    return lost.connect().report(200)


def told(history: H) -> H:
    return history.add("diverged", node="master", link=history.link, hi=200, value=100)


def test_a_slave_that_is_ahead_is_refused_and_named() -> None:
    assert_holds(HaDivergenceRefused, told(ahead()).put("m2").ok("m2", "SLAVE_NOT_AVAILABLE").close())


@pytest.mark.parametrize("frame", [(200, 200), (100, 200)])
def test_nothing_goes_to_a_slave_that_is_ahead(frame: tuple[int, int]) -> None:
    assert_broken(HaDivergenceRefused, told(ahead()).frame(*frame), "ahead of the master")


def test_a_connection_that_should_have_been_refused_is_named_once_however_many_heartbeats_follow() -> None:
    served = told(ahead()).frame(200, 200).frame(200, 200).frame(200, 200)
    assert_broken(HaDivergenceRefused, served, "ahead of the master", times=1)
    again = told(served.close().connect().report(200)).frame(200, 200).frame(200, 200)
    assert_broken(HaDivergenceRefused, again, "ahead of the master", times=2)


def test_the_refusal_stands_when_the_master_has_caught_up() -> None:
    passed = told(ahead()).put("m2").put("m3").put("m4").report(200)
    assert_holds(HaDivergenceRefused, passed)
    assert_broken(HaDivergenceRefused, passed.frame(200, 400), "[200, 400)", times=1)


def test_a_slave_that_is_ahead_acknowledges_nothing() -> None:
    assert_broken(HaDivergenceRefused, told(ahead()).put("m2").ok("m2"), "only a refused slave")
    assert_broken(HaDivergenceRefused, told(ahead()).put("m2").report(200).ok("m2"), "only a refused slave")


def test_an_unreported_divergence_is_caught() -> None:
    assert_broken(HaDivergenceRefused, ahead().close(), "the master did not report")
    assert_broken(HaDivergenceRefused, ahead().after(1), "the master did not report")


def test_a_master_that_dies_at_the_report_need_not_name_it() -> None:
    assert_holds(HaDivergenceRefused, ahead().crash("master"))


def test_a_slave_at_the_master_s_end_is_no_divergence() -> None:
    assert_vacuous(HaDivergenceRefused, pair().replicate(0).close().connect().report(0).frame(0, 0))


def test_an_offset_within_the_log_must_not_be_reported() -> None:
    def named(offset: int) -> H:
        history = pair().sent("m0").connect("slave")
        return history.report(offset).add("diverged", node="master", link=history.link, hi=offset, value=100)

    assert_holds(HaDivergenceRefused, named(101))
    assert_broken(HaDivergenceRefused, named(100), "refused at 100, which lies in the master's log [0, 100]")


@pytest.mark.parametrize(("instant_ms", "late_ms", "holds"), [(300, 200, True), (300, 400, False), (0, 0, False)])
def test_where_time_is_real_a_slave_that_leaves_is_named_an_instant_later(
    instant_ms: int, late_ms: int, holds: bool
) -> None:
    left = told(ahead().real(instant_ms).close().after(late_ms))
    if holds:
        assert_holds(HaDivergenceRefused, left)
    else:
        assert_broken(HaDivergenceRefused, left, "the master did not report", times=1)


def test_a_paused_master_need_not_report() -> None:
    assert_holds(HaDivergenceRefused, told(ahead().real(300).close().pause("master", 5_000).after(200)))
    late = told(ahead().real(300).close().pause("master", 5_000).after(400))
    assert_broken(HaDivergenceRefused, late, "the master did not report", times=1)
