"""One judge, three ways in: a finished list, a live recorder, and the parts of a run folder, also in Spark's tasks."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from pairproof.harness.errors import LabError
from pairproof.harness.history import Event, Recorder, kinds
from pairproof.harness.judging.judge import Judge, all_laws, judge
from pairproof.harness.runs import reader, tables
from pairproof.harness.runs.tables import SCHEMAS
from pairproof.reports import arrow_traces, engines, inputs
from pairproof.reports.events import words
from pairproof.reports.traces.environment import verdict_rows

OFFSETS = st.sampled_from([0, 1, 100, 230, 460, 1024, 4096, -1])
NAMES = st.sampled_from(["master", "slave"])
LINKS = st.sampled_from(["ha:1", "ha:2"])
MESSAGES = st.sampled_from(["m0", "m1", "m2"])
GROUPS = st.sampled_from([None, "g0", "g1"])
BROKERS = st.sampled_from([None, 0, 1])
CALLS = st.sampled_from(["send", "pull", "commit", "query"])
TABLES = st.sampled_from(["topics", "groups", "offsets", "delays"])
STATUSES = {
    "ok": ["PUT_OK"], "audit": ["whole"], "info": ["timeout"], "fault": ["on"], "consumer": ["on", "off", "lost"],
    "assign": ["on", "off"], "route": ["found", "none"], "sync": ["asked", "answered", "same", "applied", "failed"],
    "register": ["ok", "failed"],
}  # fmt: skip
DETAILS = {"route": '{"0": "master", "1": "slave"}', "table": "{}", "register": '{"master": "master"}'}
CONFIG = {
    "brokerRole": "SYNC_MASTER",
    "flushDiskType": "SYNC_FLUSH",
    "mappedFileSizeCommitLog": 1024,
    "haTransferBatchSize": 512,
    "haSendHeartbeatInterval": 5_000,
    "haHousekeepingInterval": 20_000,
    "slaveTimeout": 3_000,
    "syncFlushTimeout": 5_000,
    "haSlaveFallbehindMax": 1 << 20,
    "pushes": "written",
}


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """A history that no pair would make: mostly broken somewhere, well-formed in its columns."""
    recorder = Recorder()
    for node in ("master", "slave"):
        role = CONFIG["brokerRole"] if node == "master" else "SLAVE"
        recorder.add(0, "config", node, detail=json.dumps(CONFIG | {"brokerRole": role}))
        recorder.add(0, "start", node, 1, f="empty", lo=0, hi=0)
    t = 0
    for kind in draw(st.lists(st.sampled_from(sorted(set(kinds()) - {"config"})), max_size=25)):
        t += draw(st.sampled_from([0, 500_000, 4_000_000_000]))
        lo, hi = sorted((draw(OFFSETS), draw(OFFSETS)))
        node, link, message = draw(NAMES), draw(LINKS), draw(MESSAGES)
        side = "m" if node == "master" else "s"
        f = {"append": "put" if node == "master" else "replicate", "mark": "heal", "crash": "machine", "audit": "final"}
        told = draw(TABLES) if kind in ("table", "sync", "persist") else draw(CALLS)
        recorder.add(
            t, kind, node, 1, link, side, 0, draw(st.integers(0, 3)), f.get(kind, told),
            draw(st.sampled_from(STATUSES.get(kind, [None]))), message, "pairproof/0", 0, lo, hi,
            draw(st.sampled_from([1, 2])), 1, DETAILS.get(kind), draw(GROUPS), draw(BROKERS),
        )  # fmt: skip
    recorder.add(t, "mark", f="end")
    try:
        # An effect before its cause is refused, whatever the laws.
        judge(recorder.events, (), frozenset(kinds()))
    except LabError:
        reject()
    return recorder.events


def table_of(trials: list[list[Event]], run: str = "r") -> pa.Table:
    rows = [(run, number, *event) for number, events in enumerate(trials) for event in events]
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=SCHEMAS["history"])


LAWS = [law.id for law in all_laws()]


def folder_of(
    write: Any, root: Path, trials: list[list[Event]], run: str = "r", observes: frozenset[str] = frozenset(kinds())
) -> Path:
    """A run folder of these trials, with the verdicts of the judge in process."""
    verdicts = [
        {"trial": number, "text": None, "notes": "{}", "trials": 1, **row}
        for number, events in enumerate(trials)
        for row in verdict_rows(judge(events, all_laws(), observes))
    ]
    rows = [
        {"trial": number, "origin": "swarm", "seed": "7", "schedule": "{}", "events": len(events), "virtual_ns": 0}
        | {"kept": True, "skipped": "[]"}
        for number, events in enumerate(trials)
    ]
    history = [{"trial": number, **event._asdict()} for number, events in enumerate(trials) for event in events]
    facts = {"laws": LAWS, "observes": sorted(observes)}
    written: Path = write(root, run, facts=facts, verdicts=verdicts, trials=rows, history=history)
    return written


@given(st.lists(histories(), min_size=1, max_size=4), st.integers(1, 40))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_parts_and_a_live_recorder_give_the_verdicts_of_a_finished_list(
    write_folder: Any, trials: list[list[Event]], cut: int
) -> None:
    with TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        # Cut without regard to trials: most trials span batches, and some batches hold several.
        patch.setattr(tables, "BATCH_ROWS", cut)
        runs, _ = inputs.open_runs([folder_of(write_folder, Path(root), trials)])
        rows = arrow_traces.views(runs, True)["traces"].to_pylist()
    assert [(row["trial"], row["events"], row["problem"]) for row in rows] == [
        (number, len(events), None) for number, events in enumerate(trials)
    ]
    assert [(row["judged"], row["verdicts"], row["different"]) for row in rows] == [(1, len(LAWS), 0)] * len(trials)
    for events in trials:
        one = Judge(all_laws())
        for event in events:
            one.feed(event)
        assert verdict_rows(one.finish()) == verdict_rows(judge(events, all_laws(), frozenset(kinds())))


@given(histories())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_every_event_can_be_read_back_and_said_in_words(events: list[Event]) -> None:
    assert [found for _, found in reader.histories([table_of([events])])] == [events] * bool(events)
    assert all(words(event) for event in events)
    assert all(words(each(0, 0, kind)) for kind, each in kinds().items())


def test_a_history_that_lost_an_event_is_judged_differently() -> None:
    """The comparison can fail: without its report the acknowledgement has nothing to rest on."""
    recorder = Recorder()
    recorder.add(0, "config", "master", detail=json.dumps(CONFIG))
    recorder.add(0, "config", "slave", detail=json.dumps(CONFIG | {"brokerRole": "SLAVE"}))
    recorder.add(0, "start", "master", 1, f="empty", lo=0, hi=0)
    recorder.add(0, "start", "slave", 1, f="empty", lo=0, hi=0)
    recorder.add(1, "connect", "slave", None, "ha:1", "m", f="slave")
    recorder.add(1, "connect", "slave", None, "ha:1", "s", f="slave")
    recorder.add(2, "invoke", "master", process=0, op=0, f="send", message="m0", value=1)
    recorder.add(3, "append", "master", 1, f="put", message="m0", lo=0, hi=230, digest=1)
    recorder.add(4, "append", "slave", 1, f="replicate", lo=0, hi=230, digest=1)
    recorder.add(5, "report", "slave", None, "ha:1", "s", hi=230)
    recorder.add(6, "report", "master", None, "ha:1", "m", hi=230)
    sent = {"process": 0, "op": 0, "f": "send", "status": "PUT_OK", "message": "m0", "lo": 0, "hi": 230, "value": 1}
    recorder.add(7, "ok", "master", **sent)

    def verdicts(events: list[Event]) -> dict[str, str]:
        return {row["law"]: row["verdict"] for row in verdict_rows(judge(events, all_laws(), frozenset(kinds())))}

    whole = verdicts(recorder.events)
    short = [event for event in recorder.events if not (event.kind == "report" and event.side == "m")]
    lossy = verdicts(short)
    assert whole["ack-replicated"] == "holds"
    assert lossy["ack-replicated"] == "violated"


@pytest.mark.slow
def test_spark_s_tasks_give_the_verdicts_of_the_same_judge_in_process(
    spark: Any, write_folder: Any, tmp_path: Path
) -> None:
    trials: list[list[Event]] = []

    # One job judges them all: Hypothesis draws the histories, and does not shrink what a job of seconds compares.
    @given(histories())
    @settings(max_examples=150, database=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
    def draw(history: list[Event]) -> None:
        trials.append(history)

    draw()
    blind = frozenset(kinds()) - {"append", "flush"}
    folders = [
        folder_of(write_folder, tmp_path, trials, "seeing"),
        folder_of(write_folder, tmp_path, trials, "blind", blind),
    ]
    told = {row["verdict"] for row in verdict_rows(judge(trials[0], all_laws(), blind))}
    assert "not-observable" in told, "the histories must give the laws something to disagree on"
    # Judged again as by a lab that sees more, the verdicts are others: the comparison can fail.
    mixed = folder_of(write_folder, tmp_path, trials, "mixed", blind)
    told_by = json.loads((mixed / "run.json").read_text())
    (mixed / "run.json").write_text(json.dumps(told_by | {"observes": sorted(kinds())}))
    folders.append(mixed)
    runs, _ = inputs.open_runs(folders)
    rows = {row["run"]: row for row in engines.on_spark(spark, runs, True).tables["histories"].to_pylist()}
    for name in ("seeing", "blind"):
        assert (rows[name]["judged"], rows[name]["different"]) == (len(trials), 0)
        assert rows[name]["verdicts"] == len(trials) * len(LAWS)
    assert rows["mixed"]["different"] > len(trials)
