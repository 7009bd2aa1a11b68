""".ci/engine with programs that only take notes: what it starts it stops, what was there it leaves alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "engine"
TOOLS = (
    "sh", "cat", "date", "dirname", "grep", "kill", "mkdir", "realpath", "rm", "sed", "setsid", "sleep", "tail",
    "timeout", "touch",
)  # fmt: skip
NOTING = '#!/bin/sh\necho "${0##*/} $*" >> "$NOTES"\n'
FAKES = {
    "docker": 'case "$1" in version) [ -e "$UP" ] ;; compose) [ -n "$COMPOSES" ] ;; esac\n',
    "dockerd": """
[ -z "$BROKEN" ] || { echo "first"; echo "no cgroups here"; exit 1; }
echo $$ > "$2"
[ -n "$SLOW" ] || touch "$UP"
trap 'rm -f "$UP" "$2"; exit 0' TERM
while :; do sleep 0.02; done
""",
    "id": "echo $UID_HERE\n",
    "apt-get": 'case "$*" in *install*) [ -z "$BROKEN" ] || { echo \'E: no such package\'; exit 1; } ;; esac\n',
    "apt-cache": '[ -n "$LATER" ]\n',
    "mmdebstrap": "",
    "ip": "",
    "iptables": "[ \"$1\" != -S ] || echo '-P FORWARD ACCEPT'\n",
    "iptables-save": "printf '%s\\n' '-A INPUT -j DROP' '-N DOCKER' '-A F -o docker0 -j X' '-A X -i br-0123456789ab'\n",
    "iptables-restore": 'cat >> "$NOTES"\n',
}


class Ran(NamedTuple):
    code: int
    said: str
    notes: list[str]


class Machine:
    """A PATH of its own with programs that take notes; real are only those that do no harm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.state = folder / "state"
        self.bin.mkdir()
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.bin / tool).symlink_to(found)
        for name, text in FAKES.items():
            (self.bin / name).write_text(NOTING + text)
            (self.bin / name).chmod(0o755)

    def run(self, what: str, **environ: str) -> Ran:
        notes = self.folder / "notes"
        notes.write_text("")
        given = {
            "PATH": str(self.bin), "NOTES": str(notes), "UP": str(self.folder / "up"), "UID_HERE": "0", "BROKEN": "",
            "COMPOSES": "yes", "LATER": "", "SLOW": "", "PAIRPROOF_ENGINE": str(self.state), **environ,
        }  # fmt: skip
        done = subprocess.run(
            ["sh", str(SCRIPT), what],
            env=given,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout + done.stderr, notes.read_text().splitlines())

    def lives(self) -> bool:
        return (self.state / "pid").exists()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    with suppress(OSError):
        os.kill(int((made.state / "pid").read_text()), signal.SIGKILL)


def called(ran: Ran, name: str) -> list[str]:
    return [line.partition(" ")[2] for line in ran.notes if line.startswith(name + " ")]


def test_one_that_answers_already_is_left_alone(machine: Machine) -> None:
    (machine.folder / "up").touch()
    started, stopped = machine.run("start"), machine.run("stop")
    assert (started.code, stopped.code) == (0, 0)
    assert "one answers already" in started.said and "none was started from here" in stopped.said
    assert {line.split()[0] for line in started.notes + stopped.notes} == {"docker"}
    assert (machine.folder / "up").exists() and not machine.state.exists()


def test_what_was_started_is_stopped_and_its_rules_are_taken_back(machine: Machine) -> None:
    started = machine.run("start")
    assert started.code == 0 and "engine: started, process" in started.said, started.said
    assert called(started, "dockerd") == [f"--pidfile {machine.state}/pid"] and called(started, "apt-get") == []
    assert "one answers already" in machine.run("start").said
    pid = int((machine.state / "pid").read_text())
    stopped = machine.run("stop")
    assert stopped.code == 0 and f"stopped process {pid}" in stopped.said, stopped.said
    assert is_over(pid)
    assert [line for line in stopped.notes if line.startswith("-")] == ["-A INPUT -j DROP"]
    assert stopped.notes[-1] == "iptables -P FORWARD ACCEPT"
    assert sorted(each.name for each in machine.state.iterdir()) == [".gitignore", "log"]
    assert "none was started from here" in machine.run("stop").said


def is_over(pid: int) -> bool:
    """Whether a process ends soon, or has ended and its parent does not know yet."""
    for _ in range(500):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z"):
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_one_that_ends_or_never_answers_is_said_with_its_last_line(machine: Machine) -> None:
    broken = machine.run("start", BROKEN="yes")
    assert broken.code == 1 and broken.said.strip() == "engine: dockerd cannot run here: no cgroups here"
    assert "iptables-restore " in broken.notes and not machine.lives()
    text = SCRIPT.read_text().replace("ready_limit=60", "ready_limit=0").replace('cd "$(dirname "$0")/.."', ":")
    (machine.folder / "engine").write_text(text)
    hasty = subprocess.run(
        ["sh", str(machine.folder / "engine"), "start"],
        env={"PATH": str(machine.bin), "NOTES": str(machine.folder / "notes"), "UP": str(machine.folder / "up"),
             "UID_HERE": "0", "COMPOSES": "yes", "SLOW": "yes", "PAIRPROOF_ENGINE": str(machine.state)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert hasty.returncode == 1 and "dockerd is not ready after 0 s" in hasty.stderr
    assert not machine.lives()


@pytest.mark.parametrize(
    ("gone", "later", "wanted"),
    [
        (["mmdebstrap"], "", "mmdebstrap"),
        (["docker"], "yes", "docker-compose docker-cli"),
        (["dockerd", "docker", "mmdebstrap"], "", "docker.io iptables iproute2 mmdebstrap docker-compose"),
        (["dockerd", "docker"], "yes", "docker.io iptables iproute2 docker-compose docker-cli"),
    ],
)
def test_what_is_missing_comes_by_apt_and_no_more(machine: Machine, gone: list[str], later: str, wanted: str) -> None:
    for each in gone:
        (machine.bin / each).rename(machine.folder / each)
    ran = machine.run("start", LATER=later, BROKEN="yes")
    assert called(ran, "apt-get")[-1] == f"-qq install -y --no-install-recommends {wanted}"
    assert ran.code == 1 and ran.said.splitlines()[-1] == f"engine: could not install {wanted}: E: no such package"
    other = machine.run("start", UID_HERE="1000")
    assert other.code == 1 and "not root with apt to install it" in other.said and called(other, "apt-get") == []


def test_without_root_none_is_started(machine: Machine) -> None:
    ran = machine.run("start", UID_HERE="1000")
    assert ran.code == 1 and "only root can start one; start one, or set DOCKER_HOST" in ran.said
    assert called(ran, "dockerd") == []


def test_it_says_how_it_is_used(machine: Machine) -> None:
    assert machine.run("status").code == 1 and "start|stop" in machine.run("").said
