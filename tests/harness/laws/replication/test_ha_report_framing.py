"""Tests of ``ha-report-framing``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, pair

from pairproof.harness.rocketmq.laws.replication.ha_report_framing import HaReportFraming


def cut_cell() -> H:
    """The slave has reported 100 and received 300; five bytes of its next report were sent."""
    return pair().frame(0, 100).append("slave", 0, 100).report(100).frame(100, 300).piece("s", "out", 5)


@pytest.mark.parametrize("rest", [100, 300])
def test_a_cell_that_is_finished_keeps_the_law(rest: int) -> None:
    assert_holds(HaReportFraming, cut_cell().append("slave", 100, 300).report(rest).report(300))


def test_a_close_behind_a_piece_keeps_the_law() -> None:
    assert_vacuous(HaReportFraming, cut_cell().close())


@pytest.mark.parametrize("read", [0, 99, 301, -1, 300 << 24])
def test_a_new_cell_behind_a_piece_is_caught(read: int) -> None:
    assert_broken(HaReportFraming, cut_cell().append("slave", 100, 300).report(read, "s"), f"8 bytes read {read}")


def test_a_stream_out_of_phase_is_caught_when_the_first_value_looks_right() -> None:
    out = cut_cell().append("slave", 100, 300).report(256, "s").report(300 << 32, "s").report(0, "s")
    assert_broken(HaReportFraming, out, f"read {300 << 32}")


def test_a_first_cell_in_pieces_names_the_log_s_end() -> None:
    again = pair().replicate(100).close().connect().piece("s", "out", 4)
    assert_broken(HaReportFraming, again.report(0, "s"), "at least 100 and at most 100")
    again = pair().replicate(100).close().connect().piece("s", "out", 4)
    assert_holds(HaReportFraming, again.report(100))
    untraced = bare().connect().piece("s", "out", 4)
    assert_broken(HaReportFraming, untraced.report(-5, "s"), "read -5")


def test_whole_cells_and_rogue_peers_are_not_judged() -> None:
    assert_vacuous(HaReportFraming, pair().frame(0, 100).report(100).report(7, "s"))
    assert_vacuous(HaReportFraming, pair().piece("s", "in", 5).piece("s", "out", 0).piece("m", "out", 5).report(-1))
    strange = bare().connect("rogue_slave").add("partial", node="rogue_slave", link="ha:1", side="s", f="out", value=3)
    assert_vacuous(HaReportFraming, strange.report(-1, "s", peer="rogue_slave"))
