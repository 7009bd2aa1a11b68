"""A history in which an effect comes before its cause is refused; what a capture merely lacks is not."""

from __future__ import annotations

from typing import Any

import pytest

from pairproof.harness.errors import LabError
from pairproof.harness.history import Event, Recorder
from pairproof.harness.judging.judge import Judge, laws
from pairproof.harness.judging.precedence import MAX_EARLY, Precedence

SEND = {"process": 0, "op": 1, "f": "send", "message": "m1"}
PULL = {"process": 0, "op": 2, "f": "pull"}
APPEND = {"node": "master", "incarnation": 1, "f": "put", "message": "m1", "lo": 0, "hi": 5, "digest": 1}


def history(*rows: tuple[str, dict[str, Any]]) -> list[Event]:
    recorder = Recorder()
    for t, (kind, columns) in enumerate(rows):
        recorder.add(t, kind, **columns)
    return recorder.events


@pytest.mark.parametrize(
    ("early", "cause"),
    [
        (("append", APPEND), ("invoke", SEND)),
        (("append", {**APPEND, "f": "replicate", "node": "slave"}), ("invoke", {**SEND, "f": "produce"})),
        (("ok", {**SEND, "status": "PUT_OK"}), ("invoke", SEND)),
        (("fail", {**SEND, "status": "SYSTEM_BUSY"}), ("invoke", SEND)),
        (("info", {**SEND, "status": "timeout"}), ("invoke", SEND)),
        (("deliver", {**PULL, "message": "m1"}), ("invoke", PULL)),
    ],
    ids=lambda each: each[0],
)
def test_an_effect_before_its_cause_ends_the_judgement_in_one_line(
    early: tuple[str, dict[str, Any]], cause: tuple[str, dict[str, Any]]
) -> None:
    for chosen in (laws(["ack-replicated", "deliver-no-phantom"]), ()):
        Judge(chosen).feed_all(history(cause, early))
        with pytest.raises(LabError, match=f"event 0, {early[0]} of .*, comes before event 1, its cause") as found:
            Judge(chosen).feed_all(history(early, cause))
        assert "\n" not in str(found.value)
        judge = Judge(chosen)
        with pytest.raises(LabError):
            for each in history(early, cause):
                judge.feed(each)


def test_an_effect_without_any_call_is_judged() -> None:
    alone = [("append", APPEND), ("ok", SEND), ("append", {**APPEND, "message": None}), ("invoke", PULL)]
    Judge(()).feed_all(history(*alone))
    # An administrator's topic may be called as a message is.
    Judge(()).feed_all(history(("append", APPEND), ("invoke", {**PULL, "f": "topic", "message": "m1"})))


def test_what_is_remembered_is_bounded() -> None:
    check = Precedence()
    append = check.handler("append")
    assert append is not None
    for number in range(MAX_EARLY + 1_000):
        append(Event(number, number, "append", message=f"m{number}"))
    assert len(check._early) == MAX_EARLY
    assert check.handler("frame") is None
