"""A configuration that somebody brings: which keys reach which broker, what is said of the others, what is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.rocketmq.configuration import FIELDS, Program, brought, of_side
from pairproof.chaos.rocketmq.programs import JavaProgram
from pairproof.chaos.rocketmq.settings import properties
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.reference.core.config import BrokerConfig

JAVA: dict[str, type] = {
    **{key: type(value) for key, value in FIELDS.items() if key != "haSlaveFallbehindMax"},
    "haMaxGapNotInSync": int, "transferMsgByHeap": bool, "ratio": float,
}  # fmt: skip
MASTER = """# in production
brokerName = broker-x
listenPort:10911
storePathRootDir=/data
brokerRole=SYNC_MASTER
flushDiskType=SYNC_FLUSH
haMaxGapNotInSync=1000
transferMsgByHeap=false
messageDelayLevel=1s \\
    5s
"""


def known(side: str) -> Program:
    return Program(JAVA, "4.9.7", is_model=False)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {"master": tmp_path / "m.conf", "slave": tmp_path / "s.conf"}
    found["master"].write_text(MASTER)
    found["slave"].write_text("brokerId=1\nbrokerRole=SLAVE\nslaveReadEnable=true\n")
    return found


def test_each_side_has_its_own_files_values_and_rocketmqs_defaults_elsewhere(files: dict[str, Path]) -> None:
    given, _ = brought(files, [], known)
    settings = given.over({"lab.slaves": 2, "flushDiskType": "ASYNC_FLUSH", "slaveTimeout": 9})
    master, slave, second = (TARGET.config(node, TARGET.settings(settings)) for node in ("master", "slave", "slave2"))
    assert (master.brokerRole, master.flushDiskType, master.haSlaveFallbehindMax) == (
        "SYNC_MASTER",
        "SYNC_FLUSH",
        1_000,
    )
    assert master.messageDelayLevel == "1s 5s" and master.slaveTimeout == BrokerConfig.slaveTimeout
    assert (slave.flushDiskType, slave.slaveReadEnable) == ("ASYNC_FLUSH", True) and not master.slaveReadEnable
    assert slave.haSlaveFallbehindMax == BrokerConfig.haSlaveFallbehindMax and second.slaveReadEnable
    assert of_side("master", settings) == {"transferMsgByHeap": False}


def test_what_the_lab_replaces_and_what_a_broker_does_not_know_is_named_in_a_line_each(files: dict[str, Path]) -> None:
    files["master"].write_text(MASTER + "haSlavFallbehindMax=5\n")
    _, lines = brought(files, [], known)
    assert [each for each in lines if not each.startswith("messageDelayLevel differs")] == [
        f"{files['master']}:11: RocketMQ 4.9.7 has no key haSlavFallbehindMax and ignores it; did you mean "
        "haSlaveFallbehindMax?",
        "the lab replaces brokerName, listenPort, storePathRootDir, brokerId: "
        "addresses, names, paths and file sizes are its own",
    ]


def test_a_master_without_a_role_is_what_rocketmq_makes_it(files: dict[str, Path]) -> None:
    files["master"].write_text("")
    assert brought(files, [], known)[0].settings["brokerRole"] == "ASYNC_MASTER"
    assert "brokerRole" not in brought({}, ["slaveTimeout=5"], known)[0].settings


def test_single_settings_are_laid_over_what_is_drawn_and_may_name_a_side() -> None:
    given, lines = brought({}, ["slaveTimeout=700", "slave.slaveTimeout=900", "lab.slaves=2", "ratio=0.5"], known)
    assert not lines
    found = given.over({"flushDiskType": "SYNC_FLUSH", "slaveTimeout": 5})
    settings = TARGET.settings(found)
    timeouts = [TARGET.config(node, settings).slaveTimeout for node in ("master", "slave")]
    assert timeouts == [700, 900] and found["flushDiskType"] == "SYNC_FLUSH" and found["lab.slaves"] == 2
    assert found["master.ratio"] == found["slave.ratio"] == "0.5"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("slaveTimeuot=5", r"no broker of this target has it; did you mean slaveTimeout\?"),
        ("zzz=5", "no broker of this target has it; RocketMQ's documentation"),
        ("slaveTimeout=soon", "--set slaveTimeout must be a whole number, not 'soon'"),
        ("slaveReadEnable=yes", "must be true or false"),
        ("ratio=half", "must be a number"),
        ("listenPort=1", "the lab sets that itself"),
        ("slaveTimeout", "--set needs key=value"),
        ("brokerRole=SLAVE", "--set brokerRole must be one of ASYNC_MASTER, SYNC_MASTER, not 'SLAVE'"),
        ("brokerRole=SINC_MASTER", "--set brokerRole must be one of ASYNC_MASTER, SYNC_MASTER, not 'SINC_MASTER'"),
        ("slave.brokerRole=SYNC_MASTER", "--set brokerRole must be one of SLAVE, not 'SYNC_MASTER'"),
        ("flushDiskType=sync_flush", "ASYNC_FLUSH, SYNC_FLUSH, not 'sync_flush'; RocketMQ ignores any other"),
        ("mappedFileSizeCommitLog=1048576", "the lab sets that itself"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(typed: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        brought({}, [typed], known)


@pytest.mark.parametrize(
    ("side", "text", "says"),
    [
        ("master", "brokerRole=SLAVE", "are the two files the right way round"),
        ("slave", "brokerRole=ASYNC_MASTER", r"s\.conf:1: the slave's brokerRole must be SLAVE, not ASYNC_MASTER; are"),
        ("master", "slaveTimeout=3s", r"m\.conf:1: slaveTimeout must be a whole number, not '3s'"),
        ("master", "x" * 1_048_577, "more than 1048576 bytes: this is not a properties file"),
    ],
)
def test_a_file_that_cannot_be_is_refused(side: str, text: str, says: str, files: dict[str, Path]) -> None:
    files[side].write_text(text)
    with pytest.raises(UsageError, match=says):
        brought(files, [], known)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none: No such file or directory"):
        brought({"master": tmp_path / "none"}, [], known)


def test_what_only_java_knows_reaches_its_properties_file() -> None:
    program = JavaProgram("4.9.7", BrokerConfig(), {"transferMsgByHeap": False})
    assert properties(JAVA, program.config, program.more)["transferMsgByHeap"] == "false"


def test_check_records_the_configuration_and_what_each_class_of_faults_took_and_replay_needs_no_file(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files["master"].write_text("flushDiskType=ASYNC_FLUSH\nslaveTimeout=1500\n")
    brings = ["--master-conf", str(files["master"]), "--slave-conf", str(files["slave"])]
    target = ["--target", "reference+acks_at_once", "--seed", "1", "--law", "ack-replicated", "--law", "contract"]
    runs = ["--runs", str(tmp_path / "runs")]
    assert main(["check", *target, "--trials", "40", *brings, "--set", "brokerRole=SYNC_MASTER", *runs]) == 1
    shown = capsys.readouterr().out
    assert "What was lost" in shown and "disk lost or wiped, both, the shortest program" in shown
    (facts,) = (tmp_path / "runs").glob("*/run.json")
    lost = {(row["fault"], row["of"]): row for row in json.loads(facts.read_text())["losses"] if row["corpus"]}
    assert list(lost)[-1] == ("disk lost or wiped", "both") and all(
        row["trials"] or row["state"].startswith("counts as") for row in lost.values()
    )
    path = next((tmp_path / "runs").glob("*/findings/*.json"))
    settings: Any = json.loads(path.read_text())["schedule"]["settings"]
    assert settings["slaveTimeout"] == 1_500 and settings["slave.slaveReadEnable"] is True
    for each in files.values():
        each.unlink()
    assert main(["replay", str(path)]) == 1


def test_scenarios_refuse_an_unknown_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chaos", "run", "slave-pause", "--set", "nothing=1", "--runs", str(tmp_path)]) == 2
    assert "no broker of this target has it" in capsys.readouterr().err
