"""Small recorded runs, written as the run folder's schema says, and one Spark session for every test of this room."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.errors import PairproofError
from pairproof.harness.runs import schema
from pairproof.harness.runs import tables as run_tables
from pairproof.reports.session import session

Row = dict[str, Any]
WriteRun = Callable[..., Path]

SCHEDULE = {
    "format": 1,
    "settings": {"brokerRole": "SYNC_MASTER"},
    "seed": "7",
    "ops": [
        ["send", {"producer": 0, "size": 100, "wait": True, "queue": 0}],
        ["fault", {"name": "kill", "node": "slave"}],
        ["advance", {"ms": 3000}],
    ],
}


def verdict(trial: int, law: str, verdict: str, **more: Any) -> Row:
    row = {"trial": trial, "law": law, "verdict": verdict, "judged": 0, "broken": 0, "seq": None, "text": None}
    return {**row, "judged": 3 if verdict in ("holds", "violated") else 0, "notes": "{}", "trials": 1, **more}


def trial(number: int, origin: str = "swarm", **more: Any) -> Row:
    row = {"trial": number, "origin": origin, "seed": f"7/{number}", "schedule": json.dumps(SCHEDULE), "events": 120}
    return {**row, "virtual_ns": 5_000_000_000, "kept": False, "skipped": "[]", **more}


def fault(trial: int, name: str, bit: int, **effect: int) -> Row:
    row = {"trial": trial, "op": 0, "name": name, "args": '{"node": "slave"}', "began_ns": 10, "ended_ns": 20}
    return {**row, "bit": bit, "effect": json.dumps(effect)}


def loss(trial: int, fault: str, **amounts: int | None) -> Row:
    row = {"trial": trial, "node": "master", "cause": "machine", "fault": fault, "role": "SYNC_MASTER", "seq": 7}
    return {**row, "flush": "ASYNC_FLUSH", "at_ns": 9, "answered": 4, **amounts}


def covered(state: str, event: str, fault: str, count: int) -> Row:
    return {"state": state, "event": event, "fault": fault, "count": count}


def finding(law: str, text: str, trial: int, shrunk: int, **more: Any) -> Row:
    row = {
        "format": 1,
        "law": law,
        "text": text,
        "target": "reference",
        "lab": "sim",
        "trial": trial,
        "shrunk_trial": shrunk,
    }
    row |= {"schedule": SCHEDULE, "original_ops": 23, "replay": "pairproof replay runs/r1/findings/0001.json"}
    return row | {
        "program": ["send(producer=0, size=100)", 'fault(name="kill", node="slave")', "advance(ms=3000)"],
        **more,
    }


def write_part(folder: Path, table: str, run: str, rows: Sequence[Row]) -> Path:
    names = [name for name, _ in schema.TABLES[table]]
    columns = [run if name == "run" else [row.get(name) for row in rows] for name in names]
    file = folder / table / "part-00000.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(run_tables.part_bytes(run_tables.from_columns(table, len(rows), columns)))
    return file


def write_run_folder(
    root: Path, run: str, findings: Sequence[Row] = (), facts: Row | None = None, **tables: Sequence[Row]
) -> Path:
    folder = root / run
    folder.mkdir(parents=True)
    # A finding's trial violates what the finding says, in the tables too.
    told = {(row["trial"], row["law"]) for row in tables.get("verdicts", ())}
    shown = {(each["shrunk_trial"], each["law"]): each for each in findings}
    lacking = [verdict(*key, "violated", seq=1, text=each["text"]) for key, each in shown.items() if key not in told]
    if lacking:
        tables = {**tables, "verdicts": [*tables.get("verdicts", ()), *lacking]}
    for table, rows in tables.items():
        write_part(folder, table, run, rows)
    told: Row = {
        "format": schema.FORMAT,
        "run": run,
        "command": ["pairproof", "check"],
        "state": "complete",
        "lab": "sim",
    }
    told |= {"target": "reference", "profile": "quick", "seed": "7", "observes": [], "laws": [], "keep": "1 in 100"}
    told |= {"must_not_be_vacuous": [], "began": "2025-01-02T03:04:05+00:00", "seconds": 2.5, "versions": {}}
    told |= {"trials": len(tables.get("trials", ())), "events": 240, "reason": None} | (facts or {})
    (folder / "run.json").write_text(json.dumps(told))
    (folder / "findings").mkdir()
    for number, each in enumerate(findings, 1):
        (folder / "findings" / f"{number:04}.json").write_text(json.dumps(each))
    return folder


@pytest.fixture(scope="session", autouse=True)
def no_step_summary() -> Iterator[None]:
    """Tests that run in a build must not write into its own summary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield


@pytest.fixture(scope="session")
def write_folder() -> WriteRun:
    """``write_folder(root, name, ...)``: like ``write_run``, for tests that Hypothesis repeats."""
    return write_run_folder


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """``write_run(name, findings=…, facts=…, verdicts=…, …)``: a run folder under a temporary ``runs``."""
    return lambda run, *args, **named: write_run_folder(tmp_path / "runs", run, *args, **named)


@pytest.fixture
def rows() -> Any:
    """The builders of table rows."""

    class Rows:
        verdict = staticmethod(verdict)
        trial = staticmethod(trial)
        fault = staticmethod(fault)
        loss = staticmethod(loss)
        covered = staticmethod(covered)
        finding = staticmethod(finding)

    return Rows


@pytest.fixture
def two_runs(write_run: WriteRun) -> list[Path]:
    """A clean run, and one of another target with a violation, a doubt, a fault that hit nothing and skipped work."""
    clean = write_run(
        "r1",
        facts={"must_not_be_vacuous": ["log-prefix", "ha-batch-bound"]},
        verdicts=[
            verdict(0, "log-prefix", "vacuous"),
            verdict(1, "log-prefix", "holds"),
            verdict(0, "ha-batch-bound", "vacuous"),
            verdict(1, "ha-batch-bound", "vacuous"),
            verdict(0, "contract", "holds", notes='{"required": 4, "permitted_losses": 1}'),
            verdict(1, "contract", "holds", notes='{"required": 2, "stronger": 3}'),
            verdict(0, "ack-replicated", "not-applicable"),
        ],
        trials=[trial(0, "sweep"), trial(1, skipped='["step: this lab has no CanStep"]')],
        faults=[
            fault(0, "kill", 2, processes_killed=1, connections_closed=1),
            fault(1, "kill", 0),
            fault(1, "down", 1, connections_refused=2) | {"args": '{"link": "meta"}'},
            fault(1, "rogue_slave", 1, connections=1) | {"args": '{"character": "junk"}'},
        ],
        objectives=[
            *(loss(0, "power_loss", rpo_messages=n, rpo_bytes=100 * n, rpo_ns=n, rto_ns=n * 10**6) for n in range(200)),
            loss(1, "power_loss", rpo_messages=3, rpo_bytes=300, rpo_ns=9),
            loss(1, "kill", rto_ns=5),
            loss(1, "kill", catch_up_ns=70) | {"node": "slave2"},
        ],
        coverage=[covered("TRANSFER", "report", "kill", 3), covered("TRANSFER", "report", "none", 40)],
    )
    broken = write_run(
        "r2",
        findings=[finding("log-prefix", "slave's byte 1,024 differs from the master's", 4, 9)],
        facts={"target": "reference+ack_early"},
        verdicts=[
            verdict(4, "log-prefix", "violated", broken=2, seq=17, text="slave's byte 1,024 differs"),
            verdict(9, "log-prefix", "violated", broken=1, seq=11, text="slave's byte 1,024 differs"),
            verdict(4, "contract", "unknown", text="law crashed: KeyError"),
            verdict(9, "contract", "holds", notes='{"required": 1}'),
            verdict(4, "ack-replicated", "violated", seq=12, text="PUT_OK for bytes that no slave reported"),
            verdict(9, "ack-replicated", "holds"),
        ],
        trials=[trial(4), trial(9, "shrink")],
        faults=[fault(4, "stall", 0), fault(9, "kill", 1, processes_killed=1)],
        objectives=[loss(4, "kill", rpo_messages=0, rpo_bytes=0, rpo_ns=0)],
        coverage=[covered("TRANSFER", "report", "kill", 2), covered("READY", "close", "none", 1)],
    )
    return [clean, broken]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    try:
        with session() as started:
            yield started
    except PairproofError as error:
        pytest.skip(str(error))
