"""The lab's own table of defaults is the reference's, and it reads what is given as a broker does."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from pairproof.chaos.rocketmq.defaults import DEFAULTS, LATER, completed
from pairproof.reference.core.config import BrokerConfig


def test_the_reference_has_the_defaults_of_the_table() -> None:
    assert asdict(BrokerConfig()) == {**DEFAULTS, **LATER}


@pytest.mark.parametrize(
    "given",
    [{"slaveReadEnable": "true", "slaveTimeout": "800"}, {"slaveReadEnable": True, "longPollingEnable": "False"}],
)
def test_what_is_given_is_read_as_a_broker_reads_it(given: dict[str, object]) -> None:
    assert {**LATER, **completed(given)} == asdict(BrokerConfig.from_properties(given))
    assert completed(given) != dict(DEFAULTS)
