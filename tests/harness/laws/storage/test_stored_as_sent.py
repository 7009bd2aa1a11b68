"""``stored-as-sent``: what a record may be otherwise than its send, and where it has to lie."""

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_unbroken, assert_vacuous, bare, pair

from pairproof.harness.rocketmq.laws.delivery.deliver_no_phantom import DeliverNoPhantom
from pairproof.harness.rocketmq.laws.storage.stored_as_sent import StoredAsSent
from pairproof.harness.texts.content import content

BODY = b"some bytes"
SAID = content(BODY, "a", 3)


def sent(
    history: H, message: str = "m0", lo: int = 0, detail: str | None = SAID, queue: str = "t/1", told: int = 0,
    phase: str = "ok", node: str = "master",
) -> H:  # fmt: skip
    """A send, and the offset that its answer reports."""
    op, history.ops = history.ops, history.ops + 1
    call = {"node": node, "op": op, "f": "send", "message": message, "queue": queue}
    history.add("invoke", **call, detail=detail)
    placed = {"lo": lo, "hi": lo + SIZE, "queue_offset": told} if phase == "ok" else {}
    return history.add(phase, **call, status="PUT_OK" if phase == "ok" else None, **placed)


def found(
    history: H, message: str | None = "m0", lo: int = 0, detail: str | None = SAID, queue: str = "t/1",
    offset: int = 0, node: str = "master", upto: int = 1_000, last: bool = True, start: int = 0,
) -> H:  # fmt: skip
    """A store reader finds one record, and is done if it is the ``last``."""
    history.add(
        "record", node=node, op=9, message=message, lo=lo, hi=lo + SIZE, detail=detail, queue=queue, queue_offset=offset
    )
    return history.add("audit", node=node, op=9, f="final", lo=start, hi=upto, value=upto) if last else history


def test_a_record_equal_to_its_send_is_correct() -> None:
    assert assert_holds(StoredAsSent, found(sent(bare()))).judged == 2
    assert_vacuous(StoredAsSent, found(bare()))


@pytest.mark.parametrize(
    ("otherwise", "saying"),
    [
        ({"queue": "t/0"}, "master holds m0 at 0, in t/0; it was sent to t/1"),
        ({"queue": "RMQ_SYS_TRANS_HALF_TOPIC/0", "detail": content(BODY, "a", 3, real="t/1")}, "in RMQ_SYS_TRANS_HALF"),
        ({"queue": "SCHEDULE_TOPIC_XXXX/0", "detail": content(BODY, "a", 3, real="t/1")}, "in SCHEDULE_TOPIC_XXXX/0"),
        ({"detail": content(BODY, "", 3)}, "with tags none; it was sent with a"),
        ({"detail": content(BODY, "b", 3)}, "with tags b; it was sent with a"),
        ({"detail": content(BODY, "a", 0)}, "with flag 0; it was sent with 3"),
        ({"detail": content(b"others", "a", 3)}, "with another body than was sent"),
        ({"offset": 1}, "m0 has queue offset 1; the answer reported 0"),
        ({"message": None}, "a record without a key is at 0, the reported offset of m0"),
        ({"message": "m1"}, "m1 is at 0, the reported offset of m0"),
        ({"lo": 50, "message": "m1"}, "no record begins at 0, the reported offset of m0"),
    ],
)
def test_a_record_that_is_otherwise_is_named(otherwise: dict[str, object], saying: str) -> None:
    assert_broken(StoredAsSent, found(sent(bare()), **otherwise), saying)  # type: ignore[arg-type]


@pytest.mark.parametrize("node", ["slave", "slave2"])
def test_a_copy_is_as_it_was_sent(node: str) -> None:
    assert_holds(StoredAsSent, found(sent(bare()), node=node))
    wrong = found(sent(bare()), node=node, detail=content(BODY, "", 3))
    assert_broken(StoredAsSent, wrong, f"{node} holds m0 at 0, with tags none")


def test_an_unanswered_send_is_stored_as_sent_or_not_at_all() -> None:
    unknown = sent(bare(), phase="info")
    assert_holds(StoredAsSent, found(unknown))
    assert_broken(StoredAsSent, found(sent(bare(), phase="info"), queue="t/0"), "in t/0; it was sent to t/1")
    assert_vacuous(StoredAsSent, found(sent(bare(), phase="info"), message="m7"))


def test_a_delayed_message_names_its_queue_while_it_waits() -> None:
    def waits(queue: str, real: str | None, level: int = 2) -> H:
        asked = content(BODY, "a", 3, level=level) if level else SAID
        held = content(BODY, "a", 3, real=real) if real else SAID
        return found(sent(bare(), detail=asked), queue=queue, detail=held)

    assert_holds(StoredAsSent, waits("SCHEDULE_TOPIC_XXXX/1", "t/1"))
    assert_holds(StoredAsSent, waits("t/1", "t/1"))
    assert_broken(StoredAsSent, waits("SCHEDULE_TOPIC_XXXX/1", "t/0"), "which waits for t/0; it was sent to t/1")
    assert_broken(StoredAsSent, waits("SCHEDULE_TOPIC_XXXX/1", None), "which waits for no queue")
    assert_broken(StoredAsSent, waits("RMQ_SYS_TRANS_HALF_TOPIC/0", "t/1"), "in RMQ_SYS_TRANS_HALF_TOPIC/0")


def test_a_half_message_waits_in_the_half_topic() -> None:
    half = content(BODY, "a", 3, half=True)
    assert_holds(
        StoredAsSent,
        found(sent(bare(), detail=half), queue="RMQ_SYS_TRANS_HALF_TOPIC/0", detail=content(BODY, "a", 3, real="t/1")),
    )


@pytest.mark.parametrize("queue", ["%RETRY%g/0", "%DLQ%g/0", "SCHEDULE_TOPIC_XXXX/2"])
def test_a_message_sent_back_is_the_same_in_another_queue(queue: str) -> None:
    def sent_back(content_of_copy: str) -> H:
        history = found(sent(bare()), last=False)
        return found(history, lo=SIZE, queue=queue, detail=content_of_copy)

    assert_holds(StoredAsSent, sent_back(content(BODY, "a", 3, real="%RETRY%g/0")))
    assert_broken(StoredAsSent, sent_back(content(b"", "a", 3, real="%RETRY%g/0")), "with another body")


def test_a_message_to_be_tried_again_may_be_sent_back_itself() -> None:
    def sent_back(**more: object) -> H:
        queue = "%RETRY%g/0"
        history = found(sent(bare(), queue=queue), queue=queue, last=False)
        return found(history, lo=SIZE, queue="%DLQ%g/0", detail=content(BODY, "a", 3, **more))

    assert_holds(StoredAsSent, sent_back(times=1))
    assert_broken(StoredAsSent, sent_back(), "in %DLQ%g/0; it was sent to %RETRY%g/0")


def test_a_message_that_is_sent_again_may_be_either() -> None:
    again = sent(sent(bare(), phase="info", queue="t/0"), lo=SIZE)
    assert_holds(StoredAsSent, found(found(again, queue="t/0", last=False), lo=SIZE))


def test_a_negative_queue_leaves_the_choice_to_the_broker() -> None:
    assert_holds(StoredAsSent, found(sent(bare(), queue="t/-1"), queue="t/3"))
    assert_broken(StoredAsSent, found(sent(bare(), queue="t/-1"), queue="u/3"), "in u/3; it was sent to t/-1")


def test_records_that_the_master_may_have_lost_are_not_judged() -> None:
    def lost(how: str) -> H:
        history = sent(sent(bare()), "m1", SIZE, told=1)
        if how == "expire":
            return found(history.add("expire", node="master", lo=SIZE), "m1", SIZE, offset=1, start=SIZE)
        if how == "wipe":
            history.wipe("master").start("master", 1_000)
        else:
            history.crash("master", "machine").start("master", SIZE)
        return found(found(history, last=False), "m5", SIZE)

    for how in ("power", "wipe", "expire"):
        assert_holds(StoredAsSent, lost(how))
    kept = sent(sent(bare()), "m1", SIZE, told=1).crash("master").start("master", 2 * SIZE)
    assert_broken(StoredAsSent, found(found(kept, last=False), "m5", SIZE), "m5 is at 100, the reported offset of m1")


def test_an_answer_of_an_earlier_incarnation_is_not_judged() -> None:
    history = bare().add("invoke", node="master", op=0, f="send", message="m0", queue="t/1", detail=SAID)
    history.crash("master", "machine").start("master", 0)
    history.add("ok", node="master", op=0, f="send", message="m0", queue="t/1", status="PUT_OK", lo=0, queue_offset=0)
    assert_holds(StoredAsSent, found(sent(history, "m1"), "m1"))


def test_behind_the_whole_part_of_a_log_no_record_is_missing() -> None:
    history = sent(sent(bare()), "m1", SIZE, told=1)
    assert_holds(StoredAsSent, found(history, upto=SIZE))


def test_a_send_without_recorded_content_is_judged_by_queue_and_offset() -> None:
    assert_holds(StoredAsSent, found(sent(bare(), detail=None)))
    assert_broken(StoredAsSent, found(sent(bare(), detail=None), queue="t/0"), "in t/0")


def test_a_diverged_slave_may_join_halves_of_two_records() -> None:
    lost = pair().sent("m0").sent("m1").crash("master", "machine").close("s").restart("master", SIZE)
    halves = {"node": "slave", "lo": SIZE, "detail": content(b"half of another", "a", 3)}
    rolled = sent(lost.put("m2").put("m3"), "m2", SIZE, phase="info")
    assert_vacuous(StoredAsSent, found(rolled, "m2", **halves))  # type: ignore[arg-type]
    assert_broken(StoredAsSent, found(sent(pair(), "m2", phase="info"), "m2", **halves), "another body")  # type: ignore[arg-type]


def chosen(told: str, lies_in: str) -> H:
    """A producer leaves the choice of the queue to the broker, which reports it."""
    said = content(b"x", "", 0)
    call = {"node": "master", "process": 0, "op": 0, "f": "send", "message": "m0"}
    history = bare().add("invoke", **call, queue="t/-1", detail=said)
    history.add("ok", **call, status="PUT_OK", queue=told, lo=0, hi=SIZE, queue_offset=0)
    history.add(
        "record", node="master", op=7, message="m0", queue=lies_in, queue_offset=0, lo=0, hi=SIZE, digest=5, detail=said
    )
    return history.add("audit", node="master", op=7, f="final", lo=0, hi=SIZE, value=SIZE)


def test_a_queue_that_a_broker_chose_is_the_one_that_it_names() -> None:
    assert_holds(StoredAsSent, chosen("t/2", "t/2"))
    assert_broken(StoredAsSent, chosen("t/0", "t/2"), "m0 is in t/2; the answer reported t/0")
    delivered = chosen("t/2", "t/2").add("deliver", node="master", process=1, op=3, f="pull", message="m0", queue="t/2")
    assert_holds(DeliverNoPhantom, delivered)


def test_a_body_that_was_sent_compressed_is_marked_as_such() -> None:
    said = content(b"x", "", 0, compressed=True)
    history = bare().add("invoke", node="master", op=0, f="send", message="m0", queue="t/0", detail=said)
    for detail, holds in ((said, True), (content(b"x", "", 0), False)):
        history.add("record", node="slave", op=7, message="m0", queue="t/0", lo=0, hi=SIZE, detail=detail)
        if holds:
            assert_holds(StoredAsSent, history)
    assert_broken(StoredAsSent, history, "with compressed none; it was sent with True")


def test_a_record_that_a_lying_disk_tore_is_none_until_a_recovery() -> None:
    def torn(*starts: str) -> H:
        history = sent(bare(), detail=None).add("crash", node="master", f="machine", status="lied", value=9)
        for each in starts:
            history.add("start", node="master", f=each, lo=0, hi=SIZE)
        return found(history, queue="t/0")

    assert_unbroken(StoredAsSent, torn())
    assert_unbroken(StoredAsSent, torn("normal"))
    assert_broken(StoredAsSent, torn("abnormal"), "in t/0; it was sent to t/1")
