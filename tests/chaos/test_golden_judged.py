"""Real brokers' bytes under the laws: the untouched capture keeps them all, and each law fails on a doctored copy."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from doctors import DOCTORS, Doctor, body_byte, frame_offset, half_a_cell, no_frames, reports, stored_byte
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pairproof.chaos.capture_judging import judge_capture
from pairproof.chaos.observers.ha_capture import read_capture
from pairproof.chaos.replay_stream import segmentations
from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.harness.judging.judge import all_laws, laws

GOLDEN = Path(__file__).parents[1] / "golden" / "rocketmq-4.9.7"
STREAM_LAWS = [
    "ha-silent-until-asked",
    "ha-start-offset",
    "ha-contiguous",
    "ha-batch-bound",
    "ha-report-monotone",
    "ha-mismatch-closes",
    "ha-divergence-refused",
    "ha-report-framing",
    "ha-report-prompt",
    "ha-frame-finished",
    "ha-heartbeat",
    "ha-housekeeping",
    "ha-wakeup",
    "ha-role-independent",
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "capture"
    shutil.copytree(GOLDEN, folder, ignore=shutil.ignore_patterns("expected", "consumequeue", "index", "config"))
    return folder


def verdict(folder: Path, law: str) -> str:
    return str(judge_capture(folder, laws([law]), checks=False).laws[0].verdict)


def test_nothing_is_violated_or_unknown_on_the_untouched_capture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "--ha-capture", str(GOLDEN), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    verdicts = {each["law"]: each["verdict"] for each in told["laws"]}
    assert set(verdicts) == {law.id for law in all_laws()}
    assert not {"violated", "unknown"} & set(verdicts.values())
    assert {verdicts[law] for law in STREAM_LAWS} == {"holds", "vacuous"}
    # Nobody in the capture claims more than the master has, no report came in pieces; all else was there to be judged.
    assert [law for law in STREAM_LAWS if verdicts[law] == "vacuous"] == ["ha-divergence-refused", "ha-report-framing"]
    # What a slave appended, nobody saw.
    assert verdicts["ha-appends-frames"] == "not-observable"
    assert [(each["id"], each["verdict"]) for each in told["checks"]] == [
        ("stream-framing", "holds"),
        ("reference-slave", "holds"),
    ]


@pytest.mark.parametrize(("law", "doctor"), DOCTORS, ids=[f"{n}-{law}" for n, (law, _) in enumerate(DOCTORS)])
def test_a_doctored_capture_is_violated(copy: Path, law: str, doctor: Doctor) -> None:
    assert verdict(copy, law) in ("holds", "vacuous")
    doctor(copy)
    assert verdict(copy, law) in ("violated", "known-deviation")
    assert main(["judge", "--ha-capture", str(copy)]) == 1


def test_what_is_known_of_the_captured_version_fails_as_in_check_unless_it_is_accepted(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The second of them makes the slave keep its silent master.
    doctor = [doctor for law, doctor in DOCTORS if law == "ha-housekeeping"][1]
    doctor(copy)
    line = ["judge", "--ha-capture", str(copy), "--law", "ha-housekeeping"]
    assert main(line) == 1
    said = capsys.readouterr().out
    assert "known deviation: silent-master-kept: " in said and f"{copy}: known-deviation; 1 of 1 law known" in said
    assert main([*line, "--known-deviations", "pass"]) == 0
    assert f"{copy}: holds; " in capsys.readouterr().out
    assert main(["judge", "latest", "--known-deviations", "pass"]) == 2


def test_every_stream_law_has_a_doctor() -> None:
    assert set(STREAM_LAWS) <= {law for law, _ in DOCTORS}


def test_the_reference_slave_notices_one_changed_byte(copy: Path) -> None:
    body_byte(copy)
    check = judge_capture(copy, [], checks=True).checks[1]
    assert (check.id, str(check.verdict)) == ("reference-slave", "violated")
    # However the stream is cut, the log differs at the same place; the late slave never received that byte.
    assert len(check.why) == 5
    assert len({each.rpartition(" ")[2] for each in check.why}) == 1
    assert all(each.startswith("slave, ") for each in check.why)


def test_the_reference_slave_follows_the_real_one_through_a_restart(copy: Path) -> None:
    reports("slave-join", lambda number, value: 0)(copy)
    assert str(judge_capture(copy, [], checks=True).checks[1].verdict) == "holds"
    frame_offset("slave-restart", 3, 8)(copy)
    why = judge_capture(copy, [], checks=True).checks[1].why
    assert why
    assert all("ends at" in each for each in why)


def test_a_stream_that_is_no_frames_is_said_to_be_none(copy: Path) -> None:
    no_frames(copy)
    found = judge_capture(copy, all_laws())
    assert str(found.checks[0].verdict) == "violated"
    assert "slave-join" in found.checks[0].why[0]
    assert found.exit_code == 1


def test_a_pause_is_a_fault_and_no_law_takes_it_for_a_failure() -> None:
    events = read_capture(GOLDEN).events
    faults = [(each.node, each.f, each.status) for each in events if each.kind == "fault"]
    assert faults == [("slave", "pause", "on"), ("slave", "pause", "off")]
    assert [(each.node, each.kind) for each in events if each.kind in ("pause", "resume")] == [
        ("slave", "pause"),
        ("slave", "resume"),
    ]
    assert [each.f for each in events if each.kind == "mark"] == ["heal", "converged", "end"]
    timeouts = [each for each in events if each.status == "FLUSH_SLAVE_TIMEOUT"]
    assert len(timeouts) == 1


def test_the_history_is_ordered_dense_and_names_every_connection() -> None:
    history = read_capture(GOLDEN)
    assert [each.seq for each in history.events] == list(range(len(history.events)))
    assert all(a.t <= b.t for a, b in zip(history.events, history.events[1:], strict=False))
    assert {each.kind for each in history.events} <= history.observes
    assert history.links == {"slave-join": "ha:1", "slave-restart": "ha:2", "late-slave-join": "ha:3"}
    starts = [(each.node, each.incarnation, each.f, each.hi) for each in history.events if each.kind == "start"]
    assert ("slave", 2, "normal", 112_567) in starts
    assert history.left_out == {"batches": 2, "one-way sends": 1, "frames with a binary header": 10}


def test_pieces_of_frames_are_seen_at_both_ends_and_at_the_close(copy: Path) -> None:
    events = read_capture(GOLDEN).events
    pieces = [each for each in events if each.kind == "partial" and each.link == "ha:1"]
    # RocketMQ sends the header apart: one piece for each of the 36 frames with a body.
    assert [(each.side, each.f, each.value) for each in pieces] == [("m", "out", 12), ("s", "in", 12)] * 36
    frames = [each.lo for each in events if each.kind == "frame" and each.side == "m" and each.link == "ha:1"]
    assert {each.lo for each in pieces} <= set(frames)
    assert all(each.value is None for each in events if each.kind == "close")
    half_a_cell(copy)
    assert [each.value for each in read_capture(copy).events if each.kind == "close" and each.link == "ha:1"] == [5, 5]


def test_the_capture_says_first_what_a_real_machine_adds() -> None:
    first = read_capture(GOLDEN).events[0]
    assert (first.kind, first.f, first.value) == ("lab", "capture", 10_000_000)


def test_every_captured_send_has_one_answer() -> None:
    events = read_capture(GOLDEN).events
    invoked = [each.op for each in events if each.kind == "invoke"]
    answered = [each.op for each in events if each.kind in ("ok", "fail", "info")]
    assert sorted(invoked) == sorted(answered) == list(range(80))
    busy: set[int | None] = set()
    for each in events:
        if each.kind == "invoke":
            assert each.process not in busy
            busy.add(each.process)
        elif each.kind in ("ok", "fail", "info"):
            busy.discard(each.process)
    assert all(each.hi is not None for each in events if each.kind == "ok")


def test_without_the_producers_the_acknowledgement_laws_are_not_observable(copy: Path) -> None:
    shutil.rmtree(copy / "remoting")
    found = {each.law: str(each.verdict) for each in judge_capture(copy, all_laws()).laws}
    assert found["ack-replicated"] == found["ha-ack-identity"] == "not-observable"
    assert found["ha-contiguous"] == "holds"


def test_a_masters_store_that_is_not_whole_accuses_nobody_of_pushing_other_bytes(copy: Path) -> None:
    stored_byte("master")(copy)
    found = {each.law: str(each.verdict) for each in judge_capture(copy, all_laws()).laws}
    # The damaged chunk differs from the slaves' as well: that is all that the damage says.
    assert {law for law, each in found.items() if each == "violated"} == {"log-records-whole", "log-prefix"}
    assert found["ha-contiguous"] == "holds"
    assert found["ha-start-offset"] == found["ack-replicated"] == "not-observable"


def test_without_stores_the_streams_are_judged_and_the_output_says_what_is_not(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(copy / "store")
    assert main(["judge", "--ha-capture", str(copy)]) == 0
    assert "3 stores, since they are not there (late-slave, master, slave)" in capsys.readouterr().out
    found = judge_capture(copy, all_laws())
    verdicts = {each.law: str(each.verdict) for each in found.laws}
    assert verdicts["ha-contiguous"] == verdicts["ha-report-prompt"] == "holds"
    assert verdicts["log-prefix"] == verdicts["ha-start-offset"] == "not-observable"
    assert {each.id: each.judged for each in found.checks}["reference-slave"] == 0
    body_byte(copy)
    frame_offset("slave-restart", 3, 8)(copy)
    assert verdict(copy, "ha-contiguous") == "violated"


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "conf/master.properties",
        "conf/slave.properties",
        "ha/slave-join.s2m.bin",
        "ha/slave-join.timeline.jsonl",
        "remoting/producer--master.jsonl",
    ],
)
def test_what_is_missing_is_named_in_one_line(copy: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    assert main(["judge", "--ha-capture", str(copy)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "missing" in told or "no conf" in told
    assert Path(name).stem.split(".")[0] in told


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", b"[]"),
        ("run.json", b'{"t0_epoch_ms": "x", "events": [], "ha": {}}'),
        ("run.json", b'{"t0_epoch_ms": 1, "events": [{}], "ha": {}}'),
        ("run.json", b'{"t0_epoch_ms": 1, "events": [], "ha": {}}'),
        ("run.json", b'{"t0_epoch_ms": 1, "events": [], "ha": {}, "clock": [{"at_ms": 1}]}'),
        ("run.json", b'{"t0_epoch_ms": 1, "events": [], "ha": {}, "unseen": "many"}'),
        ("run.json", b'{"t0_epoch_ms": NaN, "events": [], "ha": {}}'),
        ("run.json", b'{"t0_epoch_ms": 1, "events": [{"at_ms": 1e999, "event": ""}], "ha": {}}'),
        ("run.json", b"[" * 100_000),
        ("ha/slave-join.timeline.jsonl", b"{"),
        ("ha/slave-join.timeline.jsonl", b'{"at_ms": 1}'),
        ("ha/slave-join.timeline.jsonl", b'{"at_ms": 1, "direction": "x", "offset": 0, "length": 8}'),
        ("ha/slave-join.timeline.jsonl", b'{"at_ms": 1, "direction": "s2m", "offset": 8, "length": 8}'),
        ("ha/slave-join.timeline.jsonl", b'{"at_ms": 1, "direction": "s2m", "offset": 0, "length": -8}'),
        ("ha/slave-join.timeline.jsonl", b'{"at_ms": 1, "direction": "s2m", "offset": 0, "length": 99999999}'),
        ("ha/slave-join.timeline.jsonl", b""),
        ("ha/slave-join.m2s.bin", b"short"),
        ("conf/slave.properties", b"brokerRole=SLAVE\nbrokerId=0"),
        ("remoting/producer--master.bin", b"junk"),
        ("remoting/producer--master.jsonl", b'{"at_ms": 1e999}'),
    ],
)
def test_a_contradicting_capture_is_a_usage_error_of_one_line(
    copy: Path, name: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / name).write_bytes(content)
    assert main(["judge", "--ha-capture", str(copy)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["slave-join.m2s.bin", "slave-restart.m2s.bin", "slave-join.s2m.bin"]), st.data())
def test_whatever_is_in_the_streams_is_judged_and_never_raised(copy: Path, name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len((GOLDEN / "ha" / name).read_bytes()) - 16))
    check_damaged(copy, name, at, data.draw(st.binary(min_size=1, max_size=16)))


def test_a_damaged_offset_that_moves_the_slave_s_log_is_judged(copy: Path) -> None:
    check_damaged(copy, "slave-join.m2s.bin", 1_907, bytes(7) + b"\x01")


def check_damaged(copy: Path, name: str, at: int, junk: bytes) -> None:
    original = (GOLDEN / "ha" / name).read_bytes()
    (copy / "ha" / name).write_bytes(original[:at] + junk + original[at + len(junk) :])
    try:
        found = judge_capture(copy, all_laws())
    finally:
        (copy / "ha" / name).write_bytes(original)
    assert found.exit_code in (0, 1)
    assert (found.exit_code == 1) or junk == original[at : at + len(junk)] or name.endswith("s2m.bin")


def test_run_folders_and_a_capture_are_not_judged_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge"]) == 2
    assert main(["judge", "somewhere", "--ha-capture", str(GOLDEN)]) == 2
    assert main(["judge", "--ha-capture", str(GOLDEN), "--law", "ha-nothing"]) == 2
    assert "ha-contiguous" in capsys.readouterr().err
    with pytest.raises(UsageError):
        read_capture(GOLDEN / "nowhere")


@pytest.mark.parametrize("length", [0, 1, 12, 8_192, 8_193, 40_000])
def test_a_segmentation_loses_and_adds_nothing(length: int) -> None:
    stream = bytes(n % 251 for n in range(length))
    for name, pieces in segmentations(stream).items():
        assert b"".join(pieces) == stream, name
        assert pieces == segmentations(stream)[name], "the same cuts every time"
