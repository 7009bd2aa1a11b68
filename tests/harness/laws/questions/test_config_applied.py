"""Tests of ``config-applied``."""

from __future__ import annotations

import pytest
from histories import assert_broken, assert_holds, assert_vacuous
from histories.builder import Administered

from pairproof.harness.rocketmq.laws.questions.config_applied import ConfigApplied

LAW = ConfigApplied
DISABLED = {"consumeEnable": False}


class A(Administered):
    """A builder of administrators' calls, and of clients' calls that are served."""

    def sets(self, f: str, name: str, phase: str = "ok", **detail: object) -> A:
        return self.ends(self.asks(f, name, detail), f, name, phase)

    def begins(self, f: str, node: str = "master", queue: str = "T/1", group: str | None = "G") -> dict[str, object]:
        call = {"node": node, "process": 1, "op": self.ops, "f": f, "queue": queue, "group": group}
        self.ops += 1
        self.add("invoke", **call)
        return call

    def served(self, f: str, **where: str | None) -> A:
        self.add("ok", **self.begins(f, **where), status="PUT_OK")  # type: ignore[arg-type]
        return self


def world() -> A:
    history = A()
    history.config("master", namesrvAddr="names").config("slave", namesrvAddr="names").start("master").start("slave")
    return history


@pytest.mark.parametrize("f", ["pull", "select"])
def test_a_group_that_may_not_consume_is_not_served(f: str) -> None:
    assert_broken(LAW, world().sets("group", "G", **DISABLED).served(f), f"the {f} of G at T/1, which administrators")
    assert_holds(LAW, world().sets("group", "G", **DISABLED).served(f, group="H"))
    assert_holds(LAW, world().sets("group", "G", **DISABLED).sets("group", "G").served(f))


@pytest.mark.parametrize(
    ("detail", "queue", "allowed"),
    [
        ({"queues": 2}, "T/1", True),
        ({"queues": 1}, "T/1", False),
        ({"queues": 4, "reads": 1}, "T/1", False),
        ({"queues": 1, "reads": 2}, "T/1", True),
        ({"queues": 4, "perm": 2}, "T/0", False),
        ({"queues": 4, "perm": 4}, "T/0", True),
    ],
)
def test_a_topic_is_read_by_its_permissions_and_queues(detail: dict[str, int], queue: str, allowed: bool) -> None:
    history = world().sets("topic", "T", **detail).served("pull", queue=queue)
    if allowed:
        assert_holds(LAW, history)
    else:
        assert_broken(LAW, history, f"the pull of G at {queue}")


def test_a_send_needs_a_queue_and_no_permission() -> None:
    assert_broken(LAW, world().sets("topic", "T", queues=1).served("send"), "the send of")
    assert_holds(LAW, world().sets("topic", "T", queues=1, reads=2).served("send"))
    assert_holds(LAW, world().sets("topic", "T", queues=2, perm=4).served("send"))


def test_a_call_during_the_change_may_be_served() -> None:
    history = world()
    op = history.asks("group", "G", DISABLED)
    assert_holds(LAW, history.served("pull").ends(op, "group", "G"))
    history = world().sets("group", "H")
    call = history.begins("pull")
    history.sets("group", "G", **DISABLED).add("ok", **call, status="PUT_OK")
    assert_holds(LAW, history)
    for phase in ("fail", "info"):
        assert_holds(LAW, world().sets("group", "G", phase, **DISABLED).served("pull"))


def test_a_slave_has_the_settings_that_it_synced() -> None:
    changed = world().sets("group", "G", **DISABLED)
    assert_holds(LAW, changed.served("pull", node="slave"))
    changed.step("groups", "applied")
    assert_broken(LAW, changed.served("pull", node="slave"), "slave answered PUT_OK")


def test_a_deleted_topic_may_have_been_made_again_by_a_client() -> None:
    assert_holds(LAW, world().sets("topic", "T", queues=1).sets("delete-topic", "T").served("pull"))


def test_without_changes_nothing_is_judged() -> None:
    assert_vacuous(LAW, world().served("pull").served("send"))
