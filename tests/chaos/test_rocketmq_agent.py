"""The agent for Java brokers: which targets have it, what they can then do, and how its jar is found."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pairproof.chaos.labs.real import control
from pairproof.chaos.rocketmq.agent import tool
from pairproof.chaos.rocketmq.outside.dates import dated
from pairproof.chaos.targets import rocketmq
from pairproof.chaos.targets.rocketmq import RocketMQTarget
from pairproof.harness.errors import LabError
from pairproof.harness.history import kinds
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted

PROCESS = resolve.lab("process")
HOOKS = {"disk_stall", "slow_disk", "lying_flush", "dispatch_stall", "clock_skew", "retention"}


@pytest.mark.parametrize("name", ["rocketmq@4.9.7+agent", "rocketmq@5.5.0+agent", "rocketmq@4.9.8,reference+agent"])
def test_a_target_with_the_agent_says_so_in_its_name_which_findings_keep(name: str) -> None:
    found = resolve.target(name)
    assert isinstance(found, RocketMQTarget) and found.has_agent and found.name == name
    assert found != rocketmq.V4 and not rocketmq.V4.has_agent


def test_what_the_agent_reaches_can_be_drawn_and_the_rest_cannot() -> None:
    drawn = resolve.drawn(Hosted(PROCESS, resolve.target("rocketmq@5.5.0+agent")))
    assert drawn.keys() & HOOKS == HOOKS - {"clock_skew", "retention"}
    assert {"half", "hole"} <= set(drawn["power_loss"].arguments["keep"])


def test_only_flushes_are_told_from_the_inside() -> None:
    with_it, without = resolve.target("rocketmq@4.9.7+agent"), rocketmq.V4
    assert PROCESS.observes(with_it) - PROCESS.observes(without) == {"flush"}


def test_the_agent_and_the_lab_mean_the_same_numbers() -> None:
    source = tool.SOURCE.joinpath("pairproof/Seams.java").read_text(encoding="utf-8")
    found = {name.lower(): int(at) for name, at in re.findall(r"\b([A-Z_]+) = (\d+)[,;]", source)}
    # The points have the same order in what is set and in what is counted.
    assert [found[each] - found["append_at"] for each in control.STOPS_AT.values()] == [0, 1, 2, 3]
    assert [control.FIELDS.index(each) - found["append_passed"] for each in control.PASSED.values()] == [0, 1, 2, 3]
    assert {each: found[each] for each in tool.HOOKS} == {each: control.FIELDS.index(each) for each in tool.HOOKS}
    for counter in ("held", "slowed", "lied", "dispatches_held", "append_passed", "stops"):
        assert found[counter] == control.FIELDS.index(counter)
    assert found["fields"] == len(control.FIELDS)


def test_an_append_is_dated_no_later_than_its_flush() -> None:
    start = kinds()["start"](0, 5, "start", "master", 1, f="unknown", lo=0, hi=0)
    append = kinds()["append"](0, 90, "append", "master", 1, lo=0, hi=10, digest=1, f="put")
    flush = kinds()["flush"](0, 40, "flush", "master", 1, hi=10)
    order = [(each.kind, each.t) for each in dated([start, append, flush], {("master", 1): 1})]
    assert order == [("start", 5), ("append", 40), ("flush", 40)]


def test_without_its_jar_or_maven_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path))
    with pytest.raises(LabError, match=r"no agent for RocketMQ: run: pairproof labs install rocketmq-agent \(needs a"):
        tool.flags(tmp_path / "control", tmp_path / "trace")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(LabError, match="there is no mvn"):
        tool.TOOL.install()
    assert [each.name for each in tmp_path.iterdir()] == [".gitignore"]


def test_what_maven_says_is_told_and_a_built_jar_is_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRPROOF_TOOLS", str(tmp_path / "tools"))
    maven = tmp_path / "mvn"
    monkeypatch.setattr(shutil, "which", lambda name: str(maven))
    maven.write_text('#!/bin/sh\necho "no such host"; exit 1\n')
    maven.chmod(0o755)
    with pytest.raises(LabError, match="Maven could not build the agent: no such host; is the network available"):
        tool.TOOL.install()
    maven.write_text(f'#!/bin/sh\nfor each; do case $each in */pom.xml) cd "${{each%/*}}";; esac; done\n'
                     f'mkdir target && cat pairproof/*.java > {tool.BUILT}\n')  # fmt: skip
    assert tool.TOOL.install() == tool.TOOL.find()
    assert tool.TOOL.find().parent == tmp_path / "tools"
