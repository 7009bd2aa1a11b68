"""Tests of ``promise-kept``."""

import pytest
from histories import History, assert_broken, assert_holds, assert_vacuous
from histories.any_system import pair

from pairproof.harness.laws.promise_kept import PromiseKept


@pytest.mark.parametrize(
    ("survives", "end", "is_due"),
    [
        ("process", "process", True),
        ("machine", "machine", True),
        ("process", "machine", False),
        ("stop", "process", False),
        (None, "process", False),
    ],
)
def test_a_promise_holds_through_the_ends_that_it_covers(survives: str | None, end: str, is_due: bool) -> None:
    def story() -> History:
        return pair().written("w1", "", survives).crash("master", end).start("master")

    if is_due:
        assert_holds(PromiseKept, story().reading("master", "w1"))
        assert_broken(PromiseKept, story().reading("master"), "master does not hold w1")
    else:
        assert_vacuous(PromiseKept, story().reading("master"))


def test_an_orderly_stop_is_an_end_too() -> None:
    def story(survives: str | None) -> History:
        return pair().written("w1", "", survives).stop("master").start("master").reading("master")

    assert_broken(PromiseKept, story("stop"), "the worst that befell it: an orderly stop")
    assert_vacuous(PromiseKept, story(None))


def test_a_promised_copy_has_the_write_while_its_source_is_down() -> None:
    story = pair().written("w1").crash("master", "machine")
    assert_holds(PromiseKept, story.reading("slave", "w1", f="read"))
    assert_broken(PromiseKept, story.reading("slave", f="read"), "slave does not hold w1")


def test_a_copy_follows_its_source_s_losses_from_its_next_start() -> None:
    story = pair().written("w1").crash("master", "machine").start("master")
    assert_vacuous(PromiseKept, story.reading("master").reading("slave"))


def test_a_copy_may_not_lose_a_write_that_its_source_must_keep() -> None:
    story = pair().written("w1", survives="machine").crash("master", "machine").start("master")
    assert_broken(PromiseKept, story.reading("master", "w1").reading("slave"), "slave does not hold w1")


def promoted(*held: str) -> History:
    """The slave's store becomes the master's, and the slave starts with an empty one."""
    story = pair().written("w1").written("w2", copies="").crash("master").stop("slave")
    story.add("wipe", node="master", f="image", detail="slave").add("wipe", node="slave", f="image", detail="master")
    return story.start("master").start("slave").reading("master", *held).reading("slave", *held)


def test_a_promoted_store_brings_its_own_promises_along_and_no_others() -> None:
    assert_holds(PromiseKept, promoted("w1"))
    assert_broken(PromiseKept, promoted("w2"), "master does not hold w1")


def test_an_answer_after_the_end_of_its_node_is_as_old_as_its_call() -> None:
    story = pair().invoke("w1", f="write").crash("slave").start("slave").over("w1", "ok", "OK", f="write")
    story.promise("w1").promise("w1", "slave", "stop")
    assert_vacuous(PromiseKept, story.reading("slave"))
    assert_broken(PromiseKept, story.reading("master"), "master does not hold w1")


def test_a_reading_need_not_show_later_promises() -> None:
    story = pair().invoke("w1", f="write").add("invoke", node="slave", process=1, op=77, f="read")
    story.over("w1", "ok", "OK", f="write").promise("w1", "slave")
    assert_vacuous(PromiseKept, story.add("scanned", node="slave", op=77, f="read", status="copy"))


def test_an_emptied_store_keeps_no_promise_and_neither_does_a_disk_that_lies() -> None:
    assert_vacuous(PromiseKept, pair().written("w1", "", "machine").wipe("master").start("master").reading("master"))
    lied = pair().written("w1", "", "machine").add("crash", node="master", f="machine", status="lied", value=1)
    assert_vacuous(PromiseKept, lied.start("master").reading("master"))


def test_many_lost_writes_are_one_violation_that_names_a_few() -> None:
    story = pair()
    for number in range(5):
        story.written(f"w{number}", "")
    assert_broken(PromiseKept, story.reading("master"), "w0, w1, w2 and 2 more")


def test_an_audit_at_a_start_need_not_show_promises_made_during_it() -> None:
    """The reader read the store earlier; promises from before the start must be kept."""
    early = pair().written("w1", survives="machine").crash("master", "machine").start("master")
    assert_broken(PromiseKept, early.reading("master", f="recovery"), "master does not hold w1")
    late = pair().crash("master", "machine").start("master").written("w1", survives="machine")
    assert_vacuous(PromiseKept, late.reading("master", f="recovery"))
    assert_broken(PromiseKept, late.reading("master"), "master does not hold w1")
