"""Tests of ``log-cut-reported``."""

from histories import H, assert_broken, assert_holds, assert_vacuous
from histories.starts import back, found, left, refused

from pairproof.harness.rocketmq.laws.storage.log_cut_reported import LogCutReported


def test_a_report_of_a_truncation_is_correct() -> None:
    def cut(lost: int, cut_from: int | None = 900, behind: tuple[int, int] = (2, 2), used: int = 900) -> H:
        return left(back(found(used=used)), lost=lost, cut_from=cut_from, behind=behind)

    assert_holds(LogCutReported, cut(2))
    assert_holds(LogCutReported, cut(0, None, (0, 0), 300))
    assert_broken(LogCutReported, cut(1), "reports that its truncation at 300 lost 1 whole records, but there were 2")
    assert_broken(LogCutReported, cut(3), "lost 3 whole records")
    # A record with a NUL in its text may be torn.
    for lost in (1, 2):
        assert_holds(LogCutReported, cut(lost, behind=(1, 2)))
    assert_broken(LogCutReported, cut(2, 800), "ends at 800; 900 is right")
    assert_broken(LogCutReported, cut(2, None), "ends at None; 900 is right")
    assert_broken(LogCutReported, cut(0, 300, (0, 0), 300), "ends at 300; None is right")


def test_no_report_without_a_truncation_is_judged() -> None:
    assert_vacuous(LogCutReported, left(back(found("orderly"), f="normal")))
    assert_vacuous(LogCutReported, left(refused(found("orderly", used=900)), used=900))
