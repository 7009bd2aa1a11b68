"""``role-no-takeover``: while a master is down nobody takes messages for its broker name; when it is back it does.

- A send that begins and ends while the master is down, to whichever broker of the pair, is not answered as stored.
- Broker id 0, to which sends go, is never a slave's: neither in a route that a client learned nor at a name server.
- After its return a master that nothing has touched since does not refuse sends as one that is not ready
  (SERVICE_NOT_AVAILABLE).

Left out: sends that overlap the master's going or coming; a master that was a diverged slave (see ``logs``),
whose log nobody can read; other refusals after its return, and how soon sends are
answered then, see ``live-converges``. Source: the design: RocketMQ 4 promotes no slave by itself.
"""

import json

from pairproof.harness.history import Event
from pairproof.harness.kinds.client import Fail, Info, Invoke, Ok, Route
from pairproof.harness.kinds.machine import Fault
from pairproof.harness.kinds.node import Config, Crash, Start, Stop, Wipe
from pairproof.harness.rocketmq.kinds.metadata import Table
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER
from pairproof.harness.rocketmq.settings import parse


class RoleNoTakeover(Law):
    id = "role-no-takeover"
    promise = "While a master is down no node accepts writes for its broker name; writes resume when it is back."
    source = "DefaultMQProducerImpl: brokerAddrs[0] only; a slave's role changes by hand"
    needs = frozenset({"config", "start", "invoke", "ok"})

    def begin(self) -> None:
        self.slaves: set[str] = set()
        self.down = False
        self.back: int | None = None
        """When the master returned, ns, if nothing has touched it since."""
        self.promoted = False
        """Whether a slave has taken its place since it was there last."""
        self.orphans: set[int | None] = set()
        """Sends that began while it was down."""
        self.resumed: set[int | None] = set()
        """Sends that began after its return."""

    def on_config(self, event: Config) -> None:
        if parse(event.detail or "{}").get("brokerRole") == "SLAVE":
            self.slaves.add(event.node)
        self.applicable = bool(self.slaves)

    def on_crash(self, event: Crash | Stop) -> None:
        if event.node == MASTER:
            self.down, self.back = True, None
            self._forget()

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        """It will come back on another's store: the fault that does this has another node's name."""
        if event.node == MASTER and event.detail is not None:
            self.promoted = True

    def on_start(self, event: Start) -> None:
        if event.node != MASTER:
            return
        if self.down:
            # What took it down may end a moment later; a second fault is something else.
            active = [each for each in self.known.trouble.active.values() if each.node == MASTER]
            self.back = event.t if len(active) <= (not self.promoted) else None
        self.down = self.promoted = False
        self._forget()

    def _forget(self) -> None:
        self.orphans.clear()
        self.resumed.clear()

    def on_fault(self, event: Fault) -> None:
        """A master that is touched may refuse for that."""
        if event.node == MASTER and event.status == "on":
            self.back = None
            self.resumed.clear()

    def on_invoke(self, event: Invoke) -> None:
        if event.f != "send" or (event.node != MASTER and event.node not in self.slaves):
            return
        if self.down:
            self.orphans.add(event.op)
        elif self.back is not None and event.node == MASTER:
            self.resumed.add(event.op)

    def on_ok(self, event: Ok) -> None:
        if event.op in self.orphans:
            self.orphans.discard(event.op)
            self.judged += 1
            self.violate(event, f"{event.node} took {event.message} ({event.status}) while the master was down")
        elif event.op in self.resumed:
            self.resumed.discard(event.op)
            self.judged += 1

    def on_fail(self, event: Fail) -> None:
        if event.op in self.orphans:
            self.orphans.discard(event.op)
            self.judged += 1
        elif event.op in self.resumed:
            self.resumed.discard(event.op)
            self.judged += 1
            if event.status == "SERVICE_NOT_AVAILABLE" and MASTER not in self.known.logs.diverged:
                self.violate(event, f"the master is back, and refused {event.message} as if it were not ready")

    def on_info(self, event: Info) -> None:
        if event.op in self.orphans:
            self.orphans.discard(event.op)
            self.judged += 1
        self.resumed.discard(event.op)

    def on_route(self, event: Route) -> None:
        if event.status == "found":
            self._judge_route(event, json.loads(event.detail or "{}"), "a client's route")

    def on_table(self, event: Table) -> None:
        if event.f == "brokers":
            for name, nodes in json.loads(event.detail or "{}").items():
                self._judge_route(event, nodes, f"{event.node}'s entry for {name}")

    def _judge_route(self, event: Event, nodes: dict[str, str], where: str) -> None:
        self.judged += self.down
        if nodes.get("0") in self.slaves:
            self.violate(event, f"{where} says that {nodes['0']}, a slave, is the master")
