"""Starts RocketMQ's broker and name server: the JVM's flags, its home folder, its properties file.

Sources: BrokerStartup, MixAll, and runs of 4.9.7 and 5.5.0 under Java 17.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ...harness.errors import LabError
from .. import programs
from .install import NEEDS, program

BROKER = "org.apache.rocketmq.broker.BrokerStartup"
NAME_SERVER = "org.apache.rocketmq.namesrv.NamesrvStartup"
LEAST_JAVA = 11
"""Older versions lack the flags below."""
VERSION_S = 60
READY = " boot success."
"""A program's output once it serves."""
SIGTERM_EXIT = 143
FLAGS = (
    "-Xms128m", "-Xmx256m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true",
    # Without these it cannot unmap its files, and its abort file stays after an orderly end.
    "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED",
    # A broker refuses writes on a nearly full disk; a full disk is a separate fault.
    "-Drocketmq.broker.diskSpaceWarningLevelRatio=0.99", "-Drocketmq.broker.diskSpaceCleanForciblyRatio=0.98",
)  # fmt: skip
LOGBACK = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %-5level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <logger name="RocketmqPop" level="ERROR"/>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""
"""5.x repeatedly warns that it skips POP's revive topic: nothing here uses POP."""
NOT_INHERITED = ("NAMESRV_ADDR",)
"""Environment variables: a broker without a name server would register with this one, perhaps in production."""


def command(main: str, jars: Path, home: Path, properties: Path, more: Sequence[str] = ()) -> list[str]:
    """The command line of a broker or name server, with ``more`` flags. ``home``: its own folder, which is created."""
    conf, temporary = home / "conf", home / "tmp"
    # 5.x unpacks RocksDB's library there (13 MB), and leaves it when killed. A container's /tmp is read-only.
    shutil.rmtree(temporary, ignore_errors=True)
    for folder in (conf, temporary):
        folder.mkdir(parents=True, exist_ok=True)
    for name in ("broker", "namesrv"):
        logging = conf / f"logback_{name}.xml"
        logging.write_text(LOGBACK)
    # By default 5.x takes its configuration from its jar, and writes files.
    own = {
        "user.home": home, "rocketmq.home.dir": home, "rmq.logback.configurationFile": logging,
        "java.io.tmpdir": temporary,
    }  # fmt: skip
    given = [f"-D{key}={value}" for key, value in own.items()]
    return [java(), *FLAGS, *given, *more, "-cp", f"{jars}/*", main, "-c", str(properties)]


@cache
def java() -> str:
    """The path of a recent java; LabError, with the remedy, if there is none."""
    path = program("java")
    found = re.search(r'version "(\d+)', version())
    if found is None or int(found[1]) < LEAST_JAVA:
        raise LabError(f"{path} is not a Java that the lab can use; real RocketMQ {NEEDS}")
    return path


@cache
def version() -> str:
    """The output of ``java -version``, on one line."""
    late = f"java did not print its version within {VERSION_S} s"
    done = programs.run([program("java"), "-version"], VERSION_S, late)
    return "; ".join((done.stderr or done.stdout).strip().splitlines()) or "unknown"


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Its process's environment."""
    return {name: value for name, value in ours.items() if name not in NOT_INHERITED}
