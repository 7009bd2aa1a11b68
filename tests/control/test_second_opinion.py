"""Porcupine agrees: it objects to no trial of the reference, and to mutants' trials only where a law does.

Go builds the program, which needs the Go module proxy the first time.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import second_opinion
from projection import play
from second_opinion import EVER, Op, operations, opinions, trials, violated

from pairproof.harness.errors import LabError
from pairproof.harness.history import Event, kinds
from pairproof.harness.rocketmq.topology import MASTER, SLAVES

QUEUE = "pairproof/0"
SLAVE = SLAVES[0]
SEEN = {
    "begins_again", "counts_batch_once", "counts_in_queues", "drops_first_after_restart", "drops_messages",
    "files_as_half", "files_in_first_queue", "lies_about_place", "refuses_what_it_stored", "remembers_by_offset",
    "repeats_first", "slave_reuses_buffers", "slave_starts_one_early", "stores_twice", "takes_over", "takes_sends",
    "tells_first_queue", "trips_over_fillers",
}  # fmt: skip
"""Mutants to whose stored programs it objects; second_opinion.py says what it says of all."""
NOT_SEEN = {
    "acks_at_once": "when an answer may come is no matter of a queue",
    "never_looks_back": "searches by time are not translated",
    "newest_first": "in which order a consumer hands on what one pull brought is not in the model",
    "slave_steps_past_end": "the message that a slave's reader is sent past is there, on the master",
    "takes_all_tags": "filtered pulls are not translated",
}


def said(*ops: Op) -> str:
    return next(opinions([ops])).result


def append(name: str, at: int | None, begin: int, end: int) -> Op:
    return {"object": "queue q", "f": "append", "name": name, "at": at, "call": begin, "return": end}


def read(at: int, names: list[str], high: int, begin: int, end: int) -> Op:
    seen = {"at": at, "names": names, "high": high}
    return {"object": "queue q", "f": "read", **seen, "call": begin, "return": end}


def test_a_queue_is_read_as_it_was_written() -> None:
    assert said(append("a", 0, 1, 2), append("b", 1, 3, 6), read(0, ["a"], 1, 4, 5), read(1, ["b"], 2, 7, 8)) == "Ok"
    assert said(append("a", 0, 1, 2), read(0, ["b"], 1, 3, 4)) == "Illegal"
    assert said(append("a", 0, 1, 2), read(0, ["a", "b"], 2, 3, 4)) == "Illegal"


def test_an_offset_is_given_once_and_none_is_left_out() -> None:
    assert said(append("a", 0, 1, 4), append("b", 1, 2, 3)) == "Ok"
    assert said(append("a", 0, 1, 4), append("b", 0, 2, 3)) == "Illegal"
    assert said(append("a", 0, 1, 2), append("b", 2, 3, 4)) == "Illegal"
    # Nobody answered c, which may be between the two.
    assert said(append("a", 0, 1, 2), append("b", 2, 3, 4), append("c", None, 1, EVER)) == "Ok"


def test_what_comes_later_is_not_earlier_in_the_queue() -> None:
    assert said(append("a", 1, 1, 2), append("b", 0, 3, 4)) == "Illegal"
    assert said(append("a", 1, 1, 3), append("b", 0, 2, 4)) == "Ok"


def test_readers_of_one_broker_never_see_less_than_before() -> None:
    sent = append("a", 0, 1, 2)
    assert said(sent, read(0, [], 0, 3, 4), read(0, ["a"], 1, 5, 6)) == "Ok"
    assert said(sent, read(0, ["a"], 1, 3, 4), read(0, [], 0, 5, 6)) == "Illegal"
    assert said(sent, read(0, ["a"], 1, 3, 6), read(0, [], 0, 4, 5)) == "Ok"


def test_records_of_a_log_do_not_overlap() -> None:
    def record(at: int, to: int, begin: int) -> Op:
        return {"object": "log q", "f": "append", "at": at, "to": to, "call": begin, "return": begin + 1}

    assert said(record(0, 10, 1), record(12, 20, 3)) == "Ok"
    assert said(record(0, 10, 1), record(9, 20, 3)) == "Illegal"


# The translation.


def event(seq: int, kind: str, node: str, **columns: object) -> Event:
    columns = {column: value for column, value in columns.items() if value is not None}
    return kinds()[kind](seq, seq, kind, node, **columns)  # type: ignore[arg-type]


def sent(seq: int, name: str, at: int | None, queue: str = QUEUE) -> list[Event]:
    call = {"op": seq, "f": "send", "message": name, "queue": queue}
    begun = event(seq, "invoke", MASTER, **call)
    if at is None:
        return [begun, event(seq + 1, "info", MASTER, **call)]
    place = {"queue_offset": at, "lo": 100 * at, "hi": 100 * at + 100}
    return [begun, event(seq + 1, "ok", MASTER, **call, **place, status="PUT_OK")]


def pulled(seq: int, node: str, asked: int, names: list[str]) -> list[Event]:
    call = {"op": seq, "f": "pull", "queue": QUEUE, "value": asked}
    found = [
        event(seq + 1, "deliver", node, op=seq, f="pull", queue=QUEUE, queue_offset=asked + at, message=name)
        for at, name in enumerate(names)
    ]
    end = event(seq + 2, "ok", node, **call, queue_offset=asked + len(names), lo=0, hi=asked + len(names),
                status="PUT_OK" if names else "PULL_NOT_FOUND")  # fmt: skip
    return [event(seq, "invoke", node, **call), *found, end]


def opinion(*parts: list[Event]) -> str:
    return said(*operations([each for part in parts for each in part]))


def test_a_history_becomes_operations_of_its_queues() -> None:
    assert opinion(sent(0, "m0", 0), sent(2, "m1", 1), pulled(4, MASTER, 1, ["m1"])) == "Ok"
    assert opinion(sent(0, "m0", 0), sent(2, "m1", 1), pulled(4, MASTER, 1, ["m0"])) == "Illegal"
    assert opinion(sent(0, "m0", 0), sent(2, "m1", 0)) == "Illegal"


def test_a_send_that_nobody_answered_is_where_it_is_seen() -> None:
    assert opinion(sent(0, "m0", None), sent(2, "m1", 1), pulled(4, SLAVE, 0, ["m0"])) == "Ok"
    assert opinion(sent(0, "m0", None), sent(2, "m1", 0), pulled(4, SLAVE, 0, ["m0"])) == "Illegal"


def test_nothing_is_said_of_what_comes_behind_a_loss() -> None:
    lost = [event(4, "crash", MASTER, f="machine", value=100)]
    killed = [event(4, "crash", MASTER, f="process", value=0)]
    assert opinion(sent(0, "m0", 0), sent(2, "m1", 1), lost, sent(6, "m2", 1)) == "Ok"
    assert opinion(sent(0, "m0", 0), sent(2, "m1", 1), killed, sent(6, "m2", 1)) == "Illegal"
    less = pulled(6, SLAVE, 0, ["m0"])
    wiped = [event(10, "wipe", SLAVE, f="empty", hi=0)]
    assert opinion(sent(0, "m0", 0), less, wiped, pulled(12, SLAVE, 0, [])) == "Ok"
    assert opinion(sent(0, "m0", 0), less, pulled(12, SLAVE, 0, [])) == "Illegal"


# Both judges.


def test_it_objects_to_no_trial_of_the_reference() -> None:
    found = [(name, next(opinions([operations(trial.events)])), violated(trial)) for name, trial in trials(800)]
    assert len(found) == 25 and [name for name, its, ours in found if its.result != "Ok" or ours] == []


KILLS = {row["mutant"]: row for row in map(json.loads, second_opinion.KILLS.read_text(encoding="utf-8").splitlines())}


@pytest.mark.parametrize("mutant", sorted(SEEN | NOT_SEEN.keys()))
def test_of_a_mutant_it_says_what_a_law_says_where_its_model_fits(mutant: str) -> None:
    trial = play(KILLS[mutant]["schedule"], f"reference+{mutant}")
    its = next(opinions([operations(trial.events)]))
    assert violated(trial) and (its.result == "Illegal") == (mutant in SEEN), its


def test_without_go_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LabError, match="install Go"):
        second_opinion.program()
