"""A quiet Spark session: on this machine unless a cluster's master is named; Spark's output stays off the terminal.

The output of the JVM and its Python workers goes to a log file, which is deleted after success and quoted after a
failure. A session that the caller already runs is used unchanged and left running.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..harness.campaign.code import files
from ..harness.errors import UsageError
from . import java
from .errors import SparkFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
CLUSTER = "cluster"
"""The master that spark-submit was given."""

SMALL_ROWS = 50_000_000
"""Runs with fewer rows gain more from a fast JVM start than from optimisation."""

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set if spark-submit started this process: then its JVM, master and settings are used."""
OURS = (
    "spark.app.name", "spark.sql.catalogImplementation", "spark.sql.session.timeZone",
    "spark.sql.execution.arrow.pyspark.enabled", "spark.pyspark.python", "spark.pyspark.driver.python",
    "spark.sql.warehouse.dir",
)  # fmt: skip

FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

LACKING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception): \S")

CLOSE_TIMEOUT_S = 20
LOG_TAIL = 400


def worker_python(master: str) -> str:
    """The executors' interpreter: this one, unless PYSPARK_PYTHON names another one for a cluster."""
    return sys.executable if master.startswith("local") else os.environ.get("PYSPARK_PYTHON", sys.executable)


def settings(master: str, input_rows: int, name: str = "pairproof report") -> dict[str, str]:
    """Spark's settings for runs with ``input_rows`` rows; a cluster keeps its own network and memory settings."""
    chosen = {
        "spark.master": master,
        "spark.app.name": name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.pyspark.python": worker_python(master),
        "spark.pyspark.driver.python": sys.executable,
    }
    if master.startswith("local"):
        chosen |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": str(min(8, 2 * (os.cpu_count() or 1))),
        }
        if input_rows < SMALL_ROWS:
            chosen["spark.driver.extraJavaOptions"] = FAST_START
    return chosen


@contextlib.contextmanager
def session(master: str | None = None, input_rows: int = 0, name: str = "pairproof report") -> Iterator[SparkSession]:
    """A Spark session for the ``with`` block, called ``name`` on a cluster.

    Raises :class:`~pairproof.reports.errors.NoJava` before anything is started, and
    :class:`~pairproof.reports.errors.SparkFailed` with the last lines of Spark's log for any failure.
    """
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    submitted = SUBMITTED in os.environ
    if submitted and master is not None:
        raise UsageError("spark-submit started this process; give --master to it instead")
    home = java.find().home
    folder = Path(tempfile.mkdtemp(prefix="pairproof-spark-"))
    chosen = settings(master or (CLUSTER if submitted else LOCAL), input_rows, name)
    chosen |= {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    try:
        with _environment(home, chosen["spark.master"]), warnings.catch_warnings():
            # It concerns conversions to pandas, which are not used here.
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            with _started(chosen, folder / "spark.log") as started:
                yield started
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def carry_code(spark: SparkSession, folder: Path) -> None:
    """Give executors an archive of pairproof, made in ``folder``: it need not be installed there."""
    spark.sparkContext.addPyFile(str(archive(folder / "pairproof.zip")))


def archive(path: Path) -> Path:
    """Write the package and its entry points into a zip file; UsageError if it is not installed."""
    found = metadata.distribution("pairproof")
    points = found.read_text("entry_points.txt")
    if points is None:
        raise UsageError("pairproof is not installed here, so its code cannot travel; run pip install first")
    about = f"pairproof-{found.version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: pairproof\nVersion: {found.version}\n")
        made.writestr(f"{about}/entry_points.txt", points)
        for name, file in files(resources.files("pairproof"), "pairproof"):
            made.writestr(name, file.read_bytes())
    return path


@contextlib.contextmanager
def _environment(home: Path, master: str) -> Iterator[None]:
    """Spark's launcher and workers read these only from the environment; the caller's values are restored."""
    wanted = {"JAVA_HOME": str(home), "PYSPARK_PYTHON": worker_python(master)}
    wanted["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master.startswith("local"):
        # Otherwise Spark fails on a machine that cannot resolve its own name.
        wanted |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _started(chosen: dict[str, str], log: Path) -> Iterator[SparkSession]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway: Any = None
    try:
        with log.open("wb") as sink:
            if SUBMITTED in os.environ:
                SparkContext._ensure_initialized()
                gateway, conf = SparkContext._gateway, SparkConf()
                chosen = {name: chosen[name] for name in OURS}
            else:
                conf = SparkConf(loadDefaults=False)
            for key, value in chosen.items():
                conf.set(key, value)
            if gateway is None:
                gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
        yield SparkSession(SparkContext(conf=conf, gateway=gateway))
    except (PySparkException, Py4JError) as error:
        # Build the message here: PySpark would get it from the JVM, which is about to end.
        raise SparkFailed(_reason(error, log)) from None
    finally:
        if gateway is not None:
            _close(gateway)


def _close(gateway: Any) -> None:
    """Stop Spark, end its JVM and reset PySpark's state, so another session can be started."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with contextlib.suppress(Exception):
        active = SparkSession.getActiveSession()
        if active is not None:
            active.stop()
        elif SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
    with contextlib.suppress(Exception):
        gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    process = gateway.proc
    if process is not None:
        # The JVM ends when its standard input does.
        process.stdin.close()
        with contextlib.suppress(Exception):
            process.wait(CLOSE_TIMEOUT_S)


def _reason(error: Exception, log: Path) -> str:
    logged = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    if lacking := next((found[1] for line in lines if (found := LACKING.search(line))), ""):
        remedy = "install what requirements/run.txt lists there, or name another interpreter with PYSPARK_PYTHON"
        return f"the executors' Python has no {lacking}; {remedy}"
    # The last line of a Python worker's traceback is the exception.
    first = next((line for line in reversed(lines) if RAISED.match(line)), lines[0])
    worst = [line for line in logged if "Error" in line or "Exception" in line or "Caused by" in line]
    tail = (worst or [""])[-1][:LOG_TAIL]
    return f"Spark failed: {first[:LOG_TAIL]}{f' (its log: {tail})' if tail else ''}"
