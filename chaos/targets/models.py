"""Models of RocketMQ's versions as targets: the reference, with the known deviations of the version.

They run wherever the reference does, so a search can run in the simulation first. A model has the mutants that its
version's known deviations name (:mod:`harness.judging.deviations`); a deviation without one is not modelled.
"""

from .reference import ReferenceTarget

V4, V5 = (ReferenceTarget(stands_for=each) for each in ("4.9.7", "5.5.0"))
