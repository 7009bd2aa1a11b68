"""Captures that somebody else made: other words, kills, versions, lines that nobody knows."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from doctors import FAR, body_byte, edit, lines, reports

from pairproof.chaos.capture_judging import JudgedCapture, judge_capture
from pairproof.chaos.capturing import recording
from pairproof.chaos.observers.capture_folder import Clock
from pairproof.chaos.observers.ha_capture import read_capture
from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.harness.judging.judge import all_laws, laws

GOLDEN = Path(__file__).parents[1] / "golden" / "rocketmq-4.9.7"
CLEAN = "slave ended cleanly (SIGTERM)"
LOST = 112_567 - 112_335
"""Bytes of the record that the slave received last before its end."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "capture"
    shutil.copytree(GOLDEN, folder, ignore=shutil.ignore_patterns("expected", "consumequeue", "index", "config"))
    return folder


def change_run(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    run = json.loads((folder / "run.json").read_bytes())
    change(run)
    edit(folder / "run.json", lambda _: json.dumps(run).encode())


def reword(folder: Path, old: str, new: str | None, which: int = 0) -> None:
    """Let one line read otherwise, or be gone."""

    def change(run: dict[str, Any]) -> None:
        found = [each for each in run["events"] if each["event"] == old][which]
        if new is None:
            run["events"].remove(found)
        else:
            found["event"] = new

    change_run(folder, change)


def unread_tail(folder: Path) -> None:
    """The slave had not read its last record when it ended: it asks from before it, and is sent it again."""
    master = (folder / "store" / "master" / "commitlog" / f"{65536:020d}").read_bytes()
    body = master[112_335 - 65_536 : 112_567 - 65_536]
    again = (112_335).to_bytes(8, "big") + len(body).to_bytes(4, "big") + body
    edit(folder / "ha" / "slave-restart.m2s.bin", lambda old: again + old)
    edit(folder / "ha" / "slave-restart.s2m.bin", lambda old: (112_335).to_bytes(8, "big") + old[8:])
    seen = {"first": True}

    def later(line: dict[str, Any]) -> None:
        if line["direction"] == "m2s":
            line["length"] += len(again) * seen["first"]
            line["offset"] += len(again) * (not seen["first"])
            seen["first"] = False

    lines(folder / "ha" / "slave-restart.timeline.jsonl", later)


def wrong(found: JudgedCapture) -> set[str]:
    verdicts = [(each.law, str(each.verdict)) for each in found.laws] + [(c.id, str(c.verdict)) for c in found.checks]
    return {name for name, verdict in verdicts if verdict in ("violated", "unknown")}


def kinds(folder: Path, wanted: Iterable[str], node: str = "slave") -> list[str]:
    return [each.kind for each in read_capture(folder).events if each.node == node and each.kind in wanted]


@pytest.mark.parametrize("line", ["kill -9 slave", "slave killed (SIGKILL)", "slave vanished", None])
def test_a_slave_that_was_killed_may_have_lost_what_it_had_not_read(copy: Path, line: str | None) -> None:
    unread_tail(copy)
    reword(copy, CLEAN, line)
    found = judge_capture(copy, all_laws())
    assert wrong(found) == set()
    lived = [(each.kind, each.f, each.hi) for each in found.history.events
             if each.node == "slave" and each.kind in ("start", "crash", "stop")]  # fmt: skip
    assert lived == [("start", "empty", 0), ("crash", "process", None), ("start", "abnormal", 112_335),
                     ("stop", None, None)]  # fmt: skip
    # However its end is told, or not at all: it started again.
    assert bool(found.history.lines.notes) == (line in ("slave vanished", None))
    assert [each.partition(": ")[2] for each in found.history.lines.unread] == ["slave vanished"] * (
        line == "slave vanished"
    )


@pytest.mark.parametrize("line", [CLEAN, "note: nobody looked"])
def test_what_a_slave_had_not_read_is_no_part_of_its_log_however_its_connection_ended(copy: Path, line: str) -> None:
    unread_tail(copy)
    reword(copy, CLEAN, line)
    assert wrong(judge_capture(copy, all_laws())) == set()
    assert read_capture(copy).cuts == {"slave-restart": 112_335}


def test_a_kill_without_a_line_about_the_start_is_understood(copy: Path) -> None:
    unread_tail(copy)
    reword(copy, CLEAN, "kill -9 slave")
    reword(copy, "slave up (start 1, 2.2 s)", None)
    found = judge_capture(copy, all_laws())
    assert wrong(found) == set() and not found.history.lines.unread
    assert "no line says when slave started again" in " ".join(found.history.lines.notes)


def test_an_idle_broker_of_which_no_line_says_anything_is_not_accused_of_dropping_its_peer(copy: Path) -> None:
    """Both slaves ended their connections after seconds of silence, when they were ended themselves."""
    change_run(copy, lambda run: run.update(events=[each for each in run["events"] if "slave" not in each["event"]]))
    assert "ha-housekeeping" not in wrong(judge_capture(copy, all_laws()))


def test_an_append_that_precedes_its_send_ends_the_judgement(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As where producers used two ways to the master, one of which was not captured."""

    def later(line: dict[str, Any]) -> None:
        line["at_ms"] += 10_000

    lines(copy / "remoting" / "producer--master.jsonl", later)
    assert main(["judge", "--ha-capture", str(copy)]) == 4
    said = capsys.readouterr().err
    assert "comes before event" in said and said.count("\n") == 1


def test_a_slave_that_stays_dead_is_compared_as_far_as_its_log_goes(copy: Path) -> None:
    reword(copy, CLEAN, "kill -9 slave", which=1)
    path = copy / "store" / "slave" / "commitlog" / f"{327680:020d}"
    whole = path.read_bytes()
    edit(path, lambda old: old[: 385_000 - 327_680] + bytes(len(old) - (385_000 - 327_680)))
    found = judge_capture(copy, []).checks[1]
    assert "the log ends at 385000, although the real slave had reported 385638" in found.why[0]
    reports("slave-restart", lambda number, value: min(value, 385_000))(copy)
    found = judge_capture(copy, all_laws())
    # Of its laws only the one that misses the reports.
    assert wrong(found) == {"ha-report-prompt"}
    path.write_bytes(bytes([*whole[:1_000], whole[1_000] ^ 1, *whole[1_001:]]))
    assert wrong(judge_capture(copy, [])) == {"reference-slave"}


@pytest.mark.parametrize("line", ["slave resumed (SIGCONT)", "slave SIGCONT after 3.010 s", "kill -CONT slave"])
def test_a_pause_ends_however_its_line_reads(copy: Path, line: str) -> None:
    reword(copy, "slave SIGCONT", line)
    assert kinds(copy, ("pause", "resume")) == ["pause", "resume"]
    assert main(["judge", "--ha-capture", str(copy)]) == 0


def test_a_fault_that_never_ends_makes_unknown_and_hides_no_violation(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reword(copy, "slave SIGCONT", "slave wakes up again, perhaps not")
    assert main(["judge", "--ha-capture", str(copy), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["unended"] == ["slave stands still from 36.385 s, and no line says until when"]
    assert told["not_understood"] == ["39.395 s: slave wakes up again, perhaps not"]
    verdicts = {each["law"]: each for each in told["laws"]}
    assert verdicts["ha-contiguous"]["verdict"] == "unknown" and verdicts["ha-contiguous"]["doubt"] in told["unended"]
    assert "holds" not in {each["verdict"] for each in told["laws"]}
    body_byte(copy)
    assert main(["judge", "--ha-capture", str(copy)]) == 1


def test_every_line_that_was_not_understood_is_named(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strange = ["iptables drops master:20912", "slvae SIGSTOP", "slave took a nap"]
    change_run(copy, lambda run: run["events"].extend({"at_ms": 20_000 + n, "event": s} for n, s in enumerate(strange)))
    assert main(["judge", "--ha-capture", str(copy)]) == 0
    shown = capsys.readouterr().out
    assert all(f"  20.00{number} s: {line}" in shown for number, line in enumerate(strange))
    assert read_capture(GOLDEN).lines.unread == read_capture(GOLDEN).lines.notes == []


def test_a_slave_that_connects_before_its_line_is_written_is_not_accused(copy: Path) -> None:
    def late(run: dict[str, Any]) -> None:
        for each in run["events"]:
            if each["event"].startswith("slave up (start 0"):
                each["at_ms"] = 14_500

    change_run(copy, late)
    started = [each.t for each in read_capture(copy).events if each.kind == "start" and each.node == "slave"]
    assert started[0] == 13_678_823_000 and main(["judge", "--ha-capture", str(copy)]) == 0


def test_a_capture_without_any_line_is_judged_and_says_what_it_concluded(copy: Path) -> None:
    change_run(copy, lambda run: run["events"].clear())
    found = judge_capture(copy, all_laws())
    assert len(found.history.lines.notes) == 3 and kinds(copy, ("start", "stop")) == ["start"]
    assert "ha-contiguous" not in wrong(found) and "reference-slave" not in wrong(found)


# Versions


def without_answers(folder: Path) -> Path:
    shutil.rmtree(folder / "remoting")
    return folder


def version(folder: Path) -> tuple[str, str, object]:
    found = read_capture(folder)
    config = next(json.loads(each.detail or "") for each in found.events if each.kind == "config")
    return found.version.name, found.version.source, config["rocketmqVersion"]


def test_a_capture_says_itself_which_rocketmq_it_is_of(copy: Path) -> None:
    assert version(copy) == ("4.9.7", "the master's answers say so", "4.9.7")
    assert version(without_answers(copy)) == ("4.9.7", "nothing says which it is", "4.9.7")
    change_run(copy, lambda run: run.update(format=1, rocketmq="5.3.1"))
    assert version(copy) == ("5.3.1", "run.json says so", "5.3.1")
    edit(copy / "conf" / "master.properties", lambda old: old + b"\nhaMaxGapNotInSync=77\n")
    assert read_capture(copy).configs["master"]["haSlaveFallbehindMax"] == 77
    assert judge_capture(copy, laws(["ha-contiguous"])).exit_code == 0


def test_of_4_x_a_setting_of_5_x_is_what_it_is_there(copy: Path) -> None:
    edit(copy / "conf" / "slave.properties", lambda old: old + b"\ninSyncReplicas=2\nhaMaxGapNotInSync=77\n")
    assert read_capture(copy).configs["slave"]["haSlaveFallbehindMax"] == 268_435_456
    assert main(["judge", "--ha-capture", str(copy)]) == 0


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"rocketmq": "5.5.0"}, "rocketmq is 5.5.0, but the master's answers are of 4.9.7"),
        ({"rocketmq": "latest"}, "rocketmq must be a version of RocketMQ 4 or 5 such as 4.9.7, not 'latest'"),
        ({"rocketmq": 4.9}, 'rocketmq must be a version such as "4.9.7", not 4.9'),
        ({"format": 2}, "format 2 is not one that this version reads; 1 is"),
    ],
)
def test_a_version_that_cannot_be_is_a_usage_error_of_one_line(
    copy: Path, facts: dict[str, object], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change_run(copy, lambda run: run.update(facts))
    assert main(["judge", "--ha-capture", str(copy)]) == 2
    said = capsys.readouterr().err
    assert complaint in said and said.count("\n") == 1


# Its configuration, brought from elsewhere


def brings(folder: Path, master: str, slave: str) -> list[str]:
    """The options that name two files of production, in place of the capture's own."""
    named = {"--master-conf": (folder.parent / "m.conf", master), "--slave-conf": (folder.parent / "s.conf", slave)}
    for path, text in named.values():
        path.write_text(text)
    return [word for option, (path, _) in named.items() for word in (option, str(path))]


def own_files(folder: Path) -> tuple[str, str]:
    """What its brokers ran with."""
    return tuple((folder / "conf" / f"{node}.properties").read_text() for node in ("master", "slave"))  # type: ignore[return-value]


def test_files_that_are_brought_stand_in_place_of_the_captures_own(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    master, slave = own_files(copy)
    assert main(["judge", "--ha-capture", str(copy), *brings(copy, master, slave)]) == 0
    # Of frames that are longer than this the real master sent some.
    small = f"{master}\nhaTransferBatchSize = 64\n"
    assert main(["judge", "--ha-capture", str(copy), *brings(copy, small, slave), "--law", "ha-batch-bound"]) == 1
    assert "ha-batch-bound" in capsys.readouterr().out


def test_a_capture_without_configuration_files_is_judged_by_those_that_are_brought(copy: Path) -> None:
    files = {node: copy.parent / f"{node}.conf" for node in ("master", "slave")}
    for path, text in zip(files.values(), own_files(copy), strict=True):
        path.write_text(text)
    shutil.rmtree(copy / "conf")
    for path in (copy / "ha").glob("late-slave*"):
        path.unlink()
    with pytest.raises(UsageError, match=r"missing master\.properties, the master's configuration; or name"):
        read_capture(copy)
    found = read_capture(copy, files)
    assert found.configs.keys() == {"master", "slave"} and {each.node for each in found.connections} == {"slave"}


@pytest.mark.parametrize(
    ("master", "slave", "says"),
    [
        ("brokerRole=SLAVE", "", "the master's brokerRole is SLAVE; are the two files the right way round?"),
        ("", "brokerRole=ASYNC_MASTER", "the slave's brokerRole is ASYNC_MASTER; are the two files"),
    ],
)
def test_files_the_wrong_way_round_are_refused(
    copy: Path, master: str, slave: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "--ha-capture", str(copy), *brings(copy, master, slave)]) == 2
    assert says in capsys.readouterr().err


def test_a_run_says_itself_how_its_brokers_were_set(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "latest", *brings(copy, "", "")]) == 2
    assert "go with --ha-capture: a run's histories contain" in capsys.readouterr().err


def forget(folder: Path, connection: str) -> None:
    """As if the capture had begun after this connection."""
    for each in (folder / "ha").glob(f"{connection}.*"):
        each.unlink()


def test_a_slave_that_had_a_log_before_the_capture_is_not_compared_with_an_empty_one(copy: Path) -> None:
    forget(copy, "slave-join")
    found = judge_capture(copy, all_laws())
    assert "reference-slave" not in wrong(found)
    assert next(each for each in found.checks if each.id == "reference-slave").judged


@pytest.mark.parametrize("moved_ms", [-2_000, -50, -1])
def test_a_machine_whose_clock_goes_wrong_accuses_nobody_and_hides_nobody(copy: Path, moved_ms: int) -> None:
    """Timestamps of the store are dated late: slaves seem to report what their master had not appended yet."""
    change_run(copy, lambda run: run.update(t0_epoch_ms=run["t0_epoch_ms"] + moved_ms))
    assert wrong(judge_capture(copy, all_laws())) == set()
    # Told by the recorder it takes nothing away, either.
    change_run(copy, lambda run: run.update(clock=[{"at_ms": 0.001, "epoch_ms": run["t0_epoch_ms"] - moved_ms}]))
    assert wrong(judge_capture(copy, all_laws())) == set()
    reports("slave-join", lambda number, value: value + (FAR if number == 5 else 0))(copy)
    assert "log-slave-behind" in wrong(judge_capture(copy, all_laws()))


def test_a_clock_is_read_as_it_was_set() -> None:
    clock = Clock([(0.0, 1_000.0), (500.0, 1_600.0), (900.0, 1_700.0)])
    assert [clock.at(each) / 1_000_000 for each in (900, 1_000, 1_599, 1_600, 1_699, 1_700)] == [
        -100, 0, 599, 500, 599, 900,
    ]  # fmt: skip


def test_a_recording_tells_how_the_clock_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved_ms, real = [0], time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + moved_ms[-1] * 1_000_000)
    monkeypatch.setattr(recording, "MAX_CLOCK", 4)
    made = recording.Recording(tmp_path / "made", {}, None)
    made.save()
    assert json.loads((tmp_path / "made" / "run.json").read_bytes())["clock"] == []
    for each in (3_000, 3_000, 6_000, 9_000, 12_000):
        moved_ms.append(each)
        made.save()
    run = json.loads((tmp_path / "made" / "run.json").read_bytes())
    told = [round(each["epoch_ms"] - run["t0_epoch_ms"] - each["at_ms"], -3) for each in run["clock"]]
    assert told == [6_000, 12_000], "of five every second one"


@pytest.mark.parametrize(("unseen", "said"), [(0, "violated"), (1, "not-observable")])
def test_what_a_slave_acknowledged_that_nobody_saw_accuses_nobody(copy: Path, unseen: int, said: str) -> None:
    reports("slave-join", lambda number, value: 0)(copy)
    change_run(copy, lambda run: run.update(unseen=unseen))
    found = judge_capture(copy, laws(["ack-replicated"]))
    assert [str(each.verdict) for each in found.laws] == [said]
    named = "HA connections were not recorded, so what producers were told is not judged"
    assert found.history.left_out.get(named, 0) == unseen
