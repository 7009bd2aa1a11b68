"""Real RocketMQ as a target: what it is called and set to, where its jars are looked for, how far its log is read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pairproof.chaos.labs.sim.lab import LAB as SIM
from pairproof.chaos.plan import Program
from pairproof.chaos.rocketmq.install import JARS, V4
from pairproof.chaos.rocketmq.outside import LogFollower, OutsideView, dated
from pairproof.chaos.rocketmq.programs import JavaProgram, NameServerProgram, ReferenceProgram
from pairproof.chaos.targets import rocketmq
from pairproof.chaos.targets.reference import TARGET
from pairproof.chaos.targets.rocketmq import RocketMQTarget
from pairproof.harness import registry, resolve
from pairproof.harness.errors import LabError, UsageError
from pairproof.harness.history import Event, Recorder
from pairproof.harness.judge import judge, laws
from pairproof.harness.rocketmq import places
from pairproof.harness.verdict import Verdict

PROCESS = resolve.lab("process")


def test_a_target_says_what_both_sides_run() -> None:
    for name in ("rocketmq-4.9.7", "rocketmq-5.5.0", "rocketmq-4.9.7-reference", "reference-rocketmq-4.9.7"):
        found = resolve.target(name)
        assert isinstance(found, RocketMQTarget) and found.name == name
    mixed = rocketmq.V4_MASTER
    plan = mixed.plan(mixed.settings({"lab.slaves": 2, "lab.names": 1}))
    assert [type(plan.node(name).form(Program)) for name in ("master", "slave", "slave2", "names")] == [
        JavaProgram, ReferenceProgram, ReferenceProgram, NameServerProgram,
    ]  # fmt: skip


def test_settings_that_only_the_reference_has_are_what_rocketmq_is() -> None:
    found = rocketmq.V5.settings({"rocketmqVersion": "4.4.0", "haPushes": "flushed", "mappedFileSizeCommitLog": 4_096})
    assert found["rocketmqVersion"] == "5.5.0" and "haPushes" not in found
    assert found["mappedFileSizeCommitLog"] == 65_536
    drawn = {"rocketmqVersion": "5.5.0", "inSyncReplicas": 2}
    assert "inSyncReplicas" not in rocketmq.V4.settings(drawn)
    with pytest.raises(UsageError, match=r"inSyncReplicas came with 5\.0"):
        rocketmq.V4.settings({"inSyncReplicas": 2})
    for asked in (drawn, {"rocketmqVersion": "4.9.7"} | {"inSyncReplicas": 2}, {"inSyncReplicas": 2}):
        assert rocketmq.V5.settings(asked)["inSyncReplicas"] == 2
    assert rocketmq.V4.config(places.MASTER, rocketmq.V4.settings({})).haSendHeartbeatInterval == 500


def test_version_5_has_a_name_server() -> None:
    assert rocketmq.V5.settings({})["lab.names"] == 1 and "lab.names" not in rocketmq.V4.settings({})
    with pytest.raises(UsageError, match=r"learns of its master only from a name server: leave lab\.names=0 out"):
        rocketmq.V5.settings({"lab.names": 0})


def test_what_only_a_broker_can_tell_is_not_observed() -> None:
    process = resolve.lab("process")
    assert process.observes(resolve.target("reference")) - process.observes(rocketmq.V4) == {
        "append", "cut", "flush", "dispatch", "sync", "persist", "register", "expire", "diverged",
    }  # fmt: skip


def test_the_readme_says_how_many_laws_are_judged_of_a_java_broker() -> None:
    seen = PROCESS.observes(rocketmq.V4)
    every = [each for each in laws(registry.own("laws")) if each.needs <= SIM.observes(TARGET)]
    said = f"{sum(each.needs <= seen for each in every)} of the {len(every)} laws"
    assert said in (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_labs_that_cannot_run_it_say_so() -> None:
    for lab in (SIM,):
        with pytest.raises(LabError, match=r"lab .*rocketmq-4\.9\.7"):
            lab.open(rocketmq.V4, rocketmq.V4.settings({}), "seed")


# Its jars


def test_without_jars_or_maven_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path))
    with pytest.raises(
        LabError, match=r"no RocketMQ 4\.9\.7: run: pairproof labs install rocketmq-4\.9\.7 \(needs a JDK"
    ):
        V4.find()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(LabError, match="there is no mvn, and real RocketMQ needs a JDK"):
        V4.install()
    assert [each.name for each in tmp_path.iterdir()] == [".gitignore"]


def test_what_maven_says_is_told_and_nothing_half_fetched_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path / "tools"))
    maven = tmp_path / "mvn"
    maven.write_text('#!/bin/sh\nmkdir -p "${0%/*}"\necho "no such host"; exit 1\n')
    maven.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(maven))
    with pytest.raises(LabError, match=r"Maven could not fetch RocketMQ 4\.9\.7: no such host; is the network there"):
        V4.install()
    assert [each.name for each in (tmp_path / "tools").iterdir()] == [".gitignore"]
    maven.write_text(
        '#!/bin/sh\nfor each in "$@"; do case $each in -DoutputDirectory=*) mkdir "${each#*=}";; esac; done\n'
    )
    assert V4.install() == V4.find() == JARS["4.9.7"].find()
    assert V4.find().parent == tmp_path / "tools"


# Its log


def log(folder: Path, *files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for number, data in enumerate(files):
        (folder / f"{number * len(data):020d}").write_bytes(data)
    return folder


def record(size: int, magic: int = -626843481) -> bytes:
    return size.to_bytes(4, "big") + magic.to_bytes(4, "big", signed=True) + bytes(size - 8)


def test_a_log_is_followed_record_by_record_and_file_by_file(tmp_path: Path) -> None:
    follower = LogFollower(tmp_path / "commitlog")
    assert follower.look() == 0
    folder = log(tmp_path / "commitlog", (record(100) + record(60)).ljust(256, b"\0"), bytes(256))
    assert follower.look() == follower.look() == 160
    first = record(100) + record(60) + record(96, -875286124)
    log(folder, first, bytes(256))
    assert follower.look() == 256
    log(folder, first, record(91).ljust(256, b"\0"))
    assert follower.look() == 347


def test_a_file_that_has_no_size_yet_is_none(tmp_path: Path) -> None:
    folder = log(tmp_path / "log", b"")
    follower = LogFollower(folder)
    assert follower.look() == 0
    log(folder, record(100).ljust(256, b"\0"))
    assert follower.look() == 100
    (log(folder, record(100) + record(156)) / f"{256:020d}").touch()
    assert follower.look() == 256
    shutil.rmtree(folder)
    assert follower.look() == 256


@pytest.mark.parametrize(
    "torn", [record(100)[:6], (300).to_bytes(4, "big") + record(100)[4:], record(100, 7)], ids=["short", "long", "odd"]
)
def test_what_is_no_whole_record_ends_it(torn: bytes, tmp_path: Path) -> None:
    assert LogFollower(log(tmp_path / "log", (record(100) + torn).ljust(256, b"\0"))).look() == 100


def test_a_view_tells_that_its_broker_serves_and_how_its_log_grows_and_nothing_after_its_end(tmp_path: Path) -> None:
    serves = [False]
    at: Any = SimpleNamespace(incarnation=1, is_up=True)
    view = OutsideView(at, lambda: serves[0], log(tmp_path / "log", record(100).ljust(256, b"\0")))
    assert view.read() == []
    serves[0] = True
    assert [row[1:] for row in view.read()] == [["start", "unknown", None, None], ["ready"], ["reaches", 100]]
    assert view.read() == []
    log(tmp_path / "log", (record(100) + record(91)).ljust(256, b"\0"))
    at.incarnation = 2
    assert view.read() == []
    at.incarnation = 1
    assert [row[1:] for row in view.read()] == [["reaches", 191]]


# When it started


def seen_from_outside(connected_at: int, started_at: int) -> list[Event]:
    recorder = Recorder()
    recorder.add(0, "lab", f="process", value=0, detail="{}")
    for node, role in (("master", "SYNC_MASTER"), ("slave", "SLAVE")):
        told = {"brokerRole": role, "haMasterAddress": "127.0.0.1:1", "brokerName": "broker-a"}
        recorder.add(0, "config", node, detail=json.dumps(told))
    recorder.add(1, "start", "master", 1, f="unknown")
    recorder.add(connected_at, "connect", "slave", link="ha:1", side="s", f="slave")
    recorder.add(started_at, "start", "slave", 1, f="unknown")
    recorder.add(started_at + 15_000_000_000, "mark", f="end")
    return recorder.events


def starts(events: list[Event]) -> list[tuple[str | None, int]]:
    return [(each.node, each.t) for each in events if each.kind == "start"]


def test_a_slave_that_connects_before_it_says_that_it_serves_is_not_accused() -> None:
    events = seen_from_outside(2_000, 3_000)
    law, observes = laws(["ha-address-source"]), PROCESS.observes(rocketmq.V4)
    assert [each.verdict for each in judge(events, law, observes)] == [Verdict.VIOLATED]
    honest = dated(events, {("master", 1): 0, ("slave", 1): 1_500})
    assert [each.verdict for each in judge(honest, law, observes)] == [Verdict.HOLDS]
    assert starts(honest) == [("master", 1), ("slave", 2_000)]
    assert [each.kind for each in honest][-3:] == ["start", "connect", "mark"]


def test_a_connect_of_the_process_before_dates_nothing() -> None:
    events = seen_from_outside(2_000, 3_000)
    assert starts(dated(events, {("master", 1): 0, ("slave", 1): 2_500})) == [("master", 1), ("slave", 3_000)]
    # Nor does one that the broker made later, or a start that its own trace tells.
    assert starts(dated(seen_from_outside(4_000, 3_000), {("master", 1): 0, ("slave", 1): 0}))[1] == ("slave", 3_000)
    traced = [each._replace(f="normal") if each.kind == "start" else each for each in events]
    assert starts(dated(traced, {})) == [("master", 1), ("slave", 3_000)]
