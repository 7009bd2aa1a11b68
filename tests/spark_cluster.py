"""A standalone Spark cluster on loopback: a master and workers, each a JVM, as ``pip install pyspark`` brings them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from pairproof.reports import java

STARTS_S = 60.0
MASTER = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
ENVIRONMENT = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Cluster:
    """Its ``url``, and its workers, oldest first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, workers: int) -> None:
        """A master and so many workers with a core each."""
        self._master = self._jvm("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.url = self._said("master.Master-0", MASTER)
        for number in range(1, workers + 1):
            options = (
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
                "--work-dir",
                str(self.folder / f"w{number}"),
            )
            self.workers.append(self._jvm("worker.Worker", "--host", "127.0.0.1", *options, self.url, number=number))
            self._said(f"worker.Worker-{number}", re.compile("Successfully registered with (master)"))

    def kill(self, number: int) -> None:
        """A worker and its executors, at once."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()

    def close(self) -> None:
        for each in [*self.workers, self._master]:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()

    def _jvm(self, name: str, *arguments: str, number: int = 0) -> subprocess.Popen[bytes]:
        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        environment = {**os.environ, **ENVIRONMENT, "JAVA_HOME": str(java.find().home), "SPARK_DAEMON_JAVA_OPTS": JVM}
        with (self.folder / f"{name}-{number}.log").open("wb") as log:
            return subprocess.Popen(
                [str(program), f"org.apache.spark.deploy.{name}", *arguments], stdout=log, stderr=log, env=environment,
                start_new_session=True,
            )  # fmt: skip

    def _said(self, name: str, what: re.Pattern[str]) -> str:
        until, log = time.monotonic() + STARTS_S, self.folder / f"{name}.log"
        while time.monotonic() < until:
            if found := what.search(log.read_text(errors="replace")):
                return found[1]
            time.sleep(0.1)
        raise AssertionError(f"{name} did not start: {log.read_text(errors='replace')[-2000:]}")


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """One for the ``with`` block; nothing of it stays."""
    made = Cluster(folder)
    try:
        made.start(workers)
        yield made
    finally:
        made.close()


def bare_python(folder: Path) -> Path:
    """An interpreter that has all that pairproof imports, and not pairproof."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (own,) = {
        Path(each) for each in sys.path if each.endswith("site-packages") and Path(each).is_relative_to(sys.prefix)
    }
    for each in own.iterdir():
        if "pairproof" not in each.name and each.suffix != ".pth":
            (site / each.name).symlink_to(each)
    found = folder / "bin" / "python"
    done = subprocess.run(
        [str(found), "-c", "import pyspark, pyarrow, pairproof"], capture_output=True, text=True, cwd="/"
    )
    assert "No module named 'pairproof'" in done.stderr, done.stderr
    return found
