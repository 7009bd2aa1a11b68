"""Trials in containers: the reference keeps the laws, every fault that there is bites, a mutant is caught; what is seen
from outside is what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from real_labs import events, goes_on, left, opened, play, sends, sent, under, violated

from pairproof.chaos.labs.docker.lab import DockerLab, DockerSession
from pairproof.chaos.labs.real.disks import Disk
from pairproof.chaos.labs.real.session import RealSession
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness import registry
from pairproof.harness.errors import LabError
from pairproof.harness.rocketmq.operations.await_ import HAPPENED
from pairproof.harness.trials.schedule import Op

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_engine")]

Step = tuple[str, dict[str, int | str], str]
"""A fault, its arguments, and an effect of it that must not be nothing."""
BACK_MS = 6_000
"""By then a slave that was cut off has connected again."""


@pytest.fixture
def lab(labs_folder: Path) -> Iterator[DockerLab]:
    """A lab of the test's own, of which nothing stays."""
    made = DockerLab()
    yield made
    made.close()
    assert left(labs_folder) == []


def one_after_the_other(*steps: tuple[Step, ...]) -> list[Op]:
    """Faults under sends, those of one step at once, and then a while without any.

    A slave that starts connects at once; one that was cut off waits for some seconds.
    """
    ops = sends(5)
    for together in steps:
        for fault, args, _ in together:
            # An impostor has nobody to talk to before a slave connects again.
            ms = BACK_MS if fault == "rogue_master" else 300
            ops += [Op("fault", {"name": fault, **args}), *sends(4), Op("advance", {"ms": ms})]
        ops += [Op("heal", {"name": fault}) for fault, _, _ in together]
        ops += [*sends(1), Op("await", {"what": "replicated", "count": 1, "ms": BACK_MS}), Op("advance", {"ms": 50})]
    return ops


LINKS: tuple[tuple[Step, ...], ...] = (
    (("stall", {"link": "ha", "direction": "down"}, "bytes_held"),),
    (("latency", {"link": "ha", "direction": "up", "ms": 100}, "bytes_delayed"),),
    (("jitter", {"link": "client-master", "direction": "down"}, "bytes_delayed"),),
    (("bandwidth", {"link": "ha", "direction": "down", "rate": 20}, "bytes_delayed"),),
    (("slicer", {"link": "ha", "direction": "down"}, "bytes_sliced"),),
    (("limit_data", {"link": "ha", "direction": "down", "bytes": 300}, "bytes_lost"),
     ("kill", {"node": "slave"}, "processes_killed")),
    (("timeout", {"link": "client-master", "direction": "up"}, "bytes_lost"),),
    (("reset_peer", {"link": "client-master", "direction": "down"}, "connections_closed"),),
    (("slow_close", {"link": "ha", "direction": "down", "ms": 100}, "closes_delayed"),
     ("kill", {"node": "slave"}, "processes_killed")),
    (("down", {"link": "ha"}, "connections_closed"), ("restart", {"node": "slave"}, "processes_stopped")),
    (("reset", {"link": "client-master"}, "connections_closed"),),
)  # fmt: skip
PROCESSES: tuple[tuple[Step, ...], ...] = (
    (("kill", {"node": "master"}, "processes_killed"),),
    (("pause", {"node": "slave"}, "processes_paused"),),
    (("disconnect", {"node": "slave"}, "bytes_held"),),
    (("clock_skew", {"node": "master"}, "readings_skewed"),),
    (("memory_limit", {"node": "slave", "mb": 16}, "processes_killed"),),
    (("replace", {"node": "master"}, "images_replaced"),),
    (("upgrade", {"node": "slave"}, "images_replaced"),),
    (("rogue_slave", {"character": "two-faced"}, "bytes_sent"),),
    (("rogue_master", {"character": "junk"}, "bytes_sent"),),
    (("rogue_client", {"node": "master", "character": "junk"}, "bytes_sent"),),
)
DISKS: tuple[tuple[Step, ...], ...] = (
    (("disk_stall", {"node": "master"}, "flushes_held"),),
    (("slow_disk", {"node": "slave", "ms": 50}, "flushes_slowed"),),
    (("dispatch_stall", {"node": "slave"}, "dispatches_held"),),
    (("retention", {"node": "master"}, "files_deleted"),),
    (("disk_full", {"node": "master"}, "bytes_filled"),),
    (("lying_flush", {"node": "master"}, "files_feigned"), ("power_loss", {"node": "master"}, "bytes_lost")),
    # Its slave may have ended by itself, at a flush, before its machine does.
    (("read_only", {"node": "slave"}, "file_systems_shut_down"),),
    (("wipe", {"node": "slave"}, "log_bytes_gone"),),
    (("older_image", {"node": "slave"}, "log_bytes_gone"),),
    (("promotion", {"node": "slave"}, "slaves_promoted"),),
)
PLAYED = {"links": LINKS, "processes": PROCESSES, "disks": DISKS}


def test_no_fault_is_forgotten() -> None:
    played = {step[0] for steps in PLAYED.values() for each in steps for step in each}
    assert played == set(registry.names("faults")) - {"half_open", "second_master"}, "these need a simulation"


@pytest.mark.parametrize("what", PLAYED)
def test_the_reference_keeps_the_laws_and_every_fault_bites(lab: DockerLab, what: str) -> None:
    steps = PLAYED[what]
    trial = play(lab, one_after_the_other(*steps), mappedFileSizeCommitLog=4_096, flushDiskType="SYNC_FLUSH")
    assert not violated(trial)
    wanted = {fault: effect for each in steps for fault, _, effect in each}
    if trial.skipped:
        assert what == "disks" and not lab.has_devices(), trial.skipped
        wanted = {fault: effect for fault, effect in wanted.items() if fault != "read_only"}
    effects = {each.name: each.effect for each in trial.faults}
    assert {fault for fault, effect in wanted.items() if not effects.get(fault, {}).get(effect)} == set(), effects
    assert {"PUT_OK", "SLAVE_NOT_AVAILABLE"} <= set(sent(trial))


def test_a_mutant_is_caught_by_its_law_and_only_there(lab: DockerLab) -> None:
    ops = under("stall", link="ha", direction="down")
    assert "ack-replicated" in violated(play(lab, ops, TARGET.mutant("acks_at_once")))
    assert not violated(play(lab, ops))


# What is seen.


def seen(session: RealSession, kind: str, side: str | None) -> dict[object, int]:
    """When a link carried what, by what it was."""
    found: dict[object, int] = {}
    for each in events(session, kind):
        if each.side == side and (kind == "report" or (each.hi or 0) > (each.lo or 0)):
            found.setdefault((each.link, each.lo, each.hi, each.digest), each.t)
    return found


def test_both_ends_of_the_link_and_the_stores_are_seen_as_they_are_also_after_a_reboot(lab: DockerLab) -> None:
    session = opened(lab, flushDiskType="SYNC_FLUSH")
    session.on_nodes.crash_machine("master", "none")
    session.on_nodes.restart("master")
    master, slave = session.nodes["master"], session.nodes["slave"]
    assert master.store is not None and slave.store is not None
    session.wait_for(HAPPENED["replicated"], 1, 10_000)
    goes_on(session)
    sent_by, got_by = seen(session, "frame", "m"), seen(session, "frame", "s")
    assert len(got_by) >= 10 and all(sent_by[what] <= at for what, at in got_by.items()), "frames go down"
    said, heard = seen(session, "report", "s"), seen(session, "report", "m")
    assert len(heard) >= 10 and all(said[what] <= at for what, at in heard.items()), "reports go up"
    assert set(seen(session, "source", None)) == set(sent_by), "what is sent is what the store holds, of each frame"
    for node in (master, slave):
        assert node.store is not None
        files = node.files(("",))
        assert files == node.store.copy_files() and any(any(data) for data in files.values()), node.name
    logs = [node.files(("commitlog/",)) for node in (master, slave)]
    assert logs[0] == logs[1]
    path = slave.store.path / min(logs[1])
    path.write_bytes(b"!" + path.read_bytes()[1:])
    assert slave.files(("commitlog/",)) != logs[1], "it is the store that is read, not a memory of it"
    session.close()
    assert opened(lab).environment is session.environment, "one trial after another"
    assert opened(lab).environment is not session.environment, "but for one that was broken off"


# Stores.


def test_without_loop_devices_a_disk_of_memory_can_be_full_and_the_rest_says_why(
    lab: DockerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without root, too, there are folders only: see test_docker_machines.py."""
    monkeypatch.setattr(Disk, "_make", fails("no loop devices"))
    steps = [
        (("disk_full", {"node": "master"}, "bytes_filled"),),
        (("power_loss", {"node": "master"}, "bytes_lost"),),
        (("read_only", {"node": "slave"}, ""),),
        (("promotion", {"node": "slave"}, "slaves_promoted"),),
    ]
    settings = {"flushDiskType": "ASYNC_FLUSH", "flushIntervalCommitLog": 60_000}
    trial = play(lab, one_after_the_other(*steps), **settings)  # type: ignore[arg-type]
    if any("disk_full" in each for each in trial.skipped):
        pytest.skip(f"no memory can be mounted here: {trial.skipped}")
    assert not violated(trial)
    (skipped,) = trial.skipped
    assert skipped.startswith("read_only: ") and skipped.endswith("for each store: no loop devices")
    effects = {each.name: each.effect for each in trial.faults}
    assert effects["disk_full"]["bytes_filled"] and sent(trial)["SERVICE_NOT_AVAILABLE"]
    assert effects["power_loss"]["log_tails_cut"] and effects["power_loss"]["bytes_lost"]
    assert effects["promotion"]["slaves_promoted"]


def fails(why: str) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise LabError(why)

    return fail


def test_troubles_of_one_node_may_overlap_in_any_order(lab: DockerLab) -> None:
    session = opened(lab)
    assert isinstance(session, DockerSession)
    pause = session.on_nodes.pause("slave")
    assert session.on_nodes.kill("slave")["processes_killed"] == 1
    session.on_nodes.resume(pause)
    session.on_nodes.restart("slave")
    replaced, cable = session.replacement.replace_image("slave", "other"), session.on_nodes.disconnect("slave")
    small = session.on_nodes.limit_memory("slave", 100)
    assert session.replacement.restore_own_image(replaced)["images_replaced"] == 2
    container = session.nodes["slave"].container
    found = session.environment.engine.ask("inspect", lambda client: client.inspect_container(container.id))
    assert found["NetworkSettings"]["Networks"] == {} and found["HostConfig"]["Memory"] == 100 << 20
    session.on_nodes.lift_memory(small)
    session.on_nodes.reconnect(cable)
    stopped = session.on_nodes.pause("slave")
    session.on_nodes.crash_machine("slave", "none")
    session.on_nodes.resume(stopped)
    goes_on(session)
    session.close()


def test_a_kill_under_a_limit_is_the_limit_s_though_the_engine_does_not_say_why(lab: DockerLab) -> None:
    """Without a limit it is the lab's failure: ``test_docker_failures.py``."""
    session = opened(lab)
    assert isinstance(session, DockerSession)
    small, slave = session.on_nodes.limit_memory("slave", 100), session.nodes["slave"]
    slave.container.kill()
    assert session.world.run_until(lambda: not slave.is_up, 60_000_000_000)
    assert not slave.container.state().oom_killed
    assert session.on_nodes.lift_memory(small) == {"processes_killed": 1, "limits_hit": 1}
    session.on_nodes.restart("slave")
    goes_on(session)
    session.close()
    assert [each.status for each in events(session, "crash", "slave")] == [None]
