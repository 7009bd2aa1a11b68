"""How RocketMQ's broker is run: the JVM's flags, the folder that it takes for its home, its properties file.

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
LEAST_JAVA = 11
"""Its flags below are not known to older ones."""
VERSION_S = 60
READY = " boot success."
"""What a broker says once it serves."""
SIGTERM_EXIT = 143
"""A JVM's exit code after an orderly end."""
FLAGS = (
    "-Xms128m", "-Xmx256m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true",
    # Without these it cannot unmap its files: it ends with its abort file left.
    "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED",
    # A broker on a nearly full machine's disk refuses to be written; a full disk is a fault of its own.
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
"""5.x warns again and again that it skips POP's revive topic: nothing here uses POP."""
NOT_INHERITED = ("NAMESRV_ADDR",)
"""Of the environment: a broker that is given no name server would register with this one, a production one perhaps."""


def broker(jars: Path, home: Path, properties: Path, more: Sequence[str] = ()) -> list[str]:
    """The command line of a broker, with ``more`` flags. ``home`` is a folder of its own; it is made."""
    conf, temporary = home / "conf", home / "tmp"
    # 5.x unpacks RocksDB's library there (13 MB), and leaves it when it is killed. A container's /tmp is read-only.
    shutil.rmtree(temporary, ignore_errors=True)
    for folder in (conf, temporary):
        folder.mkdir(parents=True, exist_ok=True)
    logging = conf / "logback_broker.xml"
    logging.write_text(LOGBACK)
    # 5.x takes its configuration from its jar, and writes files, unless it is told of another one.
    own = {
        "user.home": home, "rocketmq.home.dir": home, "rmq.logback.configurationFile": logging,
        "java.io.tmpdir": temporary,
    }  # fmt: skip
    given = [f"-D{key}={value}" for key, value in own.items()]
    return [java(), *FLAGS, *given, *more, "-cp", f"{jars}/*", BROKER, "-c", str(properties)]


@cache
def java() -> str:
    """The path of a java that is new enough; LabError, with the remedy, if there is none."""
    path = program("java")
    found = re.search(r'version "(\d+)', version())
    if found is None or int(found[1]) < LEAST_JAVA:
        raise LabError(f"{path} is not a Java that the lab can use; real RocketMQ {NEEDS}")
    return path


@cache
def version() -> str:
    """What ``java -version`` says, on one line."""
    said = programs.run([program("java"), "-version"], VERSION_S)
    return "; ".join((said.stderr or said.stdout).strip().splitlines()) or "unknown"


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """What its process inherits."""
    return {name: value for name, value in ours.items() if name not in NOT_INHERITED}
