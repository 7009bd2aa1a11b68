"""An operator starts a slave's store as a second master of the name, at another address; the first one may go on.
At the end the second one is given up, and the slave is back.

It needs the setting ``lab.others=2``.
"""

from ...harness.ports.nodes import CanStartSecond
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "second_master",
    CanStartSecond,
    {"node": topology.SLAVES[:1], "ends": ("stop", "kill")},
    CanStartSecond.start_second,
    CanStartSecond.end_second,
)
