"""The connections that are open now end with RST; what was on the way is lost. New ones are fine."""

from ...harness.ports.links import CanCutLink
from ...harness.rocketmq import places
from ...harness.trials.fault import MomentaryFault

FAULT = MomentaryFault("reset", CanCutLink, {"link": places.LINKS}, CanCutLink.reset_link)
