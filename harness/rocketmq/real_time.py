"""RocketMQ's settings for real-time trials: intervals of seconds instead of minutes."""

from __future__ import annotations

from ..trials.schedule import Args, Scalar
from .settings import line

SIMULATED = (
    "lab.bufferBytes",
    "lab.latencyMicros",
    "lab.gatherMicros",
    "lab.flushMicros",
    "lab.spread",
    "lab.absentNameServers",
    "lab.conversations",
)
"""Settings of a simulated network and disk, and of seeded conformance conversations."""
SHORT: dict[str, Scalar] = {
    "haSendHeartbeatInterval": 200,
    "haHousekeepingInterval": 3_000,
    "slaveTimeout": 800,
    "syncFlushTimeout": 1_500,
    "registerNameServerPeriod": 10_000,
}
"""In ms. RocketMQ's defaults are longer than a trial."""
ALL_ROUNDS_MS = 5_500
"""Until 4.5.2 a master abandons a send after five rounds of a second, in any configuration: senders must wait
longer.
"""


def short(settings: Args) -> Args:
    """The settings with short intervals, and without those of a simulation."""
    rounds = {"syncFlushTimeout": ALL_ROUNDS_MS} if line(settings).wake_ups else {}
    return {**{name: value for name, value in settings.items() if name not in SIMULATED}, **SHORT, **rounds}
