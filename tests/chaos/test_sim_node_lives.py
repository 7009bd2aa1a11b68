"""A node that crashes, loops or does not start is an event of the trial; what the lab itself raises is not."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from pairproof.chaos.labs import blame
from pairproof.chaos.labs.sim import watchdog, world
from pairproof.chaos.labs.sim.host import WATCHDOG
from pairproof.chaos.labs.sim.network import Network
from pairproof.chaos.labs.sim.session import SimSession
from pairproof.chaos.mutants import incarnations
from pairproof.chaos.mutants.mutant import Mutant, seeded_in, with_parts
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.errors import LabError
from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import topology
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.search import machine, shrink
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Scalar, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.ha_slave import HaSlave
from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.core.store import MessageStore
from pairproof.reference.errors import StoreFull, StoreRefused

LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")
SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
LATER = Op("advance", {"ms": 20_000})


def fault(name: str, node: str = "slave", **more: Scalar) -> tuple[Op, Op]:
    return Op("fault", {"name": name, "node": node, **more}), Op("heal", {"name": name})


def raising(what: BaseException, *, once: bool = False) -> type[HaSlave]:
    """A slave that raises this when its third frame comes, and unless ``once`` with every later one."""

    class Raises(HaSlave):
        frames_heard = 0

        def append(self, offset: int, body: bytes) -> bool:
            type(self).frames_heard += bool(body)
            if body and (self.frames_heard == 3 if once else self.frames_heard >= 3):
                raise what
            return super().append(offset, body)

    return Raises


def play(
    node_class: type[Broker] | type[NameServer] | None, *ops: Op, node: str = "slave", **settings: Scalar
) -> Trial:
    target = ReferenceTarget((Mutant("own", node, node_class, "node-lives", ""),)) if node_class else ReferenceTarget()
    return run_trial(LAB, target, Schedule(settings, "lives", ops))


def violated(trial: Trial) -> dict[str, str]:
    return {each.law: each.violations[0].text for each in trial.judgements if each.violations}


def kinds(trial: Trial, *wanted: str) -> list[Event]:
    return [event for event in trial.events if event.kind in wanted]


def test_a_node_that_raises_has_crashed_and_the_trial_goes_on_without_it() -> None:
    trial = play(with_parts(slave_class=raising(KeyError("gone"))), SEND, SEND, SEND, LATER)
    assert set(violated(trial)) == {"node-lives"}
    first = kinds(trial, "crash")[0]
    assert (first.node, first.f, first.status) == ("slave", "process", "own")
    # Where, but no path and no address: the same on every machine.
    assert first.detail is not None and first.detail.startswith("KeyError: 'gone' (")
    assert "/" not in first.detail
    # It is started again at the end, as after a kill.
    assert [event.incarnation for event in kinds(trial, "start") if event.node == "slave"] == [1, 2]


def test_a_crash_that_does_not_come_again_is_violated_too_and_the_pair_converges() -> None:
    trial = play(with_parts(slave_class=raising(ValueError("now"), once=True)), *[SEND] * 9, LATER)
    assert set(violated(trial)) == {"node-lives"}
    assert [event.f for event in kinds(trial, "mark")][-2:] == ["converged", "end"]


def test_the_finding_shrinks_and_says_the_same_again() -> None:
    found = resolve.target("reference+trips_over_loss")
    laws = judge.laws(["node-lives"])
    ops = (SEND, LATER, *fault("kill", "master"), SEND, Op("fault", {"name": "down", "link": "ha"}), LATER)

    def fails(each: Schedule) -> bool:
        return run_trial(LAB, found, each, laws=laws).judgements[0].verdict is Verdict.VIOLATED

    small = shrink.shrink(SYSTEM, Schedule({}, "lives", ops), fails)
    assert len(small.ops) == 1
    assert run_trial(LAB, found, small).events == run_trial(LAB, found, small).events


def test_the_machine_search_hands_over_trials_with_crashes() -> None:
    trials = machine.batch(
        LAB, resolve.target("reference+trips_over_fillers"), judge.laws(["node-lives"]), "lives", 0, 15
    )
    assert len(trials) == 15 and any("node-lives" in violated(each) for each in trials)


@pytest.mark.parametrize("mutant", seeded_in(incarnations.__name__), ids=lambda each: each.name)
def test_no_other_law_is_violated_where_a_node_is_gone(mutant: Mutant) -> None:
    away = Op("fault", {"name": "down", "link": "ha"}), LATER, Op("heal", {"name": "down"})
    ops = (*[SEND] * 9, LATER, *fault("kill"), *away, *fault("restart", "master"), SEND, LATER, SEND)
    settings: dict[str, Scalar] = {"lab.nameServer": 1, "brokerRole": "ASYNC_MASTER"}
    trial = run_trial(LAB, resolve.target(f"reference+{mutant.name}"), Schedule(settings, "lives", ops))
    assert set(violated(trial)) == {"node-lives"}


def test_a_node_that_ends_its_own_process_ends_only_itself() -> None:
    trial = play(with_parts(slave_class=raising(SystemExit(3))), SEND, SEND, SEND, LATER)
    assert violated(trial)["node-lives"].startswith("slave ended by itself: SystemExit: 3 (")


def test_a_user_s_interrupt_is_no_crash() -> None:
    with pytest.raises(KeyboardInterrupt):
        play(with_parts(slave_class=raising(KeyboardInterrupt())), SEND, SEND, SEND, LATER)


def test_a_name_server_s_crash_is_seen_too() -> None:
    class Trips(NameServer):
        def on_closed(self, conn: Any) -> None:
            raise RuntimeError("who was that")

    trial = play(Trips, *fault("kill"), LATER, node=topology.NAMES, **{"lab.nameServer": 1})
    assert violated(trial)["node-lives"].startswith("names ended by itself: RuntimeError: who was that")


# Starts.


class Hesitates(MessageStore):
    """Does not start a second time."""

    why: BaseException = StoreRefused("no")

    def start(self) -> None:
        if self.io.disk.names("commitlog"):
            raise self.why
        super().start()


@pytest.mark.parametrize(("why", "f"), [(StoreRefused("no"), "refused"), (IndexError("no"), "ended")])
def test_a_store_that_a_node_left_itself_must_be_started_on(why: BaseException, f: str) -> None:
    store = type("Own", (Hesitates,), {"why": why})
    trial = play(with_parts(store_class=store), SEND, *fault("restart"), LATER)
    found = kinds(trial, "abort")
    assert (found[0].node, found[0].f, found[0].incarnation) == ("slave", f, 2)
    assert set(violated(trial)) == {"node-lives"} and str(why) in violated(trial)["node-lives"]


def test_a_slave_that_copied_on_from_a_master_without_its_store_starts_on_what_it_has() -> None:
    ops = (*fault("wipe", "master"), SEND, SEND, SEND, LATER, *fault("restart"), SEND, LATER)
    trial = play(None, *ops, brokerRole="ASYNC_MASTER")
    copied = [(each.lo, each.hi) for each in kinds(trial, "append") if each.node == "slave"]
    assert len(copied) > 1, "it went on where it was, in the middle of a record"
    assert [(each.kind, each.f) for each in kinds(trial, "start", "abort") if each.node == "slave"] == [
        ("start", "empty"), ("start", "normal"),
    ]  # fmt: skip
    assert violated(trial) == {}


def test_what_an_operator_put_there_may_be_refused() -> None:
    trial = play(with_parts(store_class=Hesitates), SEND, *fault("older_image"), LATER)
    assert [each.f for each in kinds(trial, "abort")] and violated(trial) == {}


def test_a_disk_that_takes_no_writes_excuses_a_start() -> None:
    on, off = fault("read_only")
    trial = play(None, SEND, on, *fault("kill"), LATER, off, LATER)
    assert {each.status for each in kinds(trial, "abort", "crash")} >= {"disk"} and violated(trial) == {}


def test_an_error_of_the_disk_that_is_none_of_a_fault_is_a_crash() -> None:
    trial = play(with_parts(slave_class=raising(StoreFull("no room"), once=True)), SEND, SEND, LATER)
    assert set(violated(trial)) == {"node-lives"}


# Loops.


def test_a_node_that_acts_on_and_on_is_ended_and_named() -> None:
    on, off = Op("fault", {"name": "down", "link": "ha"}), Op("heal", {"name": "down"})
    trial = run_trial(LAB, resolve.target("reference+spins_alone"), Schedule({}, "lives", (SEND, on, LATER, off)))
    assert "events within a virtual millisecond" in violated(trial)["node-lives"]
    assert kinds(trial, "crash")[0].status == "stuck"


def test_a_step_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WATCHDOG, "limit_s", 1)
    monkeypatch.setattr(watchdog, "NEXT_LIMIT_S", 1)

    class Loops(HaSlave):
        def append(self, offset: int, body: bytes) -> bool:
            while body and offset:
                try:
                    len(body)
                except Exception:
                    pass
            return super().append(offset, body)

    trial = play(with_parts(slave_class=Loops), SEND, Op("advance", {"ms": 10}))
    assert violated(trial)["node-lives"] == ("slave went on without end: one step did not end within 1 s of CPU time")
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


# Who is to blame.


def test_what_the_lab_raises_is_no_crash_of_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(self: Network, end: object, data: bytes) -> int:
        raise ZeroDivisionError("in the lab")

    session = LAB.open(REFERENCE, REFERENCE.settings({}), "lab")
    assert isinstance(session, SimSession)
    session.warm_up()
    monkeypatch.setattr("pairproof.chaos.labs.sim.pipe.Pipe.feed", send)
    monkeypatch.setattr(Network, "send", _in_the_lab)
    with pytest.raises(ZeroDivisionError):
        session.driver.clients.send(0, 100, True, 0)
        session.advance(1_000)
    assert not [event for event in session.recorder.events if event.kind in ("crash", "abort")]


_SOURCE = "def _in_the_lab(self, end, data):\n    return len(data) // 0\n"
_SCOPE: dict[str, Any] = {"__name__": "pairproof.chaos.labs.sim.network"}
exec(_SOURCE, _SCOPE)
_in_the_lab = _SCOPE["_in_the_lab"]


def test_a_line_that_says_where_is_the_same_in_every_process() -> None:
    try:
        raise ValueError(f"{object()} and\nmore")
    except ValueError as why:
        said = blame.described(why)
    assert said.startswith("ValueError: <object object at 0x...> and more (") and "\n" not in said


def test_a_fault_that_raises_within_a_node_s_step_is_the_lab_s_failure_and_no_crash_of_the_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = resolve.faults()["kill"]

    class Broken:
        name, needs, arguments = "broken", known.needs, known.arguments

        def start(self, session: Any, args: Any) -> None:
            raise ValueError("a third party's bug")

    monkeypatch.setattr(resolve, "faults", lambda: {"broken": Broken()})
    armed = Op("arm", {"name": "broken", "node": "master", "point": "append", "nth": 1})
    with pytest.raises(LabError, match="fault broken failed: ValueError: a third party's bug"):
        play(None, armed, SEND, LATER)


def test_who_acts_on_and_on_is_ended_also_where_time_passes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "MAX_EVENTS", 50_000)

    class Rings(Broker):
        def on_start(self) -> None:
            super().on_start()
            self.on_timer("again")

        def on_timer(self, key: Any) -> None:
            if key == "again":
                self.io.timer(key, self.io.now() + 100_000)
            else:
                super().on_timer(key)

    text = violated(play(Rings, LATER))["node-lives"]
    assert text.startswith("slave went on without end: it acts on and on: 50,000 events without an end")


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_broker_whose_bytes_pass_one_by_one_is_in_no_loop(monkeypatch: pytest.MonkeyPatch, direction: str) -> None:
    """Neither while it hears them, nor while there is room for one more, and one more, in a connection that is full."""
    size = 100_000 if direction == "up" else 200_000
    slices = Op("fault", {"name": "slicer", "link": "client-master", "direction": direction, "bytes": 1, "micros": 100})
    large = Op("send", {"producer": 0, "size": size, "wait": True, "queue": 0})
    pulls = [Op("pull", {"reader": reader, "node": "master", "queue": 0}) for reader in (0, 0, 0, 1)]
    made = (slices, large, large, LATER) if direction == "up" else (large, large, LATER, slices, *pulls)
    acts: list[int] = []

    def asked(self: Any, what: str, least: int) -> bool:
        acts.append(self.hosts["master"].acts)
        return ends(self, what, least)

    ends = world.World._end_busiest
    monkeypatch.setattr(world, "MAX_EVENTS", size)
    monkeypatch.setattr(world.World, "_end_busiest", asked)
    trial = play(None, *made, LATER, mappedFileSizeCommitLog=1_048_576)
    assert acts and max(acts) < 1_000 and kinds(trial, "crash") == [] and not violated(trial)


def test_a_loop_of_the_labs_own_is_no_node_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its events are 1.9 microseconds apart; with 2.1 the phase is taken for a long one."""
    monkeypatch.setattr(world, "MAX_EVENTS", 20_000)

    def starts(every_ns: int, ms: int) -> None:
        def loops(self: Any, driver: Any) -> None:
            def again() -> None:
                if self.kernel.now < ms * 1_000_000:
                    self.kernel.at(self.kernel.now + every_ns, again)

            start(self, driver)
            again()

        monkeypatch.setattr(world.World, "start", loops)
        play(None)

    start = world.World.start
    starts(2_100, 100)
    with pytest.raises(LabError, match="did not come to rest in 20000 events"):
        starts(1_900, 100)
