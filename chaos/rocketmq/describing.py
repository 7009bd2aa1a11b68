"""What a write-up says of RocketMQ's programs: their names, their Java, and their settings' defaults.

Defaults are asked of the version's own classes, some of them made of what the machine is (its name, its first address,
its number of processors). ``BrokerStartup -p`` would not do: that of 5.5.0 leaves the store's settings out.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ...harness.errors import LabError
from .. import programs
from . import jvm
from .install import BROKER_JAR, program, releases

PRINT_S = 60
CLASSES = (
    "org.apache.rocketmq.common.BrokerConfig",
    "org.apache.rocketmq.remoting.netty.NettyServerConfig",
    "org.apache.rocketmq.remoting.netty.NettyClientConfig",
    "org.apache.rocketmq.store.config.MessageStoreConfig",
)
"""In which BrokerStartup looks for the keys of a properties file."""
BY_STARTUP = {"listenPort": "10911"}
"""What BrokerStartup sets itself before it reads the file."""
_SETTING = re.compile(r"^default (\w+)=(.*)$", re.MULTILINE)
PRINTING = """
public class Defaults {
  public static void main(String[] names) throws Exception {
    for (String name : names) {
      Object made = Class.forName(name).getDeclaredConstructor().newInstance();
      java.util.Properties found = org.apache.rocketmq.common.MixAll.object2Properties(made);
      for (String key : found.stringPropertyNames())
        System.out.println("default " + key + "=" + found.getProperty(key));
    }
  }
}
"""


def product(jars: Path) -> str:
    """``Apache RocketMQ 4.9.7 (rocketmq-broker-4.9.7.jar)``, by the jar that is there."""
    found = releases(jars)
    return f"Apache RocketMQ {found[0]} ({BROKER_JAR}{found[0]}.jar)" if found else "Apache RocketMQ, version unknown"


@cache
def defaults(jars: Path) -> Mapping[str, str]:
    """By name. LabError if they cannot be found out."""
    with tempfile.TemporaryDirectory() as home:
        source = Path(home) / "Defaults.java"
        source.write_text(PRINTING)
        command = [program("java"), "-XX:TieredStopAtLevel=1", f"-Duser.home={home}", "-cp", f"{jars}/*", str(source)]
        try:
            done = programs.run([*command, *CLASSES], PRINT_S, jvm.environment(os.environ))
        except subprocess.TimeoutExpired:
            raise LabError(f"RocketMQ did not say its defaults within {PRINT_S} s") from None
    found = dict(_SETTING.findall(done.stdout))
    if done.returncode != 0 or not found:
        raise LabError("RocketMQ's classes did not say their defaults (this needs a JDK)")
    return found | BY_STARTUP
