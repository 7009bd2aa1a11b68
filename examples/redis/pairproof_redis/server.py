"""``redis-server`` as a program: its configuration, start, readiness, and end."""

from __future__ import annotations

from pairproof.chaos.plan import Cause, Command, Place, Program, Status
from pairproof.harness.trials.schedule import Args

LOG = "log"
"""The list to which every write appends its name."""
READY = "Ready to accept connections"
WILL_NOT = ("Bad file format reading the append only file", "Fatal error", "FATAL CONFIG FILE ERROR")
"""Its messages when it refuses its folder's files."""


class RedisServer(Program):
    """``replica``: it follows the node at the far end of the link ``ha``."""

    ready_s = 30
    orderly = Status("exited", 0)

    def __init__(self, replica: bool, settings: Args) -> None:
        self.replica = replica
        self.settings = settings

    def start(self, at: Place) -> Command:
        path = at.folder / f"{at.name}.conf"
        path.write_text("".join(f"{line}\n" for line in self.lines(at)), encoding="utf-8")
        return Command(["redis-server", str(path)])

    def lines(self, at: Place) -> list[str]:
        """Redis's defaults, except for persistence, and for pauses longer than a trial."""
        found = [
            f"bind {at.bind}", f"port {at.address(at.name).port}", "protected-mode no", f"dir {at.path}",
            'save ""', "appendonly yes", f"appendfsync {self.settings['appendfsync']}",
            f"min-replicas-to-write {self.settings['min-replicas-to-write']}", "min-replicas-max-lag 2",
            "repl-diskless-sync-delay 0", "repl-ping-replica-period 1", "repl-timeout 3", "shutdown-timeout 1",
        ]  # fmt: skip
        if self.replica:
            host, port = at.dials("ha")
            found.append(f"replicaof {host} {port}")
        return found

    def is_ready(self, at: Place) -> bool:
        return READY in at.printed()

    def cause(self, at: Place, status: Status) -> Cause:
        found = super().cause(at, status)
        return Cause.REFUSED if found is Cause.OWN and any(each in at.printed() for each in WILL_NOT) else found
