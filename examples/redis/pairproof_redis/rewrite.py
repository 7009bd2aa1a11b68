"""An operation: a node rewrites its append-only file, which Redis does by itself when that has grown."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pairproof import Args, operation


@runtime_checkable
class CanRewrite(Protocol):
    """A node can be told to rewrite its append-only file."""

    def rewrite(self, node: str) -> None:
        """Tell it; the outcome is recorded when it comes."""


class Rewrite(operation.Operation):
    """A node starts to rewrite its append-only file."""

    name = "rewrite"
    needs = CanRewrite
    arguments = {"node": operation.text(("master", "slave"), usual="master")}
    drawn = operation.Drawn(after="write")
    is_load = True

    def do(self, running: operation.Running, args: Args) -> None:
        """Tell it."""
        running.able.rewrite(str(args["node"]))


OPERATION = Rewrite()
