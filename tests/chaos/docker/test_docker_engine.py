"""Networks and containers of a real engine: started, stopped, held, cut off, short of memory, and all removed."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.labs.docker import engine as engines
from pairproof.chaos.labs.docker.connection import Refused
from pairproof.chaos.labs.docker.containers import FREEZES, UNFROZEN, Bind, Container, Network
from pairproof.chaos.labs.docker.engine import Engine
from pairproof.harness.errors import LabError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Make = Callable[..., Container]
WAIT_S = 30.0
PORT = 7000
WAITS = "import time\nwhile True: time.sleep(1)"
BUSY = """
import threading
def work():
    while True: pass
for _ in range(3): threading.Thread(target=work).start()
"""
SERVES = f"""
import socket
served = socket.create_server(("0.0.0.0", {PORT}))
print("ready", flush=True)
while True: served.accept()[0].sendall(b"here")
"""
WAITS_FOR_SIGNAL = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
sys.exit(7)
"""
EATS_AT_SIGNAL = """
import signal, time
eaten = []
signal.signal(signal.SIGUSR1, lambda *_: eaten.append(bytearray(64 << 20)))
print("ready", flush=True)
while True: time.sleep(0.1)
"""


def until(what: Callable[[], object]) -> None:
    ends = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.02)


def hears(address: str) -> bool:
    try:
        with socket.create_connection((address, PORT), 2) as to:
            return to.recv(9) == b"here"
    except OSError:
        return False


def ticks(pid: int) -> int:
    """What the process has had of the processor."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return int(words[11]) + int(words[12])


def ran_since(pid: int, was: int) -> bool:
    return ticks(pid) > was


def status(container: Container) -> dict[str, str]:
    lines = Path(f"/proc/{container.pid}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def test_a_container_is_a_process_of_this_machine_and_has_an_address(container: Make) -> None:
    made = container(SERVES)
    assert made.state().running is False and made.pid == 0
    made.start()
    assert made.state() == (True, False, 0, False)
    assert "python3" in Path(f"/proc/{made.pid}/cmdline").read_text()
    until(lambda: hears(made.address))
    assert made.kill() is True
    assert not Path(f"/proc/{made.pid}").exists() and made.state() == (False, False, 137, False)
    assert made.kill() is False
    first = made.pid
    made.start()
    assert made.pid != first
    until(lambda: hears(made.address))
    assert made.logs() == "ready\n" * 2 and made.logs(1) == "ready\n"


def test_it_has_no_rights_no_way_out_and_nowhere_to_write(
    engine: Engine, network: Network, container: Make, lab: Path
) -> None:
    seen = lab / "seen"
    seen.mkdir()
    made = container(WAITS, binds=[Bind(lab), Bind(seen, read_only=True)], user="1234:1235")
    made.start()
    found = status(made)
    assert {found[each] for each in ("CapPrm", "CapEff", "CapBnd")} == {"0" * 16} and found["NoNewPrivs"] == "1"
    assert found["Uid"].split()[0] == "1234" and found["Gid"].split()[0] == "1235"
    assert engine.ask("look", lambda client: client.inspect_network(network.id))["Internal"] is True
    mounts = {line.split()[1]: line.split()[3].split(",")[0] for line in mounts_of(made)}
    assert (mounts["/"], mounts[str(lab)], mounts[str(seen)]) == ("ro", "rw", "ro")


def mounts_of(container: Container) -> list[str]:
    return Path(f"/proc/{container.pid}/mounts").read_text().splitlines()


def test_folders_are_at_the_same_path(container: Make, lab: Path) -> None:
    (lab / "given").write_text("given")
    said, given = str(lab / "said"), str(lab / "given")
    made = container(f"open({said!r}, 'x').write(open({given!r}).read() + '.')\n{WAITS}", binds=[Bind(lab)])
    made.start()
    until(lambda: (lab / "said").exists() and (lab / "said").read_text() == "given.")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize(("propagation", "seen"), [("rslave", True), ("rprivate", False)])
def test_later_mounts_are_seen_through_slave_binds_only(
    container: Make, lab: Path, propagation: str, seen: bool
) -> None:
    inner = lab / "inner"
    inner.mkdir()
    subprocess.run(["mount", "--bind", str(lab), str(lab)], check=True, timeout=10)
    try:
        subprocess.run(["mount", "--make-shared", str(lab)], check=True, timeout=10)
        made = container(WAITS, binds=[Bind(lab, read_only=True, propagation=propagation)])
        made.start()
        subprocess.run(["mount", "-t", "tmpfs", "later", str(inner)], check=True, timeout=10)
        try:
            assert any(line.startswith("later ") for line in mounts_of(made)) is seen
        finally:
            subprocess.run(["umount", str(inner)], check=True, timeout=10)
        assert not any(line.startswith("later ") for line in mounts_of(made))
    finally:
        subprocess.run(["umount", "-l", str(lab)], check=True, timeout=10)


@pytest.mark.parametrize(("late", "why", "fails"), [(4, UNFROZEN, False), (5, UNFROZEN, True), (1, "it is gone", True)])
def test_a_pause_that_comes_too_late_is_asked_for_again(
    late: int, why: str, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(self: Container, verb: str, method: str) -> None:
        asked.append(method)
        if len(asked) <= late:
            raise Refused(f"cannot pause it: {why}: unknown")

    monkeypatch.setattr(Container, "_ask", ask)
    network = Network(Any, "n", "net", IPv4Network("10.0.0.0/24"))
    container = Container(Any, "c", "made", "m", network, "10.0.0.2")
    with pytest.raises(Refused) if fails else nullcontext():
        container.pause()
    assert asked == ["pause"] * min(late + 1, FREEZES if why == UNFROZEN else 1)


def test_paused_means_that_nothing_runs_and_can_be_killed_so(container: Make) -> None:
    made = container(BUSY)
    made.start()
    until(lambda: ticks(made.pid) > 10)
    for _ in range(3):
        made.pause()
        was = ticks(made.pid)
        assert made.state().paused and made.state().running
        time.sleep(0.1)
        assert ticks(made.pid) == was
        made.unpause()
        until(partial(ran_since, made.pid, was))
    with pytest.raises(Refused, match="not paused"):
        made.unpause()
    made.pause()
    with pytest.raises(Refused, match="already paused"):
        made.pause()
    assert made.kill() is True
    assert made.state() == (False, False, 137, False)


def test_signals_reach_its_first_process(container: Make) -> None:
    made = container(WAITS_FOR_SIGNAL)
    made.start()
    until(made.logs)
    assert made.wait(0).running is True
    assert made.signal(10) is True
    assert made.wait(WAIT_S) == (False, False, 7, False)
    assert made.signal(10) is False


def test_what_cannot_start_says_why(container: Make, network: Network, engine: Engine, lab: Path) -> None:
    with pytest.raises(LabError, match=r"cannot start \S+-none: .*no such file") as why:
        container("", name="none", entrypoint=["/none"]).start()
    assert "\n" not in str(why.value)
    with pytest.raises(Refused, match="does not exist"):
        container("", name="unbound", binds=[Bind(lab / "none")])
    first = container(WAITS)
    first.start()
    with pytest.raises(Refused, match="Address already in use"):
        container(WAITS, name="second", address=first.address).start()
    with pytest.raises(Refused, match="already in use"):
        container(WAITS)


def test_peers_have_names_and_one_off_the_network_comes_back_with_its_address(container: Make) -> None:
    server = container(SERVES, name="peer")
    server.start()
    until(lambda: hears(server.address))
    asks = f"import socket\nprint(socket.create_connection(('peer', {PORT}), 5).recv(9), flush=True)\n{WAITS}"
    asking = container(asks, name="asking")
    asking.start()
    until(lambda: asking.logs() == "b'here'\n")
    server.disconnect()
    assert not hears(server.address)
    with pytest.raises(Refused):
        server.disconnect()
    server.connect()
    until(lambda: hears(server.address))
    asking.kill()
    asking.start()
    until(lambda: asking.logs() == "b'here'\n" * 2)


def test_memory_is_measured_and_its_limit_holds_from_when_it_is_set(container: Make) -> None:
    made = container(EATS_AT_SIGNAL, memory_mb=512)
    with pytest.raises(LabError, match="it does not run"):
        made.memory()
    made.start()
    until(made.logs)
    before = made.memory()
    made.signal(10)
    until(lambda: made.memory() > before + (60 << 20))
    made.limit_memory(160)
    made.signal(10)
    until(lambda: made.memory() > before + (120 << 20))
    assert made.state().running
    made.signal(10)
    ended = made.wait(WAIT_S)
    assert (ended.running, ended.exit_code) == (False, 137)
    # The engine may hear why after it has heard of the end.
    until(lambda: made.state().oom_killed)


def test_labs_have_networks_of_their_own_and_one_each(engine: Engine, lab: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    try:
        first, second = engine.network(lab), engine.network(other)
        assert not first.subnet.overlaps(second.subnet)
        assert first.gateway == first.address(1) and first.address(254) in map(str, first.subnet)
        with pytest.raises(Refused, match="already exists"):
            engine.network(lab)
        second.remove()
        second.remove()
    finally:
        engine.remove_lab(other)


def test_what_dead_labs_left_is_removed_and_the_living_keep_theirs(
    engine: Engine, lab: Path, tmp_path: Path, container: Make, network: Network
) -> None:
    dead = tmp_path / "dead"
    left = container(WAITS)
    left.start()
    other = engine.network(dead)
    engine.ask("make", lambda client: client.create_volume(f"{other.name}-v", labels={"pairproof.lab": str(dead)}))
    here = {lab, dead}
    assert engine.clean(lambda folder: folder not in here or folder == lab) == [
        f"removed network {other.name} of lab {dead}",
        f"removed volume {other.name}-v of lab {dead}",
    ]
    assert left.state().running
    left.pause()
    assert engine.clean(lambda folder: folder not in here) == [
        f"removed container {left.name} of lab {lab}",
        f"removed network {network.name} of lab {lab}",
    ]
    assert engine.remove_lab(lab) == engine.remove_lab(dead) == []
    left.remove()
    network.remove()
    with pytest.raises(Refused, match="No such container"):
        left.state()


def test_a_lab_whose_folder_is_another_view_s_is_left_alone_before_its_containers_are_there(
    engine: Engine, lab: Path, container: Make, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    container(WAITS)
    monkeypatch.setattr(engines, "_view", lambda: "of somebody else")
    others = partial(engine.clean, lambda folder: folder != lab)
    assert others() == []
    monkeypatch.setattr(engines, "FRESH_S", 0.0)
    assert [each.split()[1] for each in others()] == ["container", "network"]
