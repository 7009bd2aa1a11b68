"""Settings that a user brings: searches fit their draws to them, findings keep them, and no green hides them."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.exploration.counts import MAX_REASONS, OTHER_REASONS, refuse
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.losses import PLAYED
from pairproof.harness.exploration.profiles import profile
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.search import shrink
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Args, Schedule

DRAWN = 120
CONFIGURATIONS: list[list[str]] = [
    *(["rocketmqVersion=" + version] for version in ("4.4.0", "4.9.2", "4.9.7", "5.5.0")),
    ["slave.rocketmqVersion=4.4.0", "master.rocketmqVersion=4.9.7"],
    ["slave.rocketmqVersion=5.5.0", "master.rocketmqVersion=4.9.7"],
    *([f"lab.slaves={number}"] for number in range(4)),
    ["lab.slaves=1", "rocketmqVersion=5.5.0"],
    ["lab.latencyMicros=50000"],
    ["lab.latencyMicros=50000", "lab.spread=10", "lab.gatherMicros=50000"],
    ["lab.bufferBytes=14"],
    ["lab.flushMicros=1000000", "haTransferBatchSize=100"],
]  # fmt: skip


def _under(*typed: str, target: str = "reference") -> Any:
    found: Any = resolve.target(target)
    return found.given(found.bring({}, typed)[0])


def _own(target: Any) -> Args:
    return {name: target.brought.over({})[name] for name in resolve.own_settings(target)}


@pytest.mark.parametrize("target", ["reference", "rocketmq-5.5.0@model"])
@pytest.mark.parametrize("typed", CONFIGURATIONS, ids=" ".join)
def test_every_documented_setting_goes_with_what_searches_draw(typed: list[str], target: str) -> None:
    tested = _under(*typed, target=target)
    for number in range(DRAWN):
        draw = cluster.schedule if number % 4 == 0 else swarm.schedule
        found = resolve.scheduled(tested, draw("s", number, None))
        tested.settings(found.settings)
        assert {name: found.settings[name] for name in _own(tested)} == _own(tested)


def test_what_is_drawn_beside_a_brought_setting_is_still_drawn() -> None:
    tested = _under("rocketmqVersion=5.5.0", "lab.slaves=1")
    found = [resolve.scheduled(tested, swarm.schedule("s", number, None)).settings for number in range(DRAWN)]
    # Three replicas would be two slaves, so sends could only time out.
    assert {each.get("inSyncReplicas") for each in found} == {None, 0, 2}
    assert len({each["brokerRole"] for each in found}) == 2


def test_operations_are_for_the_slaves_that_the_trial_has() -> None:
    tested = _under("lab.slaves=1")
    names = {
        op.args.get(key)
        for number in range(DRAWN)
        for op in resolve.scheduled(tested, swarm.schedule("s", number, None)).ops
        for key in ("node", "link")
    }
    assert "slave" in names and not names & {"slave2", "slave3", "ha2", "ha3"}


@pytest.mark.parametrize("typed", [["rocketmqVersion=4.4.0"], ["lab.slaves=0"]], ids=" ".join)
def test_a_documented_setting_lets_every_search_come_to_its_end(typed: list[str]) -> None:
    found = Explorer(resolve.lab("sim"), _under(*typed), profile("fault-pairs"), "a", (), trials=40).run()
    assert found.trials >= 40 and found.by_origin.keys() >= {"sweep", "fault-pairs", "corpus"}


def test_a_schedule_that_cannot_be_played_is_counted_and_named(capsys: Any, tmp_path: Path) -> None:
    command = [
        "check",
        "--jobs",
        "1",
        "--seed",
        "a",
        "--trials",
        "5",
        "--runs",
        str(tmp_path),
        "--set",
        "lab.nameServer=0",
    ]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert any("of the searches refused: join needs a name server" in line for line in told["refused"])
    assert told["trials"] < 40 + 5 + sum(row["corpus"] for row in told["losses"])
    (run,) = tmp_path.glob("*/run.json")
    assert json.loads(run.read_text())["refused"] == told["refused"]


def test_settings_that_no_schedule_can_have_are_wrong_usage(capsys: Any, tmp_path: Path) -> None:
    command = ["check", "--jobs", "1", "--trials", "5", "--runs", str(tmp_path)]
    assert main([*command, "--set", "lab.latencyMicros=50000", "--set", "lab.bufferBytes=14"]) == 2
    assert "bytes of the log pass in a second" in capsys.readouterr().err


# Findings.


def test_shrinking_never_touches_a_brought_setting() -> None:
    start = Schedule({"flushDiskType": "SYNC_FLUSH", "lab.spread": 10, "brokerRole": "ASYNC_MASTER"}, "s", ())
    own = ("flushDiskType", "lab.spread")
    small = shrink.shrink(SYSTEM, start, lambda each: True, own)
    assert small.settings == {"flushDiskType": "SYNC_FLUSH", "lab.spread": 10}
    assert shrink.shrink(SYSTEM, start, lambda each: True).settings == {}


BROUGHT = ("flushDiskType=SYNC_FLUSH", "lab.flushMicros=20000", "lab.spread=3")
SETTINGS = [each for text in BROUGHT for each in ("--set", text)]
SEARCH = [
    "check",
    "--jobs",
    "1",
    "--seed",
    "a",
    "--target",
    "reference+any_flush_will_do",
    "--first",
    "--law",
    "ack-flushed",
]


@pytest.fixture(scope="module", params=["set", "files"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first finding of a search under settings that searches draw, too."""
    runs = tmp_path_factory.mktemp("runs")
    brought = SETTINGS
    if request.param == "files":
        master, slave = runs / "master.conf", runs / "slave.conf"
        master.write_text("flushDiskType=SYNC_FLUSH\nhaTransferBatchSize=512\n")
        slave.write_text("brokerRole=SLAVE\nbrokerId=1\nflushDiskType=SYNC_FLUSH\n")
        brought = ["--master-conf", str(master), "--slave-conf", str(slave), *SETTINGS[2:]]
    assert main([*SEARCH, "--runs", str(runs), *brought]) == 1
    return next(runs.glob("*/findings/0001.json"))


def test_a_finding_holds_what_was_brought(found: Path) -> None:
    settings: Mapping[str, object] = json.loads(found.read_text())["schedule"]["settings"]
    assert {name: settings.get(name) for name in ("flushDiskType", "lab.flushMicros", "lab.spread")} == {
        "flushDiskType": "SYNC_FLUSH", "lab.flushMicros": 20_000, "lab.spread": 3,
    }  # fmt: skip


def test_a_finding_is_reproduced_by_its_file_in_another_process(found: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pairproof", "replay", str(found)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1 and "reproduced: ack-flushed is violated again" in ended.stdout


def test_a_finding_whose_file_does_not_show_it_says_so(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("pairproof.harness.commands.replay.reproduced", lambda finding, trial: False)
    assert main([*SEARCH, "--runs", str(tmp_path), *SETTINGS]) == 1
    assert "NOT REPRODUCED by one execution from its file: ack-flushed was not violated" in capsys.readouterr().out


# Green says whether anything was replicated.

NEVER_REPLICATES = "brokerRole=ASYNC_MASTER\nhaHousekeepingInterval=3000\n"


def test_a_pair_that_never_replicates_is_not_green(capsys: Any, tmp_path: Path) -> None:
    master, slave = tmp_path / "master.conf", tmp_path / "slave.conf"
    master.write_text(NEVER_REPLICATES)
    slave.write_text("brokerRole=SLAVE\nbrokerId=1\n")
    command = ["check", "--jobs", "1", "--seed", "a", "--trials", "2", "--runs", str(tmp_path / "runs")]
    laws = ["--law", "log-prefix", "--law", "live-converges", "--law", "contract"]
    assert main([*command, *laws, "--master-conf", str(master), "--slave-conf", str(slave)]) == 3
    said = capsys.readouterr().out
    assert said.splitlines()[0].startswith(
        "this pair does not replicate: the master closes a connection that is silent for 3000 ms "
        "(haHousekeepingInterval), and the slave sends every 5000 ms"
    )
    verdicts = said[said.index("nothing was replicated") :]
    assert verdicts.startswith("nothing was replicated: no slave held a record of the workload in any trial")
    assert "log-prefix was judged in no trial (vacuous): it takes a slave that holds records" in verdicts
    assert "live-converges was judged in no trial (not-applicable): it takes a slave, and each haSendHeart" in verdicts


def test_a_pair_that_replicates_meets_the_floor(capsys: Any, tmp_path: Path) -> None:
    command = ["check", "--jobs", "1", "--seed", "a", "--trials", "2", "--runs", str(tmp_path / "runs"), "--json"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["met"] > 30, each["least"]) for each in told["minimums"]] == [(True, 1)]
    assert told["unjudged"] == []


def test_a_pair_without_a_slave_need_not_replicate() -> None:
    found = Explorer(resolve.lab("sim"), _under("lab.slaves=0"), profile("quick"), "a", (), trials=5).run()
    assert [each.what for each in found.minimums] == [PLAYED] and found.minimums[0].is_met


def test_a_campaign_of_a_pair_that_never_replicates_is_not_green(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["campaign", "--engine", "local", "--jobs", "1", "--trials", "3", "--seed", "a", "--law", "contract"]
    assert main([*command, "--runs", str(tmp_path / "good")]) == 0
    monkeypatch.setattr(type(SYSTEM), "replicated", lambda self, events: False)
    assert main([*command, "--runs", str(tmp_path / "bad")]) == 3
    assert "nothing was replicated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["haHousekeepingInterval=3000"], ["the master closes", "the slave closes"]),
        (["master.haHousekeepingInterval=5000"], ["the master closes"]),
        (["slave.haHousekeepingInterval=5000", "master.haSendHeartbeatInterval=4999"], []),
        (["slave.haSendHeartbeatInterval=60000"], ["the master closes"]),
        (["slave.haSendHeartbeatInterval=60000", "lab.slaves=0"], []),
        (["slave.messageDelayLevel=1s 2s"], ["messageDelayLevel differs"]),
        (["messageDelayLevel=1s 2s"], []),
        ([], []),
    ],
)
def test_what_a_configuration_does_by_itself_is_remarked(typed: list[str], says: list[str]) -> None:
    remarks = _under(*typed).brought.remarks
    assert len(remarks) == len(says) and all(part in remark for part, remark in zip(says, remarks, strict=True))


def test_reasons_of_refusals_are_bounded_and_a_known_one_counts_on() -> None:
    refused = Counter[str]()
    for why in [*map(str, range(MAX_REASONS + 5)), "0"]:
        refuse(refused, why)
    assert refused["0"] == 2 and refused[OTHER_REASONS] == 5 and len(refused) == MAX_REASONS + 1
