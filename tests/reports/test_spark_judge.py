"""One judge, three ways in: a finished list, a live recorder, and Arrow batches shuffled by Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pairproof.harness.history import KINDS, Event, Recorder
from pairproof.harness.judge import Judge, all_laws, judge
from pairproof.harness.runs.tables import SCHEMAS
from pairproof.reports import spark_judge
from pairproof.reports.events import events_of, words
from pairproof.reports.spark_judge import Bench

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
    "assign": ["on", "off"], "route": ["found", "none"], "sync": ["asked", "same", "applied", "failed"],
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
    for kind in draw(st.lists(st.sampled_from(sorted(set(KINDS) - {"config"})), max_size=25)):
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
    return recorder.events


def table_of(trials: list[list[Event]], run: str = "r") -> pa.Table:
    rows = [(run, number, *event) for number, events in enumerate(trials) for event in events]
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=SCHEMAS["history"])


def rows_in_process(trials: list[list[Event]], observes: frozenset[str], run: str = "r") -> list[dict[str, Any]]:
    found = []
    for number, events in enumerate(trials):
        found += spark_judge.verdict_rows((run, number), judge(events, all_laws(), observes))
    return sorted(found, key=order)


def order(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["run"], row["trial"], row["law"]


def bench(observes: frozenset[str] = frozenset(KINDS)) -> Bench:
    return Bench(tuple(law.id for law in all_laws()), observes)


@given(st.lists(histories(), min_size=1, max_size=4), st.integers(1, 40))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_batches_and_a_live_recorder_give_the_verdicts_of_a_finished_list(trials: list[list[Event]], cut: int) -> None:
    expected = rows_in_process(trials, frozenset(KINDS))
    # Cut without regard to trials: most trials span batches, and some batches hold several.
    batches = table_of(trials).to_batches(max_chunksize=cut)
    judged = [row for batch in spark_judge.judge_batches(batches, {"r": bench()}) for row in batch.to_pylist()]
    assert sorted(judged, key=order) == expected
    live = []
    for number, events in enumerate(trials):
        one = Judge(all_laws())
        for event in events:
            one.feed(event)
        live += spark_judge.verdict_rows(("r", number), one.finish())
    assert sorted(live, key=order) == expected


@given(histories())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_event_can_be_read_back_and_said_in_words(events: list[Event]) -> None:
    assert list(events_of(table_of([events]))) == events
    assert all(words(event) for event in events)
    assert all(words(Event(0, 0, kind)) for kind in KINDS)


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
    whole = {row["law"]: row["verdict"] for row in rows_in_process([recorder.events], frozenset(KINDS))}
    short = [event for event in recorder.events if not (event.kind == "report" and event.side == "m")]
    lossy = {row["law"]: row["verdict"] for row in rows_in_process([short], frozenset(KINDS))}
    assert whole["ack-replicated"] == "holds"
    assert lossy["ack-replicated"] == "violated"


@pytest.mark.slow
def test_spark_gives_the_verdicts_of_the_same_judge_in_process(spark: Any) -> None:
    trials: list[list[Event]] = []

    # One job judges them all: Hypothesis draws the histories, and does not shrink what a job of seconds compares.
    @given(histories())
    @settings(
        max_examples=150, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    def draw(history: list[Event]) -> None:
        trials.append(history)

    draw()
    blind = frozenset(KINDS) - {"append", "flush"}
    tables = pa.concat_tables([table_of(trials, "seeing"), table_of(trials, "blind")])
    # Spark gets them in reverse: order is restored by the job, not by luck.
    shuffled = tables.take(pa.array(range(len(tables) - 1, -1, -1)))
    benches = {"seeing": bench(), "blind": bench(blind)}
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "37")
    try:
        judged = spark_judge.judge(spark.createDataFrame(shuffled), benches, partitions=3).toArrow().to_pylist()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    expected = rows_in_process(trials, frozenset(KINDS), "seeing") + rows_in_process(trials, blind, "blind")
    assert sorted(judged, key=order) == sorted(expected, key=order)
    told = {row["verdict"] for row in judged}
    assert {"violated", "holds", "not-observable"} <= told, "the histories must give the laws something to disagree on"


@pytest.mark.slow
def test_rejudging_agrees_with_an_honest_run_and_names_a_doctored_verdict(
    spark: Any, write_run: Any, rows: Any
) -> None:
    from pairproof.reports import inputs

    recorder = Recorder()
    recorder.add(0, "config", "master", detail=json.dumps(CONFIG))
    recorder.add(0, "start", "master", 1, f="empty", lo=0, hi=0)
    recorder.add(3, "append", "master", 1, f="put", message="m0", lo=0, hi=230, digest=1)
    history = [{"trial": 5} | event._asdict() for event in recorder.events]
    facts = {"laws": [law.id for law in all_laws()], "observes": sorted(KINDS)}
    honest = spark_judge.verdict_rows(("r", 5), judge(recorder.events, all_laws(), frozenset(KINDS)))
    doctored = [row | ({"verdict": "violated"} if row["law"] == "log-grows" else {}) for row in honest]
    folders: list[Path] = []
    for name, verdicts in (("honest", honest), ("doctored", doctored)):
        # A trial whose history was not kept cannot be judged again, and is no difference.
        unkept = rows.verdict(6, "log-grows", "violated")
        stored = [*verdicts, unkept]
        trials = [rows.trial(5, kept=True), rows.trial(6)]
        folders.append(write_run(name, facts=facts, verdicts=stored, trials=trials, history=history))
    runs, _ = inputs.open_runs(folders, histories=True)
    found = spark_judge.compare(spark, runs)
    assert found["trials"] == 2
    assert found["different"] == 1
    assert [(row["run"], row["law"], row["stored"]) for row in found["differences"]] == [
        ("doctored", "log-grows", "violated")
    ]
