"""The pair in containers, if an engine answers here: sends from outside, a cut link, a killed master, nothing left."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "compose"
VARIABLES = (
    "TOXIPROXY_PORT", "NAMES_PORT", "MASTER_PORT", "SLAVE_PORT", "SLAVE2_PORT", "SLAVE3_PORT", "OTHER_PORT",
)  # fmt: skip
PROJECT = f"pairproof-test-{os.getpid()}"
ASK_S = 20
STEP_S = 120
IMAGES_S = 500
SETTLED_S = 60
"""A slave that reconnects reports after 5 s; a broker that could not register tries again after 30 s."""
LINE = re.compile(r"\d\d:\d\d:\d\d  (.{20}) +\d+ ms   queue (\d): master has (\S+), slave (\S+)")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


class Line(NamedTuple):
    """One of send.py's."""

    status: str
    queue: str
    master: str
    slave: str


def ran(*command: str, limit_s: float, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
        cwd=ROOT,
    )


def composer() -> list[str]:
    """The command of whatever Compose there is."""
    if not shutil.which("docker"):
        pytest.skip("NO CONTAINERS ARE TESTED: there is no docker command here")
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and ran(*command, "version", limit_s=ASK_S).returncode == 0:
            return command
    pytest.skip("NO CONTAINERS ARE TESTED: there is no Docker Compose here")


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Pair:
    """A project of its own, on ports of its own."""

    def __init__(self, command: list[str]) -> None:
        self.ports = dict(zip(VARIABLES, free_ports(len(VARIABLES)), strict=True))
        self.environ = {**os.environ, **{key: str(port) for key, port in self.ports.items()}}
        self._command = [*command, "-f", str(COMPOSE / "compose.yaml"), "-p", PROJECT]

    def compose(self, *arguments: str) -> str:
        done = ran(*self._command, *arguments, limit_s=STEP_S, environ=self.environ)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def send(self, count: int) -> list[Line]:
        names = f"127.0.0.1:{self.ports['NAMES_PORT']}"
        done = ran(
            sys.executable, str(COMPOSE / "send.py"), "--names", names, "--every", "0.1", "--count", str(count),
            limit_s=STEP_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = [Line(*(each.strip() for each in line)) for line in LINE.findall(done.stdout)]
        assert len(found) == count, done.stdout
        return found

    def settle(self) -> Line:
        """Send until a send is acknowledged and on the slave; how that one ended."""
        ends = time.monotonic() + SETTLED_S
        while True:
            line = self.send(1)[0]
            if (line.status == "PUT_OK" and line.slave == line.master) or time.monotonic() > ends:
                return line

    def switch(self, proxy: str, enabled: bool) -> None:
        url = f"http://127.0.0.1:{self.ports['TOXIPROXY_PORT']}/proxies/{proxy}"
        with requests.Session() as session:
            session.trust_env = False
            session.post(url, json={"enabled": enabled}, timeout=ASK_S).raise_for_status()


def belongings() -> dict[str, str]:
    """What the engine has of this project, by kind."""
    mark = f"label=com.docker.compose.project={PROJECT}"
    listed = {"containers": ["ps", "-a"], "volumes": ["volume", "ls"], "networks": ["network", "ls"]}
    return {kind: ran("docker", *each, "-q", "--filter", mark, limit_s=ASK_S).stdout for kind, each in listed.items()}


@pytest.fixture(scope="module")
def pair(needs_engine: None) -> Iterator[Pair]:
    made = Pair(composer())
    images = ran("sh", str(COMPOSE / "images.sh"), limit_s=IMAGES_S)
    if images.returncode:
        pytest.skip(f"NO CONTAINERS ARE TESTED: no images can be made here: {images.stderr.strip().splitlines()[-1]}")
    try:
        made.compose("up", "-d")
        yield made
    finally:
        made.compose("down", "-v", "-t", "2")
        assert not any(belongings().values())


def test_sends_from_outside_reach_master_and_slave(pair: Pair) -> None:
    assert pair.settle().status == "PUT_OK"
    assert all(belongings().values())


def test_a_cut_between_them_keeps_messages_from_the_slave_until_it_ends(pair: Pair) -> None:
    assert pair.settle().status == "PUT_OK"
    pair.switch("ha", False)
    during = pair.send(2)
    pair.switch("ha", True)
    assert all(line.status in ("SLAVE_NOT_AVAILABLE", "FLUSH_SLAVE_TIMEOUT") for line in during)
    assert all(int(line.slave) < int(line.master) for line in during)
    after = pair.settle()
    assert after.status == "PUT_OK" and after.slave == after.master


def test_clients_come_through_the_proxies_only(pair: Pair) -> None:
    assert pair.settle().status == "PUT_OK"
    pair.switch("client-master", False)
    during = pair.send(1)[0]
    pair.switch("client-master", True)
    assert during.master == "-" and during.slave != "-" and during.status != "PUT_OK"


def test_a_killed_master_comes_back_with_what_it_had(pair: Pair) -> None:
    before = pair.settle()
    pair.compose("kill", "-s", "SIGKILL", "master")
    pair.compose("start", "master")
    after = pair.settle()
    assert after.status == "PUT_OK"
    held = {line.queue: int(line.master) for line in pair.send(4)}
    assert held[before.queue] > int(before.master)


def test_the_network_of_the_nodes_has_no_way_out(pair: Pair) -> None:
    (cluster,) = json.loads(ran("docker", "network", "inspect", f"{PROJECT}_cluster", limit_s=ASK_S).stdout)
    (edge,) = json.loads(ran("docker", "network", "inspect", f"{PROJECT}_edge", limit_s=ASK_S).stdout)
    assert cluster["Internal"] and len(cluster["Containers"]) == 4
    assert not edge["Internal"] and len(edge["Containers"]) == 1
