"""Real RocketMQ 4.9.7 processes and ours, side by side on loopback, each ended with its test.

A *kind* says whose programs run: ``java`` or ``reference``. Both get the same properties file. What a process says goes
to a file, so that it never waits for a reader; it is ready when it says so, within a limit. It dies with the test
process, whatever happens. Sources: BrokerStartup, NamesrvStartup, MQAdminStartup.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jars
from real_brokers import die_with_parent, free_port

from pairproof.chaos.rocketmq import jvm

READY_S = 120
STOP_S = 60
POLL_S = 0.02
HOST = "127.0.0.1"
CLUSTER = "pairproof-cluster"
BROKER = "broker-a"

JVM = jvm.FLAGS
LOGBACK = """<configuration>
  <appender name="file" class="ch.qos.logback.core.FileAppender">
    <file>${pairproof.log}</file>
    <encoder><pattern>%d %-5level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="file"/></root>
</configuration>
"""
# Small files and short periods; what a loaded machine may be late with has long ones.
BROKER_SETTINGS = {
    "brokerClusterName": CLUSTER,
    "brokerName": BROKER,
    "brokerIP1": HOST,
    "brokerIP2": HOST,
    "mappedFileSizeCommitLog": 65_536,
    "mappedFileSizeConsumeQueue": 2_000,
    "maxMessageSize": 32_768,
    "maxHashSlotNum": 1_000,
    "maxIndexNum": 4_000,
    "haSendHeartbeatInterval": 500,
    "registerNameServerPeriod": 10_000,
    "waitTimeMillsInSendQueue": 5_000,
    "osPageCacheBusyTimeOutMills": 10_000,
    "diskMaxUsedSpaceRatio": 98,
    # 5.5.0 uses a core until this has passed for the first time.
    "transactionMetricFlushInterval": 100,
}


class Program:
    """A child process. It may be started again after its end."""

    def __init__(self, folder: Path, command: list[str], ready: str) -> None:
        self.folder = folder
        self.command = command
        self.ready = ready
        self.process: subprocess.Popen[bytes] | None = None
        self._begins = 0
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def output(self) -> Path:
        return self.folder / "output.txt"

    def said(self) -> str:
        """What it has said since its last start."""
        return self.output.read_bytes()[self._begins :].decode(errors="replace")

    def start(self) -> None:
        """Start it, and wait until it says that it is ready."""
        self._begins = self.output.stat().st_size if self.output.exists() else 0
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                preexec_fn=die_with_parent,
            )
        self.hear(self.ready)

    def hear(self, words: str) -> None:
        """Wait until it has said these words."""
        assert self.process is not None
        ends = time.monotonic() + READY_S
        while words not in self.said():
            assert self.process.poll() is None, f"ended without saying {words!r}: {self.said()}"
            assert time.monotonic() < ends, f"did not say {words!r} in {READY_S} s: {self.said()}"
            time.sleep(POLL_S)

    def stop(self) -> int:
        """Ask it to stop, as an operator does; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_S)

    def kill(self) -> None:
        """kill -9; nothing if it does not run."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Kind(NamedTuple):
    """Whose programs run, and the words with which they say that they are ready."""

    name: str
    broker: str
    broker_ready: str
    namesrv: str
    namesrv_ready: str

    def command(self, folder: Path, program: str) -> list[str]:
        """How to run one of the two programs with the properties file ``conf`` in its folder."""
        if self.name == "java":
            return java(folder, program, "-c", str(folder / "conf"))
        return [sys.executable, "-m", program, "-c", str(folder / "conf")]


JAVA = Kind(
    "java",
    "org.apache.rocketmq.broker.BrokerStartup",
    "boot success",
    "org.apache.rocketmq.namesrv.NamesrvStartup",
    "boot success",
)
REFERENCE = Kind(
    "reference",
    "pairproof.reference.commands.broker",
    "listens on",
    "pairproof.reference.commands.namesrv",
    "listens on",
)
KINDS = {each.name: each for each in (JAVA, REFERENCE)}


class NameServer(Program):
    """A name server of one kind."""

    def __init__(self, folder: Path, kind: Kind) -> None:
        super().__init__(folder, kind.command(folder, kind.namesrv), kind.namesrv_ready)
        self.address = f"{HOST}:{_configure(folder, {'listenPort': free_port()})}"


class Broker(Program):
    """A broker of one kind. Its files are under ``store``, which a broker of another kind may take over."""

    def __init__(self, folder: Path, kind: Kind, store: Path | None = None, **settings: object) -> None:
        super().__init__(folder, kind.command(folder, kind.broker), kind.broker_ready)
        self.store = store or folder / "store"
        paths = {"storePathRootDir": self.store, "storePathCommitLog": self.store / "commitlog"}
        self.port = _configure(folder, {**BROKER_SETTINGS, **paths, "listenPort": free_port(), **settings})
        self.address = f"{HOST}:{self.port}"
        self.ha_address = f"{HOST}:{self.port + 1}"


def until(holds: Callable[[], bool]) -> None:
    """Wait until this holds."""
    ends = time.monotonic() + READY_S
    while not holds():
        assert time.monotonic() < ends, f"not within {READY_S} s"
        time.sleep(POLL_S)


def java(folder: Path, main: str, *arguments: str) -> list[str]:
    """The command line for a Java program whose home, logs and settings are in a folder of its own."""
    conf = folder / "home" / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    for each in ("broker", "namesrv", "tools"):
        (conf / f"logback_{each}.xml").write_text(LOGBACK)
    properties = {
        "user.home": folder,
        "rocketmq.home.dir": folder / "home",
        "pairproof.log": folder / "log.txt",
        # For the clients: their log goes where the rest goes, and nothing waits for the usual 20 s between rebalances.
        "logback.configurationFile": conf / "logback_tools.xml",
        "rocketmq.client.logUseSlf4j": "true",
        "rocketmq.client.rebalance.waitInterval": "1000",
    }
    given = [f"-D{key}={value}" for key, value in properties.items()]
    return [jars.program("java"), *JVM, *given, "-cp", jars.classpath(), main, *arguments]


ASKED = 3
"""How often mqadmin runs at most."""


def mqadmin(folder: Path, *arguments: str) -> str:
    """Run mqadmin as a process of its own; what it printed.

    It exits with 0 also after a timeout of its own, which a busy machine causes: then it runs again.
    """
    command = java(folder, "org.apache.rocketmq.tools.command.MQAdminStartup", *arguments)
    for _ in range(ASKED):
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=READY_S, check=False, preexec_fn=die_with_parent
        )
        assert done.returncode == 0, done.stdout + done.stderr
        if "Exception" not in done.stdout + done.stderr:
            break
    return done.stdout


def _configure(folder: Path, settings: Mapping[str, Any]) -> int:
    (folder / "conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return int(settings["listenPort"])
