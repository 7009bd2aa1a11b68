"""Real RocketMQ as a target: what it is called and set to, where its jars are looked for, how far its log is read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos import tools
from pairproof.chaos.labs.sim.lab import LAB as SIM
from pairproof.chaos.plan import Program
from pairproof.chaos.rocketmq import configuration, install
from pairproof.chaos.rocketmq.install import JARS, V4
from pairproof.chaos.rocketmq.programs import JavaNameServer, JavaProgram, ReferenceProgram
from pairproof.chaos.targets import rocketmq
from pairproof.chaos.targets.rocketmq import RocketMQTarget
from pairproof.harness import registry
from pairproof.harness.commands import labs
from pairproof.harness.errors import LabError, UsageError
from pairproof.harness.judging import deviations
from pairproof.harness.judging.judge import laws
from pairproof.harness.ports.nodes import CanReplaceImage
from pairproof.harness.rocketmq import topology
from pairproof.harness.runs.writer import run_folder
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted, lacking
from pairproof.harness.trials.schedule import Op

PROCESS = resolve.lab("process")


def test_a_target_says_what_both_sides_run() -> None:
    for name in ("rocketmq-4.9.7", "rocketmq-5.5.0", "rocketmq-4.9.7-reference", "reference-rocketmq-4.9.7"):
        found = resolve.target(name)
        assert isinstance(found, RocketMQTarget) and found.name == name
    mixed = rocketmq.V4_MASTER
    plan = mixed.plan(mixed.settings({"lab.slaves": 2, "lab.nameServer": 1}))
    assert [type(plan.node(name).form(Program)) for name in ("master", "slave", "slave2", "names")] == [
        JavaProgram, ReferenceProgram, ReferenceProgram, ReferenceProgram,
    ]  # fmt: skip


def test_a_third_program_is_the_name_servers() -> None:
    found = resolve.target("rocketmq@4.9.7,reference,5.5.0")
    assert found.name == "rocketmq@4.9.7,reference,5.5.0"
    plan = found.plan(found.settings({}))
    assert [type(plan.node(name).form(Program)) for name in ("master", "slave", "names")] == [
        JavaProgram, ReferenceProgram, JavaNameServer,
    ]  # fmt: skip
    with pytest.raises(UsageError, match=r"has one: leave lab\.nameServer=0 out"):
        found.settings({"lab.nameServer": 0})
    for wrong in ("rocketmq@4.9.7,4.9.7,5.0.0..5.5.0", "rocketmq@4.9.7,4.9.7,4.9.7,4.9.7", "rocketmq@4.9.7,4.9.7,"):
        with pytest.raises(UsageError):
            resolve.target(wrong)


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
    assert rocketmq.V4.config(topology.MASTER, rocketmq.V4.settings({})).haSendHeartbeatInterval == 500


def test_version_5_has_a_name_server() -> None:
    assert rocketmq.V5.settings({})["lab.nameServer"] == 1 and "lab.nameServer" not in rocketmq.V4.settings({})
    with pytest.raises(
        UsageError, match=r"gets its master's address only from a name server: leave lab\.nameServer=0 out"
    ):
        rocketmq.V5.settings({"lab.nameServer": 0})


def test_what_only_a_broker_can_tell_is_not_observed() -> None:
    process = resolve.lab("process")
    assert process.observes(resolve.target("reference")) - process.observes(rocketmq.V4) == {
        "commit", "flush", "conversation", "left", "routed",
    }  # fmt: skip
    # 4.9.7 says in its log whom it refuses.
    assert process.observes(rocketmq.V4) - process.observes(rocketmq.V5) == {"diverged"}


def test_the_readme_says_how_many_laws_are_judged_of_a_java_broker() -> None:
    seen = PROCESS.observes(rocketmq.V4)
    every = laws(registry.own("laws"))
    said = f"{sum(each.needs <= seen for each in every)} of the {len(every)} laws"
    assert said in (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_labs_that_cannot_run_it_say_so() -> None:
    for lab in (SIM,):
        with pytest.raises(LabError, match=r"lab .*rocketmq-4\.9\.7"):
            lab.open(rocketmq.V4, rocketmq.V4.settings({}), "seed")


# By version, folder, or both programs


def home(folder: Path, version: str = "4.9.8") -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / f"rocketmq-broker-{version}.jar").touch()
    return folder


def test_any_release_or_folder_is_a_target_by_name_and_so_are_two_of_them(tmp_path: Path) -> None:
    own = home(tmp_path / "my build")
    for name in (
        "rocketmq@4.9.8", "rocketmq@5.3.1", f"rocketmq@{own}", "rocketmq@4.9.7,5.5.0", "rocketmq@5.5.0,4.9.8",
        f"rocketmq@{own},reference", "rocketmq@reference,5.5.0",
    ):  # fmt: skip
        found = resolve.target(name)
        assert isinstance(found, RocketMQTarget) and found.name == name
    assert resolve.target("rocketmq@4.9.7") == rocketmq.V4
    assert resolve.target("rocketmq@reference,4.9.7").name == "reference-rocketmq-4.9.7"
    assert resolve.target("rocketmq-5.5.0@model").name == "rocketmq-5.5.0@model"
    mixed: Any = resolve.target(f"rocketmq@reference,{own}")
    assert mixed.releases == {"master": "reference", "slave": "4.9.8"}
    assert run_folder(tmp_path, "process", mixed.name).parent == tmp_path


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("rocketmq@latest", "'latest' is neither a RocketMQ release, such as 4.9.8 or 5.5.0, nor"),
        ("rocketmq@9.9.9", "'9.9.9' is neither a RocketMQ release"),
        ("rocketmq@../x", "neither a RocketMQ release"),
        ("rocketmq@/none", r"no lib/rocketmq-broker-VERSION\.jar in that folder; name the folder of an unpacked"),
        ("rocketmq@4.9.7,5.5.0,4.9.8,4.9.7", "name one program, or the master's, the slave's and the name server's"),
        ("rocketmq@reference", "at least one of them RocketMQ"),
        ("rocketmq@reference..reference", "at least one of them RocketMQ"),
        ("rocketmq@4.9.7..5.5.0..4.9.7", r"to upgrade: rocketmq@4\.9\.7\.\.5\.5\.0"),
        ("rocketmq@4.9.7..", "neither a RocketMQ release"),
        ("rocketmq@", "neither a RocketMQ release"),
        ("nothing@4.9.8", "unknown target"),
    ],
)
def test_what_is_no_version_and_no_home_is_refused_in_one_line(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resolve.target(name)


@pytest.mark.parametrize(
    ("version", "line"),
    [("4.4.0", "4.4.0"), ("4.5.0", "4.5.2"), ("4.7.1", "4.9.2"), ("4.9.8", "4.9.7"), ("4.9.9-SNAPSHOT", "4.9.7"),
     ("5.3.1", "5.5.0"), ("6.0.0", "5.5.0")],
)  # fmt: skip
def test_a_release_is_taken_to_behave_like_the_nearest_known_line(version: str, line: str) -> None:
    assert rocketmq.nearest(version) == line
    found = RocketMQTarget(version, version)
    assert found.config(topology.MASTER, found.settings({})).rocketmqVersion == line


def test_each_side_of_a_mixed_pair_is_set_as_its_own_version_is() -> None:
    mixed = RocketMQTarget("5.5.0", "4.9.8")
    given = mixed.settings({"inSyncReplicas": 2})
    assert given["lab.nameServer"] == 1
    assert mixed.config("master", given).inSyncReplicas == 2
    slave = mixed.config("slave", given)
    assert (slave.rocketmqVersion, slave.inSyncReplicas) == ("4.9.7", 0)
    assert RocketMQTarget("4.9.8", "5.3.1").settings({})["lab.nameServer"] == 1


# Another program in its place


def test_a_target_may_have_another_program_for_each_of_its_nodes() -> None:
    found: Any = resolve.target("rocketmq@4.9.7..5.5.0")
    assert found.name == "rocketmq@4.9.7..5.5.0" and found.model is None
    assert (found.releases["master"], found.replacements["master"]) == ("4.9.7", "5.5.0")
    settings = found.settings({"inSyncReplicas": 2})
    node = found.plan(settings).node("master")
    own, other = node.form(Program), node.form(Program, "other")
    assert (own.which, own.config.rocketmqVersion, own.config.inSyncReplicas) == ("4.9.7", "4.9.7", 0)
    assert (other.which, other.config.rocketmqVersion, other.config.inSyncReplicas) == ("5.5.0", "5.5.0", 2)
    assert settings["lab.nameServer"] == 1, "the later one needs it"
    # What not both let be seen is not observed; what either of them is known to do is known.
    assert PROCESS.observes(found) == PROCESS.observes(rocketmq.V5)
    known = [{each.id for each in deviations.of(target)} for target in (found, rocketmq.V4, rocketmq.V5)]
    assert known[0] == known[1] | known[2]


def test_a_setting_that_only_the_later_program_knows_may_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    knows = configuration.Program({"inSyncReplicas": int}, "4.9.7 and 5.5.0", is_model=False)
    monkeypatch.setattr(RocketMQTarget, "runs", lambda target, side: knows)
    target: Any = resolve.target("rocketmq@4.9.7..5.5.0")
    given = target.given(target.bring({}, ["inSyncReplicas=2"])[0])
    settings = given.settings(resolve.under(given, {}))
    for role in ("master", "slave"):
        node = given.plan(settings).node(role)
        assert [node.form(Program, name).config.inSyncReplicas for name in ("", "other")] == [0, 2]


def test_of_a_mixed_pair_one_side_alone_may_have_another_program() -> None:
    found: Any = resolve.target("rocketmq@reference,4.9.7..5.5.0")
    plan = found.plan(found.settings({}))
    assert not plan.node("master").others and plan.node("slave").form(Program, "other").which == "5.5.0"
    assert found.replacements == {"slave": "5.5.0"}


def test_a_nodes_program_can_be_replaced_where_the_target_has_another_one() -> None:
    upgrade = [Op("fault", {"name": "upgrade"})]
    for name, lacks in (("rocketmq@4.9.7..5.5.0", []), ("rocketmq-4.9.7", [CanReplaceImage])):
        place = Hosted(PROCESS, resolve.target(name))
        assert lacking(place, upgrade, resolve.faults(), resolve.operations()) == lacks


# Its jars


def test_a_home_brings_its_jars_and_a_version_that_is_not_installed_says_how_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path / "tools"))
    assert install.Home(home(tmp_path / "home")).install() == tmp_path / "home" / "lib"
    with pytest.raises(LabError, match=r"no RocketMQ 4\.9\.8: run: pairproof labs install rocketmq@4\.9\.8 \("):
        labs.tool("rocketmq@4.9.8").find()
    (tmp_path / "home" / "lib" / "rocketmq-broker-4.9.7.jar").touch()
    with pytest.raises(UsageError, match="more than one lib/rocketmq-broker"):
        install.Home(tmp_path / "home")


@pytest.mark.parametrize(
    "said", ["Could not find artifact o.a:rocketmq-broker:jar:4.9.8", "it was not found in central"]
)
def test_a_release_that_mavens_repository_lacks_is_told_apart_from_a_network_that_fails(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path / "tools"))
    maven = tmp_path / "mvn"
    maven.write_text(f'#!/bin/sh\necho "{said}"; exit 1\n')
    maven.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(maven))
    jars = r" \(no rocketmq-broker\)" if "jar" in said else ""
    with pytest.raises(
        UsageError, match=rf"not have all jars of RocketMQ 4\.9\.8{jars}; it has those of 4\.9\.7 and 5\.0\.0\. If"
    ):
        labs.tool("rocketmq@4.9.8").install()


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
    with pytest.raises(LabError, match=r"could not fetch RocketMQ 4\.9\.7: no such host; is the network available"):
        V4.install()
    assert [each.name for each in (tmp_path / "tools").iterdir()] == [".gitignore"]
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    maven.write_text(
        '#!/bin/sh\nfor each in "$@"; do case $each in -DoutputDirectory=*) mkdir "${each#*=}";; esac; done\n'
    )
    with pytest.raises(LabError, match=r"Maven fetched other jars than those of RocketMQ 4\.9\.7 that were measured"):
        V4.install()
    assert [each.name for each in (tmp_path / "tools").iterdir()] == [".gitignore"]
    monkeypatch.setitem(install.DIGESTS, "4.9.7", tools.digest(nothing))
    assert V4.install() == V4.find() == JARS["4.9.7"].find()
    assert V4.find().parent == tmp_path / "tools"


def test_jars_of_a_measured_release_are_those_that_were_measured_whenever_they_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path / "tools"))
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "rocketmq-broker-4.9.7.jar").write_bytes(b"measured")
    monkeypatch.setitem(install.DIGESTS, "4.9.7", tools.digest(tmp_path / "jars"))
    monkeypatch.setattr(install, "maven", lambda arguments, *_: shutil.copytree(tmp_path / "jars", arguments[-1][18:]))
    placed = V4.install()
    assert V4.find() == placed and rocketmq.V4.digests == {"4.9.7": install.DIGESTS["4.9.7"]}
    (placed / "rocketmq-broker-4.9.7.jar").write_bytes(b"MEASURED")
    with pytest.raises(LabError, match=rf"\({placed} was changed after its installation\): run: pairproof"):
        V4.find()
    assert V4.install() == placed and (placed / "rocketmq-broker-4.9.7.jar").read_bytes() == b"measured"


def test_jars_of_another_release_in_a_checkout_are_those_that_this_user_has_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAIRPROOF_TOOLS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "project")
    other = labs.tool("rocketmq@4.9.6")
    made = home(tmp_path / "home") / "lib"
    monkeypatch.setattr(install, "maven", lambda arguments, *_: shutil.copytree(made, arguments[-1][18:]))
    placed = other.install()
    assert other.find() == placed and placed.is_relative_to(tmp_path / "project" / ".tools")
    assert resolve.digests(resolve.target("rocketmq@4.9.6")) == {"digests": {"4.9.6": tools.digest(made)}}
    (placed / "evil.jar").touch()
    with pytest.raises(LabError, match="was changed after its installation"):
        other.find()
    assert resolve.digests(resolve.target("rocketmq@4.9.6")) == {}
    # In the user's own folder nobody else has put anything.
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path / "project" / ".tools"))
    assert other.find() == placed


@pytest.mark.parametrize("target", ["rocketmq-4.9.7", "rocketmq-5.5.0", "rocketmq-4.9.7-reference", "reference"])
def test_searches_draw_no_fault_that_only_a_seam_could_do(target: str) -> None:
    drawn = resolve.drawn(Hosted(resolve.lab("process"), resolve.target(target)))
    hooks = {"disk_stall", "slow_disk", "lying_flush", "dispatch_stall", "clock_skew", "retention"}
    assert drawn.keys() & hooks == (hooks if "reference" in target else set())
    keeps = {"none", "all", "half", "hole"} if "reference" in target else {"none", "all"}
    assert set(drawn["power_loss"].arguments["keep"]) == keeps, "nobody knows what a black box has flushed"
