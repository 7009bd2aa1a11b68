"""Trials in real processes behind a real toxiproxy: the reference keeps the laws, faults bite, a mutant is caught."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_labs import play, sends, sent, under, violated
from toxiproxies import binary

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.targets.reference import TARGET

pytestmark = pytest.mark.slow


@pytest.fixture
def lab() -> Iterator[ProcessLab]:
    """A lab of the test's own."""
    os.environ["PAIRPROOF_TOXIPROXY"] = str(binary())
    made = ProcessLab()
    yield made
    made.close()


CASES = {
    "stall": ("stall", {"link": "ha", "direction": "down"}, "bytes_held", "FLUSH_SLAVE_TIMEOUT"),
    "reports_stall": ("stall", {"link": "ha", "direction": "up"}, "bytes_held", "FLUSH_SLAVE_TIMEOUT"),
    "down": ("down", {"link": "ha"}, "connections_closed", "SLAVE_NOT_AVAILABLE"),
    "limit_data": ("limit_data", {"link": "ha", "direction": "down", "bytes": 300}, "bytes_lost", None),
    "reset": ("reset", {"link": "client-master"}, "connections_closed", "disconnected"),
    "kill_master": ("kill", {"node": "master"}, "processes_killed", "refused"),
    "stop_slave": ("restart", {"node": "slave"}, "processes_stopped", "SLAVE_NOT_AVAILABLE"),
    "pause_slave": ("pause", {"node": "slave"}, "processes_paused", "FLUSH_SLAVE_TIMEOUT"),
    "clock": ("clock_skew", {"node": "master"}, "readings_skewed", None),
    "lies": ("lying_flush", {"node": "master"}, "files_feigned", None),
    "stalled_disk": ("disk_stall", {"node": "master"}, "flushes_held", None),
    "wiped": ("wipe", {"node": "slave"}, "log_bytes_gone", "SLAVE_NOT_AVAILABLE"),
    "promotion": ("promotion", {"node": "slave"}, "slaves_promoted", "SLAVE_NOT_AVAILABLE"),
    "hostile": ("hostile", {"character": "two-faced"}, "bytes_sent", None),
    "machine": ("power_loss", {"node": "master"}, "bytes_lost", "refused"),
    "full": ("disk_full", {"node": "master"}, "bytes_filled", "SERVICE_NOT_AVAILABLE"),
    "read_only": ("read_only", {"node": "master"}, "processes_ended", "refused"),
}
NEEDS_DEVICE = ("full", "read_only")


def test_the_reference_keeps_the_laws_and_every_fault_bites(lab: ProcessLab) -> None:
    for name, (fault, args, bite, status) in CASES.items():
        trial = play(lab, under(fault, **args))
        if trial.skipped:
            assert name in NEEDS_DEVICE and not lab.has_devices(), (name, trial.skipped)
            continue
        assert not violated(trial), name
        (outcome,) = trial.faults
        assert outcome.effect.get(bite, 0) > 0, (name, outcome.effect)
        assert status is None or sent(trial)[status], (name, sent(trial))


def test_a_mutant_is_caught_by_its_law_and_only_there(lab: ProcessLab) -> None:
    ops = under("stall", link="ha", direction="down")
    assert "ack-replicated" in violated(play(lab, ops, TARGET.mutant("acks_at_once")))
    assert not violated(play(lab, ops))


def test_nothing_of_a_lab_stays(lab: ProcessLab, labs_folder: Path) -> None:
    play(lab, sends(3))
    assert list(labs_folder.glob("*/lab-*"))
    lab.close()
    assert not list(labs_folder.glob("*/lab-*"))
