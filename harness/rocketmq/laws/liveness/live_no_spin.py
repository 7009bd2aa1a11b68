"""``live-no-spin``: no node makes more than 3 HA connects in any second.

Checks:
- Connections that were established, counted at the slave, separately for each incarnation.
- Refused attempts: the fault that refuses them reports their number at its end. The limit is three for each started
  second of the fault.
Abstains when:
- No fault counts the refusals, for example of a master that is down.
Source: HAService.HAClient.connectMaster, waitForRunning(5 s); the client of 4.9 does not wait after a failed dispatch.
"""

import json
from collections import deque

from ....event_types.machine import Fault
from ... import topology
from ...event_types.ha import Connect
from ...law import Law
from ...topology import ROGUE

SECOND_NS = 1_000_000_000
MOST = 3


class LiveNoSpin(Law):
    needs = frozenset({"connect"})
    timed = True

    def begin(self) -> None:
        self.connects: dict[tuple[str, int], deque[int]] = {}
        """By node and incarnation: its last connects, ns."""

    def on_connect(self, event: Connect) -> None:
        node = event.node
        if event.side != "s" or node == ROGUE:
            return
        last = self.connects.setdefault((node, self.known.nodes.ended(node)), deque(maxlen=MOST + 1))
        last.append(event.t)
        self.judged += 1
        if len(last) > MOST and event.t - last[0] < SECOND_NS:
            what = f"{node} made {len(last)} HA connects in {(event.t - last[0]) / 1e9:.3f} s"
            self.violate(event, what, since=last[0])
            last.clear()

    def on_fault(self, event: Fault) -> None:
        if event.status == "on" or event.link not in topology.HA_LINKS:
            return
        refused = json.loads(event.detail or "{}").get("connections_refused", 0)
        began = self.known.disturbances.active.get(event.number)
        if not refused or began is None:
            return
        self.judged += 1
        seconds = (event.t - began.t) // SECOND_NS + 1
        if refused > MOST * seconds:
            self.violate(event, f"{event.link}: {refused} HA connects were refused in {seconds} s", since=began.t)
