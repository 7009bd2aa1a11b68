"""One trial in containers: what every lab with real processes has, and what only containers have."""

from __future__ import annotations

from pairproof.chaos.labs.docker.container_trouble import ContainerTrouble
from pairproof.chaos.labs.real.link_trouble import LinkTrouble
from pairproof.chaos.labs.real.session import RealSession
from pairproof.chaos.labs.real.strangers import Strangers
from pairproof.chaos.rocketmq.clients import Clients
from pairproof.chaos.rocketmq.consumers import Consumers


class DockerSession(RealSession):
    """See :class:`RealSession`."""

    parts: tuple[RealSession, Clients, Consumers, LinkTrouble, ContainerTrouble, Strangers]
    trouble = ContainerTrouble
