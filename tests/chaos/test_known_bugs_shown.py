"""The stored programs of known bugs still show their bugs: a change of the simulation may take that from them."""

from __future__ import annotations

import pytest

from pairproof.chaos.commands.mutants import fails_by
from pairproof.chaos.mutants import catalogue
from pairproof.harness.rocketmq import known_bugs
from pairproof.harness.trials import resolve

PROGRAMS = {each.name: each for each in known_bugs.of_mutants()}
WITHOUT = {
    # Buffers of a few bytes, which only a simulation has.
    "forgets_cell_rest", "never_writes_again", "beats_inside_frames",
    # Longer waits, or longer intervals, than trials with real time have.
    "crowded_out", "reports_by_the_clock", "forgets_with_master", "master_only", "never_expires", "tells_masters_only",
    "ages_by_first", "keeps_retry_queues",
    # A moment that such a trial does not hit.
    "ignores_heartbeat_offset", "ignores_backup", "slave_takes_no_commits", "checks_before_flush",
    "deletes_before_rename", "backs_up_unflushed",
    # Addresses that only simulated trials draw.
    "ignores_master_address", "registers_first_address", "registers_next_port",
    # A second master of the name, which only a simulation starts.
    "asks_before_registering", "forgets_the_name", "keeps_first_address",
    # They take longer programs than are hunted here.
    "names_one", "counts_properties", "checks_first_pull", "refuses_with_broadcasts", "sends_to_removed_queues",
    "serves_disabled_groups",
}  # fmt: skip
"""Mutants without a program: docs/decisions/0058."""


def test_mutants_without_a_program_are_those_that_cannot_have_one() -> None:
    assert catalogue().keys() - PROGRAMS.keys() == WITHOUT


@pytest.mark.parametrize("name", PROGRAMS)
def test_stored_program_still_breaks_the_law_of_its_bug(name: str) -> None:
    bug = PROGRAMS[name]
    assert bug.law == catalogue()[name].law
    shows = fails_by(resolve.lab("sim"), resolve.target(f"reference+{name}"), bug.law)
    assert shows(bug.schedule), "run python -m pairproof.chaos.make_known_bugs"
