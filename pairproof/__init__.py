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

__all__ = [
    "Args",
    "CanArm",
    "CanAwait",
    "CanCrashMachine",
    "CanCutLink",
    "CanDisconnect",
    "CanFillDisk",
    "CanKill",
    "CanLieAboutFlushes",
    "CanLimitMemory",
    "CanPause",
    "CanPromote",
    "CanReplaceImage",
    "CanReplaceStore",
    "CanShapeLink",
    "CanSkewClock",
    "CanSlowDisk",
    "CanStallDisk",
    "CanStep",
    "CanStop",
    "CanTurnReadOnly",
    "Effect",
    "Event",
    "Fault",
    "Judgement",
    "Known",
    "Lab",
    "LabError",
    "Law",
    "Op",
    "PairproofError",
    "Recorder",
    "Schedule",
    "Session",
    "System",
    "Target",
    "Unable",
    "UsageError",
    "Verdict",
    "__version__",
    "conformance",
    "judge",
    "operation",
    "testing",
]

if TYPE_CHECKING:
    from pairproof.harness import testing
    from pairproof.harness.errors import LabError, PairproofError, Unable, UsageError
    from pairproof.harness.exploration import conformance
    from pairproof.harness.history import Event, Recorder
    from pairproof.harness.judging.judge import judge
    from pairproof.harness.judging.known import Known
    from pairproof.harness.judging.law import Law
    from pairproof.harness.judging.verdict import Judgement, Verdict
    from pairproof.harness.ports import Effect, Fault, Lab, Session, Target
    from pairproof.harness.ports.disks import (
        CanFillDisk,
        CanLieAboutFlushes,
        CanSlowDisk,
        CanStallDisk,
        CanTurnReadOnly,
    )
    from pairproof.harness.ports.links import CanCutLink, CanShapeLink
    from pairproof.harness.ports.nodes import (
        CanCrashMachine,
        CanDisconnect,
        CanKill,
        CanLimitMemory,
        CanPause,
        CanPromote,
        CanReplaceImage,
        CanReplaceStore,
        CanSkewClock,
        CanStop,
    )
    from pairproof.harness.ports.timing import CanArm, CanAwait, CanStep
    from pairproof.harness.system import System
    from pairproof.harness.trials import operation
    from pairproof.harness.trials.schedule import Args, Op, Schedule
else:
    # Hidden from type checkers: a module with __getattr__ has every name for them, misspelt ones too.
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
            "CanStop",
        ),
        "ports.timing": ("CanArm", "CanAwait", "CanStep"),
        "trials.schedule": ("Args", "Op", "Schedule"),
        "system": ("System",),
        "judging.verdict": ("Judgement", "Verdict"),
    }

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
