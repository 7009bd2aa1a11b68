"""Tests of ``valid-taken``."""

import json

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous

from pairproof.harness.rocketmq.laws.questions.valid_taken import ValidTaken
from pairproof.harness.texts.content import content

SAID = content(b"x", "", 0)


def world(ms: int = 3_001, **settings: object) -> H:
    known = {"mappedFileSizeCommitLog": 2_048, "maxMessageSize": 4_194_304, **settings}
    history = H().config("master", **known).config("slave", **known).start("master").start("slave")
    history.after(ms)
    return history


def asked(
    history: H, status: str = "SYSTEM_ERROR", f: str = "send", node: str = "master", remark: str | None = "no",
    detail: str | None = SAID, **columns: object,
) -> H:  # fmt: skip
    """A call that fails; ``detail`` describes the message."""
    op, history.ops = history.ops, history.ops + 1
    call = {"node": node, "process": 1, "op": op, "f": f, "queue": "T/0", **columns}
    history.add("invoke", **call, detail=detail).after(1)
    return history.add("fail", **call, status=status, detail=remark)


def changes(history: H, f: str, name: str) -> H:
    return history.add("invoke", node="master", process=2, op=99, f=f, message=name)


@pytest.mark.parametrize("f", ["send", "produce", "pull", "select", "commit", "query", "topic", "group"])
def test_what_a_client_may_ask_is_not_refused(f: str) -> None:
    assert_broken(ValidTaken, asked(world(), f=f), f"master refuses {f} of T/0 (SYSTEM_ERROR: no)")
    done = world().add("invoke", node="master", process=1, op=7, f=f).add("ok", node="master", process=1, op=7, f=f)
    assert_holds(ValidTaken, done)


def test_a_client_without_a_connection_is_not_refused() -> None:
    for status in ("refused", "no route", "timeout"):
        assert_vacuous(ValidTaken, asked(world(), status))


def test_a_slave_may_refuse() -> None:
    assert_vacuous(ValidTaken, asked(world(), node="slave"))


def test_a_recently_started_or_disturbed_master_may_refuse() -> None:
    assert_vacuous(ValidTaken, asked(world(2_999)))
    assert_vacuous(ValidTaken, asked(world().fault("disk_full", "master"), "SERVICE_NOT_AVAILABLE"))
    for since, judge in ((2_999, assert_vacuous), (3_001, lambda law, story: assert_broken(law, story, "refuses"))):
        over = world().fault("disk_full", "master").after(5).fault("disk_full", "master", "off").after(since)
        judge(ValidTaken, asked(over, "SERVICE_NOT_AVAILABLE"))
    assert_broken(ValidTaken, asked(world().fault("stall", "ha"), "SERVICE_NOT_AVAILABLE"), "refuses")


@pytest.mark.parametrize("ahead", [True, False])
def test_a_master_that_was_a_slave_with_two_histories_may_refuse(ahead: bool) -> None:
    history = world().append("master", 0, 200, "put").append("slave", 0, 200 if ahead else 100)
    history.crash("master", "machine").start("master", 100).crash("master").stop("slave")
    history.add("wipe", node="master", f="image", detail="slave").add("wipe", node="slave", f="empty")
    refused = asked(history.start("master", 200).after(3_001), "SERVICE_NOT_AVAILABLE")
    if ahead:
        assert_vacuous(ValidTaken, refused)
    else:
        assert_broken(ValidTaken, refused, "refuses send")


@pytest.mark.parametrize(("setting", "more", "f"), [
    ("maxMessageSize", 0, "empty"), ("maxMessageSize", 300, "unknown"), ("mappedFileSizeCommitLog", 300, "empty"),
])  # fmt: skip
def test_a_message_may_be_too_large(setting: str, more: int, f: str) -> None:
    """Releases before 4.9.5 count a record's other bytes for maxMessageSize, too."""

    def limited(limit: int) -> H:
        history = world(**{"mappedFileSizeCommitLog": 9_000, setting: limit})
        history.events[2] = history.events[2]._replace(f=f)
        return history

    for status in ("MESSAGE_ILLEGAL", "SYSTEM_ERROR"):
        assert_broken(ValidTaken, asked(limited(1_000 + more), status), "refuses")
        assert_holds(ValidTaken, asked(limited(999 + more), status))
        large = content(bytes(1_749), "", 0)
        assert_holds(ValidTaken, asked(limited(1_748 + more), status, detail=large))
        assert_broken(ValidTaken, asked(limited(1_749 + more), status, detail=large), "ref")
        # Nobody knows how large it is.
        assert_holds(ValidTaken, asked(world(), status, detail=None))
    assert_broken(ValidTaken, asked(limited(100), "NO_PERMISSION"), "refuses")
    assert_broken(ValidTaken, asked(world(**{setting: 100}), f="pull"), "refuses")


def test_a_message_without_a_body_is_illegal_at_most() -> None:
    empty = content(b"", "", 0)
    assert_holds(ValidTaken, asked(world(), "MESSAGE_ILLEGAL", detail=empty))
    assert_broken(ValidTaken, asked(world(), "SYSTEM_ERROR", detail=empty), "refuses send of T/0 without a body (")


def test_a_large_message_records_its_size() -> None:
    assert "size" not in content(bytes(1_000), "", 0)
    assert json.loads(content(bytes(1_001), "a", 0))["size"] == 1_001


@pytest.mark.parametrize("status", ["TOPIC_NOT_EXIST", "SUBSCRIPTION_NOT_EXIST"])
def test_names_may_be_unknown_that_were_changed_or_lost(status: str) -> None:
    assert_broken(ValidTaken, asked(world(), status), "refuses")
    for f in ("topic", "delete-topic"):
        assert_holds(ValidTaken, asked(changes(world(), f, "T"), status))
        assert_broken(ValidTaken, asked(changes(world(), f, "U"), status), "refuses")
    lost = world().crash("master", "machine").start("master").after(4_000)
    assert_holds(ValidTaken, asked(lost, status))
    assert_broken(ValidTaken, asked(world().crash("master").start("master").after(4_000), status), "refuses")
    saved = world().add("persist", node="master", f="topics")
    assert_holds(ValidTaken, asked(saved, status))
    assert_broken(ValidTaken, asked(world().add("persist", node="master", f="offsets"), status), "refuses")
    wiped = world().wipe("master").start("master").after(4_000)
    assert_holds(ValidTaken, asked(wiped, status))


def test_groups_may_be_unknown_where_the_master_does_not_make_them() -> None:
    status = "SUBSCRIPTION_GROUP_NOT_EXIST"
    assert_broken(ValidTaken, asked(world(), status, "pull", group="G"), "refuses")
    assert_holds(ValidTaken, asked(world(autoCreateSubscriptionGroup=False), status, "pull", group="G"))
    assert_holds(ValidTaken, asked(changes(world(), "delete-group", "G"), status, "pull", group="G"))
    for f in ("commit", "query"):
        assert_holds(ValidTaken, asked(world(), status, f, group="G"))


def test_topics_may_be_unknown_where_the_master_does_not_make_them() -> None:
    status = "TOPIC_NOT_EXIST"
    assert_broken(ValidTaken, asked(world(), status), "refuses")
    assert_holds(ValidTaken, asked(world(autoCreateTopicEnable=False), status))
    taken = {"node": "master", "process": 1, "op": 50, "f": "send", "queue": "T/1"}
    known = world(autoCreateTopicEnable=False).add("invoke", **taken, detail=SAID).add("ok", **taken, status="PUT_OK")
    assert_broken(ValidTaken, asked(known, status), "refuses")


def test_a_topic_that_a_send_makes_has_no_more_queues_than_is_set() -> None:
    for queue, settings in (("T/8", {}), ("T/1", {"defaultTopicQueueNums": 1})):
        assert_holds(ValidTaken, asked(world(**settings), queue=queue))
    for queue, settings in (("T/7", {}), ("T/0", {"defaultTopicQueueNums": 1}), ("T/-1", {"defaultTopicQueueNums": 1})):
        assert_broken(ValidTaken, asked(world(**settings), queue=queue), "refuses")
    # Clients know queues from before their topic was made anew.
    assert_holds(ValidTaken, asked(world(defaultTopicQueueNums=1), "SYSTEM_ERROR", f="pull", queue="T/1"))
    assert_broken(ValidTaken, asked(world(defaultTopicQueueNums=1), "SYSTEM_ERROR", f="pull", queue="T/0"), "refuses")


def test_real_brokers_may_be_busy() -> None:
    def real() -> H:
        return H.real(world(), 1)

    for status, remark in (("SYSTEM_BUSY", "x"), ("SYSTEM_ERROR", "[PC_SYNCHRONIZED]broker busy, start flow control")):
        assert_broken(ValidTaken, asked(world(), status, remark=remark), "refuses")
        assert_holds(ValidTaken, asked(real(), status, remark=remark))
    assert_broken(ValidTaken, asked(real()), "refuses")


def test_a_broker_that_gave_up_waiting_has_not_refused() -> None:
    assert_holds(ValidTaken, asked(world(), remark="UNKNOWN_ERROR"))


def test_each_try_of_a_producer_is_judged() -> None:
    def tried(after: int, status: str = "SYSTEM_ERROR") -> H:
        history = world(1).add("invoke", node="master", process=1, op=0, f="produce", message="m0", detail=SAID)
        history.after(after)
        for f, code in (("began", None), ("fail", status)):
            history.add("try", node="master", process=1, op=0, f=f, status=code, message="m0", queue="T/0", detail="no")
        return history.add("ok", node="master", process=1, op=0, f="produce", status="PUT_OK", message="m0")

    assert_broken(ValidTaken, tried(3_001), "master refuses a try of m0 (SYSTEM_ERROR: no)")
    assert_holds(ValidTaken, tried(2_000))
    assert_holds(ValidTaken, tried(3_001, "timeout"))


def sets(history: H, f: str, name: str, **detail: object) -> H:
    """An administrator's whole call."""
    op, history.ops = history.ops, history.ops + 1
    call = {"node": "master", "process": 2, "op": op, "f": f, "message": name}
    history.add("invoke", **call, detail=json.dumps(detail))
    return history.add("ok", **call, status="SUCCESS")


def test_an_administrator_s_settings_are_a_reason_and_the_ones_before_are_none() -> None:
    def refused(f: str, setting: str, group: str = "G", **detail: object) -> H:
        return asked(sets(world(), setting, "T" if setting == "topic" else "G", **detail), f=f, group=group)

    assert_holds(ValidTaken, refused("pull", "group", consumeEnable=False))
    assert_broken(ValidTaken, refused("pull", "group", consumeEnable=False, group="other"), "refuses pull")
    assert_broken(ValidTaken, refused("pull", "group", consumeBroadcastEnable=False), "refuses pull")
    no_broadcasts = sets(world(), "group", "G", consumeBroadcastEnable=False)
    assert_broken(ValidTaken, asked(no_broadcasts, "NO_PERMISSION", f="pull", group="G"), "refuses pull")
    assert_holds(ValidTaken, refused("pull", "topic", queues=4, perm=2))
    assert_broken(ValidTaken, refused("send", "topic", queues=4, perm=4), "refuses send")
    assert_holds(ValidTaken, refused("send", "topic", queues=0))
    again = sets(sets(world(), "group", "G", consumeEnable=False), "group", "G")
    assert_broken(ValidTaken, asked(again, f="pull", group="G"), "refuses pull")


def test_a_queue_that_an_administrator_added_may_be_lost_with_the_table() -> None:
    def lost(how: str) -> H:
        added = sets(world(), "topic", "T", queues=4).crash("master", how).start("master").after(10_000)
        return asked(added, f="pull", group="G")

    assert_broken(ValidTaken, lost("process"), "refuses pull")
    assert_holds(ValidTaken, lost("machine"))


def test_a_retry_topic_has_the_queues_of_its_group_when_it_was_made() -> None:
    def pulled(retries: int, topic: str = "%RETRY%G", how: str = "machine") -> H:
        table = sets(world(), "group", "G", retryQueueNums=retries).crash("master", how).start("master").after(10_000)
        return asked(table, f="pull", group="G", queue=f"{topic}/2")

    assert_holds(ValidTaken, pulled(4))
    assert_broken(ValidTaken, pulled(4, how="process"), "refuses pull of %RETRY%G/2")
    assert_holds(ValidTaken, pulled(0, how="process"))
    assert_broken(ValidTaken, pulled(1), "refuses pull of %RETRY%G/2")
    assert_broken(ValidTaken, pulled(4, "%RETRY%other"), "refuses pull of %RETRY%other/2")


def test_a_broker_s_own_permission_is_a_reason() -> None:
    def refused(permission: int) -> H:
        return asked(world(brokerPermission=permission), "NO_PERMISSION", f="pull", group="G")

    assert_holds(ValidTaken, refused(2))
    assert_broken(ValidTaken, refused(6), "master refuses pull")
