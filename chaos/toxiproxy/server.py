"""Starts toxiproxy-server and waits until it is ready. The caller owns the process.

A server that cannot listen logs that and continues to run, so the answering one may be another server.
"""

import time
from collections.abc import Callable
from pathlib import Path

from ...harness.errors import LabError
from .install import VERSION
from .proxies import HOST, Proxies

POLL_S = 0.01


def command(binary: Path, port: int) -> list[str]:
    """The command line: on loopback, counting the bytes of each proxy. Its log goes to standard output."""
    return [str(binary), "-host", HOST, "-port", str(port), "-proxy-metrics"]


def wait_ready(port: int, limit_s: float, alive: Callable[[], bool], host: str = HOST) -> None:
    """Return when a newly started server answers.

    LabError if it is no longer ``alive``, does not answer within ``limit_s``, has another version, or has proxies
    already and so is another server.
    """
    deadline = time.monotonic() + limit_s
    proxies = Proxies(port, limit_s, host)
    while True:
        if not alive():
            raise LabError(f"toxiproxy-server ended before it answered on port {port}; its log has the reason")
        try:
            version = proxies.version()
            break
        except LabError as why:
            if time.monotonic() > deadline:
                raise LabError(f"toxiproxy-server is not ready on port {port} after {limit_s:g} s: {why}") from None
            time.sleep(POLL_S)
    if version != VERSION:
        raise LabError(f"port {port} belongs to a toxiproxy-server {version}; use another port")
    if proxies.names():
        raise LabError(f"port {port} belongs to another toxiproxy-server, with its own proxies; use another port")
