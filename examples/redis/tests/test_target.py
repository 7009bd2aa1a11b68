"""The target's declarations, without a server."""

from __future__ import annotations

import pytest
from pairproof_redis.target import TARGET

from pairproof import UsageError
from pairproof.chaos.plan import forms
from pairproof.harness.trials import resolve


def test_labs_of_processes_and_of_containers_host_it_and_the_simulation_does_not() -> None:
    assert [name for name in ("docker", "process", "sim") if resolve.takes(resolve.lab(name), TARGET)] == [
        "docker",
        "process",
    ]
    assert {each.__name__ for each in forms(TARGET)} == {"Program", "Image"}


def test_settings_are_completed_and_checked() -> None:
    assert TARGET.settings({"appendfsync": "always"}) == {"appendfsync": "always", "min-replicas-to-write": 0}
    with pytest.raises(UsageError, match="redis has no setting appendfsync=sometimes; valid: appendfsync: everysec"):
        TARGET.settings({"appendfsync": "sometimes"})
