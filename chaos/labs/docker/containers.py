"""A lab's network and its containers.

A container's process must run on this machine, because the harness signals it: start() searches /proc for it, in a
control group with the container's id. An engine in a virtual machine, of another machine or in a container has other
process ids, and fails this check.
"""

from __future__ import annotations

import ipaddress
import time
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

from ....harness.errors import LabError
from .connection import Connection, Refused

GROUPS = Path("/sys/fs/cgroup")
POLL_S = 0.01
NOTICED_S = 2.0
LOG_LINES = 200
LAST_LINES = 5
FREEZES = 5
UNFROZEN = "unable to freeze"
"""runc's message for an attempt that came too late."""


class Bind(NamedTuple):
    source: Path
    read_only: bool = False
    propagation: str = "rprivate"
    """``rslave``: shows later mounts below it; then the source must be on a shared or slave mount."""


class State(NamedTuple):
    running: bool
    """Also while it is paused."""
    paused: bool
    exit_code: int
    """0 while it runs."""
    oom_killed: bool


class Network:
    """A lab's network, a bridge without outside access. This machine has the first address."""

    def __init__(self, connection: Connection, found: str, name: str, subnet: ipaddress.IPv4Network) -> None:
        self._connection = connection
        self.id = found
        self.name = name
        self.subnet = subnet
        self.gateway = self.address(1)

    def address(self, last_octet: int) -> str:
        """Its address with this last octet: 1 to 254."""
        return str(self.subnet[last_octet])

    def remove(self) -> None:
        """LabError while it has containers; no error if it is gone."""
        self._connection.remove(f"remove network {self.name}", methodcaller("remove_network", self.id))


@dataclass(eq=False)
class Container:
    """One container with its own address, initially not started."""

    _connection: Connection
    id: str
    name: str
    alias: str
    network: Network
    address: str
    pid: int = 0
    """The pid of its first process on this machine; 0 before the first start."""

    def start(self, may_end: bool = False) -> None:
        """Returns when its process runs, unless it ``may_end`` at once. LabError, with its last lines, if it ends or
        cannot start.
        """
        self._ask("start", "start")
        self.pid = int(self._found()["Pid"])
        if self.is_there():
            return
        # The engine may notice its end later.
        now = self.wait(NOTICED_S)
        if now.running:
            raise LabError(
                f"process {self.pid} of container {self.name} is not visible here: the Docker engine must be this "
                f"machine's own, not one in a virtual machine or a container (and /proc mounted without hidepid)"
            )
        if may_end:
            return
        output = " | ".join(self.logs(LAST_LINES).splitlines()) or "no output"
        raise LabError(f"container {self.name} exited at once, with exit code {now.exit_code}: {output}")

    def is_there(self) -> bool:
        """Whether ``pid`` is a process of it, by the kernel's data."""
        return bool(self._groups())

    def state(self) -> State:
        found = self._found()
        return State(found["Running"], found["Paused"], int(found["ExitCode"]), found["OOMKilled"])

    def wait(self, limit_s: float) -> State:
        ends = time.monotonic() + limit_s
        while (found := self.state()).running and time.monotonic() < ends:
            time.sleep(POLL_S)
        return found

    def kill(self) -> bool:
        """SIGKILL, also while it is paused. Returns after its process has ended; False if it did not run."""
        return self.signal(9)

    def signal(self, number: int) -> bool:
        """Signal its first process; False if it did not run."""
        try:
            self._ask("signal", "kill", int(number))
        except Refused:
            if self.state().running:
                raise
            return False
        return True

    def pause(self) -> None:
        """After it returns, all its processes are stopped. LabError unless it runs.

        On a busy machine they may not stop within runc's time limit: the pause is tried again.
        """
        for left in reversed(range(FREEZES)):
            try:
                self._ask("pause", "pause")
                return
            except Refused as why:
                if UNFROZEN not in str(why) or not left:
                    raise

    def unpause(self) -> None:
        """LabError unless it is paused."""
        self._ask("unpause", "unpause")

    def logs(self, lines: int = LOG_LINES) -> str:
        return bytes(self._ask("read the log of", "logs", tail=lines)).decode(errors="replace")

    def disconnect(self) -> None:
        self._ask("disconnect", "disconnect_container_from_network", self.network.id)

    def connect(self) -> None:
        as_before = {"ipv4_address": self.address, "aliases": [self.alias]}
        self._ask("connect", "connect_container_to_network", self.network.id, **as_before)

    def limit_memory(self, megabytes: int) -> None:
        """Change its limit, without swap. Below the present use: LabError, or its end with cgroup v2."""
        limit = f"{megabytes}m"
        self._ask("limit the memory of", "update_container", mem_limit=limit, memswap_limit=limit)

    def memory(self) -> int:
        """Bytes in use, without droppable file cache; also while paused. LabError unless it runs.

        Read from its control group, because the engine measures once a second only.
        """
        try:
            folder, usage, dropped = _memory_group(self._groups())
            held = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            return int((folder / usage).read_text()) - int(held[dropped])
        except (OSError, ValueError, KeyError):
            now = "cgroups are not below /sys/fs/cgroup" if self.state().running else "it does not run"
            raise LabError(f"cannot measure the memory of {self.name}: {now}") from None

    def remove(self) -> None:
        """Kill and remove it; no error if it is gone."""
        self._connection.remove(f"remove {self.name}", methodcaller("remove_container", self.id, v=True, force=True))

    def _ask(self, verb: str, method: str, *arguments: Any, **named: Any) -> Any:
        return self._connection.ask(f"{verb} {self.name}", methodcaller(method, self.id, *arguments, **named))

    def _groups(self) -> str:
        """The control groups of its process; empty if that pid is gone or another process."""
        with suppress(OSError):
            found = Path(f"/proc/{self.pid}/cgroup").read_text()
            return found if self.id in found else ""
        return ""

    def _found(self) -> dict[str, Any]:
        return dict(self._ask("inspect", "inspect_container")["State"])


def _memory_group(groups: str) -> tuple[Path, str, str]:
    """From /proc/PID/cgroup: the path of its memory counters, and the names of the values with cgroup v1 and v2."""
    lines = (each.split(":", 2) for each in groups.splitlines())
    paths = {controllers: path.lstrip("/") for _, controllers, path in lines}
    if "memory" in paths:
        return GROUPS / "memory" / paths["memory"], "memory.usage_in_bytes", "total_inactive_file"
    return GROUPS / paths[""], "memory.current", "inactive_file"
