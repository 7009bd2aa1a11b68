"""pairproof: property-based conformance and chaos tests for RocketMQ-style master/slave replication.

The names below are the public API: what a law, a fault, a target, a lab or a test suite in another repository imports.
They keep their meaning within a minor version; every other name may move. Each is imported when it is first asked for,
so that ``import pairproof`` costs nothing and ``pairproof --help`` loads no library that it does not need. What laws
about RocketMQ need besides is in :mod:`pairproof.rocketmq`.

The packages (``pairproof.harness``, ``.reference``, ``.chaos``, ``.reports``) are links to the folders of the project's
root (decision 45).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
"""The version: pyproject.toml, ``--version``, run folders and reports read it here."""

if TYPE_CHECKING:
    from pairproof.harness import testing as testing
    from pairproof.harness.errors import LabError as LabError
    from pairproof.harness.errors import PairproofError as PairproofError
    from pairproof.harness.errors import Unable as Unable
    from pairproof.harness.errors import UsageError as UsageError
    from pairproof.harness.exploration import conformance as conformance
    from pairproof.harness.history import Event as Event
    from pairproof.harness.history import Recorder as Recorder
    from pairproof.harness.judging.judge import judge as judge
    from pairproof.harness.judging.known import Known as Known
    from pairproof.harness.judging.law import Law as Law
    from pairproof.harness.judging.verdict import Judgement as Judgement
    from pairproof.harness.judging.verdict import Verdict as Verdict
    from pairproof.harness.ports import Effect as Effect
    from pairproof.harness.ports import Fault as Fault
    from pairproof.harness.ports import Lab as Lab
    from pairproof.harness.ports import Session as Session
    from pairproof.harness.ports import Target as Target
    from pairproof.harness.ports.disks import CanFillDisk as CanFillDisk
    from pairproof.harness.ports.disks import CanLieAboutFlushes as CanLieAboutFlushes
    from pairproof.harness.ports.disks import CanSlowDisk as CanSlowDisk
    from pairproof.harness.ports.disks import CanStallDisk as CanStallDisk
    from pairproof.harness.ports.disks import CanTurnReadOnly as CanTurnReadOnly
    from pairproof.harness.ports.links import CanCutLink as CanCutLink
    from pairproof.harness.ports.links import CanShapeLink as CanShapeLink
    from pairproof.harness.ports.nodes import CanCrashMachine as CanCrashMachine
    from pairproof.harness.ports.nodes import CanDisconnect as CanDisconnect
    from pairproof.harness.ports.nodes import CanKill as CanKill
    from pairproof.harness.ports.nodes import CanLimitMemory as CanLimitMemory
    from pairproof.harness.ports.nodes import CanPause as CanPause
    from pairproof.harness.ports.nodes import CanPromote as CanPromote
    from pairproof.harness.ports.nodes import CanReplaceImage as CanReplaceImage
    from pairproof.harness.ports.nodes import CanReplaceStore as CanReplaceStore
    from pairproof.harness.ports.nodes import CanSkewClock as CanSkewClock
    from pairproof.harness.ports.nodes import CanStartSecond as CanStartSecond
    from pairproof.harness.ports.nodes import CanStop as CanStop
    from pairproof.harness.ports.timing import CanArm as CanArm
    from pairproof.harness.ports.timing import CanAwait as CanAwait
    from pairproof.harness.ports.timing import CanStep as CanStep
    from pairproof.harness.system import System as System
    from pairproof.harness.trials import operation as operation
    from pairproof.harness.trials.schedule import Args as Args
    from pairproof.harness.trials.schedule import Op as Op
    from pairproof.harness.trials.schedule import Schedule as Schedule
else:
    # Hidden from type checkers: a module with __getattr__ has every name for them, misspelt ones too.
    # They take the names imported as themselves above for the public ones.
    _MODULES = {"conformance": "exploration.conformance", "operation": "trials.operation", "testing": "testing"}
    _HOMES = {
        "errors": ("LabError", "PairproofError", "Unable", "UsageError"),
        "history": ("Event", "Recorder"),
        "judging.judge": ("judge",),
        "judging.law": ("Law",),
        "judging.known": ("Known",),
        "ports": ("Effect", "Fault", "Lab", "Session", "Target"),
        "ports.disks": ("CanFillDisk", "CanLieAboutFlushes", "CanSlowDisk", "CanStallDisk", "CanTurnReadOnly"),
        "ports.links": ("CanCutLink", "CanShapeLink"),
        "ports.nodes": (
            "CanCrashMachine",
            "CanDisconnect",
            "CanKill",
            "CanLimitMemory",
            "CanPause",
            "CanPromote",
            "CanReplaceImage",
            "CanReplaceStore",
            "CanSkewClock",
            "CanStartSecond",
            "CanStop",
        ),
        "ports.timing": ("CanArm", "CanAwait", "CanStep"),
        "trials.schedule": ("Args", "Op", "Schedule"),
        "system": ("System",),
        "judging.verdict": ("Judgement", "Verdict"),
    }

    __all__ = sorted(["__version__", *_MODULES, *(name for names in _HOMES.values() for name in names)])

    def __getattr__(name):
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"pairproof.harness.{_MODULES[name]}")
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"pairproof.harness.{home}"), name)
        raise AttributeError(f"module 'pairproof' has no attribute {name!r}; it has {', '.join(__all__)}")

    def __dir__():
        return sorted({*globals(), *__all__})
