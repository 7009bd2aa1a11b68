"""The action's shell steps, executed in an empty environment as a build would, and the snippets of the guide."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml

from pairproof.harness.commands.check import command as check
from pairproof.harness.commands.main import main

ROOT = Path(__file__).resolve().parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GUIDE = (ROOT / "docs" / "guide" / "ci.md").read_text(encoding="utf-8")
LIMIT_S = 600


def shell(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in ACTION["runs"]["steps"] if each.get("name") == name)
    assert found["shell"] == "bash"
    return found


def execute(name: str, folder: Path, python: Path, **given: str) -> tuple[int, dict[str, str]]:
    """What a build does with a step: its inputs, variables, and what it says besides."""
    inputs = {each: str(about.get("default", "")) for each, about in ACTION["inputs"].items()} | given
    step, out, summary = shell(name), folder / "output", folder / "summary.md"
    out.touch()
    wanted = {
        variable: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], told)
        for variable, told in step.get("env", {}).items()
    }
    environment = {
        **os.environ, **wanted, "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(out), "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(summary), "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=folder, env=environment,
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    told = dict(line.partition("=")[::2] for line in out.read_text().splitlines())
    return done.returncode, told | {"said": done.stdout + done.stderr}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment into which the action has installed the package."""
    made = tmp_path_factory.mktemp("environment")
    venv.create(made, with_pip=True)
    python = made / "bin" / "python"
    code, told = execute("install", tmp_path_factory.mktemp("install"), python)
    assert code == 0, told["said"]
    return python


@pytest.mark.slow
@pytest.mark.timeout(LIMIT_S)
def test_a_build_is_green_or_red_and_says_why(python: Path, tmp_path: Path) -> None:
    green, red = tmp_path / "green", tmp_path / "red"
    for folder in (green, red):
        folder.mkdir()
    code, told = execute("check", green, python, trials="60")
    assert (code, told["exit-code"]) == (0, "0"), told["said"]
    assert "## " in (green / "summary.md").read_text()
    guilty = {"target": "reference+answers_before_flush", "trials": "20", "arguments": "--law ack-flushed"}
    code, told = execute("check", red, python, **guilty)
    assert (code, told["exit-code"]) == (1, "1")
    assert "::error" in told["said"]
    assert JUnitXml.fromfile(str(red / "pairproof-junit.xml")).failures == 1
    (run,) = (red / "pairproof-runs").iterdir()
    assert (run / "report" / "index.html").is_file()
    # What was found is kept, and the next build plays it first.
    pairproof = python.parent / "pairproof"
    subprocess.run(
        [pairproof, "cases", "add", run / "findings" / "0001.json"], cwd=red, check=True, capture_output=True
    )
    code, told = execute("check", red, python, **guilty, cases="cases")
    assert code == 1 and "1 REPRODUCED" in told["said"]


def test_arguments_are_no_patterns_and_the_artifact_has_a_name_that_an_upload_takes(tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "pairproof"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nfor each; do echo "<$each>"; done\nexit 3\n')
    fake.chmod(0o755)
    code, told = execute("check", tmp_path, fake.parent / "python", seed="a/b: c\n*", arguments="--law * --first")
    assert (code, told["exit-code"], told["artifact"]) == (3, "3", "pairproof-a-b--c--")
    assert told["said"].endswith("<--law>\n<*>\n<--first>\n") and "<a/b: c\n*>" in told["said"]
    uploaded = ACTION["runs"]["steps"][-1]["with"]["name"]
    assert uploaded == "${{ steps.check.outputs.artifact || 'pairproof' }}"


def test_what_the_action_uploads_is_what_it_writes() -> None:
    run, upload = shell("check")["run"], ACTION["runs"]["steps"][-1]["with"]["path"]
    for name in upload.split():
        assert name in run
    assert set(ACTION["inputs"]) == set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))


def test_snippets_of_the_guide_are_yaml_and_their_commands_exist() -> None:
    snippets = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)]
    assert len(snippets) == 3
    lines = [line for line in re.findall(r"pairproof (?:check|report) --?[^\n`]*", GUIDE) if "FILE" not in line]
    flags = {flag for each in check.params for flag in each.opts}
    asked = [word for line in lines if line.startswith("pairproof check") for word in shlex.split(line) if "--" in word]
    assert asked and set(asked) <= flags
    used = [
        name
        for snippet in snippets
        for job in snippet.get("jobs", {}).values()
        for step in job["steps"]
        if "pairproof@" in step.get("uses", "")
        for name in step.get("with", {})
    ]
    assert used and set(used) <= set(ACTION["inputs"])
    assert main(["report", "--help"]) == 0 and sys.version_info >= (3, 11)
