"""A real pair whose slave reaches its master through ``pairproof capture``: what it records is judged."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from plain_sockets import send
from processes import HOST, READY_S, REFERENCE, Broker, until
from real_brokers import die_with_parent, free_port

from pairproof.chaos.capture_judging import judge_capture
from pairproof.chaos.rocketmq import jvm
from pairproof.chaos.rocketmq.install import JARS
from pairproof.harness.judging.judge import all_laws

pytestmark = pytest.mark.slow


@contextmanager
def capturing(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "pairproof", "capture", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent) as process:
        try:
            assert process.stdout is not None
            assert "haMasterAddress" in process.stdout.readline()
            yield process
        finally:
            process.kill()


def real(folder: Path, **settings: Any) -> Broker:
    """A broker of 4.9.7 that does not run yet."""
    made = Broker(folder, REFERENCE, **settings)
    made.command = jvm.command(jvm.BROKER, JARS["4.9.7"].install(), folder / "home", folder / "conf")
    made.ready = jvm.READY.strip()
    return made


def test_a_captured_pair_of_4_9_7_whose_master_is_killed_breaks_only_what_is_known(
    running: Callable[[Broker], Broker], tmp_path: Path
) -> None:
    folder, listen, tapped = tmp_path / "captured", f"{HOST}:{free_port()}", f"{HOST}:{free_port()}"
    master = real(tmp_path / "m", brokerRole="SYNC_MASTER", brokerId=0)
    slave = real(tmp_path / "s", brokerRole="SLAVE", brokerId=1, haMasterAddress=listen)
    with capturing(
        "--listen", listen, "--to", master.ha_address, "--client", f"{tapped}={master.address}",
        "--output", str(folder),
        "--master-conf", str(master.folder / "conf"), "--slave-conf", str(slave.folder / "conf"),
    ) as process:  # fmt: skip
        running(master), running(slave)
        until(lambda: send(tapped) == 0)
        assert [send(tapped, b"x" * 500) for _ in range(20)] == [0] * 20
        master.kill()
        master.start()
        until(lambda: send(tapped) == 0)
        assert [send(tapped, b"y" * 500) for _ in range(20)] == [0] * 20
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=READY_S)
        assert process.returncode == 0
        assert said.splitlines()[-1].endswith(f"pairproof judge --ha-capture {folder}")
    (folder / "store").mkdir()
    for name, each in (("master", master), ("slave", slave)):
        each.stop()
        (folder / "store" / name).symlink_to(each.store)
    found = judge_capture(folder, all_laws())
    verdicts = {each.law: str(each.verdict) for each in found.laws} | {e.id: str(e.verdict) for e in found.checks}
    assert "violated" not in verdicts.values(), "what is known of the version is known-deviation"
    assert verdicts["ha-contiguous"] == verdicts["ha-start-offset"] == verdicts["reference-slave"] == "holds"
    assert next(each.judged for each in found.laws if each.law == "ack-replicated") >= 40
    path = folder / "ha" / "slave-0001.m2s.bin"
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    assert str(judge_capture(folder, []).checks[1].verdict) == "violated"
