"""The frames of faults: which methods of an ability begin and end them, and with what."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports.disks import CanSlowDisk
from pairproof.harness.ports.links import CanCutLink
from pairproof.harness.ports.nodes import CanCrashMachine
from pairproof.harness.trials.fault import DownFault, HeldFault, MomentaryFault, ToxicFault


class Session:
    """Records each call; its handles and effects are what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def called(*given: object) -> dict[str, object]:
            self.calls.append((name, *given))
            return {name: given}

        return called


def play(fault: Any, args: dict[str, Any]) -> tuple[list[tuple[object, ...]], Any]:
    session = Session()
    return session.calls, fault.stop(session, fault.start(session, args))


def test_a_held_fault_gives_its_arguments_in_their_order_and_ends_by_its_handle() -> None:
    fault = HeldFault("x", CanSlowDisk, {"node": ("n",), "ms": (1,)}, CanSlowDisk.slow_disk, CanSlowDisk.restore_disk)
    calls, effect = play(fault, {"ms": 7, "node": "slave"})
    assert calls == [("slow_disk", "slave", 7), ("restore_disk", {"slow_disk": ("slave", 7)})]
    assert effect == {"restore_disk": ({"slow_disk": ("slave", 7)},)}


def test_a_momentary_fault_has_done_all_when_it_begins() -> None:
    calls, effect = play(MomentaryFault("x", CanCutLink, {"link": ("ha",)}, CanCutLink.reset_link), {"link": "ha"})
    assert calls == [("reset_link", "ha")]
    assert effect == {"reset_link": ("ha",)}


def test_a_node_that_went_down_starts_again_when_the_fault_ends() -> None:
    arguments: dict[str, tuple[Any, ...]] = {"node": ("master",), "keep": ("none",)}
    fault = DownFault("x", CanCrashMachine, arguments, CanCrashMachine.crash_machine)
    calls, effect = play(fault, {"node": "master", "keep": "none"})
    assert calls == [("crash_machine", "master", "none"), ("restart", "master")]
    assert effect == {"crash_machine": ("master", "none")}


def test_a_toxic_fault_puts_its_toxic_on_one_direction_and_takes_it_off() -> None:
    fault = ToxicFault("x", {}, "latency", lambda args: {"latency": int(args["ms"])})
    calls, _ = play(fault, {"link": "ha", "direction": "up", "ms": 5})
    assert [call[0] for call in calls] == ["add_toxic", "remove_toxic"]
    assert calls[0][1:] == ("ha", "up", "latency", {"latency": 5})
