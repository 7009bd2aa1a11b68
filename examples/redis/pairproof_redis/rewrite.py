"""An operation: a node rewrites its append-only file, which Redis does on its own when that has grown."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pairproof import Args, operation


@runtime_checkable
class CanRewrite(Protocol):
    """Can make a node rewrite its append-only file."""

    def rewrite(self, node: str) -> None:
        """Request it; the outcome is recorded when it arrives."""


class Rewrite(operation.Operation):
    """A node starts to rewrite its append-only file."""

    name = "rewrite"
    needs = CanRewrite
    arguments = {"node": operation.text(("master", "slave"), usual="master")}
    drawn = operation.Drawn(after="write")
    is_load = True

    def do(self, running: operation.Running, args: Args) -> None:
        """Request it."""
        running.able.rewrite(str(args["node"]))


OPERATION = Rewrite()
