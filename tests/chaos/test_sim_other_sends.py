"""Batches and special messages in the simulation: each arrives as it was sent, and a history says what was special."""

from __future__ import annotations

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.operations.edge_case_send import WORDS
from pairproof.harness.texts.content import payload
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Scalar, Schedule

FILE = 2_048


def played(*ops: Op) -> list[Event]:
    """A trial that breaks no law."""
    schedule = Schedule({"mappedFileSizeCommitLog": FILE}, "seed", ops)
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), schedule)
    assert not [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED]
    return list(trial.events)


def edge_case(what: str) -> tuple[Event, Event, Event]:
    """The send, its answer, and the master's record."""
    op = Op("edge_case_send", {"producer": 0, "what": what, "wait": True, "queue": 1})
    # The first message is the one by which the lab warms up.
    found = played(op, Op("advance", {"ms": 100}))
    invoke = next(each for each in found if each.kind == "invoke" and (each.message or "").startswith("m1"))
    answer = next(each for each in found if each.op == invoke.op and each.kind == "ok")
    record = next(each for each in found if each.kind == "record" and each.message == invoke.message)
    return invoke, answer, record


@pytest.mark.parametrize("what", WORDS)
def test_a_special_message_is_stored_as_it_was_sent(what: str) -> None:
    invoke, answer, record = edge_case(what)
    assert (answer.status, record.lo, record.queue) == ("PUT_OK", answer.lo, answer.queue)
    assert record.detail == invoke.detail


def test_what_is_special_is_seen() -> None:
    assert edge_case("keys")[2].message == "m1 k1"
    assert edge_case("repeated-key")[2].message == "m1 k1 k1"
    assert edge_case("new-topic")[2].queue == "new1/1"
    assert edge_case("retry-topic")[2].queue == "%RETRY%pairproof/0"
    assert edge_case("foreign")[2].message == "m1 ключ1"
    assert edge_case("any-queue")[0].queue == "pairproof/-1"
    assert payload(edge_case("compressed")[2].detail)["compressed"] is True
    least = edge_case("empty")[2]
    assert (least.hi or 0) - (least.lo or 0) < edge_case("unique")[2].hi


def test_a_size_meets_the_border_of_a_file() -> None:
    assert edge_case("fills-file")[2].hi == FILE - 8
    assert edge_case("misses-file")[2].lo == FILE


@pytest.mark.parametrize(("buffers", "least"), [(65_536, 100_000), (600, 1_000)])
def test_a_large_message_is_as_large_as_the_network_takes_in_an_instant(buffers: int, least: int) -> None:
    op = Op("edge_case_send", {"producer": 0, "what": "large", "wait": True, "queue": 0})
    settings: dict[str, Scalar] = {"mappedFileSizeCommitLog": 1_048_576, "lab.bufferBytes": buffers}
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule(settings, "seed", (op,)))
    size = max((each.hi or 0) - (each.lo or 0) for each in trial.events if each.kind == "append")
    assert least < size < 10 * least


def test_messages_of_a_batch_lie_one_behind_the_other_and_end_together() -> None:
    op = Op("batch", {"producer": 0, "count": 3, "size": 30, "wait": True, "queue": 2})
    found = played(op, Op("advance", {"ms": 100}))
    answers = [each for each in found if each.kind == "ok" and each.message in ("m1", "m2", "m3")]
    assert [each.queue_offset for each in answers] == [0, 1, 2]
    assert [each.hi for each in answers[:-1]] == [each.lo for each in answers[1:]]
    assert len({each.t for each in answers}) == 1


def test_a_reader_gets_what_has_its_tags() -> None:
    sends = [Op("send", {"producer": 0, "size": 10, "wait": True, "queue": 0})] * 5
    found = played(
        *sends, Op("advance", {"ms": 100}), Op("select", {"reader": 0, "node": "slave", "queue": 0, "tags": "a"})
    )
    assert [each.message for each in found if each.kind == "deliver"] == ["m1", "m4"]


def test_what_cannot_be_special_is_refused_with_what_can() -> None:
    with pytest.raises(UsageError, match="keys, repeated-key, unique, foreign"):
        resolve.operations()["edge_case_send"].arguments["what"].check("odd")  # type: ignore[misc]
