"""The guide to captures, followed word for word on real brokers that run already, with kill -9 of either side."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from plain_sockets import HEADER, TOPIC, ask
from processes import HOST, READY_S, REFERENCE, Broker, NameServer, Program, until
from real_brokers import die_with_parent, free_port

from pairproof.chaos.capture_judging import JudgedCapture, judge_capture
from pairproof.chaos.capturing.bypass import ESTABLISHED
from pairproof.chaos.labs.real.proc import sockets_of
from pairproof.chaos.plan import Address
from pairproof.chaos.rocketmq import jvm
from pairproof.chaos.rocketmq.install import JARS
from pairproof.harness.judging.judge import all_laws
from pairproof.reference.wire import remoting

pytestmark = pytest.mark.slow
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "capture.md"
SET = "set in the slave's configuration, and restart the slave: "
UNDO = "the slave has no master now: "
OWN = {"4.9.7": {}, "5.5.0": {"inSyncReplicas": 2, "totalReplicas": 2}}
PAUSE_S = 0.02
Start = Callable[[Program], Program]


def blocks() -> list[str]:
    """The guide's commands and lines, in its order, without outputs; a command that is wrapped is one line."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [text.strip().replace("\\\n", "") for language, text in found if not language]


class Pair:
    """A real name server, master and slave, which have found each other without any tap."""

    def __init__(self, folder: Path, version: str, running: Start) -> None:
        jars = JARS[version].install()
        self.names = NameServer(folder / "n", REFERENCE)
        self.names.command = jvm.command(jvm.NAME_SERVER, jars, folder / "n" / "home", folder / "n" / "conf")
        self.names.ready = "boot success"
        common: dict[str, Any] = {"namesrvAddr": self.names.address, **OWN[version]}
        self.master = self._broker(jars, folder / "m", brokerRole="SYNC_MASTER", brokerId=0, **common)
        self.slave = self._broker(jars, folder / "s", brokerRole="SLAVE", brokerId=1, **common)
        self.file = self.slave.folder / "conf"
        self.own = self.file.read_text()
        for each in (self.names, self.master, self.slave):
            running(each)
        self.sent = Counter[int]()
        self.numbers = itertools.count()
        # Without a message: then the slave's log is empty when it comes through the tap, and can be made again.
        until(self.is_connected)

    def is_connected(self) -> bool:
        """Whether the slave is connected to its master directly."""
        to = Address(HOST, self.master.port + 1)
        return any(each.remote == to and each.state == ESTABLISHED for each in sockets_of("self", ("tcp", "tcp6")))

    def _broker(self, jars: Path, folder: Path, **settings: Any) -> Broker:
        made = Broker(folder, REFERENCE, **settings)
        made.command = jvm.command(jvm.BROKER, jars, folder / "home", folder / "conf")
        made.ready = jvm.READY.strip()
        return made

    def send(self, address: str, delay: str = "") -> int:
        """Send a message as Java's producer names it; the answer's code."""
        key = f"7F0000010001{next(self.numbers):020X}"
        given = {"producer_group": "guide", "topic": TOPIC, "queue_id": 0, "born_ms": 0, "body": b"x" * 300}
        properties = f"UNIQ_KEY\x01{key}\x02WAIT\x01true\x02{delay}"
        return ask(address, remoting.send_request(1, **given, properties=properties)).code  # type: ignore[arg-type]

    @contextmanager
    def load(self, address: str) -> Iterator[None]:
        """Sends one after the other, every fifth of them delayed, for as long as this lasts."""
        over = threading.Event()

        def work() -> None:
            for number in itertools.count():
                if over.wait(PAUSE_S):
                    return
                try:
                    self.sent[self.send(address, "" if number % 5 else "DELAY\x011\x02")] += 1
                except (OSError, AssertionError):
                    self.sent[-1] += 1

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(READY_S)

    def answered(self, count: int = 30) -> None:
        """Wait until so many more sends were answered as stored and replicated."""
        wanted = self.sent[0] + count
        until(lambda: self.sent[0] >= wanted)

    def restart_slave(self, setting: str = "") -> None:
        """Restart the slave with its own configuration, and this in place of what it says."""
        key = setting.partition("=")[0]
        kept = [line for line in self.own.splitlines() if line.partition("=")[0] != key]
        self.file.write_text("\n".join([*kept, setting]) + "\n")
        self.slave.stop()
        self.slave.start()


class Guide:
    """The guide's commands, with the addresses and files of this pair."""

    def __init__(self, pair: Pair, folder: Path) -> None:
        self.folder = folder / "captured"
        self.tapped = f"{HOST}:{free_port()}"
        listen, names = (f"{HOST}:{free_port()}" for _ in range(2))
        self.there = {
            "127.0.0.1:20912": listen, "127.0.0.1:10912": pair.master.ha_address, "127.0.0.1:20911": self.tapped,
            "127.0.0.1:10911": pair.master.address, "127.0.0.1:29876": names, "127.0.0.1:9876": pair.names.address,
            "master.conf": str(pair.master.folder / "conf"), "slave.conf": str(pair.slave.folder / "before"),
            "captured": str(self.folder),
        }  # fmt: skip
        (pair.slave.folder / "before").write_text(pair.own)

    def command(self, text: str) -> list[str]:
        found = []
        for word in shlex.split(text):
            parts = [self.there.get(part, part) for part in word.split("=")]
            found.append("=".join(parts))
        assert found[0] == "pairproof"
        return [sys.executable, "-m", *found]

    @contextmanager
    def capture(self, text: str) -> Iterator[subprocess.Popen[str]]:
        command = self.command(text)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent) as process:
            try:
                yield process
            finally:
                process.kill()

    def add(self, *lines: dict[str, Any]) -> None:
        path = self.folder / "run.json"
        run = json.loads(path.read_bytes())
        run["events"] = sorted([*run["events"], *lines], key=lambda each: each["at_ms"])
        path.write_text(json.dumps(run, indent=1))

    def since(self, epoch_ns: int) -> float:
        """A moment as the guide's ``at_ms``."""
        return epoch_ns / 1e6 - float(json.loads((self.folder / "run.json").read_bytes())["t0_epoch_ms"])


def setting(process: subprocess.Popen[str]) -> str:
    output: IO[str] = process.stdout  # type: ignore[assignment]
    line = output.readline()
    assert line.startswith(SET), line
    return line.removeprefix(SET).strip()


def kill_in_the_middle(slave: Broker, stream: Path) -> int:
    """kill -9 of a slave that has not read all that went to it, as it happens under load; when, ns."""
    assert slave.process is not None
    slave.process.send_signal(signal.SIGSTOP)
    size = stream.stat().st_size
    until(lambda: stream.stat().st_size > size + HEADER.size)
    slave.kill()
    return time.time_ns()


def wrong(found: JudgedCapture) -> set[str]:
    """Laws and checks that are violated, and not as it is known of the version."""
    violated = {each.law for each in found.laws if str(each.verdict) == "violated"}
    return violated | {each.id for each in found.checks if str(each.verdict) == "violated"}


@pytest.mark.parametrize(("version", "example"), [("4.9.7", 0), pytest.param("5.5.0", 1, marks=pytest.mark.nightly)])
def test_the_guide_to_captures_holds_on_a_running_pair(
    version: str, example: int, running: Start, tmp_path: Path
) -> None:
    pair = Pair(tmp_path, version, running)
    guide = Guide(pair, tmp_path)
    with guide.capture(blocks()[example]) as process:
        pair.restart_slave(setting(process))
        with pair.load(guide.tapped):
            pair.answered()
            slave_killed = kill_in_the_middle(pair.slave, guide.folder / "ha" / "slave-0001.m2s.bin")
            pair.slave.start()
            slave_started = time.time_ns()
            pair.answered()
            pair.master.kill()
            pair.master.start()
            pair.answered()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=READY_S)
        assert process.returncode == 0, said
    *_, undo, last = said.splitlines()
    assert undo.startswith(UNDO) and last.endswith(f"; judge it: {blocks()[2].replace('captured', str(guide.folder))}")
    # A correct pair: neither without its stores, nor with them, nor with the guide's lines is it accused.
    assert wrong(judge_capture(guide.folder, all_laws())) == set()
    pair.restart_slave()
    until(lambda: pair.send(pair.master.address) == 0)
    (guide.folder / "store").mkdir()
    for name, each in (("slave", pair.slave), ("master", pair.master)):
        each.stop()
        (guide.folder / "store" / name).symlink_to(each.store)
    judged(guide, version, lines=0)
    kill, started = (json.loads(each) for each in blocks()[3].replace("},", "}").splitlines())
    guide.add({**kill, "at_ms": guide.since(slave_killed)})
    judged(guide, version, lines=1)
    guide.add({**started, "at_ms": guide.since(slave_started)})
    judged(guide, version, lines=2)


def judged(guide: Guide, version: str, lines: int) -> None:
    found = judge_capture(guide.folder, all_laws())
    assert wrong(found) == set(), [each for each in found.laws if str(each.verdict) == "violated"]
    told = found.history.lines
    assert list(found.history.cuts) == ["slave-0002"]
    assert not told.unread and not told.unended and "unseen" not in str(found.history.left_out)
    verdicts = {each.law: each for each in found.laws}
    assert str(found.checks[1].verdict) == "holds"
    assert str(verdicts["ha-contiguous"].verdict) == "holds" and verdicts["ack-replicated"].judged >= 60
    assert found.history.version.name == version
    ends = [(each.what, each.known) for each in told.happenings if each.node == "slave"]
    assert ("kill", True) in ends if lines else ("kill", True) not in ends


@pytest.mark.nightly
def test_a_slave_that_lost_its_master_is_reported_within_a_minute_and_can_be_put_right(
    running: Start, tmp_path: Path
) -> None:
    """RocketMQ 5 ignores haMasterAddress for its HA connection, and drops the address that the name server has."""
    pair = Pair(tmp_path, "5.5.0", running)
    guide = Guide(pair, tmp_path)
    text = re.sub(r" --rocketmq \S+", "", blocks()[0])
    refused = subprocess.run(guide.command(f"{text} --rocketmq 5.5.0"), capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "RocketMQ 5 ignores haMasterAddress: it needs --namesrv" in refused.stderr
    with guide.capture(text) as process:
        change = setting(process)
        began = time.monotonic()
        pair.restart_slave(change)
        restarted = time.monotonic()
        line = ""
        while "has lost its master" not in line:
            line = process.stdout.readline()  # type: ignore[union-attr]
            assert line, "ended without a word"
        assert time.monotonic() - began < 60 + (restarted - began)
        assert "remove haMasterAddress from its configuration, and restart it" in line and "--namesrv" in line
    pair.restart_slave()
    until(lambda: pair.send(pair.master.address) == 0)
