"""Port leases: labs side by side never have the same ports, and never a port that something else has."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pairproof.chaos.labs.real import leases
from pairproof.chaos.labs.real.leases import BLOCK, MAX_BLOCKS, Leases
from pairproof.harness.errors import LabError

Lease = Callable[[], Leases]
FIRST = 450 * BLOCK
"""Where the labs of other tests, which run meanwhile, do not come."""


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "FIRST", FIRST)


@pytest.fixture
def lease() -> Iterator[Lease]:
    """A lab's leases, given back at the test's end."""
    with ExitStack() as stack:

        def make() -> Leases:
            made = Leases()
            stack.callback(made.close)
            return made

        yield make


def test_no_two_labs_have_the_same_ports(lease: Lease) -> None:
    labs = [lease() for _ in range(4)]
    taken = [port for lab in labs for port in lab.take(40)]
    assert len(set(taken)) == len(taken) == 160


def test_labs_with_other_temporary_folders_have_other_ports(
    lease: Lease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = lease().take()[0]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert lease().take()[0] // BLOCK != port // BLOCK


def test_ports_go_back_when_a_lab_ends(lease: Lease) -> None:
    first = lease()
    block = first.take()[0] // BLOCK
    other = lease()
    assert other.take()[0] // BLOCK != block
    first.close()
    third = lease()
    assert third.take()[0] // BLOCK == block


def test_ports_go_back_when_a_lab_is_killed(lease: Lease) -> None:
    told, tells = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(tells, str(lease().take()[0]).encode())
        time.sleep(60)
        os._exit(0)
    port = int(os.read(told, 10))
    assert lease().take()[0] // BLOCK != port // BLOCK
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(told)
    os.close(tells)
    assert lease().take()[0] // BLOCK == port // BLOCK


def test_a_port_that_something_else_has_is_left_out(lease: Lease) -> None:
    first = lease()
    (port,) = first.take()
    first.close()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        assert port not in lease().take(BLOCK // 2)


def test_neighbours_are_free_and_nobody_else_s(lease: Lease) -> None:
    lab = lease()
    ports = lab.take(10, (-2, 1))
    assert len({port + distance for port in ports for distance in (-2, 0, 1)}) == 30
    first = lease()
    (port,) = first.take(1, (-2, 1))
    first.close()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port + 1))
        assert {port, port + 3}.isdisjoint(lease().take(BLOCK // 4, (-2, 1)))


def test_a_lab_without_ports_says_what_to_do(lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LAST", FIRST + 2 * BLOCK)
    # As many as are free there: other labs may run on this machine.
    with pytest.raises(LabError):
        lease().take(2 * BLOCK + 1)
    with pytest.raises(LabError, match=f"no free ports are left from {FIRST} to {FIRST + 2 * BLOCK}: end other labs"):
        lease().take()


def test_one_lab_cannot_have_all_ports(lease: Lease) -> None:
    lab = lease()
    with pytest.raises(LabError, match="no free ports"):
        lab.take(MAX_BLOCKS * BLOCK + 1)
    assert lease().take()
