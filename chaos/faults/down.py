"""The link is down: open connections close orderly (both peers see FIN), new ones are refused; toxiproxy's ``down``."""

from ...harness.ports.links import CanCutLink
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault("down", CanCutLink, {"link": topology.LINKS}, CanCutLink.cut_link, CanCutLink.mend_link)
