"""Open connections end with RST; bytes in flight are lost. New ones work."""

from ...harness.ports.links import CanCutLink
from ...harness.rocketmq import topology
from ...harness.trials.fault import MomentaryFault

FAULT = MomentaryFault("reset", CanCutLink, {"link": topology.LINKS}, CanCutLink.reset_link)
