"""``ha-address-source``: a broker registers brokerIP2 and its HA port. A slave's HA address is haMasterAddress if set,
else the name server's answer; without either the slave opens no HA connection, and still serves pulls.

Checks:
- A broker registers brokerIP2 (brokerIP1 if unset) with its HA port: haListenPort from 5.1.1 on, else listenPort + 1.
- Without haMasterAddress, a slave opens no HA connection before a registration of its present incarnation was answered
  with an address.
- From then on (with haMasterAddress: from its start) it connects within ``CONNECT_NS``, while the master is up and both
  and their link are undisturbed.
- A name server never answers with a slave's address, or with another broker name's master.
- Without an address a slave serves pulls: it does not refuse them as not ready or busy (5.x may if slaveReadEnable is
  off).
Abstains when:
- For the first two checks: the lab does not record registrations, or what they hold.
- For the first: the history does not have the broker's addresses.
- For connects: it is not the incarnation's first (see ``live-converges``).
- A name server no longer confirms the address, or answers with a second master's: the slave may keep or drop it.
Source: BrokerController.start, getHAServerAddr and registerBrokerAll (updateHaMasterAddress,
updateMasterHAServerAddrPeriodically), BrokerStartup, HAService.HAClient.connectMaster.
"""

from ....event_types.client import Fail, Ok
from ....event_types.node import Start
from ....history import MS, Event
from ...event_types.ha import Connect
from ...event_types.metadata import Register
from ...known.circumstances import EARLIER_INCARNATION
from ...known.deadlines import Deadline, Deadlines
from ...known.metadata import registration_answer
from ...law import SlaveLaw
from ...settings import refuses_reads, registered_address
from ...topology import MASTER, OTHER, ROGUE, ha_link

CONNECT_NS = (5_000 + 5_000 + 1_000) * MS
"""The HA client's wait between two attempts, its timeout, and a poll."""
REFUSALS = frozenset({"SERVICE_NOT_AVAILABLE", "SYSTEM_BUSY"})


class HaAddressSource(SlaveLaw):
    needs = frozenset({"config", "start", "connect"})
    timed = True

    def begin(self) -> None:
        self.addressed: set[str] = set()
        self.ever_addressed: set[str] = set()
        """Slaves that had an address in their present incarnation."""
        self.connected: set[str] = set()
        self.pending = Deadlines[str](self, self._late)

    def on_start(self, event: Start) -> None:
        """A slave takes haMasterAddress; an addressed slave can now reach the master."""
        node = event.node
        if node == MASTER:
            for slave in self.addressed - self.connected:
                self._expect_connect(slave, event)
        elif node in self.slaves:
            for each in (self.addressed, self.ever_addressed, self.connected):
                each.discard(node)
            if self.slaves[node].get("haMasterAddress"):
                self._learn(node, event)

    def on_register(self, event: Register) -> None:
        node = event.node
        if event.status != "ok":
            return
        if event.address is not None:
            self._judge_registered(node, event.address, event)
        if node not in self.slaves:
            return
        answer = registration_answer(event)
        for field in ("master", "ha"):
            self._judge_answer(node, answer.get(field), event)
        if self.slaves[node].get("haMasterAddress"):
            return
        if answer.get("ha") and answer.get("master") != OTHER:
            if node not in self.addressed:
                self._learn(node, event)
        else:
            if answer.get("ha"):
                self.ever_addressed.add(node)
            self.addressed.discard(node)
            self.pending.pop(node, None)

    def _judge_registered(self, node: str, registered: str, event: Event) -> None:
        expected = registered_address(self.known.config.get(node, {}))
        if expected is None:
            return
        self.judged += 1
        if registered != expected:
            self.violate(
                event, f"{node} registered its HA address as {registered}, and its settings say {expected}", since=None
            )

    def _judge_answer(self, node: str, answered: str | None, event: Event) -> None:
        known = self.known.config.get(answered or "")
        if known is None:
            return
        self.judged += 1
        if known.get("brokerRole") == "SLAVE" or known.get("brokerName") != self.slaves[node].get("brokerName"):
            self.violate(event, f"a name server answered {node} that {answered} is its master", since=None)

    def _learn(self, node: str, event: Event) -> None:
        self.addressed.add(node)
        self.ever_addressed.add(node)
        if node not in self.connected and MASTER in self.known.up:
            self._expect_connect(node, event)

    def _expect_connect(self, node: str, event: Event) -> None:
        targets = MASTER, node, ha_link(node)
        if not self.known.disturbances.is_disturbed(*targets):
            self.pending.begin(node, event.t, CONNECT_NS + self.known.healthy_ns, *targets)

    def on_connect(self, event: Connect) -> None:
        node = event.node
        if event.side != "s" or node == ROGUE or node not in self.slaves:
            return
        self.judged += 1
        if node not in self.ever_addressed and "register" in self.known.observes:
            self.violate(event, f"{node} opened an HA connection, and had no address", since=None)
        self.pending.report_missed(event)
        self.connected.add(node)
        self.pending.pop(node, None)

    def _late(self, event: Event, node: str, due: Deadline) -> None:
        late = (event.t - due.since) / MS
        what = f"{node} has had its master's HA address for {late:.0f} ms, and has not connected"
        self.violate(event, what, due.since)

    def on_ok(self, event: Ok) -> None:
        self.judged += self._is_served_alone(event)

    def on_fail(self, event: Fail) -> None:
        if self._is_served_alone(event) and event.status in REFUSALS and not refuses_reads(self.slaves[event.node]):
            self.judged += 1
            self.violate(event, f"{event.node} has no HA address, and refuses pulls: {event.status}", since=None)

    def _is_served_alone(self, event: Fail | Ok) -> bool:
        """Whether a slave that has had no address in its incarnation answers a pull."""
        is_alone = event.f == "pull" and event.node in self.slaves and event.node not in self.ever_addressed
        return is_alone and not self.abstains(event, EARLIER_INCARNATION)

    def end(self, last: Event) -> None:
        super().end(last)
        self.judged += sum(node in self.known.up and node not in self.connected for node in self.slaves)
