"""``labs install`` makes tools ready, ``labs clean`` removes what was left behind, the list says where tools are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness import registry
from pairproof.harness.commands.main import main
from pairproof.harness.errors import LabError, UsageError
from pairproof.harness.trials import resolve


class Hammer:
    """A tool that is missing until it is installed."""

    name = "hammer"
    about = "drives nails"

    def __init__(self) -> None:
        self.there = False

    def find(self) -> Path:
        if not self.there:
            raise LabError("no hammer: run: pairproof labs install hammer")
        return Path("bin/hammer")

    def install(self) -> Path:
        self.there = True
        return self.find()


class Saw(Hammer):
    """A tool that cannot be installed."""

    name = "saw"

    def install(self) -> Path:
        raise LabError("there is no smith; find one")


class Tidy:
    """A lab that leaves nothing behind: it has no ``clean``."""

    def open(self) -> None: ...

    def observes(self, target: object) -> frozenset[str]:
        return frozenset()


class Untidy(Tidy):
    """A lab that left a socket and a mount behind."""

    def __init__(self) -> None:
        self.behind = ["socket", "mount"]

    def clean(self) -> list[str]:
        found, self.behind = self.behind, []
        return [f"{each} removed" for each in found]


class Broken(Untidy):
    """A lab that cannot clean up."""

    def clean(self) -> list[str]:
        raise LabError("cannot unmount; run it as root")


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What is registered instead: groups of names."""
    groups: dict[str, dict[str, Any]] = {
        "tools": {"hammer": Hammer(), "saw": Saw()},
        "labs": {"tidy": Tidy(), "untidy": Untidy()},
    }
    names, find, described = registry.names, registry.find, registry.described

    def find_here(group: str, name: str) -> object:
        return groups.get(group, {}).get(name) or find(group, name)

    monkeypatch.setattr(registry, "names", lambda group: sorted(groups[group]) if group in groups else names(group))
    monkeypatch.setattr(registry, "find", find_here)
    monkeypatch.setattr(registry, "described", lambda group, name: "" if group in groups else described(group, name))
    return groups


def test_a_tool_is_installed_and_then_found(others: Any, capsys: Any) -> None:
    def hammer() -> Any:
        assert main(["labs", "--json"]) == 0
        return next(each for each in json.loads(capsys.readouterr().out)["tools"] if each["id"] == "hammer")

    missing = "no hammer: run: pairproof labs install hammer"
    assert hammer() == {"id": "hammer", "about": "drives nails", "path": None, "missing": missing}
    assert main(["labs"]) == 0
    assert missing in capsys.readouterr().out
    assert main(["labs", "install", "hammer"]) == 0
    assert capsys.readouterr().out == "hammer: bin/hammer\n"
    assert hammer() == {"id": "hammer", "about": "drives nails", "path": "bin/hammer", "missing": None}


def test_what_labs_have_left_behind_is_removed_and_named(others: Any, capsys: Any) -> None:
    assert main(["labs", "clean"]) == 0
    assert capsys.readouterr().out == "untidy: socket removed\nuntidy: mount removed\n"
    assert main(["labs", "clean"]) == 0
    assert capsys.readouterr().out == "nothing was left behind\n"


def test_what_was_removed_before_a_failure_is_said(others: Any, capsys: Any) -> None:
    others["labs"]["zebra"] = Broken()
    assert main(["labs", "clean"]) == 4
    said = capsys.readouterr()
    assert (said.out.count("removed"), said.err) == (2, "pairproof: cannot unmount; run it as root\n")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (["install", "nail"], 2, "pairproof: unknown tool 'nail'; valid: "),
        (["install", "saw"], 4, "pairproof: there is no smith; find one"),
        (["install"], 2, "pairproof: Missing argument 'NAME'"),
        (["nail"], 2, "pairproof: No such command 'nail'"),
        (["--json", "-", "clean"], 2, "pairproof: --json is for the list only, not with clean; leave it out"),
    ],
)
def test_wrong_usage_and_failures_are_one_line(others: Any, capsys: Any, line: list[str], code: int, said: str) -> None:
    assert main(["labs", *line]) == code
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(said) and told.err.count("\n") == 1


def test_labs_list_the_targets_that_they_run_and_refuse_the_others_before_anything_is_made(
    tmp_path: Path, capsys: Any
) -> None:
    assert main(["labs", "--json"]) == 0
    listed = {each["id"]: set(each["observes"]) for each in json.loads(capsys.readouterr().out)["labs"]}
    assert listed["sim"] == {"reference", "rocketmq-4.9.7@model", "rocketmq-5.5.0@model"} < listed["process"]
    for command in (["check"], ["chaos", "run", "slave-lag"]):
        assert main([*command, "--target", "rocketmq-4.9.7", "--runs", str(tmp_path / "runs")]) == 2
        said = capsys.readouterr().err
        assert "lab sim does not run target rocketmq-4.9.7; labs that do: docker, process" in said
    assert not (tmp_path / "runs").exists()


def test_a_lab_that_does_not_run_a_target_plays_its_model() -> None:
    sim, process, java = resolve.lab("sim"), resolve.lab("process"), resolve.target("rocketmq-4.9.7")
    assert resolve.playable(process, java) is java
    assert resolve.playable(sim, java).name == "rocketmq-4.9.7@model"
    with pytest.raises(UsageError, match="lab sim does not run target"):
        resolve.playable(sim, resolve.target("rocketmq-4.9.7-reference"))
