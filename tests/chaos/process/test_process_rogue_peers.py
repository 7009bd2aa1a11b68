"""A lab of processes runs a system that it has never heard of: two programs, a link between them, a driver."""

from __future__ import annotations

import socket

from pairproof.chaos.driver import Driver
from pairproof.chaos.labs.docker.lab import LAB as DOCKER
from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.labs.real.world import World
from pairproof.chaos.labs.sim.lab import LAB as SIM
from pairproof.chaos.plan import CLIENT, Command, Image, LinkPlan, NodePlan, Place, Plan, Program
from pairproof.harness.trials import abilities as asked
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule

SERVER = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
while True:
    peer, _ = listener.accept()
    peer.sendall(open(sys.argv[3]).read().encode())
    peer.close()
"""


class Echo(Program):
    """Sends its name to each connection; its name is in its store."""

    ready_s = 30

    def start(self, at: Place) -> Command:
        program = at.folder / "server.py"
        program.write_text(SERVER)
        port = at.address(at.name).port
        return Command(["python3", str(program), at.bind, str(port), str(at.path / "name")])

    def is_ready(self, at: Place) -> bool:
        return "ready" in at.printed()


class Asking:
    """Asks the master who it is, through the proxy."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.phase_of: dict[int, str] = {}
        self.heard: list[bytes] = []

    def probe(self) -> int:
        self.heard.append(self.world.aside(self._ask))
        self.phase_of[len(self.heard)] = "ok" if self.heard[-1] else "info"
        return len(self.heard)

    def answered(self) -> bool:
        return True

    def _ask(self) -> bytes:
        try:
            with socket.create_connection(self.world.links.dials("client-master"), 5) as peer:
                return peer.recv(100)
        except OSError:
            return b""


class EchoDriver(Driver):
    def __init__(self, world: World) -> None:
        self.clients = Asking(world)
        self.audited: list[str] = []

    def audit(self, f: str, *nodes: str) -> None:
        self.audited += [f"{f} {node}" for node in nodes]


class EchoTarget:
    name = "echo"

    def __init__(self) -> None:
        self.drivers: list[EchoDriver] = []

    def settings(self, schedule: Args) -> Args:
        return schedule

    def plan(self, settings: Args) -> Plan:
        def node(name: str, stage: int) -> NodePlan:
            return NodePlan(name, (Echo(),), fresh={"name": name.encode()}, stage=stage)

        links = LinkPlan("ha", "slave", "master"), LinkPlan("client-master", CLIENT, "master")
        return Plan((node("master", 0), node("slave", 1)), links, ("master", "slave"))

    def driver(self, world: World) -> EchoDriver:
        self.drivers.append(EchoDriver(world))
        return self.drivers[-1]


def test_a_stranger_s_pair_is_killed_cut_off_and_started_again(lab: ProcessLab) -> None:
    target = EchoTarget()
    faults = [Op("fault", {"name": "kill", "node": "master"}), Op("fault", {"name": "down", "link": "client-master"})]
    trial = run_trial(lab, target, Schedule({}, "seed", (*faults, Op("advance", {"ms": 50}))), laws=())
    (driver,) = target.drivers
    assert driver.clients.heard[0] == driver.clients.heard[-1] == b"master"
    lives = [(each.kind, each.node, each.incarnation) for each in trial.events if each.kind in ("start", "crash")]
    assert lives == [("start", "master", 1), ("start", "slave", 1), ("crash", "master", 1), ("start", "master", 2)]
    assert driver.audited == ["recovery master", "final master", "final slave"]
    assert trial.skipped == ()


def test_which_labs_take_a_target_its_forms_say() -> None:
    class InContainers(EchoTarget):
        def plan(self, settings: Args) -> Plan:
            found = super().plan(settings)
            return found._replace(nodes=tuple(each._replace(forms=(*each.forms, Image())) for each in found.nodes))

    labs = ProcessLab(), DOCKER, SIM
    assert [each.takes(EchoTarget()) for each in labs] == [True, False, False]
    assert [each.takes(InContainers()) for each in labs] == [True, True, False]


def test_what_can_be_done_is_asked_of_the_lab_and_the_target_together() -> None:
    known = resolve.faults(), resolve.operations()
    mine, every = (asked.abilities(each, *known) or [] for each in (Hosted(ProcessLab(), EchoTarget()), ProcessLab()))
    assert {"CanKill", "CanCutLink"} <= set(mine) < set(every)
    assert "CanSend" in every and "CanSend" not in mine
