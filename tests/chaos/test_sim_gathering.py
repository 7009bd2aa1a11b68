"""A network that gathers shows who reads one frame of a piece and leaves the others; one that does not hides it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pairproof.harness.judging.cause import violated
from pairproof.harness.rocketmq import cluster
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Scalar
from pairproof.reference.core.calls import Calls
from pairproof.reference.ports import Conn

SIM, REFERENCE = resolve.lab("sim"), resolve.target("reference")
NUMBERS = range(12)


def laws_broken(settings: Mapping[str, Scalar]) -> set[str]:
    """By cluster trials in which the network gathers as these settings say, and is otherwise even."""
    found: set[str] = set()
    for number in NUMBERS:
        drawn = cluster.schedule("gathering", number, SIM)
        even = {key: value for key, value in drawn.settings.items() if key not in ("lab.gatherMicros", "lab.spread")}
        trial = run_trial(SIM, REFERENCE, drawn._replace(settings={**even, **settings}))
        found |= {each.law for each in violated(trial)}
    return found


def first_frame_only(calls: Calls, conn: Conn, data: bytes) -> None:
    line = calls.by_conn.get(conn)
    for command in line.reader.feed(data) if line is not None else ():
        if line is not None and command.is_response:
            calls._answered(line, command)
        elif calls.on_request is not None:
            calls.on_request(conn, command)
        return


def test_reference_reads_all_of_a_piece() -> None:
    assert laws_broken({"lab.gatherMicros": 0}) == set()


def test_reading_one_frame_only_is_seen_where_the_network_gathers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Calls, "on_bytes", first_frame_only)
    assert laws_broken({}) == set()
    assert laws_broken({"lab.gatherMicros": 0})
