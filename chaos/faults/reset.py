"""The connections that are open now end with RST; what was on the way is lost. New ones are fine."""

from pairproof.harness.ports.links import CanCutLink
from pairproof.harness.rocketmq import places
from pairproof.harness.trials.fault import MomentaryFault

FAULT = MomentaryFault("reset", CanCutLink, {"link": places.LINKS}, CanCutLink.reset_link)
