"""How RocketMQ's broker is run: the JVM's flags, the folder that it takes for its home, its properties file.

Sources: BrokerStartup, MixAll, and runs of 4.9.7 and 5.5.0 under Java 17.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pairproof.chaos.rocketmq.install import program

BROKER = "org.apache.rocketmq.broker.BrokerStartup"
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
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""
NOT_INHERITED = ("NAMESRV_ADDR",)
"""Of the environment: a broker that is given no name server would register with this one, a production one perhaps."""


def broker(jars: Path, home: Path, properties: Path) -> list[str]:
    """The command line of a broker. ``home`` is a folder of its own; it is made."""
    conf = home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    (conf / "logback_broker.xml").write_text(LOGBACK)
    (conf / "rmq.broker.logback.xml").write_text(LOGBACK)
    own = {"user.home": home, "rocketmq.home.dir": home}
    given = [f"-D{key}={value}" for key, value in own.items()]
    return [program("java"), *FLAGS, *given, "-cp", f"{jars}/*", BROKER, "-c", str(properties)]


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """What its process inherits."""
    return {name: value for name, value in ours.items() if name not in NOT_INHERITED}
