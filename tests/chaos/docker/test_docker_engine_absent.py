"""Engines that are not there, are too old, are elsewhere, or go away: always one line with the remedy, and no wait."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_engine import BREAKS_OFF, CLOSES, HANGS, VERSION, FakeEngine

from pairproof.chaos.labs.docker import containers, engine
from pairproof.chaos.labs.docker.connection import Connection, Refused
from pairproof.chaos.labs.docker.containers import Bind
from pairproof.chaos.labs.docker.engine import Engine
from pairproof.harness.errors import LabError

NOBODY = 65534
GARBAGE = b"SSH-2.0-OpenSSH_9.2\r\n"
ID = "0123456789ab" * 5
CONTAINER = {"State": {"Running": True, "Paused": False, "ExitCode": 0, "OOMKilled": False, "Pid": os.getpid()}}


def said(why: pytest.ExceptionInfo[LabError]) -> str:
    text = str(why.value)
    assert "\n" not in text and len(text) < 400
    return text


@contextmanager
def somebody_else() -> Iterator[None]:
    """Without root's right to pass all permissions."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


def test_where_nothing_is_the_line_says_where_it_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(LabError) as why:
        Engine()
    assert said(why).startswith("no Docker engine answers at unix:///nonexistent/docker.sock (No such file")
    assert "start one, or set DOCKER_HOST" in said(why)


@pytest.mark.parametrize("host", ["unix://{}", "tcp://127.0.0.1:1", "ssh://127.0.0.1:1", "nonsense://x", "tcp://:x"])
def test_addresses_where_nobody_listens_or_that_are_none(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    monkeypatch.setenv("DOCKER_HOST", host.format(path))
    with pytest.raises(LabError, match="start one, or set DOCKER_HOST"):
        Engine()


def test_a_socket_without_permission_is_told_from_none(fake: FakeEngine) -> None:
    fake.path.parent.chmod(0o755)
    fake.path.chmod(0)
    with somebody_else(), pytest.raises(LabError) as why:
        Engine()
    assert said(why).startswith("no permission for the Docker engine") and "join its group" in said(why)
    fake.path.chmod(0o600)
    Engine().close()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((500, {"message": "no space\nleft"}), "the Docker engine cannot say its version: no space left; the engine"),
        ((200, []), "is not a Docker engine"),
        ((200, {"ApiVersion": "x", "MinAPIVersion": "1.12"}), "is not a Docker engine"),
        ((200, {**VERSION, "ApiVersion": "1.40"}), "is older than 20.10 (API 1.41): install a later one"),
        (CLOSES, "(Remote end closed connection without response): start one"),
        (GARBAGE, "no Docker engine answers at unix://"),
        (HANGS, "(not within 0.2 s): start one"),
    ],
)
def test_what_answers_otherwise_is_no_engine(
    fake: FakeEngine, monkeypatch: pytest.MonkeyPatch, answer: Any, words: str
) -> None:
    monkeypatch.setattr(Connection.ask, "__defaults__", (0.2,))
    fake.answers["GET /version"] = answer
    with pytest.raises(LabError) as why:
        Engine()
    assert words in said(why)


@pytest.mark.parametrize(("oldest", "spoken"), [("1.12", "v1.41"), ("1.44", "v1.44")])
def test_the_oldest_api_that_both_know_is_spoken(fake: FakeEngine, oldest: str, spoken: str) -> None:
    fake.answers["GET /version"] = (200, {**VERSION, "ApiVersion": "1.52", "MinAPIVersion": oldest})
    fake.answers["GET /info"] = (200, {})
    Engine().ask("say", lambda client: client.info())
    assert fake.paths[-1] == f"/{spoken}/info"


def test_an_engine_that_has_gone_fails_every_call(fake: FakeEngine) -> None:
    fake.answers["GET /containers/json"] = (200, [])
    made = Engine()
    assert made.ask("list", lambda client: client.containers()) == []
    fake.stop()
    for _ in range(2):
        with pytest.raises(LabError) as why:
            made.clean(lambda lab: True)
        assert said(why).startswith("the Docker engine no longer answers: ")
    assert "run again" in said(why)


def test_one_that_hangs_is_waited_for_once(fake: FakeEngine) -> None:
    made = Engine()
    fake.answers["GET /info"] = HANGS
    for _ in range(3):
        with pytest.raises(LabError) as why:
            made.ask("say", lambda client: client.info(), 0.2)
        assert said(why).startswith("the Docker engine no longer answers: not within 0.2 s")
    assert fake.asked.count("GET /info") == 1
    fake.answers["GET /info"] = (200, {"Name": "x"})
    assert Engine().ask("say", lambda client: client.info()) == {"Name": "x"}


@pytest.mark.parametrize("answer", [CLOSES, GARBAGE, BREAKS_OFF, (500, {"message": "no"})])
def test_one_broken_answer_does_not_make_it_gone(fake: FakeEngine, answer: Any) -> None:
    made = Engine()
    fake.answers["POST /images/create"] = answer

    def pull(client: Any) -> Any:
        return [each["a"] for each in client.pull("x", "1", stream=True, decode=True)]

    with pytest.raises(LabError):
        made.ask("pull", pull, 5.0)
    fake.answers["GET /info"] = (200, {"Name": "x"})
    assert made.ask("say", lambda client: client.info()) == {"Name": "x"}


def test_calls_from_several_threads_share_no_session_and_do_not_wait_for_each_other(fake: FakeEngine) -> None:
    meeting = threading.Barrier(4)
    made = Engine()

    def meet() -> tuple[int, dict[str, int]]:
        meeting.wait(10)
        return 200, {"met": 1}

    fake.answers["GET /info"] = meet
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: made.ask("say", lambda client: (client.info(), client)), range(4)))
    assert [answer for answer, _ in found] == [{"met": 1}] * 4
    assert len({id(client) for _, client in found}) == 4


def test_an_engine_whose_networks_are_elsewhere_is_refused_and_keeps_nothing(fake: FakeEngine, tmp_path: Path) -> None:
    fake.answers["POST /networks/create"] = (201, {"Id": ID})
    fake.answers[f"DELETE /networks/{ID}"] = (204, None)
    with pytest.raises(LabError) as why:
        Engine().network(tmp_path)
    assert "are not this machine's" in said(why) and "set DOCKER_HOST" in said(why)
    assert fake.asked[-1] == f"DELETE /networks/{ID}"
    assert fake.bodies[-1]["Internal"] is True
    assert fake.bodies[-1]["Labels"] == {"pairproof.lab": str(tmp_path), "pairproof.view": engine._view()}


def test_an_engine_that_takes_no_network_is_asked_a_few_times_only(fake: FakeEngine, tmp_path: Path) -> None:
    fake.answers["POST /networks/create"] = (403, {"message": "Pool overlaps with other one on this address space"})
    with pytest.raises(LabError) as why:
        Engine().network(tmp_path)
    assert "Pool overlaps" in said(why) and "pairproof labs clean" in said(why)
    asked = {each["IPAM"]["Config"][0]["Subnet"] for each in fake.bodies}
    assert len(asked) == len(fake.bodies) == engine.TRIES
    fake.answers["POST /networks/create"] = (409, {"message": "name already exists"})
    with pytest.raises(Refused, match="name already exists"):
        Engine().network(tmp_path)
    assert len(fake.bodies) == engine.TRIES + 1


def test_networks_to_which_a_route_leads_are_left_alone(
    fake: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
    default, all_of_10 = "eth0 00000000 0100000A 3 0 0 0 00000000 0 0 0\n", "tun0 0000000A 0 1 0 0 0 000000FF 0 0 0\n"
    upper_half = "tun0 008012C6 0 1 0 0 0 0080FFFF 0 0 0\n"
    monkeypatch.setattr(engine, "ROUTES", tmp_path / "routes")
    (tmp_path / "routes").write_text(head + default)
    assert len(list(engine._free_subnets())) == 512
    (tmp_path / "routes").write_text(head + default + all_of_10 + upper_half)
    assert {str(each) for each in engine._free_subnets()} == {f"198.18.{each}.0/24" for each in range(128)}
    (tmp_path / "routes").write_text(head + all_of_10 + "tun0 000012C6 0 1 0 0 0 0000FFFF 0 0 0\n")
    with pytest.raises(LabError, match="routes of this machine lead to all of them"):
        Engine().network(tmp_path)
    assert fake.bodies == []


def made_by(fake: FakeEngine, lab: Path, **different: Any) -> containers.Container:
    fake.answers["POST /containers/create"] = (201, {"Id": ID})
    fake.answers[f"POST /containers/{ID}/start"] = (204, None)
    made = Engine()
    network = containers.Network(made, ID, "net", next(engine._free_subnets()))
    settings: dict[str, Any] = {"network": network, "address": network.address(11), "binds": [], "user": "1:2"}
    return made.container(lab, "master", "image:1", ["run"], **{**settings, "memory_mb": 64, **different})


def test_a_process_that_is_not_the_container_s_is_not_taken_for_it(
    fake: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "NOTICED_S", 0)
    fake.answers[f"GET /containers/{ID}/json"] = (200, CONTAINER)
    with pytest.raises(LabError) as why:
        made_by(fake, tmp_path).start()
    assert f"process {os.getpid()} " in said(why) and "must be this machine's own" in said(why)


def test_a_container_that_ends_at_once_leaves_its_last_lines(fake: FakeEngine, tmp_path: Path) -> None:
    ended = {"Running": False, "ExitCode": 3, "Pid": 0}
    fake.answers[f"GET /containers/{ID}/json"] = (
        200, {"Config": {"Tty": False}, "State": {**CONTAINER["State"], **ended}},
    )  # fmt: skip
    lines = b"".join(b"\x02\0\0\0" + len(each).to_bytes(4) + each for each in (b"oh\n", b"no\n"))
    fake.answers[f"GET /containers/{ID}/logs"] = (
        b"HTTP/1.1 200 OK\r\nContent-Length: " + str(len(lines)).encode() + b"\r\n\r\n" + lines
    )
    with pytest.raises(LabError) as why:
        made_by(fake, tmp_path).start()
    assert said(why).endswith("exited at once, with exit code 3: oh | no")


def test_containers_are_made_without_rights_and_with_limits(fake: FakeEngine, tmp_path: Path) -> None:
    binds = [Bind(tmp_path, propagation="rslave"), Bind(tmp_path / "x", read_only=True)]
    made_by(fake, tmp_path, binds=binds)
    asked = fake.bodies[-1]
    host = asked["HostConfig"]
    assert host["CapDrop"] == ["ALL"] and host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["ReadonlyRootfs"] and not host["Init"] and host["PidsLimit"]
    assert host["Memory"] == host["MemorySwap"] == 64 << 20
    assert host["LogConfig"]["Type"] == "json-file" and host["LogConfig"]["Config"]["max-file"] == "1"
    first, second = host["Mounts"]
    assert (first["Source"], first["Target"], first["ReadOnly"]) == (str(tmp_path), str(tmp_path), False)
    assert first["BindOptions"] == {"Propagation": "rslave"}
    assert (second["Target"], second["ReadOnly"], second["BindOptions"]) == (
        str(tmp_path / "x"),
        True,
        {"Propagation": "rprivate"},
    )
    assert asked["User"] == "1:2" and asked["Labels"] == {
        "pairproof.lab": str(tmp_path),
        "pairproof.view": engine._view(),
    }
    assert asked["NetworkingConfig"]["EndpointsConfig"]["net"]["Aliases"] == ["master"]


def test_an_image_that_is_not_there_is_said_with_the_remedy(fake: FakeEngine, tmp_path: Path) -> None:
    made_by(fake, tmp_path)
    fake.answers["POST /containers/create"] = (404, {"message": "No such image: image:1"})
    network = containers.Network(Engine(), ID, "net", next(engine._free_subnets()))
    with pytest.raises(LabError) as why:
        Engine().container(
            tmp_path, "x", "image:1", [], network=network, address="", binds=[], user="1:1", memory_mb=64
        )
    assert said(why).endswith("No such image: image:1; run: pairproof labs install images")


def test_removing_what_is_not_there_is_fine_and_what_is_refused_is_not(fake: FakeEngine, tmp_path: Path) -> None:
    made = made_by(fake, tmp_path)
    made.remove()
    fake.answers[f"DELETE /containers/{ID}"] = (409, {"message": "removal of container is already in progress"})
    made.remove()
    fake.answers[f"DELETE /containers/{ID}"] = (500, {"message": "device busy"})
    with pytest.raises(Refused, match="device busy") as why:
        made.remove()
    # As from a worker of --jobs.
    again = pickle.loads(pickle.dumps(why.value))
    assert (str(again), again.status) == (str(why.value), 500)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n0::/\n", ("memory/docker/a", "memory.usage_in_bytes")),
        ("0::/system.slice/docker-a.scope\n", ("system.slice/docker-a.scope", "memory.current")),
    ],
)
def test_memory_is_counted_where_the_control_group_is(groups: str, expected: tuple[str, str]) -> None:
    folder, usage, _ = containers._memory_group(groups)
    assert (str(folder.relative_to(containers.GROUPS)), usage) == expected
