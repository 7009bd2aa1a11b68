"""One trial in containers: what every lab with real processes has, and what only containers have."""

from __future__ import annotations

from pairproof.chaos.labs.docker.container_trouble import ContainerTrouble
from pairproof.chaos.labs.real.session import RealSession


class DockerSession(RealSession):
    """See :class:`RealSession`."""

    trouble = ContainerTrouble
