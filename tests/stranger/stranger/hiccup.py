"""A pause of a node, as a fault from another repository."""

from __future__ import annotations

from collections.abc import Mapping

from pairproof import Args, CanPause, Effect, Fault


class Hiccup:
    """The fault ``hiccup``."""

    name = "hiccup"
    needs: type = CanPause
    arguments: Mapping[str, tuple[str, ...]] = {"node": ("slave", "master")}

    def start(self, session: CanPause, args: Args) -> object:
        return session.pause(str(args["node"]))

    def stop(self, session: CanPause, handle: object) -> Effect:
        return session.resume(handle)


FAULT: Fault = Hiccup()
