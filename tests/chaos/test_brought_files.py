"""Files that people bring, by the commands that take them: a run is of what the file says, or there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pairproof.chaos.rocketmq.configuration import Given, Program, brought, reference
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.reference.commands.broker import command as broker
from pairproof.reference.shell import catalogue

MASTER = (
    "brokerName=orders-a\nbrokerId=0\nbrokerRole=ASYNC_MASTER\nflushDiskType=ASYNC_FLUSH\nnamesrvAddr=127.0.0.1:9876\n"
)
SLAVE = "brokerName=orders-a\nbrokerId=1\nbrokerRole=SLAVE\nflushDiskType=ASYNC_FLUSH\nnamesrvAddr=127.0.0.1:9876\n"
COMPOSE = 'version: "3.7"\nservices:\n  one:\n    image: broker:4.9.7\n    command: sh mqbroker -c /conf/master.conf\n'
TOPICS = '{\n  "topicConfigTable": {\n    "orders": {"topicName": "orders", "perm": 6}\n  }\n}\n'
UNTESTED = MASTER + "flushCommitLogTimed=false\n"
NOT_TESTED = "the model does not implement it; it decides when the log is flushed"
REPLACES = "the lab replaces brokerName, brokerId, namesrvAddr: addresses, names, paths and file sizes are its own"
OPTION = {"master": "--master-conf", "slave": "--slave-conf"}
JAVA = Program(catalogue.of("4.9.7"), "4.9.7", is_model=False)

REFUSED = [
    ("master", COMPOSE.encode(), "it looks like YAML; give a broker's properties file"),
    ("master", TOPICS.encode(), "it is JSON; give a broker's properties file"),
    ("master", MASTER.encode("utf-16"), "is encoded in UTF-16, of which RocketMQ reads no key: save it as UTF-8"),
    ("slave", SLAVE.replace("brokerId=1", "brokerId=0").encode(), ":2: brokerId=0: a slave needs a brokerId above 0"),
    ("master", f"{MASTER}enableDLegerCommitLog=true\ndLegerGroup=a\n".encode(), "DLedger replicates by a quorum"),
    ("master", MASTER.replace("Type", "Typ").encode(), ":4: RocketMQ has no key flushDiskTyp, and would ignore"),
]  # fmt: skip


def brings(tmp_path: Path, side: str, data: bytes) -> list[str]:
    path = tmp_path / f"{side}.conf"
    path.write_bytes(data)
    return [OPTION[side], str(path)]


def lines_of(tmp_path: Path, side: str, text: str, program: Program | None = None) -> tuple[Given, list[str]]:
    """What is said of one file."""
    path = tmp_path / f"{side}.conf"
    path.write_text(text)
    given, lines = brought({side: path}, [], lambda _: program or reference())
    assert lines[: len(given.remarks)] == list(given.remarks)
    return given, [each.replace(f"{tmp_path}/", "") for each in lines]


@pytest.mark.parametrize(("side", "data", "says"), REFUSED)
@pytest.mark.parametrize("command", [["check", "--trials", "1"], ["chaos", "run", "slave-pause"]])
def test_a_file_that_would_test_something_else_ends_a_command_with_2_and_one_line(
    command: list[str], side: str, data: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = ["--runs", str(tmp_path / "runs")]
    assert main([*command, *runs, *brings(tmp_path, side, data)]) == 2
    said = capsys.readouterr()
    assert says in said.err and said.err.count("\n") == 1 and said.err[:-1].isprintable()
    assert not said.out and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("side", "data", "says"), REFUSED)
def test_other_commands_refuse_the_same_files(
    side: str, data: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    brings(tmp_path, side, data)
    made = CliRunner().invoke(broker, ["-c", str(tmp_path / f"{side}.conf")])
    assert made.exit_code == 2 and made.stderr.count("\n") == 1 and says in made.stderr
    good = {"master": MASTER, "slave": SLAVE}
    good.pop(side)
    for other, text in good.items():
        (tmp_path / f"{other}.conf").write_text(text)
    both = ["--master-conf", str(tmp_path / "master.conf"), "--slave-conf", str(tmp_path / "slave.conf")]
    folder = str(tmp_path / "captured")
    addresses = ["--listen", "127.0.0.1:1", "--to", "127.0.0.1:2", "--output", folder]
    for command in (["capture", *addresses], ["judge", "--ha-capture", folder]):
        assert main([*command, *both]) == 2
        assert says in capsys.readouterr().err


def test_what_is_not_tested_and_decides_about_loss_is_said_before_the_run_and_beside_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        *brings(tmp_path, "master", UNTESTED.encode()),
        "--runs",
        str(tmp_path / "runs"),
        "--json",
        str(tmp_path / "j"),
    ]
    assert main(["chaos", "run", "slave-pause", "--cases", "1", "--repeat", "1", *options]) in (0, 1, 3)
    remark = f"not tested: flushCommitLogTimed=false ({tmp_path}/master.conf:6): {NOT_TESTED}"
    said = capsys.readouterr().out.splitlines()
    assert said[0] == remark and remark == said[-4]
    (facts,) = (tmp_path / "runs").glob("*/run.json")
    for path in (tmp_path / "j", facts):
        assert json.loads(path.read_text())["configuration_remarks"] == [remark]


@pytest.mark.slow
def test_check_repeats_it_beside_the_losses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        *brings(tmp_path, "master", UNTESTED.encode()),
        "--runs",
        str(tmp_path / "runs"),
        "--json",
        str(tmp_path / "j"),
    ]
    assert main(["check", "--trials", "1", "--jobs", "1", "--seed", "s1", *options]) == 0
    said = capsys.readouterr().out.splitlines()
    assert NOT_TESTED in said[0] and any(NOT_TESTED in each for each in said[-6:])
    assert any("What was lost" in each for each in said)
    (facts,) = (tmp_path / "runs").glob("*/run.json")
    for path in (tmp_path / "j", facts):
        (remark,) = json.loads(path.read_text())["configuration_remarks"]
        assert NOT_TESTED in remark


def test_a_good_pair_s_files_need_no_word_but_what_the_lab_replaces(tmp_path: Path) -> None:
    common = "brokerClusterName=c\nbrokerName=orders-a\ndeleteWhen=04\nfileReservedTime=48\nflushDiskType=ASYNC_FLUSH\n"
    replaced = REPLACES.replace("brokerName", "brokerClusterName, brokerName").replace(", namesrvAddr", "")
    for side, own in (("master", "brokerId=0\nbrokerRole=SYNC_MASTER\n"), ("slave", "brokerId=1\nbrokerRole=SLAVE\n")):
        for program in (reference(), reference("5.5.0"), JAVA):
            given, lines = lines_of(tmp_path, side, common + own, program)
            assert lines == [replaced] and not given.remarks


@pytest.mark.parametrize(
    ("side", "text", "says"),
    [
        ("slave", SLAVE.replace("brokerRole=SLAVE\n", ""), "slave.conf names no brokerRole, so RocketMQ makes it "),
        ("slave", SLAVE.replace("brokerId=1\n", ""), "slave.conf names no brokerId, so RocketMQ starts no slave"),
        ("master", MASTER.replace("=0", "=1"), "master.conf:2: brokerId=1 in the master's file, and RocketMQ gives"),
        ("master", UNTESTED, f"not tested: flushCommitLogTimed=false (master.conf:6): {NOT_TESTED}"),
        ("master", f"{MASTER}totalReplicas=3", "no effect: totalReplicas=3 (master.conf:6): RocketMQ 4.9.7 has no "),
    ],
)  # fmt: skip
def test_what_decides_about_loss_and_is_not_tested_is_a_remark(side: str, text: str, says: str, tmp_path: Path) -> None:
    given, lines = lines_of(tmp_path, side, text)
    assert len(given.remarks) == 1 and lines[0].startswith(says)
    assert not any("flushCommitLogTimed" in each for each in lines[1:])


def test_a_model_of_a_release_passes_over_keys_of_other_releases_as_that_release_does(tmp_path: Path) -> None:
    text = f"{MASTER}inSyncReplicas=2\n"
    given, (line, _) = lines_of(tmp_path, "master", text, reference("4.9.7"))
    assert line.startswith("no effect: inSyncReplicas=2") and "inSyncReplicas" not in given.settings
    assert lines_of(tmp_path, "master", text, reference("5.5.0"))[0].settings["inSyncReplicas"] == 2


def test_the_default_of_such_a_setting_is_no_remark(tmp_path: Path) -> None:
    assert not lines_of(tmp_path, "master", f"{MASTER}flushCommitLogTimed=true\ntotalReplicas=1\n")[0].remarks
    # What the broker itself acts on is tested.
    assert lines_of(tmp_path, "master", UNTESTED, JAVA)[1] == [REPLACES]


def test_a_pool_comes_from_a_file(tmp_path: Path) -> None:
    text = f"{MASTER}transientStorePoolEnable=true\ncommitCommitLogLeastPages=0\n"
    given, lines = lines_of(tmp_path, "master", text)
    assert lines == [REPLACES]
    assert given.settings["transientStorePoolEnable"] is True and given.settings["commitCommitLogLeastPages"] == 0


def test_a_key_that_rocketmq_lacks_and_one_that_the_model_does_not_implement_are_two_things(tmp_path: Path) -> None:
    text = f"{MASTER}clusterTopicEnabel=true\nsendMessageThreadPoolNums=16\ndiskMaxUsedSpaceRatio=88\nflushLater=1\n"
    assert lines_of(tmp_path, "master", text)[1] == [
        "master.conf:6: RocketMQ 4.9.7 has no key clusterTopicEnabel and ignores it; did you mean clusterTopicEnable?",
        "master.conf:9: RocketMQ 4.9.7 has no key flushLater and ignores it",
        "master.conf: the model does not implement sendMessageThreadPoolNums, diskMaxUsedSpaceRatio, so their effect "
        "was not tested",
        REPLACES,
    ]
    # A broker of 4.9.7 has all of its own keys.
    assert len(lines_of(tmp_path, "master", text, JAVA)[1]) == 3


def of_both(tmp_path: Path, master: str, slave: str, release: str = "4.9.7") -> tuple[Given, list[str]]:
    files = {"master": tmp_path / "master.conf", "slave": tmp_path / "slave.conf"}
    files["master"].write_text(f"brokerRole=SYNC_MASTER\n{master}")
    files["slave"].write_text(f"brokerRole=SLAVE\nbrokerId=1\n{slave}")
    given, lines = brought(files, [], lambda _: reference(release))
    return given, [each for each in lines if not each.startswith("the lab replaces brokerId")]


def test_addresses_for_slaves_are_tested_as_the_files_have_them(tmp_path: Path) -> None:
    given, lines = of_both(tmp_path, "brokerIP2=10.0.0.5\n", "brokerIP2=mq-b\nhaMasterAddress=mq-a:10912\n")
    assert lines == ["the lab replaces the slave's haMasterAddress=mq-a:10912 by its own master's"]
    settings = TARGET.settings({**given.over({}), "lab.nameServer": 1})
    assert TARGET.config("master", settings).ha_address == "10.0.0.5:10912"
    assert TARGET.config("slave", settings).haMasterAddress == "mq-a:10912"
    assert TARGET.config("slave", settings).ha_address == "mq-b:10922"
    assert TARGET.config("master", settings).haMasterAddress == ""


def test_an_ha_port_counts_in_the_releases_that_have_one(tmp_path: Path) -> None:
    given, lines = of_both(tmp_path, "haListenPort=30999\n", "", "5.5.0")
    assert lines == ["the lab replaces the master's haListenPort=30999 by its own listenPort + 3"]
    settings = TARGET.settings({**given.over({}), "lab.nameServer": 1, "rocketmqVersion": "5.5.0"})
    assert TARGET.config("master", settings).ha_address == "127.0.0.1:10914"
    assert TARGET.config("slave", settings).ha_address == "127.0.0.1:10922"
    says = "no effect: haListenPort=30999: a master of RocketMQ 4.9.7 always has listenPort + 1"
    assert of_both(tmp_path, "haListenPort=30999\n", "")[1] == [says]


@pytest.mark.parametrize(
    ("release", "master", "port", "says"),
    [
        ("4.9.7", "", 10_912, ""),
        ("4.9.7", "listenPort=30911\n", 30_912, ""),
        ("4.9.7", "listenPort=30911\nhaListenPort=7\n", 30_912, ""),
        ("4.9.7", "listenPort=30911\n", 10_912, "the master listens for slaves on port 30912; is something in between"),
        ("5.5.0", "", 10_912, "a slave of RocketMQ 5.5.0 connects neither there nor to the address that the master"),
    ],
)
def test_a_master_s_address_that_cannot_be_right_is_a_remark(
    release: str, master: str, port: int, says: str, tmp_path: Path
) -> None:
    given, _ = of_both(tmp_path, master, f"haMasterAddress=mq-a:{port}\n", release)
    assert [says in each for each in given.remarks] == ([True] if says else [])
    assert ("slave.haMasterAddress" in given.settings) == (release == "4.9.7")


def test_a_mistyped_path_is_named_and_not_replaced(tmp_path: Path) -> None:
    text = f"{MASTER}storePathRootDir=/d\nstorePathComsumeQueue=/d/q\nstorePathCheckpoint=/d/c\n"
    _, lines = lines_of(tmp_path, "master", text)
    assert "storePathComsumeQueue and ignores it; did you mean storePathConsumeQueue?" in lines[0]
    assert "has no key storePathCheckpoint" in lines[1]
    assert lines[2].startswith("the lab replaces brokerName, brokerId, namesrvAddr, storePathRootDir:")


def test_a_file_of_many_unknown_keys_is_named_in_few_lines(tmp_path: Path) -> None:
    text = MASTER + "".join(f"own.key{number}=1\n" for number in range(40))
    _, lines = lines_of(tmp_path, "master", text)
    assert len(lines) == 22 and lines[20] == "master.conf: RocketMQ 4.9.7 lacks 20 keys more"


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "master", "# nothing\n")[1] == [
        "master.conf has no setting: the master has RocketMQ's defaults"
    ]


def test_the_release_is_the_model_s_or_the_one_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "m.conf"
    path.write_text(f"{MASTER}enableLmq=true\nhaMaxGapNotInSync=5\ntotalReplicas=3\n")
    given, lines = brought({"master": path}, ["rocketmqVersion=5.5.0"], lambda _: reference())
    assert "the model does not implement it; it decides how many brokers hold a message" in lines[0]
    assert "does not implement enableLmq, so" in lines[1]
    # The model has this one under the name that it had before.
    assert given.settings["haSlaveFallbehindMax"] == 5
    assert "RocketMQ 4.9.7 has no key totalReplicas" in brought({"master": path}, [], lambda _: reference())[1][0]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (
            "flushCommitLogTimed=false",
            "RocketMQ 4.9.7 has it, but the model does not implement it; test it with --targ",
        ),
        (
            "totalReplicas=2",
            "RocketMQ 4.9.7 has no key totalReplicas and ignores it, 5.3.1 to 5.5.0 have it; leave it out, or test",
        ),
        ("x\x1b[1m=2", r"--set x\x1b[1m: no broker of this target has it"),
    ],
)
def test_a_typed_key_without_effect_is_refused_with_the_reason(typed: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        brought({}, [typed], lambda _: reference())
    assert says in str(caught.value) and str(caught.value).isprintable()


def test_a_setting_of_the_master_leaves_the_slave_as_it_is_drawn() -> None:
    given, _ = brought({}, ["master.slaveTimeout=700", "master.brokerRole=SYNC_MASTER"], lambda _: reference())
    settings = TARGET.settings(given.over({"slaveTimeout": 5, "lab.slaves": 2}))
    assert [TARGET.config(node, settings).slaveTimeout for node in ("master", "slave", "slave2")] == [700, 5, 5]
    assert TARGET.config("master", settings).brokerRole == "SYNC_MASTER"


def test_replicas_that_a_version_does_not_count_are_refused_with_where_the_version_comes_from() -> None:
    with pytest.raises(
        UsageError, match=r"rocketmqVersion is 4\.9\.7, the default: set rocketmqVersion=5\.5\.0, too, or"
    ):
        TARGET.settings({"inSyncReplicas": 2})
    with pytest.raises(UsageError, match=r"rocketmqVersion is 4\.9\.2: set"):
        TARGET.settings({"inSyncReplicas": 2, "rocketmqVersion": "4.9.2"})
