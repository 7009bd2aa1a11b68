"""The timeline's axis and scene: what is drawn where, and what is said of it."""

from __future__ import annotations

from xml.etree import ElementTree

from pairproof.harness.history import Event, Recorder
from pairproof.reports.axis import MS, Axis
from pairproof.reports.scene import scene
from pairproof.reports.timeline import draw, pack

SVG = "{http://www.w3.org/2000/svg}"


def history() -> list[Event]:
    """A send, a slave that is killed and comes back with less, a send that never ends, a refused stranger."""
    made = Recorder()
    made.add(0, "start", "master", 1, f="empty", lo=0, hi=0)
    made.add(0, "start", "slave", 1, f="empty", lo=0, hi=0)
    made.add(1 * MS, "connect", "slave", None, "ha:1", "m", f="slave")
    made.add(2 * MS, "invoke", "master", process=0, op=0, f="send", message="m0", value=1)
    made.add(3 * MS, "append", "master", 1, f="put", message="m0", lo=0, hi=230)
    made.add(4 * MS, "append", "slave", 1, f="replicate", lo=0, hi=230)
    made.add(5 * MS, "report", "master", None, "ha:1", "m", hi=230)
    made.add(6 * MS, "ok", "master", process=0, op=0, f="send", status="PUT_OK", message="m0", lo=0, hi=230)
    made.add(7 * MS, "fault", "slave", op=0, f="kill", status="on", detail='{"node": "slave"}')
    made.add(7 * MS, "crash", "slave", 1, f="process", value=0)
    made.add(8 * MS, "invoke", "master", process=1, op=1, f="send", message="<m1>", value=1)
    made.add(9_000 * MS, "start", "slave", 2, f="abnormal", lo=0, hi=100)
    made.add(9_000 * MS, "fault", "slave", op=0, f="kill", status="off", value=0, detail="{}")
    made.add(9_001 * MS, "connect", "hostile", None, "ha:2", "m", f="hostile")
    made.add(9_001 * MS, "report", "master", None, "ha:2", "m", hi=1 << 62)
    made.add(9_002 * MS, "diverged", "master", 1, "ha:2", hi=1 << 62, value=230)
    return made.events


def test_the_axis_never_goes_back_and_keeps_bursts_linear() -> None:
    axis = Axis([0, 1 * MS, 2 * MS, 3 * MS, 9_000 * MS, 9_001 * MS], 100, 1100)
    xs = [axis.x(t * MS) for t in range(9_002)]
    assert xs == sorted(xs) and xs[0] == 100 and abs(xs[-1] - 1100) < 1e-6
    assert abs((xs[1] - xs[0]) - (xs[3] - xs[2])) < 1e-6


def test_idle_time_is_drawn_short_and_marked_with_its_real_length() -> None:
    axis = Axis([0, 1 * MS, 2 * MS, 3 * MS, 9_000 * MS, 9_001 * MS], 0, 1000)
    assert [each.ns for each in axis.breaks] == [8_997 * MS]
    assert axis.breaks[0].x1 - axis.breaks[0].x0 <= 400.001
    assert Axis([0, 1 * MS, 2 * MS], 0, 1000).breaks == []


def test_an_axis_needs_no_events() -> None:
    assert Axis([], 0, 10).x(5) == 0
    assert draw([], None, "empty").startswith("<svg")


def test_operations_are_told_apart_by_their_outcome() -> None:
    shown = scene(history())
    assert [bar.kind for bar in shown.clients[0]] == ["op done"]
    assert [(bar.kind, bar.ended) for bar in shown.clients[1]] == [("op open", None)]


def test_a_fault_that_hit_nothing_is_drawn_differently() -> None:
    assert [bar.kind for bar in scene(history()).faults] == ["fault missed"]
    biting = [event._replace(value=1) if event.status == "off" else event for event in history()]
    assert [bar.kind for bar in scene(biting).faults] == ["fault"]


def test_a_log_end_is_unknown_while_its_node_is_down_and_starts_anew() -> None:
    assert [step.bytes for step in scene(history()).ends["slave"]] == [0, 230, None, 100]
    assert [(bar.began, bar.ended) for bar in scene(history()).down["slave"]] == [(7 * MS, 9_000 * MS)]


def test_what_a_stranger_claims_is_not_taken_for_the_slaves_report() -> None:
    assert [step.bytes for step in scene(history()).reported] == [230]


def test_overlapping_bars_get_rows_of_their_own() -> None:
    bars = scene(history()).links
    axis = Axis([event.t for event in history()], 0, 1000)
    assert [len(row) for row in pack(bars, axis)] == [1, 1]


def test_the_drawing_is_well_formed_and_marks_the_violation_in_words() -> None:
    drawn = draw(history(), 7, "a <trial>")
    root = ElementTree.fromstring(str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
    texts = [each.text or "".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    said = " ".join("".join(each.itertext()) for each in root.iter(f"{SVG}text"))
    assert texts and "violated here" in said and "<m1>" in " ".join(root.itertext())
    assert "violated here" not in str(draw(history(), None, "unmarked"))
