"""The oldest files of a broker's log are deleted at once, as retention does; its end changes nothing."""

from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.ports import CanExpire
from pairproof.harness.trials.fault import MomentaryFault

FAULT = MomentaryFault("retention", CanExpire, {"node": places.NODES, "keep_files": (1,)}, CanExpire.expire)
