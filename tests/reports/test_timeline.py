"""The timeline's axis and scene: what is drawn where, and what is said of it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from pairproof.harness.history import MS, Event, Recorder, kinds, own_kinds
from pairproof.reports.axis import Axis
from pairproof.reports.charts import shape
from pairproof.reports.events import words
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
    made.add(9_001 * MS, "connect", "rogue_slave", None, "ha:2", "m", f="rogue_slave")
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


def several() -> list[Event]:
    """Two slaves: the second one is paused while the first keeps up."""
    made = Recorder()
    for node in ("slave2", "master", "slave"):
        made.add(0, "start", node, 1, f="empty", lo=0, hi=0)
    made.add(1 * MS, "connect", "slave2", None, "ha:2", "m", f="slave2")
    made.add(2 * MS, "pause", "slave2", 1)
    made.add(3 * MS, "append", "master", 1, f="put", message="m0", lo=0, hi=230)
    made.add(4 * MS, "append", "slave", 1, f="replicate", lo=0, hi=230)
    made.add(6 * MS, "resume", "slave2", 1)
    made.add(7 * MS, "append", "slave2", 1, f="replicate", lo=0, hi=230)
    made.add(8 * MS, "report", "master", None, "ha:2", "m", hi=230)
    made.add(9 * MS, "crash", "slave", 1, f="process", value=0)
    made.add(10 * MS, "clock", "master", value=-5)
    made.add(11 * MS, "wipe", "slave", f="empty", hi=0)
    return made.events


def test_nodes_are_those_of_the_history_master_first() -> None:
    assert scene(several()).nodes == ["master", "slave", "slave2"]
    assert scene(history()).nodes == ["master", "slave"], "a stranger is no node"


def test_lag_is_what_the_master_has_and_the_slave_has_not() -> None:
    lag = scene(several()).lag
    assert [(step.t // MS, step.bytes) for step in lag["slave"]] == [(0, 0), (3, 230), (4, 0), (9, None)]
    assert [(step.t // MS, step.bytes) for step in lag["slave2"]] == [(0, 0), (3, 230), (7, 0)]
    assert [step.bytes for step in scene(history()).lag["slave"]] == [0, 230, 0, None, 130]


def test_a_pause_is_drawn_like_a_node_that_is_down_and_called_by_its_name() -> None:
    shown = scene(several())
    assert [(bar.began, bar.ended, bar.kind, bar.label) for bar in shown.down["slave2"]] == [
        (2 * MS, 6 * MS, "down paused", "paused")
    ]
    assert [bar.kind for bar in shown.down["slave"]] == ["down"]


def test_reports_are_the_slave_s_whose_connection_carried_them() -> None:
    assert list(scene(several()).reported) == ["slave2"]


def test_what_befell_a_clock_and_a_store_is_marked() -> None:
    assert [mark.label for mark in scene(several()).marks] == ["✕ slave", "master clock", "slave wiped"]


def test_each_send_has_a_latency_and_a_sign_of_its_outcome() -> None:
    shown = scene(history())
    assert [(send.t // MS, send.latency, send.outcome) for send in shown.sends] == [
        (2, 4 * MS, "done"),
        (8, None, "open"),
    ]
    made = Recorder()
    for op, (phase, status) in enumerate((("ok", "FLUSH_DISK_TIMEOUT"), ("fail", "X"), ("info", "timeout"))):
        made.add(op * MS, "invoke", "master", process=op, op=op, f="send", message=f"m{op}", value=1)
        made.add(op * MS, phase, "master", process=op, op=op, f="send", status=status, message=f"m{op}")
    assert [send.outcome for send in scene(made.events).sends] == ["late", "refused", "unknown"]
    signs = [shape(outcome, 0, 0) for outcome in ("late", "refused", "unknown", "open")]
    assert all(signs.count(each) == 1 for each in signs)


def test_lag_and_latency_are_drawn_under_the_same_shades() -> None:
    drawn = str(draw(history(), 7, "a trial"))
    assert "Lag, bytes" in drawn and "Send latency" in drawn and "m0: PUT_OK after 4 ms" in drawn
    shade = re.search(r'<rect [^>]*y="([\d.]+)"[^>]*height="([\d.]+)" class="shade"', drawn)
    stems = [float(each) for each in re.findall(r'<line [^>]*y1="([\d.]+)"[^>]*class="stem', drawn)]
    assert shade is not None and len(stems) == 2
    assert float(shade[1]) < min(stems) <= float(shade[1]) + float(shade[2])
    assert "Lag, bytes" not in str(draw(history()[:3], None, "nobody is behind"))


def made(seq: int, t: int, kind: str, *columns: object, **named: object) -> Event:
    return kinds()[kind](seq, t, kind, *columns, **named)  # type: ignore[arg-type]


def _call(kind: str, f: str, **columns: object) -> Event:
    known = {"process": 1, "group": "g", "queue": "T/0", "status": None if kind == "invoke" else "PUT_OK"}
    return made(0, 0, kind, "slave", f=f, **{**known, **columns})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (made(0, 0, "lab", f="sim"), "the trial begins in lab sim"),
        (made(0, 0, "pause", "slave2"), "slave2 is paused"),
        (made(0, 0, "resume", "slave2"), "slave2 continues"),
        (made(0, 0, "clock", "master", value=500), "500 ms ahead of"),
        (made(0, 0, "clock", "master", value=-500), "500 ms behind the true time"),
        (made(0, 0, "wipe", "slave", f="image", hi=40), "an older image of it, whose log ends at 40"),
        (made(0, 0, "wipe", "slave", f="empty", hi=0), "replaced by an empty one"),
        (made(0, 0, "expire", "master", lo=1_000), "its log starts at 1,000 now"),
        (made(0, 0, "crash", "master", f="machine", value=9, status="lied"), "its disk had called durable"),
        (
            made(0, 0, "partial", "master", None, "ha:1", "m", f="out", value=9, lo=40),
            "9 bytes of a frame for offset 40",
        ),
        (
            made(0, 0, "partial", "master", None, "ha:1", "m", f="in", value=3),
            "3 bytes of a report reached the master",
        ),
        (made(0, 0, "frame", "slave2", None, "ha:1", "s", lo=0, hi=9), "reached slave2 on ha:1"),
        (made(0, 0, "start", "names", f="empty"), "names starts with an empty store"),
        (made(0, 0, "consumer", process=1, group="g", f="clustering", status="on"), "consumer 1 of g joins (clust"),
        (made(0, 0, "consumer", process=1, group="g", f="clustering", status="lost"), "dies"),
        (made(0, 0, "assign", "other", process=1, group="g", queue="T/0", status="on", value=3), "continues at 3"),
        (made(0, 0, "assign", process=1, group="g", queue="T/0", status="off", value=3), "releases T/0 at 3"),
        (made(0, 0, "route", process=1, status="found", detail='{"1": "slave"}'), "learns its route: slave (1)"),
        (made(0, 0, "route", process=1, status="none", detail="{}"), "has no route"),
        (made(0, 0, "table", "slave", f="topics", value=4, detail='{"t": 1}'), "topics of slave, version 4: {"),
        (made(0, 0, "table", "slave", f="topics", detail="x" * 500), "x…"),
        (made(0, 0, "sync", "slave", f="offsets", status="applied"), "applies the master's consumer offsets"),
        (made(0, 0, "sync", "slave", f="topics", status="same"), "the topics of slave are of the master's version"),
        (made(0, 0, "persist", "slave", f="topics"), "slave writes its topics to its disk"),
        (made(0, 0, "register", "slave", status="ok", detail='{"master": "master"}'), "in the answer master is master"),
        (made(0, 0, "register", "slave", status="failed", detail="{}"), "is not answered when it registers"),
        (made(0, 0, "dispatch", "slave", hi=460), "derived its queues from its log up to 460"),
        (made(0, 0, "entries", "slave", queue="T/0", lo=0, hi=3), "T/0 of slave holds [0, 3)"),
        (made(0, 0, "keys", "slave", message="m1"), "the key index of slave is asked for m1"),
        (_call("invoke", "pull", value=3), "consumer 1 of g: pull of T/0 from the slave, from 3 on"),
        (_call("ok", "pull", queue_offset=4, lo=0, hi=9, broker=1), "go on at 4, whose queue holds [0, 9); next from"),
        (_call("invoke", "commit", queue_offset=4, value=1), "commit of 4 in T/0 to the slave, riding on a pull"),
        (_call("ok", "commit", queue_offset=4), "commit of 4 in T/0 to the slave answered OK"),
        (_call("invoke", "query"), "asks the slave for its group's progress in T/0"),
        (_call("ok", "query", queue_offset=2), "its group's progress in T/0 answered OK: 2"),
        (_call("ok", "query"), "answered OK: unknown"),
        (_call("fail", "pull", status="refused"), "pull of T/0 from the slave was refused a connection"),
        (_call("fail", "pull", status="SYSTEM_ERROR", detail="no"), "refused with SYSTEM_ERROR (no)"),
        (
            made(0, 0, "invoke", "master", process=2, f="topic", message="t0", detail='{"queues": 2}'),
            "client 2: asks the master to set topic t0: queues 2",
        ),
        (made(0, 0, "ok", "master", process=2, f="group", message="g", status="PUT_OK"), "setting group g at the"),
        (
            made(0, 0, "invoke", "master", process=2, f="send", message="m", value=1, detail='{"level": 2}'),
            "(waits for the store, delayed by level 2)",
        ),
        (made(0, 0, "ok", "master", process=2, f="send", message="m", status="PUT_OK"), "send m answered PUT_OK"),
    ],
)
def test_every_kind_of_event_has_words(event: Event, said: str) -> None:
    assert said in words(event)


@pytest.mark.parametrize(
    ("kind", "columns", "said"),
    [
        ("crash", {"f": "process", "status": "own"}, "master ended by itself: KeyError: 1"),
        ("crash", {"f": "process", "status": "disk"}, "master ended, since its disk was failing it: KeyError: 1"),
        ("crash", {"f": "process", "status": "stuck"}, "master went on without end: KeyError: 1"),
        ("abort", {"f": "refused"}, "master refuses its store: KeyError: 1"),
        ("abort", {"f": "ended", "status": "disk"}, "master does not come up: KeyError: 1; its disk is failing it"),
        ("garbled", {"f": "delays"}, "the delays of master cannot be read: KeyError: 1"),
    ],
)
def test_what_a_node_does_to_itself_is_told(kind: str, columns: dict[str, str], said: str) -> None:
    assert words(kinds()[kind](0, 0, kind, "master", 1, detail="KeyError: 1", **columns)) == said  # type: ignore[arg-type]


def test_no_kind_is_without_words() -> None:
    assert [name for name in own_kinds() if kinds()[name].words is Event.words] == []


def test_what_a_stranger_claims_is_not_taken_for_the_slaves_report() -> None:
    assert {node: [step.bytes for step in steps] for node, steps in scene(history()).reported.items()} == {
        "slave": [230]
    }


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
