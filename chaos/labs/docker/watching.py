"""The harness's side of the observer: what it is asked, and the taps of one link as the trial knows them."""

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
    """A connection to an observer that was just started. LabError for whatever fails. Any thread may ask."""

    def __init__(self, address: Address, limit_s: float, alive: Callable[[], bool]) -> None:
        """Wait until it answers, for no longer than ``limit_s``, and only while it is ``alive``."""
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
        self._heard = self._sock.makefile("rb")

    def ask(self, what: str, **fields: Any) -> dict[str, Any]:
        """Its answer; ``data`` has the bytes behind it."""
        with self._alone:
            try:
                self._sock.sendall(json.dumps({"do": what, **fields}).encode() + b"\n")
                line = self._heard.readline()
                if not line:
                    raise OSError("it has ended")
                answer = dict(json.loads(line))
                answer["data"] = self._heard.read(answer.pop("bytes"))
            except (OSError, ValueError) as why:
                # What it still says could be taken for the answer to another question.
                self.close()
                raise LabError(f"the lab's observer does not answer ({what}): {why}") from None
        if "why" in answer:
            raise LabError(f"the lab's observer cannot {what}: {answer['why']}")
        return answer

    def begin(self, trace: Path, stores: Mapping[str, Path], plan: Plan) -> None:
        """A trial begins; what is seen goes to this trace."""
        paths = {node: str(path) for node, path in stores.items()}
        self.ask("begin", trace=str(trace), stores=paths, listener=plan.listener, notes=dict(plan.notes))

    def check(self) -> None:
        _look(self.ask("check"))

    def drain(self) -> None:
        """Once this returns it has heard what was sent before."""
        _look(self.ask("drain"))

    def read(self, store: Path, prefixes: Collection[str]) -> dict[str, bytes]:
        """A store's files whose names begin so."""
        answer = self.ask("read", store=str(store), prefixes=list(prefixes))
        files, at = {}, 0
        for name, size in answer["files"]:
            files[name] = answer["data"][at : at + size]
            at += size
        return files

    def close(self) -> None:
        self._heard.close()
        self._sock.close()


def _look(answer: Mapping[str, Any]) -> None:
    if answer["wrong"]:
        raise LabError(f"the lab itself has failed, in its observer: {answer['wrong']}")


class WatchedTap:
    def __init__(self, watching: Watching, link: LinkPlan, way: LinkPorts, to: Address) -> None:
        self._ask = watching.ask
        self._made = {"link": link, "way": way, "to": to}
        self._name = link.name

    @property
    def connections(self) -> int:
        return int(self._ask("count", name=self._name)["connections"])

    @property
    def severed(self) -> int:
        return int(self._ask("count", name=self._name)["severed"])

    async def start(self) -> None:
        self._ask("start", **self._made)

    async def open(self) -> None:
        self._ask("open", name=self._name)

    def shut(self) -> None:
        self._ask("shut", name=self._name)

    def lead(self, to: Address, is_rogue_master: bool) -> None:
        self._ask("lead", name=self._name, to=to, is_rogue_master=is_rogue_master)

    def stop(self) -> None:
        self._ask("stop", name=self._name)

    def reset(self) -> dict[str, int]:
        return dict(self._ask("reset", name=self._name)["reset"])

    def standing(self) -> int:
        return int(self._ask("count", name=self._name)["standing"])

    def moved(self, direction: str) -> tuple[int, int]:
        taken, given = self._ask("count", name=self._name)[direction]
        return taken, given
