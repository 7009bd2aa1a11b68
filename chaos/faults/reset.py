"""The connections that are open now end with RST; what was on the way is lost. New ones are fine."""

from ...harness.ports.links import CanCutLink
from ...harness.rocketmq import topology
from ...harness.trials.fault import MomentaryFault

FAULT = MomentaryFault("reset", CanCutLink, {"link": topology.LINKS}, CanCutLink.reset_link)
