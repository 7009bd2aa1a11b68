"""The oldest files of a broker's log are deleted at once, as retention does; its end changes nothing."""

from ...harness.rocketmq import topology
from ...harness.rocketmq.ports import CanExpire
from ...harness.trials.fault import MomentaryFault

FAULT = MomentaryFault("retention", CanExpire, {"node": topology.NODES, "keep_files": (1,)}, CanExpire.expire)
