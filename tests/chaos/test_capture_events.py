"""What a capture's lines say of its brokers, however they are worded, and which ones say nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairproof.chaos.observers.capture_events import (
    KILL,
    LATE_NS,
    PAUSE,
    RESUME,
    START,
    STOP,
    ParsedEvents,
    Seen,
    meaning,
    read_events,
)

S = 1_000_000_000
BROKERS = ("master", "slave", "late-slave")


def told(*lines: tuple[int, str], sent: dict[str, list[int]] | None = None) -> ParsedEvents:
    return read_events(
        ((t * S, text) for t, text in lines),
        BROKERS,
        ("namesrv",),
        {node: Seen(each, []) for node, each in (sent or {}).items()},
    )


def whats(found: ParsedEvents, node: str = "slave") -> list[tuple[int, str]]:
    return [(each.t // S, each.what) for each in found.happenings if each.node == node]


@pytest.mark.parametrize(
    ("what", "lines"),
    [
        (START, ["slave up (start 0, 2.5 s)", "slave started", "slave is running again", "launched slave"]),
        (STOP, ["slave ended cleanly (SIGTERM)", "SIGTERM slave", "kill -15 slave", "slave shut down", "slave exited 0",
                "systemctl stop slave", "slave exited with code 143"]),
        (KILL, ["kill -9 slave", "SIGKILL slave", "slave killed (SIGKILL)", "slave ended (SIGKILL)", "slave SIGKILLed",
                "pkill -KILL slave", "kill -s KILL slave", "slave crashed", "slave was oom-killed",
                "slave exited with code 137", "slave ended by kill -9"]),
        (PAUSE, ["slave SIGSTOP", "kill -STOP slave", "slave paused", "docker pause slave", "slave stopped (SIGSTOP)"]),
        (RESUME, ["slave SIGCONT", "slave SIGCONT after 3 s", "slave resumed (SIGCONT)", "kill -CONT slave",
                  "slave continues", "docker unpause slave"]),
        (None, ["slave ended", "slave did not stop", "slave up after SIGKILL", "slave ended uncleanly", "slave naps",
                "SIGSTOP and SIGCONT slave", "slave about to be killed", ""]),
    ],
)  # fmt: skip
def test_a_line_says_one_thing_or_nothing(what: str | None, lines: list[str]) -> None:
    assert {line: meaning(line) for line in lines} == dict.fromkeys(lines, what)


def test_lines_that_are_not_understood_are_named_and_remarks_are_not() -> None:
    strange = ["network partition begins", "slvae SIGSTOP", "slave naps", "SIGKILL namesrv", ""]
    remarks = ["producer: phase1", "before late slave: log 5, files 1", "note: slave naps", "in sync: (5, 1)",
               "namesrv up", "explicit pulls from master and slave done"]  # fmt: skip
    found = told((1, "slave up"), *((number, line) for number, line in enumerate([*strange, *remarks], 2)))
    assert found.unread == [f"{number}.000 s: {line}" for number, line in enumerate(strange, 2)]
    assert found.in_sync == [10 * S] and whats(found) == [(1, START)] and not whats(found, "master")


def test_a_line_may_name_several_brokers_and_names_are_whole_words() -> None:
    both = told((1, "Master and Slave killed"))
    assert whats(both, "master")[-1] == whats(both)[-1] == (1, KILL) and not whats(both, "late-slave")
    assert whats(told((1, "late-slave up")), "late-slave") == [(1, START)] and not whats(told((1, "late-slave up")))


def test_a_pause_that_nobody_ends_is_told_and_a_kill_ends_one() -> None:
    begun = (1, "slave up"), (2, "slave SIGSTOP")
    assert told(*begun).unended == ["slave stands still from 2.000 s, and no line says until when"]
    assert told(*begun, (3, "slave SIGCONT")).unended == [] == told(*begun, (3, "kill -9 slave")).unended
    # It went on, or it could not have ended so.
    ended = told(*begun, (9, "slave ended cleanly"))
    assert len(ended.unended) == 1 and whats(ended)[-2:] == [(9, RESUME), (9, STOP)]


def test_what_cannot_be_is_not_understood() -> None:
    found = told(
        (1, "slave up"), (2, "slave SIGCONT"), (3, "kill -9 slave"), (4, "slave SIGSTOP"), (5, "kill -9 slave")
    )
    assert whats(found) == [(1, START), (3, KILL)]
    assert [each[:5] for each in found.unread] == ["2.000", "4.000", "5.000"]
    # Who goes on sending was not killed; a byte may be seen a little later than the line was written.
    for late, killed in ((LATE_NS, True), (LATE_NS + 1, False)):
        seen = told((1, "slave up"), (3, "kill -9 slave"), sent={"slave": [2 * S, 3 * S + late]})
        assert ((KILL in [each.what for each in seen.happenings]), bool(seen.unread)) == (killed, not killed)
    died = told((1, "slave up"), (3, "kill -9 slave"), sent={"slave": [3 * S + 500]})
    assert died.happenings[-1].t == 3 * S + 501


def test_what_no_line_says_is_concluded_and_said() -> None:
    found = told((1, "slave up"), (5, "slave up"))
    assert whats(found) == [(1, START), (5, KILL), (5, START)]
    assert found.notes == ["slave starts again at 5.000 s, and no line says how it had ended"]
    running = told((5, "slave SIGSTOP"), (6, "slave SIGCONT"), sent={"master": [3]})
    assert whats(running)[0] == (0, START) and whats(running, "master") == [(0, START)]
    assert running.notes == [f"no line says when {node} started: taken to run from the beginning"
                             for node in ("master", "slave")]  # fmt: skip
    # A slave is restarted after the capture has begun. A connection after the line does not show that it ran before.
    for stopped, began in ((20, 12), (11, 0)):
        seen = dict.fromkeys(("master", "slave"), Seen([12 * S], [(12 * S, 20 * S, True)]))
        late = read_events([(stopped * S, "slave SIGSTOP")], BROKERS, (), seen)
        assert whats(late)[0] == (began, START) and whats(late, "master") == [(0, START)]
        assert (late.notes[-1].endswith("its first connection, 12.000 s")) == (began == 12)


@pytest.mark.parametrize("line", ["kill -9 slave", "kill -15 slave"])
def test_an_end_without_a_start_takes_effect_when_the_connection_closes(line: str) -> None:
    stood = [(2 * S, 6 * S, True), (9 * S, None, False)]
    lines = [(0, "slave up"), (5 * S, line)]
    found = read_events(lines, BROKERS, (), {"slave": Seen([2 * S, 6 * S, 9 * S, 20 * S], stood)})
    what = STOP if "15" in line else KILL
    assert whats(found) == [(0, START), (6, what), (9, START)] and not found.unread
    assert found.notes == ["no line says when slave started again: taken to be 9.000 s"]
    # One that never closed was not ended by it.
    goes_on = read_events(lines, BROKERS, (), {"slave": Seen([2 * S, 20 * S], [(2 * S, None, False)])})
    assert whats(goes_on) == [(0, START)] and len(goes_on.unread) == 1


def test_a_broker_that_starts_again_ended_when_it_ended_its_connection() -> None:
    lines = [(0, "master up"), (60 * S, "master started: its HA port answers")]
    for itself, ended in ((True, 6), (False, 60)):
        found = read_events(lines, BROKERS, (), {"master": Seen([5 * S], [(2 * S, 6 * S, itself)])})
        assert whats(found, "master") == [(0, START), (ended, KILL), (60, START)]


WORDS = st.sampled_from(["slave", "master", "up", "SIGSTOP", "SIGCONT", "kill -9", "ended cleanly", "naps", "(start 3"])


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 9), st.lists(WORDS, max_size=4).map(" ".join) | st.text(max_size=20))))
def test_whatever_the_lines_say_a_broker_lives_one_life_at_a_time(lines: list[tuple[int, str]]) -> None:
    found = told(*lines)
    for node in BROKERS:
        up = paused = False
        for _, what in whats(found, node):
            assert up != (what == START) and paused == (what == RESUME or (paused and what == KILL))
            up = what not in (STOP, KILL)
            paused = what == PAUSE


def test_lines_are_read_in_time_and_shown_as_one_line_however_long_and_many() -> None:
    found = told((1, "." * 1_000_000), (2, "slave\nnaps\x1b[31m"))
    assert [len(each) < 1_100 for each in found.unread] == [True, True]
    assert found.unread[1] == "2.000 s: slave naps [31m"
    many = [(number, f"slave {what}") for number, what in enumerate(["up", "killed"] * 20_000)]
    assert len(told(*many, sent={"slave": list(range(0, 40_000 * S, S // 2))}).happenings) == 40_000
