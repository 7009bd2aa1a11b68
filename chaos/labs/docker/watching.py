"""The harness's side of the observer: its requests, and the taps of one link for the trial."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from ....harness.errors import LabError
from ...plan import Address, LinkPlan, Plan
from ..real.addresses import LinkPorts

ANSWER_S = 15.0
POLL_S = 0.02


class Watching:
    """A connection to a newly started observer. LabError for any failure. Usable from any thread."""

    def __init__(self, address: Address, limit_s: float, alive: Callable[[], bool]) -> None:
        """Wait until it answers, at most ``limit_s``, and only while it is ``alive``."""
        self._alone = threading.Lock()
        ends = time.monotonic() + limit_s
        while True:
            try:
                self._sock = socket.create_connection(address, ANSWER_S)
                break
            except OSError as why:
                if not alive() or time.monotonic() > ends:
                    raise LabError(f"the lab's observer does not answer at {address}: {why}") from None
                time.sleep(POLL_S)
        self._received = self._sock.makefile("rb")

    def ask(self, what: str, **fields: Any) -> dict[str, Any]:
        """Its answer; ``data`` has the bytes behind it."""
        with self._alone:
            try:
                self._sock.sendall(json.dumps({"do": what, **fields}).encode() + b"\n")
                line = self._received.readline()
                if not line:
                    raise OSError("it has ended")
                answer = dict(json.loads(line))
                answer["data"] = self._received.read(answer.pop("bytes"))
            except (OSError, ValueError) as why:
                # Its late answer could be mistaken for the answer to another request.
                self.close()
                raise LabError(f"the lab's observer does not answer ({what}): {why}") from None
        if "why" in answer:
            raise LabError(f"the lab's observer cannot {what}: {answer['why']}")
        return answer

    def begin(self, trace: Path, stores: Mapping[str, Path], plan: Plan) -> None:
        paths = {node: str(path) for node, path in stores.items()}
        self.ask("begin", trace=str(trace), stores=paths, listener=plan.listener, notes=dict(plan.notes))

    def check(self) -> None:
        _look(self.ask("check"))

    def drain(self) -> None:
        """After it returns, the observer has received all bytes sent before."""
        _look(self.ask("drain"))

    def read(self, store: Path, prefixes: Collection[str]) -> dict[str, bytes]:
        """A store's files whose names begin with a prefix."""
        answer = self.ask("read", store=str(store), prefixes=list(prefixes))
        files, at = {}, 0
        for name, size in answer["files"]:
            files[name] = answer["data"][at : at + size]
            at += size
        return files

    def close(self) -> None:
        self._received.close()
        self._sock.close()


def _look(answer: Mapping[str, Any]) -> None:
    if answer["wrong"]:
        raise LabError(f"the lab itself has failed, in its observer: {answer['wrong']}")


class WatchedTap:
    def __init__(
        self, watching: Watching, link: LinkPlan, way: LinkPorts, to: Address, replaced: Mapping[str, str]
    ) -> None:
        self._request = watching.ask
        self._made = {"link": link, "way": way, "to": to, "replaced": replaced}
        self._name = link.name

    def _tap(self, value: str, *given: object) -> Any:
        return self._request("tap", name=self._name, value=value, given=given)["result"]

    @property
    def connections(self) -> int:
        return int(self._tap("connections"))

    @property
    def severed(self) -> int:
        return int(self._tap("severed"))

    async def start(self) -> None:
        self._request("start", **self._made)

    async def open(self) -> None:
        self._tap("open")

    def shut(self) -> None:
        self._tap("shut")

    def lead(self, to: Address, is_rogue_master: bool) -> None:
        self._request("lead", name=self._name, to=to, is_rogue_master=is_rogue_master)

    def stop(self) -> None:
        self._tap("stop")

    def reset(self) -> dict[str, int]:
        return dict(self._tap("reset"))

    def standing(self) -> int:
        return int(self._tap("standing"))

    def moved(self, direction: str) -> tuple[int, int]:
        taken, given = self._tap("moved", direction)
        return taken, given
