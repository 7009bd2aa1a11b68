"""Tests of ``log-flush-prompt``."""

from histories import H, assert_broken, assert_holds, assert_vacuous

from pairproof.harness.rocketmq.laws.storage.log_flush_prompt import LogFlushPrompt


def written(**settings: object) -> H:
    """A master that has started and written 100 bytes; files have 1,000 bytes."""
    return H().config("master", mappedFileSizeCommitLog=1_000, **settings).start("master").put("m0")


def test_data_is_durable_after_the_thorough_interval() -> None:
    assert_holds(LogFlushPrompt, written().after(11_500).flush("master"))
    assert_broken(
        LogFlushPrompt, written().after(11_501).flush("master"), "up to 100 for 11501 ms; that is due within 11"
    )
    assert_broken(LogFlushPrompt, written().after(11_501).mark("end"), "master has not flushed its log up to 100")
    assert_broken(LogFlushPrompt, written().after(11_501).crash("master"), "master has not flushed its log up to 100")


def test_a_flush_of_a_part_leaves_the_rest_waiting() -> None:
    def rest() -> H:
        return written().after(1).put("m1").after(6_000).flush("master", 100).after(5_500)

    assert_holds(LogFlushPrompt, rest().flush("master", 200))
    assert_broken(LogFlushPrompt, rest().after(1).flush("master", 200), "up to 200 for 11501 ms")


def test_with_synchronous_flushes_it_is_durable_at_once() -> None:
    assert_holds(LogFlushPrompt, written(flushDiskType="SYNC_FLUSH").after(1_000).flush("master"))
    assert_broken(LogFlushPrompt, written(flushDiskType="SYNC_FLUSH").after(1_001).flush("master"), "within 1000 ms")


def test_each_file_before_it_takes_another_look() -> None:
    def far() -> H:
        story = written(flushCommitLogThoroughInterval=0)
        for number in range(1, 21):
            story.put(f"m{number}")
        return story.flush("master", 1_000)

    assert_holds(LogFlushPrompt, far().after(2_000).flush("master"))
    assert_broken(LogFlushPrompt, far().after(2_001).flush("master"), "within 2000 ms")


def test_a_paused_node_or_a_disturbed_disk_is_not_late() -> None:
    paused = written().pause("master", 5_000).after(11_000).flush("master")
    assert_holds(LogFlushPrompt, paused)
    assert_holds(LogFlushPrompt, written().fault("stall_disk", "master").after(20_000).flush("master"))
    again = written().crash("master").restart("master", 100).after(20_000)
    assert_vacuous(LogFlushPrompt, again.mark("end"))


def test_data_behind_a_delayed_flush_has_its_deadline_from_that_flush() -> None:
    def behind(ms: int) -> H:
        slow = written(flushDiskType="SYNC_FLUSH").fault("slow_disk", "master").fault("slow_disk", "master", "off")
        slow.after(1).put("m1").after(1_500).flush("master", 100)
        return slow.after(ms).flush("master", 200)

    assert_holds(LogFlushPrompt, behind(1_000))
    assert_broken(LogFlushPrompt, behind(1_001), "up to 200 for 1001 ms")


def test_where_time_is_real_a_disk_may_be_slow() -> None:
    def real(ms: int) -> H:
        story = H().add("lab", f="process", value=0, detail='{"instantNs": 1000000}')
        story.recorder.events += written(flushDiskType="SYNC_FLUSH").after(ms).flush("master").events
        return story

    assert_holds(LogFlushPrompt, real(6_000))
    assert_broken(LogFlushPrompt, real(6_001), "within 6000 ms")


def pooled(**settings: object) -> H:
    return written(transientStorePoolEnable="true", **settings)


def test_a_pool_s_data_is_committed_within_the_two_intervals() -> None:
    assert_holds(LogFlushPrompt, pooled().after(400).commit("master"))
    assert_broken(LogFlushPrompt, pooled().after(401).commit("master"), "not committed its log up to 100 for 401 ms")
    assert_broken(LogFlushPrompt, pooled().after(401).mark("end"), "that is due within 400 ms")
    assert_broken(LogFlushPrompt, pooled().after(401).crash("master"), "that is due within 400 ms")


def test_data_in_the_next_file_waits_again() -> None:
    def across(ms: int) -> H:
        story = pooled()
        for number in range(1, 11):
            story.put(f"m{number}")
        return story.commit("master", 1_000).after(ms).commit("master", 1_100)

    assert_holds(LogFlushPrompt, across(800))
    assert_broken(LogFlushPrompt, across(801), "not committed its log up to 1100")


def test_enough_pages_are_committed_at_once() -> None:
    assert_holds(LogFlushPrompt, pooled(commitCommitLogLeastPages=0).commit("master"))
    late = pooled(commitCommitLogLeastPages=0).after(1).commit("master")
    assert_broken(LogFlushPrompt, late, "that is due within 0 ms")


def test_a_flush_covers_only_what_was_committed() -> None:
    assert_holds(LogFlushPrompt, pooled().commit("master").flush("master"))
    assert_broken(LogFlushPrompt, pooled().flush("master"), "flushed its log up to 100, but had committed 0 only")


def test_without_a_pool_nothing_is_committed() -> None:
    slave = {"brokerRole": "SLAVE"}
    assert_holds(LogFlushPrompt, written(transientStorePoolEnable="true", **slave).after(5_000).flush("master"))
