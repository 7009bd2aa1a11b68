"""How old a file must be that retention deletes: ``log-retention``."""

from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.storage.log_retention import HOUR_MS, LogRetention


def old(**settings: int) -> H:
    """A pair that has run for a minute."""
    return pair(**settings).after(60_000)


def two_files(later_ms: int = 0) -> H:
    """Files that are reserved for an hour; the first one's second message is newer than its first."""
    history = old(fileReservedTime=1).append("master", 0, 500, "put", "m0").after(later_ms)
    history.append("master", 500, 1_000, "put", "m1")
    return history.append("master", 1_000, 1_100, "put", "m2")


def gone(history: H, node: str = "master") -> H:
    return history.add("expire", node=node, lo=1_000)


def test_deleted_files_are_older_than_the_reserved_time() -> None:
    assert_holds(LogRetention, gone(two_files().after(HOUR_MS)))
    assert_broken(LogRetention, gone(two_files().after(HOUR_MS - 1)), "its youngest record is 3599999 ms old")
    assert_vacuous(LogRetention, two_files().after(HOUR_MS))


def test_a_file_is_as_old_as_the_youngest_message_in_it() -> None:
    assert_broken(LogRetention, gone(two_files(10).after(HOUR_MS - 5)), "its youngest record is 3599995 ms old")
    assert_holds(LogRetention, gone(two_files(10).after(HOUR_MS)))


def test_a_clock_set_ahead_makes_files_older() -> None:
    def ahead(history: H) -> H:
        return history.add("clock", node="master", value=HOUR_MS)

    assert_holds(LogRetention, gone(ahead(two_files())))
    assert_holds(LogRetention, gone(ahead(two_files()).append("master", 1_100, 1_200, "put", "m3")))
    assert_broken(
        LogRetention, gone(ahead(old(fileReservedTime=1)).append("master", 0, 900, "put", "m")), "is 0 ms old"
    )
    assert_broken(LogRetention, gone(two_files().add("clock", node="slave", value=HOUR_MS)), "is 0 ms old")


def test_a_clock_set_back_misleads_a_broker_that_uses_the_next_message() -> None:
    def back(ms: int) -> H:
        history = old(fileReservedTime=1).append("master", 0, 1_000, "put", "m0").add("clock", node="master", value=ms)
        return history.append("master", 1_000, 1_100, "put", "m1").add("clock", node="master", value=0)

    assert_holds(LogRetention, gone(back(-HOUR_MS)))
    assert_broken(LogRetention, gone(back(1 - HOUR_MS)), "is 3599999 ms old")


def test_a_slave_may_go_by_its_master_s_time() -> None:
    def behind() -> H:
        history = old().config("slave", fileReservedTime=1).add("clock", node="master", value=-HOUR_MS)
        return history.append("master", 0, 1_000, "put", "m0").append("slave", 0, 1_000)

    assert_holds(LogRetention, gone(behind(), "slave"))
    alone = old().config("slave", fileReservedTime=1).append("slave", 0, 1_000)
    assert_broken(LogRetention, gone(alone, "slave"), "is 0 ms old")


def test_the_default_is_three_days_and_deletion_on_demand_is_immediate() -> None:
    assert_broken(LogRetention, gone(old().append("master", 0, 900, "put", "m").after(HOUR_MS)), "is 259200000 ms")
    assert_vacuous(LogRetention, gone(two_files().fault("retention", "master")))
    assert_broken(LogRetention, gone(two_files().fault("retention", "slave")), "is 0 ms old")


def test_truncated_or_replaced_files_are_not_judged() -> None:
    assert_vacuous(LogRetention, gone(two_files().add("cut", node="master", lo=0, hi=1_100)))
    assert_vacuous(LogRetention, gone(two_files().wipe("master").start("master")))


def test_a_broker_looks_for_old_files_after_a_minute() -> None:
    def after(ms: float) -> H:
        return gone(two_files().after(HOUR_MS).crash("master").start("master").after(ms))

    assert_holds(LogRetention, after(60_000))
    assert_broken(LogRetention, after(59_999), "master deletes old files 1 ms too early")
    real = H().real(1)
    real.recorder.events += after(59_999).events
    assert_holds(LogRetention, real)


def test_a_broker_looks_for_old_files_every_ten_seconds() -> None:
    def again(ms: float) -> H:
        history = gone(two_files().append("master", 1_100, 1_900, "put", "m3").after(HOUR_MS)).after(ms)
        return history.add("expire", node="master", lo=1_500)

    assert_holds(LogRetention, again(10_000))
    assert_broken(LogRetention, again(9_999), "master deletes old files 1 ms too early")
