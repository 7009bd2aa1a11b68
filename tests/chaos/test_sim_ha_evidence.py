"""What the simulated lab's taps see of an HA link besides whole frames and reports: pieces, full sockets, the rest."""

from __future__ import annotations

from collections import Counter

from pairproof.chaos.labs.sim.session import SimSession
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.history import MS, Event


def warm(**settings: str | int) -> SimSession:
    session = SimSession(TARGET, TARGET.settings(settings), "trial")
    session.warm_up()
    return session


def seen(session: SimSession, kind: str, **wanted: object) -> list[Event]:
    events = session.recorder.events
    return [e for e in events if e.kind == kind and all(getattr(e, name) == value for name, value in wanted.items())]


def test_a_frame_that_the_socket_takes_in_pieces_is_seen_leaving_and_arriving_in_pieces() -> None:
    session = warm(**{"lab.bufferBytes": 100})
    begin = len(session.recorder.events)
    session.driver.clients.send(0, 200, True, 0)
    session.advance(100)
    new = session.recorder.events[begin:]
    for side, node, f in (("m", "master", "out"), ("s", "slave", "in")):
        frame = next(e for e in new if e.kind == "frame" and e.side == side)
        assert frame.lo is not None and frame.hi is not None
        pieces = [e for e in new if e.kind == "partial" and e.side == side and e.seq < frame.seq]
        assert {(e.node, e.f, e.lo) for e in pieces} == {(node, f, frame.lo)}
        # What comes in the same millisecond is not noted again.
        values = [e.value for e in pieces]
        assert values[0] == 100 and set(values) < set(range(100, 12 + frame.hi - frame.lo, 100))
        assert len({e.t // MS for e in pieces}) == len(pieces)


def test_each_frame_that_leaves_in_pieces_is_noted_also_within_one_millisecond() -> None:
    session = warm(**{"lab.bufferBytes": 100, "haTransferBatchSize": 100, "lab.latencyMicros": 10})
    begin = len(session.recorder.events)
    session.driver.clients.send(0, 1_000, True, 0)
    session.advance(100)
    cut: set[int | None] = set()
    blocked = False
    for event in session.recorder.events[begin:]:
        if event.side == "m" and event.kind == "partial" and event.f == "out":
            blocked = True
        elif event.side == "m" and event.kind == "frame":
            cut |= {event.lo} if blocked else set()
            blocked = False
    # No frame of 112 bytes fits into the buffer at once.
    assert len(cut) > 8


def test_whole_frames_and_reports_leave_no_pieces() -> None:
    session = warm()
    session.driver.clients.send(0, 2_000, True, 0)
    session.advance(20_000)
    assert seen(session, "frame") and not seen(session, "partial")


def test_a_socket_that_takes_nothing_is_seen() -> None:
    session = warm(**{"lab.bufferBytes": 8, "haSendHeartbeatInterval": 500, "haCutReports": "waits"})
    session.on_links.add_toxic("ha", "up", "bandwidth", {"rate": 0})
    session.advance(2_000)
    nothing = seen(session, "partial", side="s", f="out")
    # One report fills the buffer; of the next no byte is taken, and so it is not tried again.
    assert [(e.value, e.lo) for e in nothing] == [(0, None)]


def test_a_report_in_pieces_is_no_report_until_it_is_whole() -> None:
    session = warm(**{"lab.bufferBytes": 5, "haCutReports": "waits"})
    pieces = seen(session, "partial", side="s", f="out")
    assert {e.value for e in pieces} == {5}
    assert [e.value for e in seen(session, "partial", side="m", f="in")] == [5] * len(pieces)
    assert len(seen(session, "report", side="s")) == len(pieces)


def test_what_arrives_in_slices_is_noted_once_a_millisecond() -> None:
    session = warm()
    session.on_links.add_toxic("ha", "down", "slicer", {"average_size": 1, "size_variation": 0, "delay": 100})
    session.driver.clients.send(0, 100, True, 0)
    session.advance(1_000)
    noted = seen(session, "partial", side="s", f="in")
    assert len(noted) > 10
    assert max(Counter((e.t // MS, e.lo) for e in noted).values()) == 1
    assert all(e.lo is not None for e in noted if (e.value or 0) >= 12)
    # What was slowed down on the way had left in one piece.
    assert not seen(session, "partial", side="m")


def test_a_close_says_what_was_unfinished_at_its_end() -> None:
    session = warm(**{"lab.bufferBytes": 100})
    session.on_links.add_toxic("ha", "down", "bandwidth", {"rate": 0})
    session.driver.clients.send(0, 200, True, 0)
    session.advance(20)
    session.on_links.reset_link("ha")
    session.advance(20)
    assert {e.side: e.value for e in seen(session, "close")} == {"m": 100, "s": None}


def test_a_stream_that_is_no_frames_is_said_to_be_broken_once_a_connection() -> None:
    session = warm()
    stranger = session.driver.parts[-1].take_place("junk")
    session.advance(15_000)
    session.driver.parts[-1].give_back(stranger)
    broken = [e for e in seen(session, "partial", side="s", f="in") if (e.detail or "").startswith("broken: ")]
    assert broken and all("body of" in (e.detail or "") for e in broken)
    assert max(Counter(e.link for e in broken).values()) == 1
