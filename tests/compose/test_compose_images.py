"""images.sh with an engine that only takes notes: which base it takes, and what it says when it cannot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "compose" / "images.sh"
TOOLS = ("sh", "cat", "dirname", "mktemp", "mv", "rm", "tar", "timeout")
ENGINE = """#!/bin/sh
echo "$*" >> "$NOTES"
case "$1" in
  version) exit "$ALIVE" ;;
  image) case " $HERE " in *" $3 "*) exit 0 ;; *) exit 1 ;; esac ;;
  pull) exit "$PULLS" ;;
  build) tar -t >> "$NOTES"; test "$BUILDS" = 0 || echo "no room"; exit "$BUILDS" ;;
  import) cat > "$NOTES.tar" ;;
esac
"""
MMDEBSTRAP = """#!/bin/sh
echo "mmdebstrap $*" >> "$NOTES"
for last; do :; done
echo base > "$last"
"""
GO = """#!/bin/sh
echo "go $*" >> "$NOTES"
: > "$GOBIN/server" && : > "$GOBIN/cli"
"""


class Ran(NamedTuple):
    code: int
    said: str
    notes: str


class Machine:
    """A PATH of its own, with an engine; ``mmdebstrap`` and ``go`` if they are put there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None, tool
            (self.bin / tool).symlink_to(found)
        self.put("docker", ENGINE)

    def put(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, **environ: str) -> Ran:
        notes = self.folder / "notes"
        notes.write_text("")
        given = {"ALIVE": "0", "HERE": "", "PULLS": "1", "BUILDS": "0", "TMPDIR": str(self.folder), **environ}
        done = subprocess.run(
            ["sh", str(SCRIPT)],
            env={"PATH": str(self.bin), "NOTES": str(notes), **given},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert list(self.folder.glob("tmp*")) == []
        return Ran(done.returncode, done.stdout + done.stderr, notes.read_text())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_where_a_registry_answers_the_official_images_are_the_bases(machine: Machine) -> None:
    ran = machine.run(PULLS="0")
    assert ran.code == 0
    assert "BASE_IMAGE=python:3.11-slim-bookworm -t pairproof-node:dev -" in ran.notes
    assert "BASE_IMAGE=ghcr.io/shopify/toxiproxy:2.12.0 -t pairproof-toxiproxy:2.12.0 -" in ran.notes
    assert "import" not in ran.notes


def test_where_none_answers_bases_are_made_once(machine: Machine) -> None:
    machine.put("mmdebstrap", MMDEBSTRAP)
    machine.put("go", GO)
    ran = machine.run()
    assert ran.code == 0, ran.said
    assert "BASE_IMAGE=pairproof-base:bookworm" in ran.notes
    assert "BASE_IMAGE=pairproof-toxiproxy-base:2.12.0" in ran.notes
    assert ran.notes.count("mmdebstrap --") == 1 and ran.notes.count("\nimport ") == 2
    again = machine.run(HERE="pairproof-base:bookworm pairproof-toxiproxy-base:2.12.0")
    assert again.code == 0
    assert "mmdebstrap --" not in again.notes and "go install" not in again.notes


def test_bases_that_are_named_are_taken_unseen(machine: Machine) -> None:
    ran = machine.run(BASE_IMAGE="mine:1", TOXIPROXY_IMAGE="proxy:1")
    assert ran.code == 0
    assert "BASE_IMAGE=mine:1" in ran.notes and "BASE_IMAGE=proxy:1" in ran.notes
    assert "pull --quiet" not in ran.notes


def test_without_the_command_the_line_says_so_and_not_that_no_engine_answers(machine: Machine) -> None:
    (machine.bin / "docker").unlink()
    assert machine.run().said.startswith("images.sh: there is no docker command: install it")


def test_what_had_the_names_before_goes_and_nothing_else(machine: Machine) -> None:
    notes = machine.run(BASE_IMAGE="mine:1", TOXIPROXY_IMAGE="proxy:1").notes.splitlines()
    assert [each for each in notes if "prune" in each] == ["image prune --force --filter label=pairproof.image"]
    failed = machine.run(BASE_IMAGE="mine:1", TOXIPROXY_IMAGE="proxy:1", BUILDS="1")
    assert failed.code == 1 and "prune" not in failed.notes


def test_the_builder_gets_rooms_and_no_more(machine: Machine) -> None:
    notes = machine.run(BASE_IMAGE="mine:1", TOXIPROXY_IMAGE="proxy:1").notes.splitlines()
    assert {"pairproof/__init__.py", "reference/core/broker.py", "compose/node.py", "toxiproxy.json"} <= set(notes)
    assert not [each for each in notes if each.startswith((".git", ".venv", "runs")) or "__pycache__" in each]
    assert not [each for each in notes if each.startswith("pairproof/harness")], "and no room twice"


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"ALIVE": "1"}, "no Docker engine answers: start one"),
        ({}, "there is no mmdebstrap: install it, or set BASE_IMAGE"),
        ({"BASE_IMAGE": "mine:1"}, "there is no go: install it, or set TOXIPROXY_IMAGE"),
        ({"BASE_IMAGE": "mine:1", "TOXIPROXY_IMAGE": "p:1", "BUILDS": "1"}, "docker build -f compose/node.Dockerfile"),
    ],
)
def test_what_is_missing_is_said_with_the_remedy(machine: Machine, environ: dict[str, str], words: str) -> None:
    ran = machine.run(**environ)
    assert ran.code == 1
    assert ran.said.splitlines()[-1].startswith("images.sh: ") and words in ran.said
