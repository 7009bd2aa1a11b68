"""A pause of a node, as a fault from another repository."""

from __future__ import annotations

from collections.abc import Mapping

from pairproof import Args, Effect, Fault, ports


class Hiccup:
    """The fault ``hiccup``."""

    name = "hiccup"
    needs: type = ports.CanPause
    arguments: Mapping[str, tuple[str, ...]] = {"node": ("slave", "master")}

    def start(self, session: ports.CanPause, args: Args) -> object:
        return session.pause(str(args["node"]))

    def stop(self, session: ports.CanPause, handle: object) -> Effect:
        return session.resume(handle)


FAULT: Fault = Hiccup()
