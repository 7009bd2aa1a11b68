"""RocketMQ's programs in a write-up: their names, their Java, and their settings' defaults.

Defaults come from the version's own classes; some depend on the machine (its name, first address, processors).
``BrokerStartup -p`` would not do: in 5.5.0 it omits the store's settings.
"""

from __future__ import annotations

import os
import re
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
BY_STARTUP = {"listenPort": "10911"}
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
    """``Apache RocketMQ 4.9.7 (rocketmq-broker-4.9.7.jar)``, by the jar's name."""
    found = releases(jars)
    return f"Apache RocketMQ {found[0]} ({BROKER_JAR}{found[0]}.jar)" if found else "Apache RocketMQ, version unknown"


@cache
def defaults(jars: Path) -> Mapping[str, str]:
    """By name. LabError if they cannot be determined."""
    with tempfile.TemporaryDirectory() as home:
        source = Path(home) / "Defaults.java"
        source.write_text(PRINTING)
        command = [program("java"), "-XX:TieredStopAtLevel=1", f"-Duser.home={home}", "-cp", f"{jars}/*", str(source)]
        late = f"RocketMQ did not print its defaults within {PRINT_S} s"
        done = programs.run([*command, *CLASSES], PRINT_S, late, jvm.environment(os.environ))
    found = dict(_SETTING.findall(done.stdout))
    if done.returncode != 0 or not found:
        raise LabError("RocketMQ's classes did not print their defaults (this needs a JDK)")
    return found | BY_STARTUP
